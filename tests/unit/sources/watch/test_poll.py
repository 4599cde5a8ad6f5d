"""Polling: changes of an agent's files between two listings."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memd.sources.watch.queue import UNWATCHED, Hint
from memd.sources.watch.watcher import Listings, _changes
from memd_client.errors import FileUnreadableError
from tests.support.transcripts import TranscriptHome, conversation, message
from tests.support.watching import WatchedAgent, database_at, list_all, transcripts_at, vault_at


class PolledAgent:
    """An agent with a workspace, a vault and conversations that is polled repeatedly."""

    def __init__(self, root: Path) -> None:
        self.memory, self.vault = root / "ws" / "memory", root / "vault"
        self.memory.mkdir(parents=True)
        self.vault.mkdir()
        self.home = TranscriptHome(root / "state")
        self.database = self.home.open_database()
        added = {
            "vault": vault_at(self.vault),
            "sessions": transcripts_at(self.home.sessions),
            "database": database_at(self.home.database),
        }
        self.sources = WatchedAgent("ann", root / "ws", added=added).open(lambda _: UNWATCHED)
        self.before: Listings = {}

    def changes(self) -> set[Hint]:
        """Return the changes since the last listing."""
        before, self.before = self.before, list_all(self.sources)
        return _changes("ann", before, self.before)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[PolledAgent]:
    """An agent with a note in each folder and a conversation in each store."""
    scene = PolledAgent(tmp_path)
    (scene.memory / "a.md").write_text("one")
    (scene.vault / "a.md").write_text("one")
    scene.home.write_file("s", conversation("s", 1))
    scene.database.add_session("t", conversation("t", 1))
    scene.changes()
    yield scene
    scene.database.db.close()
    scene.sources.close()


def _restore_time(scene: PolledAgent) -> None:
    facts = (scene.memory / "a.md").stat()
    (scene.memory / "a.md").write_text("two")
    os.utime(scene.memory / "a.md", ns=(facts.st_atime_ns, facts.st_mtime_ns))


NOTES: dict[str, Callable[[PolledAgent], object]] = {
    "create": lambda scene: (scene.memory / "b.md").write_text("x"),
    "change": lambda scene: (scene.memory / "a.md").write_text("two, longer"),
    "change with its old time": _restore_time,
    "delete": lambda scene: (scene.memory / "a.md").unlink(),
    "rename": lambda scene: (scene.memory / "a.md").rename(scene.memory / "z.md"),
    "link": lambda scene: (scene.memory / "sub").symlink_to(scene.home.sessions),
    "root file": lambda scene: (scene.memory.parent / "MEMORY.md").write_text("x"),
    "root renamed": lambda scene: scene.memory.parent.rename(scene.memory.parent.parent / "away"),
}


@pytest.mark.parametrize("change", NOTES.values(), ids=NOTES.keys())
def test_change_of_notes_is_found(scene: PolledAgent, change: Callable[[PolledAgent], object]) -> None:
    change(scene)
    assert scene.changes() == {("ann", "memory")}
    assert scene.changes() == set()


def test_first_listing_is_a_change_of_every_source(tmp_path: Path) -> None:
    names = ("memory", "vault", "sessions", "database")
    scene = PolledAgent(tmp_path)
    assert scene.changes() == {("ann", name) for name in names}
    assert scene.changes() == set()
    scene.database.db.close()


def test_change_of_a_vault_is_found(scene: PolledAgent) -> None:
    (scene.vault / "b.md").write_text("x")
    assert scene.changes() == {("ann", "vault")}
    assert scene.changes() == set()


def test_change_of_conversations_is_found(scene: PolledAgent) -> None:
    scene.home.append_file("s", [message("user", "two")])
    assert scene.changes() == {("ann", "sessions")}
    scene.database.append("t", [message("user", "two")])
    assert scene.changes() == {("ann", "database")}
    assert scene.changes() == set()


def test_irrelevant_files_are_not_found(scene: PolledAgent) -> None:
    (scene.memory / "main.sqlite").write_text("x")
    (scene.memory / "a.md.tmp").write_text("x")
    (scene.memory.parent / "tool.py").write_text("x")
    (scene.memory.parent / "src").mkdir()
    (scene.vault / "picture.png").write_text("x")
    scene.home.write_list({})
    (scene.home.sessions / "s.trajectory.jsonl").write_text("{}")
    (scene.home.database.parent / "other.sqlite").write_text("x")
    assert scene.changes() == set()


def test_empty_log_of_a_database_is_no_change(scene: PolledAgent) -> None:
    scene.sources.close()
    scene.database.db.close()
    log = scene.home.database.with_name(f"{scene.home.database.name}-wal")
    assert not log.exists()
    # a reader creates it, and removes it
    log.touch()
    assert scene.changes() == set()
    scene.sources.close()
    log.unlink(missing_ok=True)
    assert scene.changes() == set()


def test_listing_without_a_descriptor_fails(scene: PolledAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> object:
        raise OSError(errno.EMFILE, "Too many open files", path)

    (scene.memory / "b.md").write_text("x")
    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refuse)
        with pytest.raises(FileUnreadableError, match="Too many open files"):
            scene.changes()
    assert scene.changes() == {("ann", "memory")}
