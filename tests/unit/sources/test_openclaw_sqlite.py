"""Transcripts in OpenClaw's database: discovery, reading in pages, and unknown versions."""

from __future__ import annotations

import hashlib

import apsw
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memd.programs import openclaw_rows as openclaw_sessions
from memd.programs.openclaw_database import MAX_EVENT_BYTES
from memd.programs.openclaw_rows import OpenClawSessions
from memd.sources.databases import ConversationDatabases
from memd_client.errors import FileUnreadableError
from tests.support.logs import capture_logs
from tests.support.transcripts import (
    START_MS,
    OpenClawDatabase,
    TranscriptHome,
    conversation,
    database_of,
    message,
    text_of,
)

HEARTBEAT_KEY = "agent:main:main:heartbeat"


# --- discovery --------------------------------------------------------------------------------------


def test_session_is_identified_by_its_last_event(
    openclaw: OpenClawDatabase, source: ConversationDatabases
) -> None:
    records = conversation("a", 2)
    openclaw.add_session("a", records)
    (found,) = source.find().files.values()
    assert found.mtime_ns // 1_000_000 == START_MS + (len(records) - 1) * 1_000
    assert (found.inode, found.size) == (len(records) - 1, sum(len(record.encode()) for record in records))
    assert found.ctime_ns == 0


def test_origin_of_a_session_decides_its_kind(
    openclaw: OpenClawDatabase, source: ConversationDatabases
) -> None:
    for origin in ("operator", "channel", "talk", "run", "plugin", "cron", "internal", "spawn"):
        openclaw.add_session(origin, conversation(origin, 1), created_via=origin)
    openclaw.add_session("child", conversation("child", 1), spawned_by="agent:main:main")
    openclaw.add_session("beat", conversation("beat", 1), key=HEARTBEAT_KEY, created_via="internal")
    openclaw.add_session("empty")
    transcripts = source.find()
    assert sorted(transcripts.files) == [
        f"sessions/{origin}.jsonl" for origin in ("channel", "operator", "plugin", "run", "talk")
    ]
    assert transcripts.excluded == {"cron": 1, "internal": 1, "subagent": 2, "heartbeat": 1}


def test_events_without_a_window_are_a_conversation(
    openclaw: OpenClawDatabase, source: ConversationDatabases
) -> None:
    openclaw.append("orphan", conversation("orphan", 1))
    assert text_of(source, "orphan").startswith("User: Question 0")


def test_session_id_invalid_in_a_path_is_skipped_with_a_reason(
    openclaw: OpenClawDatabase, source: ConversationDatabases
) -> None:
    for session_id in ("../up", "a\nb", ""):
        openclaw.append(session_id, conversation("x", 1))
    transcripts = source.find()
    assert transcripts.files == {}
    assert [skipped.reason for skipped in transcripts.skipped] == [
        "its session id can't be part of a path"
    ] * 3


def test_database_without_tables_is_empty(home: TranscriptHome, source: ConversationDatabases) -> None:
    home.database.parent.mkdir(parents=True)
    home.database.write_bytes(b"")
    assert (source.find().files, source.find().problems) == ({}, [])


# --- reading ----------------------------------------------------------------------------------------


def test_compressed_and_plain_events_form_one_transcript(
    openclaw: OpenClawDatabase, source: ConversationDatabases
) -> None:
    openclaw.add_session("a", conversation("a", 3), packed=True)
    openclaw.add_session("b", conversation("a", 3))
    assert text_of(source, "a") == text_of(source, "b")


def test_damaged_event_is_skipped(openclaw: OpenClawDatabase, source: ConversationDatabases) -> None:
    bomb = zstandard.ZstdCompressor(19).compress(b"\0" * (MAX_EVENT_BYTES + 1))
    cut = zstandard.ZstdCompressor(1).compress(message("user", "cut").encode())[:-2]
    openclaw.add_session("a", [message("user", "first"), "{", message("user", "last")])
    for seq, frame in ((10, bomb), (11, cut), (12, b"no frame"), (13, b"")):
        openclaw.db.execute(
            "INSERT INTO transcript_events VALUES ('a', ?, NULL, ?, ?, 1, NULL)",
            (seq, START_MS + 9_999, frame),
        )
    openclaw.db.execute(
        "INSERT INTO transcript_events VALUES ('a', 14, CAST(? AS TEXT), ?, NULL, 1, NULL)",
        (message("user", "caf@").encode().replace(b"@", b"\xe9"), START_MS + 9_999),
    )
    openclaw.append("a", [message("assistant", "and on")])
    loaded = source.load(source.find().files["sessions/a.jsonl"])
    assert loaded.text == "User: first\nUser: last\nUser: caf\ufffd\nAssistant: and on"
    assert loaded.line_map == (0, 2, 14, 15)


def test_a_long_session_is_read_in_pages(
    openclaw: OpenClawDatabase, source: ConversationDatabases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openclaw_sessions, "PAGE_ROWS", 3)
    monkeypatch.setattr(openclaw_sessions, "PAGE_BYTES", 400)
    records = [message("user", f"word {number} " + "x" * (number % 5 * 100)) for number in range(40)]
    openclaw.add_session("a", records)
    loaded = source.load(source.find().files["sessions/a.jsonl"])
    assert loaded.line_map == tuple(range(40))
    sha = hashlib.sha256()
    for seq, record in enumerate(records):
        sha.update(b"%d %d\n" % (seq, len(record.encode())) + record.encode())
    assert loaded.hash == sha.hexdigest()


def test_events_added_during_a_read_are_included(
    openclaw: OpenClawDatabase, source: ConversationDatabases, monkeypatch: pytest.MonkeyPatch
) -> None:
    openclaw.add_session("a", conversation("a", 2))
    (found,) = source.find().files.values()
    read = OpenClawSessions.read_events
    added = iter(["while", "it", "was", "read"])

    def read_and_add(
        self: OpenClawSessions, session_id: str, after: int | None
    ) -> list[openclaw_sessions.TranscriptEvent]:
        page = read(self, session_id, after)
        for word in added:
            openclaw.append("a", [message("user", word)])
            break
        return page

    monkeypatch.setattr(OpenClawSessions, "read_events", read_and_add)
    loaded = source.load(found)
    assert loaded.text.endswith("User: while\nUser: it\nUser: was\nUser: read")
    # It has the stat that it was loaded for, so it is loaded again: nothing that came later can be missing.
    assert (loaded.mtime_ns, loaded.size, loaded.inode) == found.stat[:3]
    after = source.find().files["sessions/a.jsonl"]
    assert after != found
    assert source.load(after).hash == loaded.hash


def test_event_rewritten_in_place_is_read_again(
    openclaw: OpenClawDatabase, source: ConversationDatabases
) -> None:
    openclaw.add_session("a", [message("user", "the old word"), message("assistant", "yes")])
    first = source.find().files["sessions/a.jsonl"]
    source.load(first)
    with openclaw.db:
        openclaw.db.execute("UPDATE transcript_events SET event_json = replace(event_json, 'old', 'new')")
        openclaw.db.execute("UPDATE session_windows SET transcript_updated_at = transcript_updated_at + 1")
    second = source.find().files["sessions/a.jsonl"]
    assert second != first
    assert source.load(second).text == "User: the new word\nAssistant: yes"


def test_size_changed_by_compression_settles(
    openclaw: OpenClawDatabase, source: ConversationDatabases
) -> None:
    openclaw.add_session("a", conversation("a", 3))
    source.load(source.find().files["sessions/a.jsonl"])
    event = openclaw.db.execute("SELECT event_json FROM transcript_events WHERE seq = 2").get
    frame = zstandard.ZstdCompressor(1).compress(event.encode())
    openclaw.db.execute(
        "UPDATE transcript_events SET event_json = NULL, event_zstd = ? WHERE seq = 2", (frame,)
    )
    loaded = source.load(source.find().files["sessions/a.jsonl"])
    assert source.find().files["sessions/a.jsonl"].size == loaded.size
    openclaw.add_session("b", conversation("b", 1))
    assert source.find().files["sessions/a.jsonl"].size == loaded.size


STEPS = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 3)),
    st.tuples(st.just("pack"), st.integers(0, 12)),
    st.tuples(st.just("rewrite"), st.integers(0, 12)),
    st.tuples(st.just("delete"), st.integers(0, 12)),
    st.tuples(st.just("replace"), st.integers(1, 3)),
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, min_size=1, max_size=7))
def test_incremental_load_of_a_session_equals_a_full_load(
    home: TranscriptHome, openclaw: OpenClawDatabase, steps: list[tuple[str, int]]
) -> None:
    openclaw.db.execute(
        "DELETE FROM transcript_events; DELETE FROM session_windows; DELETE FROM session_nodes"
    )
    openclaw.add_session("a", conversation("a", 1))
    source = database_of(home)
    for at, (name, number) in enumerate(steps):
        with openclaw.db:
            if name == "append":
                openclaw.append("a", [message("user", f"word {at} {n}") for n in range(number)])
            elif name == "pack":
                _pack(openclaw.db, number)
            elif name == "rewrite":
                openclaw.db.execute(
                    "UPDATE transcript_events SET event_json = ? WHERE seq = ? AND event_json IS NOT NULL",
                    (message("user", f"rewritten {at}"), number),
                )
            elif name == "delete":
                openclaw.db.execute("DELETE FROM transcript_events WHERE seq = ?", (number,))
            else:
                openclaw.db.execute("DELETE FROM transcript_events")
                openclaw.append("a", [message("user", f"anew {at} {n}") for n in range(number)])
            openclaw.db.execute("UPDATE session_windows SET transcript_updated_at = ?", (START_MS * 2 + at,))
        fresh = database_of(home)
        for path, found in source.find().files.items():
            assert source.load(found) == fresh.load(fresh.find().files[path])
        fresh.close()
    source.close()


def _pack(db: apsw.Connection, seq: int) -> None:
    """Compress an event in place."""
    for (text,) in db.execute(
        "SELECT event_json FROM transcript_events WHERE seq = ? AND event_json IS NOT NULL", (seq,)
    ).fetchall():
        frame = zstandard.ZstdCompressor(1).compress(str(text).encode())
        db.execute(
            "UPDATE transcript_events SET event_json = NULL, event_zstd = ? WHERE seq = ?", (frame, seq)
        )


# --- versions and damage ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("PRAGMA user_version = 99", "schema version 99"),
        ("PRAGMA user_version = 3", "schema version 3"),
        ("UPDATE schema_meta SET schema_version = 31", "schema version 31"),
        ("ALTER TABLE transcript_events RENAME COLUMN event_json TO body", "no event_json"),
        ("ALTER TABLE session_nodes RENAME TO nodes", "no table session_nodes"),
        ("DROP TABLE session_windows", "no table session_windows"),
    ],
)
def test_unknown_version_is_reported_and_not_read(
    home: TranscriptHome,
    openclaw: OpenClawDatabase,
    source: ConversationDatabases,
    change: str,
    words: str,
) -> None:
    openclaw.add_session("a", conversation("a", 1))
    (found,) = source.find().files.values()
    openclaw.db.execute(change)
    for _ in range(2):
        transcripts = source.find()
        assert (transcripts.files, transcripts.unseen) == ({}, frozenset({"sessions"}))
        (problem,) = transcripts.problems
        assert problem.code == "openclaw_database"
        assert problem.message.startswith(f"{home.database} can't be read: ")
        assert words in problem.message
        assert problem.hint.startswith("upgrade memd")
    with pytest.raises(FileUnreadableError):
        source.load(found)


def test_database_problem_is_logged_once(openclaw: OpenClawDatabase, source: ConversationDatabases) -> None:
    openclaw.db.execute("PRAGMA user_version = 99")
    with capture_logs() as logs:
        for _ in range(3):
            source.find()
    assert [entry["event"] for entry in logs] == ["sources.database_unreadable"]
    assert "schema version 99" in logs[0]["reason"]
    assert "schema version 99" in repr(source)


def test_database_is_read_again_with_a_known_version(
    openclaw: OpenClawDatabase, source: ConversationDatabases
) -> None:
    openclaw.add_session("a", conversation("a", 1))
    openclaw.db.execute("PRAGMA user_version = 99")
    assert source.find().problems
    openclaw.db.execute("PRAGMA user_version = 21")
    assert (set(source.find().files), source.find().problems) == ({"sessions/a.jsonl"}, [])


def test_release_without_compressed_events_is_read(
    openclaw: OpenClawDatabase, source: ConversationDatabases
) -> None:
    openclaw.add_session("a", conversation("a", 2))
    openclaw.db.execute(
        "CREATE TABLE events (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER,"
        " PRIMARY KEY (session_id, seq));"
        "INSERT INTO events SELECT session_id, seq, event_json, created_at FROM transcript_events;"
        "DROP TABLE transcript_events; ALTER TABLE events RENAME TO transcript_events;"
        "DROP TABLE session_transcript_cold_archives; DROP TABLE schema_meta;"
        "ALTER TABLE session_windows DROP COLUMN transcript_updated_at;"
        "ALTER TABLE session_windows DROP COLUMN spawned_by; PRAGMA user_version = 21"
    )
    assert len(text_of(source, "a").split("\n")) == 4


def test_database_in_another_encoding_is_reported(
    home: TranscriptHome, source: ConversationDatabases
) -> None:
    home.database.parent.mkdir(parents=True)
    db = apsw.Connection(str(home.database))
    db.pragma("encoding", "UTF-16")
    db.execute("CREATE TABLE transcript_events (session_id, seq)")
    db.close()
    (problem,) = source.find().problems
    assert "UTF-8" in problem.message


def test_file_that_is_not_a_database_is_reported(home: TranscriptHome, source: ConversationDatabases) -> None:
    home.database.parent.mkdir(parents=True)
    home.database.write_bytes(b"no database" * 1_000)
    (problem,) = source.find().problems
    assert "it is damaged" in problem.message
    home.database.unlink()
    home.database.symlink_to(home.state / "elsewhere")
    (problem,) = source.find().problems
    assert "links are not followed" in problem.message
    home.database.unlink()
    home.database.mkdir()
    assert len(source.find().problems) == 1
