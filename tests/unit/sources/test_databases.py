"""Conversations in databases: each change is noticed once, and one that can't be read harms nothing."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd.programs.conversation import Conversation, Message, Session
from memd.programs.program import ConversationDatabase, StoredSession
from memd.sources import databases
from memd.sources.databases import GRAIN_NS, ConversationDatabases
from memd.sources.tree import LINK
from memd.sources.watch.queue import CONVERSATION_VALID_S, FolderEvents, Hints, Names, Unwatched, WatchQueue
from memd.system.safe_open import OpenFolder
from memd.system.sqlite import ForeignDatabaseError
from memd_client.errors import FileMissingError, FileUnreadableError
from tests.support.logs import capture_logs


class JsonDatabase(ConversationDatabase):
    """A file with the messages of each session; another text stands for the reason why it can't be read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.listed = 0

    def sessions(self) -> list[StoredSession]:
        """Return all sessions; those of an agent begin with `agent`."""
        self.listed += 1
        return [
            StoredSession(
                name,
                (len(texts), 10 * len(texts), zlib.crc32(repr(texts).encode()), 0),
                "subagent" if name.startswith("agent") else "main",
                len(texts),
            )
            for name, texts in self._content().items()
        ]

    def read(self, session_id: str) -> Conversation | None:
        """Return one conversation."""
        texts = self._content().get(session_id)
        if texts is None:
            return None
        messages = [Message("user", text, place) for place, text in enumerate(texts, start=1)]
        return Conversation(Session(session_id), messages)

    def _content(self) -> dict[str, list[str]]:
        text = self._path.read_text()
        if not text.startswith("{"):
            raise ForeignDatabaseError(text, busy="locked" in text, unknown="version" in text)
        content: dict[str, list[str]] = json.loads(text)
        return content


class Databases:
    """Two databases of a program and their source."""

    def __init__(self, folder: Path, *, with_subagents: bool = False, watch: Unwatched | None = None) -> None:
        self.first, self.second = folder / "one.db", folder / "two.db"
        self.opened: list[JsonDatabase] = []
        self.source = ConversationDatabases(
            "program",
            self._open,
            [self.first, self.second],
            with_subagents=with_subagents,
            watch=watch or Unwatched(),
        )

    def _open(self, path: Path) -> ConversationDatabase:
        self.opened.append(JsonDatabase(path))
        return self.opened[-1]

    def write(self, path: Path, text: str = "", **sessions: list[str]) -> None:
        """Write a database, long ago."""
        path.write_text(text or json.dumps(sessions))
        self.let_settle(path)

    @staticmethod
    def let_settle(path: Path) -> None:
        """Make the last write an old one, so that the file counts as unchanged from then on."""
        os.utime(path, ns=(1, path.stat().st_mtime_ns - 2 * GRAIN_NS))

    def texts(self) -> dict[str, str]:
        """Return all conversations."""
        return {path: self.source.load(found).text for path, found in self.source.find().files.items()}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Databases]:
    """Databases that are missing."""
    store = Databases(tmp_path)
    yield store
    store.source.close()


def test_of_two_sessions_with_the_same_id_that_of_the_first_database_counts(store: Databases) -> None:
    store.write(store.second, a=["second"], b=["b"])
    assert store.texts() == {"program/a": "User: second", "program/b": "User: b"}
    store.write(store.first, a=["first"])
    assert store.texts() == {"program/a": "User: first", "program/b": "User: b"}
    store.first.unlink()
    assert store.texts() == {"program/a": "User: second", "program/b": "User: b"}


def test_only_changed_databases_are_listed_again(store: Databases) -> None:
    store.write(store.first, a=["a"])
    store.write(store.second, b=["b"])
    first = store.source.find()
    assert store.source.find() is first
    assert [database.listed for database in store.opened] == [1, 1]
    store.write(store.second, b=["b", "c"])
    assert store.source.find() is not first
    assert [database.listed for database in store.opened] == [1, 2]


def test_change_of_the_log_is_noticed(store: Databases) -> None:
    store.write(store.first, a=["a"])
    store.source.find()
    log = store.first.with_name("one.db-wal")
    log.write_text("log")
    store.let_settle(log)
    store.source.find()
    store.source.find()
    assert store.opened[0].listed == 2


def test_write_in_the_same_instant_is_noticed(store: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "GRAIN_NS", 60_000_000_000)
    store.first.write_text('{"a": ["old"]}')
    before = store.first.stat()
    assert store.texts() == {"program/a": "User: old"}
    store.first.write_text('{"a": ["new"]}')
    os.utime(store.first, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert store.texts() == {"program/a": "User: new"}


@pytest.mark.parametrize("is_settled", [True, False])
def test_deleted_database_has_no_conversations(store: Databases, is_settled: bool) -> None:
    store.write(store.first, a=["a"])
    if not is_settled:
        os.utime(store.first)
    found = store.source.find().files["program/a"]
    store.first.unlink()
    assert store.source.find().files == {}
    with pytest.raises(FileMissingError):
        store.source.load(found)


def test_sessions_of_agents_are_counted_and_read_only_if_wanted(tmp_path: Path) -> None:
    store = Databases(tmp_path)
    store.write(store.first, a=["a"], agent1=["x"], agent2=["y"])
    found = store.source.find()
    assert (set(found.files), found.excluded) == ({"program/a"}, {"subagent": 2})
    assert found.kinds == {"agent1": "subagent", "agent2": "subagent"}
    wide = Databases(tmp_path, with_subagents=True)
    assert set(wide.source.find().files) == {"program/a", "program/agent1", "program/agent2"}


def test_busy_database_keeps_its_conversations(store: Databases) -> None:
    store.write(store.first, a=["a"])
    first = store.source.find()
    store.write(store.first, "it is locked")
    assert store.source.find() is first
    with pytest.raises(FileUnreadableError) as caught:
        store.source.load(first.files["program/a"])
    assert caught.value.data["reason"] == "moving"
    store.write(store.first, a=["a", "b"])
    assert store.texts() == {"program/a": "User: a\nUser: b"}


def test_database_that_was_busy_from_the_beginning_is_a_problem(store: Databases) -> None:
    store.write(store.first, "it is locked")
    store.write(store.second, b=["b"])
    found = store.source.find()
    assert [(problem.code, problem.message) for problem in found.problems] == [
        ("database_unreadable", f"{store.first} can't be read: it is locked")
    ]
    assert "no action needed" in found.problems[0].hint
    assert (set(found.files), found.unseen) == ({"program/b"}, frozenset({"program"}))
    store.write(store.first, a=["a"])
    found = store.source.find()
    assert (set(found.files), found.unseen) == ({"program/a", "program/b"}, frozenset())
    assert found.problems == []


def test_database_of_an_unknown_version_is_reported_once_and_is_not_read_again(store: Databases) -> None:
    store.write(store.first, a=["a"])
    found = store.source.find().files["program/a"]
    with capture_logs() as logs:
        store.write(store.first, "its version is unknown")
        listing = store.source.find()
        assert store.source.find() is listing
        store.write(store.first, "its version  is unknown")
        store.write(store.first, "its version is unknown")
        store.source.find()
    assert [entry["event"] for entry in logs] == ["sources.database_unreadable"]
    assert (listing.files, listing.unseen) == ({}, frozenset({"program"}))
    assert "upgrade memd" in listing.problems[0].hint
    with pytest.raises(FileUnreadableError) as caught:
        store.source.load(found)
    assert caught.value.data["reason"] == "database"


def test_database_that_fails_otherwise_keeps_its_conversations_and_is_tried_again(store: Databases) -> None:
    store.write(store.first, a=["a"])
    files = store.source.find().files
    store.write(store.first, "input and output error")
    for _ in range(2):
        found = store.source.find()
        assert (found.files, found.unseen) == (files, frozenset({"program"}))
    assert store.opened[0].listed == 3


def test_database_that_is_a_link_is_not_read(store: Databases) -> None:
    real = store.first.with_name("real.db")
    store.write(real, a=["a"])
    store.first.symlink_to(real)
    found = store.source.find()
    assert found.files == {}
    assert [(problem.message, problem.hint) for problem in found.problems] == [
        (f"{store.first} can't be read: it is a {LINK}", "name the real file in the settings")
    ]
    assert store.opened[0].listed == 0


def test_pipe_in_place_of_a_database_is_not_opened(store: Databases) -> None:
    store.write(store.first, a=["a"])
    store.source.find()
    store.first.unlink()
    os.mkfifo(store.first)
    found = store.source.find()
    assert (found.files, found.unseen) == ({}, frozenset({"program"}))
    assert [problem.message for problem in found.problems] == [
        f"{store.first} can't be read: it is not a regular file"
    ]


class Watched(Unwatched):
    """Records what is watched."""

    def __init__(self) -> None:
        self.entered: list[str] = []

    def enter(
        self, folder: str, names: Names = None, *, is_root: bool = False, opened: OpenFolder | None = None
    ) -> None:
        """Record a folder, which may be missing or become a link."""
        assert is_root
        self.entered.append(folder)


def test_folders_of_databases_are_watched(tmp_path: Path) -> None:
    watch = Watched()
    Databases(tmp_path, watch=watch).source.find()
    assert set(watch.entered) == {str(tmp_path)}


def test_only_databases_and_logs_with_content_cause_a_sync(tmp_path: Path) -> None:
    queue = WatchQueue(("main", "program"), FolderEvents, Hints())
    store = Databases(tmp_path, watch=queue)
    for name, text in (("one.db", "{}"), ("one.db-wal", "log"), ("two.db-wal", ""), ("one.db-shm", "x")):
        (tmp_path / name).write_text(text)
    names = ("one.db", "two.db", "one.db-wal", "two.db-wal", "one.db-shm", "other.db")
    relevant = [name for name in names if queue.is_relevant(str(tmp_path), name, False)]
    assert relevant == ["one.db", "two.db", "one.db-wal"]
    assert queue.valid_s == CONVERSATION_VALID_S
    store.source.close()
