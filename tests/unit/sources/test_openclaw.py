"""Transcripts of both stores of one agent: a partly migrated home has each session once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd.sources.openclaw import OUTLIVED_MS, OpenClawConversations
from memd.sources.source import SourceFile
from memd_client.errors import FileMissingError
from tests.support.transcripts import (
    MAX_TRANSCRIPT_BYTES,
    STAMP,
    START_MS,
    OpenClawDatabase,
    TranscriptHome,
    conversation,
    message,
)


@pytest.fixture
def source(home: TranscriptHome) -> Iterator[OpenClawConversations]:
    """Return the source under test."""
    source = OpenClawConversations(home.state, "main", MAX_TRANSCRIPT_BYTES)
    yield source
    source.close()


def written_at(path: Path, at_ms: int) -> None:
    """Set a file's time of its last write."""
    os.utime(path, (at_ms / 1_000, at_ms / 1_000))


def test_partly_migrated_home_has_every_session_once(
    home: TranscriptHome, openclaw: OpenClawDatabase, source: OpenClawConversations
) -> None:
    turns = {"files": 2, "rotated": 3, "both": 4, "database": 5, "packed": 6, "cold": 7}
    for session_id in ("files", "both"):
        home.write_file(session_id, conversation(session_id, turns[session_id]))
    home.write_file(f"rotated.jsonl.reset.{STAMP}", conversation("rotated", turns["rotated"]))
    home.write_file(f"both.jsonl.deleted.{STAMP}", conversation("both", 1))
    for name in ("both.trajectory.jsonl", "files.jsonl.bak", "files.jsonl.lock"):
        home.write_file(name, conversation("files", 1))
    for session_id in ("both", "database", "packed", "cold"):
        openclaw.add_session(
            session_id, conversation(session_id, turns[session_id]), packed=session_id == "packed"
        )
    openclaw.freeze("cold")

    transcripts = source.find()

    assert set(transcripts.files) == {
        f"sessions/rotated.jsonl.reset.{STAMP}",
        *(f"sessions/{session_id}.jsonl" for session_id in turns if session_id != "rotated"),
    }
    assert transcripts.stores == {"jsonl": 2, "sqlite": 4}
    assert (transcripts.problems, transcripts.skipped) == ([], [])
    for path, found in transcripts.files.items():
        session_id = path.removeprefix("sessions/").split(".")[0]
        assert len(source.load(found).line_map) == 2 * turns[session_id], path


def test_a_session_keeps_its_path_when_it_moves_into_the_database(
    home: TranscriptHome, source: OpenClawConversations
) -> None:
    location = home.write_file("a", conversation("a", 2))
    (before,) = source.find().files.values()
    with home.open_database() as openclaw:
        openclaw.add_session("a", conversation("a", 2))
    location.unlink()
    (after,) = source.find().files.values()
    assert (after.path, before.path) == ("sessions/a.jsonl",) * 2
    assert after.location != before.location
    assert source.load(after).text
    with pytest.raises(FileMissingError):
        source.load(before)


def test_file_newer_than_the_database_has_precedence(
    home: TranscriptHome, openclaw: OpenClawDatabase, source: OpenClawConversations
) -> None:
    openclaw.add_session("a", [message("user", "in the database")])
    later = [message("user", "in the file", START_MS + OUTLIVED_MS + 2_000)]
    location = home.write_file("a", later)
    rotated = home.write_file(f"a.jsonl.reset.{STAMP}", [message("user", "long ago")])
    for at_ms, wins in ((START_MS, "sqlite"), (START_MS + OUTLIVED_MS, "sqlite"), (START_MS * 2, "jsonl")):
        written_at(location, at_ms)
        written_at(rotated, at_ms)
        transcripts = source.find()
        if wins == "sqlite":
            assert transcripts.stores == {"jsonl": 0, "sqlite": 1}
        else:
            assert transcripts.stores == {"jsonl": 2, "sqlite": 0}
            assert source.load(transcripts.files["sessions/a.jsonl"]).text == "User: in the file"
    openclaw.append("a", [message("user", "upgraded again")])
    openclaw.db.execute("UPDATE transcript_events SET created_at = ? WHERE seq = 1", (START_MS * 3,))
    assert source.find().stores == {"jsonl": 0, "sqlite": 1}


def test_copied_home_does_not_make_old_files_newer(
    home: TranscriptHome, openclaw: OpenClawDatabase, source: OpenClawConversations
) -> None:
    openclaw.add_session("a", [message("user", "old"), message("user", "new")])
    location = home.write_file("a", [message("user", "old")])
    written_at(location, START_MS * 2)
    assert source.find().stores == {"jsonl": 0, "sqlite": 1}
    home.write_file("a", ['{"type": "session"}', "{no time in it"])
    written_at(location, START_MS * 2)
    assert source.find().stores == {"jsonl": 1, "sqlite": 0}


def test_database_decides_the_kind_of_a_session(
    home: TranscriptHome, openclaw: OpenClawDatabase, source: OpenClawConversations
) -> None:
    openclaw.add_session("beat", conversation("beat", 1), key="agent:main:main:heartbeat")
    openclaw.add_session("talk", [message("user", "[cron:1 x] quoted in a conversation")])
    home.write_list({"agent:main:cron:x": {"sessionId": "both"}})
    for session_id in ("beat", "both"):
        home.write_file(session_id, conversation(session_id, 1))
        home.write_file(f"{session_id}.jsonl.reset.{STAMP}", conversation(session_id, 1))
    home.write_file("talk", [message("user", "[cron:1 x] quoted in a conversation")])
    transcripts = source.find()
    assert set(transcripts.files) == {"sessions/talk.jsonl"}
    assert transcripts.excluded == {"heartbeat": 1, "cron": 1}


@pytest.mark.parametrize(
    "change", ["PRAGMA user_version = 99", "ALTER TABLE transcript_events RENAME COLUMN seq TO number"]
)
def test_unknown_database_version_leaves_files_searchable(
    home: TranscriptHome, openclaw: OpenClawDatabase, source: OpenClawConversations, change: str
) -> None:
    home.write_file("a", conversation("a", 1))
    openclaw.add_session("a", conversation("a", 2))
    openclaw.add_session("b", conversation("b", 2))
    assert source.find().stores == {"jsonl": 0, "sqlite": 2}
    openclaw.db.execute(change)
    transcripts = source.find()
    assert transcripts.stores == {"jsonl": 1, "sqlite": 0}
    assert [problem.code for problem in transcripts.problems] == ["openclaw_database"]
    assert transcripts.unseen == {"sessions"}
    assert len(source.load(transcripts.files["sessions/a.jsonl"]).line_map) == 2


def test_agent_without_a_folder_has_no_transcripts(tmp_path: Path) -> None:
    source = OpenClawConversations(tmp_path, "none", MAX_TRANSCRIPT_BYTES)
    assert (source.find().files, source.find().stores) == ({}, {"jsonl": 0, "sqlite": 0})
    with pytest.raises(FileMissingError):
        source.load(SourceFile("sessions/a.jsonl", str(tmp_path / "a.jsonl"), 0, 0, 0, 0, "sessions"))
    source.close()
