"""Reading OpenClaw's database while OpenClaw writes to it: commits are seen and never blocked."""

from __future__ import annotations

import os

import pytest

from memd.programs.openclaw_database import OpenClawAgentDatabase
from memd.sources.databases import GRAIN_NS, ConversationDatabases
from memd.text.transcripts.messages import TranscriptRecord
from memd_client.errors import FileMissingError, FileUnreadableError
from tests.support.transcripts import (
    OpenClawDatabase,
    TranscriptHome,
    conversation,
    database_of,
    message,
    text_of,
)


def test_commit_of_another_connection_is_seen_and_not_blocked(
    openclaw: OpenClawDatabase, source: ConversationDatabases
) -> None:
    openclaw.add_session("a", conversation("a", 5))
    for number in range(5):
        found = source.find().files["sessions/a.jsonl"]
        assert source.load(found).inode == found.inode
        openclaw.append("a", [message("user", f"more {number}")])
        busy, _, _ = openclaw.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
        assert busy == 0
        assert source.find().files["sessions/a.jsonl"].inode == found.inode + 1
    openclaw.db.execute("VACUUM")
    openclaw.db.execute("ALTER TABLE session_windows ADD COLUMN later TEXT")
    assert text_of(source, "a").endswith("User: more 4")


def test_commit_during_a_read_is_not_blocked(
    openclaw: OpenClawDatabase, source: ConversationDatabases, monkeypatch: pytest.MonkeyPatch
) -> None:
    openclaw.add_session("a", conversation("a", 5))
    (found,) = source.find().files.values()
    busy: list[object] = []

    def read(record: str) -> TranscriptRecord:
        openclaw.append("b", [record])
        busy.append(openclaw.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0])
        return TranscriptRecord(None)

    monkeypatch.setattr("memd.programs.openclaw.read_record", read)
    source.load(found)
    assert busy == [0] * 16


def let_settle(home: TranscriptHome) -> None:
    """Make the last write of the database an old one: a fresh one may be followed by another at the same time."""
    for path in home.database.parent.iterdir():
        os.utime(path, ns=(1, path.stat().st_mtime_ns - 2 * GRAIN_NS))


def test_sessions_are_not_listed_again_without_a_commit(
    home: TranscriptHome,
    openclaw: OpenClawDatabase,
    source: ConversationDatabases,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    openclaw.add_session("a", conversation("a", 1))
    let_settle(home)
    first = source.find()
    monkeypatch.setattr(OpenClawAgentDatabase, "sessions", None)
    assert source.find() is first


def test_locked_database_keeps_the_previous_result(
    openclaw: OpenClawDatabase, home: TranscriptHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memd.system.sqlite.BUSY_MS", 1)
    openclaw.db.pragma("journal_mode", "delete")
    openclaw.add_session("a", conversation("a", 1))
    source = database_of(home)
    first = source.find()
    openclaw.db.execute("BEGIN EXCLUSIVE")
    assert source.find() == first
    with pytest.raises(FileUnreadableError) as caught:
        source.load(first.files["sessions/a.jsonl"])
    assert "locked" in caught.value.message
    assert caught.value.data["reason"] == "moving"
    new = database_of(home)
    unseen = new.find()
    assert [problem.code for problem in unseen.problems] == ["openclaw_database"]
    assert (unseen.files, unseen.unseen) == ({}, frozenset({"sessions"}))
    openclaw.db.execute("COMMIT")
    assert new.find().files == source.find().files == first.files
    new.close()
    source.close()


def test_replaced_or_deleted_database_is_detected(
    home: TranscriptHome, source: ConversationDatabases
) -> None:
    with home.open_database() as openclaw:
        openclaw.add_session("a", conversation("a", 1))
    (found,) = source.find().files.values()
    for leftover in home.database.parent.iterdir():
        leftover.unlink()
    assert source.find().files == {}
    with pytest.raises(FileMissingError):
        source.load(found)
    with home.open_database() as openclaw:
        openclaw.add_session("b", conversation("b", 1))
        assert set(source.find().files) == {"sessions/b.jsonl"}
        assert text_of(source, "b")
