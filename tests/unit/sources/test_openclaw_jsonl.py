"""Transcripts in files: their names, their kinds, and incremental reading."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.programs import openclaw
from memd.programs.openclaw import OPENING_BYTES, find_session_id
from memd.text.redact.secrets import redact
from memd.text.transcripts.messages import TranscriptRecord
from memd_client.errors import FileMissingError, FileUnreadableError
from tests.support.flattening import flatten_transcript
from tests.support.transcripts import (
    STAMP,
    TranscriptHome,
    conversation,
    files_of,
    header,
    message,
)

UUID = "0b9c7f0e-5a52-4c7e-9d0f-3a2b1c4d5e6f"
HEARTBEAT = "Read HEARTBEAT.md if it exists. If nothing needs attention, reply HEARTBEAT_OK."


@pytest.mark.parametrize(
    ("name", "session_id"),
    [
        ("a.jsonl", "a"),
        (f"{UUID}.jsonl", UUID),
        (f"{UUID}-topic-42.jsonl", f"{UUID}-topic-42"),
        ("my-checkpoint-notes.jsonl", "my-checkpoint-notes"),
        (f"a.jsonl.reset.{STAMP}", "a"),
        (f"a.jsonl.deleted.{STAMP}", "a"),
        ("a.jsonl.deleted.1767607200000", "a"),
        (f"a.jsonl.reset.{STAMP}.zst", "a"),
        ("sessions.json", None),
        ("a.trajectory.jsonl", None),
        ("a.trajectory-path.json", None),
        (f"a.checkpoint.{UUID}.jsonl", None),
        ("a.checkpoint.jsonl", None),
        (f"a.checkpoint.{UUID}.jsonl.reset.{STAMP}", None),
        (f"a.trajectory.jsonl.deleted.{STAMP}", None),
        ("a.jsonl.bak", None),
        ("a.jsonl.bak.123", None),
        (f"a.jsonl.bak.{STAMP}", None),
        ("a.bak.jsonl", None),
        ("a.jsonl.lock", None),
        ("a.lock.jsonl", None),
        (f"a.jsonl.reset.{STAMP}.lock", None),
        (f"a.jsonl.reset.{STAMP}.bak", None),
        ("a.jsonl.reset", None),
        ("a.jsonl.reset.", None),
        ("a.jsonl.moved.2026", None),
        ("a.jsonl.tmp", None),
        ("a.jsonl.gz", None),
        (".jsonl", None),
        (".hidden.jsonl", None),
        ("a.JSONL", None),
        ("a.md", None),
    ],
)
def test_transcripts_are_distinguished_from_other_files(name: str, session_id: str | None) -> None:
    assert find_session_id(name) == session_id


def test_rotated_files_are_found_and_sidecars_are_not(home: TranscriptHome) -> None:
    for name in (
        *("a.jsonl", f"a.jsonl.reset.{STAMP}", f"b.jsonl.deleted.{STAMP}"),
        *("a.trajectory.jsonl", f"a.checkpoint.{UUID}.jsonl", "a.jsonl.bak", "a.jsonl.lock", "notes.txt"),
    ):
        home.write_file(name, conversation(name, 2))
    (home.sessions / "cold").mkdir()
    source = files_of(home)
    transcripts = source.find()
    assert sorted(transcripts.files) == [
        "sessions/a.jsonl",
        f"sessions/a.jsonl.reset.{STAMP}",
        f"sessions/b.jsonl.deleted.{STAMP}",
    ]
    assert transcripts.skipped == []
    for found in transcripts.files.values():
        assert len(source.load(found).line_map) == 4


def test_compressed_rotated_file_is_read(home: TranscriptHome) -> None:
    text = "\n".join(conversation("a", 3))
    location = home.sessions / f"a.jsonl.deleted.{STAMP}.zst"
    location.write_bytes(zstandard.ZstdCompressor().compress(text.encode()))
    (home.sessions / f"c.jsonl.reset.{STAMP}.zst").write_bytes(
        zstandard.ZstdCompressor().compress(message("user", "[cron:1 report] go").encode())
    )
    source = files_of(home)
    transcripts = source.find()
    (found,) = transcripts.files.values()
    assert transcripts.excluded == {"cron": 1}
    assert source.load(found).text == flatten_transcript(text)[0]
    location.write_bytes(location.read_bytes()[:-4])
    with pytest.raises(FileUnreadableError) as caught:
        source.load(found)
    assert caught.value.data["reason"] == "damaged"


def test_links_and_irregular_files_are_skipped_with_a_reason(home: TranscriptHome, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text(message("user", "outside") + "\n")
    (home.sessions / "link.jsonl").symlink_to(outside)
    (home.sessions / "dangling.jsonl").symlink_to(tmp_path / "none")
    (home.sessions / "folder.jsonl").mkdir()
    os.mkfifo(home.sessions / "pipe.jsonl")
    Path(os.fsdecode(os.fsencode(home.sessions) + b"/latin\xe9.jsonl")).write_text("")
    found = files_of(home).find()
    assert found.files == {}
    assert sorted((skipped.path, skipped.reason.split(";")[0]) for skipped in found.skipped) == [
        ("sessions/dangling.jsonl", "symbolic link"),
        ("sessions/folder.jsonl", "not a regular file"),
        ("sessions/latin?.jsonl", "its name is not UTF-8"),
        ("sessions/link.jsonl", "symbolic link"),
        ("sessions/pipe.jsonl", "not a regular file"),
    ]


def test_linked_sessions_folder_is_skipped(tmp_path: Path) -> None:
    home = TranscriptHome(tmp_path)
    home.write_file("a", conversation("a", 1))
    home.sessions.rename(tmp_path / "real")
    home.sessions.symlink_to(tmp_path / "real")
    found = files_of(home).find()
    assert found.files == {}
    assert [skipped.path for skipped in found.skipped] == ["sessions"]


@pytest.mark.parametrize("replace", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/etc/hostname")])
def test_file_replaced_by_another_type_is_refused(
    home: TranscriptHome, replace: Callable[[Path], object]
) -> None:
    location = home.write_file("a", conversation("a", 1))
    source = files_of(home)
    (found,) = source.find().files.values()
    location.unlink()
    with pytest.raises(FileMissingError):
        source.load(found)
    replace(location)
    with pytest.raises(FileUnreadableError):
        source.load(found)


# --- kinds ------------------------------------------------------------------------------------------


def test_unlisted_session_has_the_kind_of_its_beginning(home: TranscriptHome) -> None:
    home.write_list({"agent:main:main": {"sessionId": "talk"}})
    openings = {
        "talk": message("user", "[cron:1 x] a listed conversation is one"),
        "cron": message("user", "[cron:7f morning report] Write the report."),
        "late-cron": message("user", "[Mon 2026-01-05 07:00 UTC] [cron:7f report] Write."),
        "beat": message("user", HEARTBEAT),
        "sub": message(
            "user", "[Mon 2026-01-05 07:00 UTC] [Subagent Context] You are running as a subagent."
        ),
        "dream": '{"type":"custom","customType":"x","data":{"runId":"dreaming-narrative-light-1"}}',
        "old": message("user", "hello"),
    }
    for session_id, record in openings.items():
        home.write_file(
            f"{session_id}.jsonl.reset.{STAMP}", [header(session_id), record, message("assistant", "done")]
        )
    source = files_of(home)
    for _ in range(2):
        transcripts = source.find()
        assert sorted(path.split(".")[0] for path in transcripts.files) == ["sessions/old", "sessions/talk"]
        assert transcripts.excluded == {"cron": 2, "heartbeat": 1, "subagent": 1, "dreaming": 1}


def test_heartbeat_session_becomes_a_conversation_after_a_users_message(
    home: TranscriptHome,
) -> None:
    home.write_file("a", [header("a"), message("user", HEARTBEAT), message("assistant", "HEARTBEAT_OK")])
    source = files_of(home)
    assert source.find().excluded == {"heartbeat": 1}
    home.append_file("a", [message("user", "good morning")])
    (found,) = source.find().files.values()
    assert source.load(found).text == "User: good morning"


def test_long_beginning_without_a_message_counts_as_a_conversation(home: TranscriptHome) -> None:
    printed = [message("toolResult", "x" * 1_000) for _ in range(OPENING_BYTES // 1_000)]
    home.write_file("a", [message("user", HEARTBEAT), *printed])
    home.write_file("c", [*printed, message("user", "[cron:1 late] go")])
    assert set(files_of(home).find().files) == {"sessions/a.jsonl", "sessions/c.jsonl"}


def test_replaced_file_has_its_kind_determined_again(home: TranscriptHome) -> None:
    home.write_file("a", [header("a"), message("user", "a long hello, longer than what follows, by far")])
    source = files_of(home)
    assert source.find().files
    home.write_file("a", [message("user", "[cron:1 x] go")])
    assert source.find().excluded == {"cron": 1}


@pytest.mark.parametrize(
    "listed", ["", "{", "[]", '{"agent:main:cron:x": 7}', '{"a": {"sessionId": 7}}', "\xff"]
)
def test_invalid_list_only_loses_the_kinds(home: TranscriptHome, listed: str) -> None:
    (home.sessions / "sessions.json").write_bytes(listed.encode("latin-1"))
    home.write_file("a", conversation("a", 1))
    source = files_of(home)
    assert set(source.find().files) == {"sessions/a.jsonl"}
    home.write_list({"agent:main:cron:x": {"sessionId": "a"}, "agent:main:b": {"sessionFile": 7}})
    assert source.find().excluded == {"cron": 1}
    (home.sessions / "sessions.json").unlink()
    assert set(source.find().files) == {"sessions/a.jsonl"}


def test_list_has_files_and_spawning_sessions(home: TranscriptHome) -> None:
    home.write_list(
        {
            "agent:main:cron:job": {"sessionFile": "/elsewhere/sessions/a-topic-1.jsonl"},
            "agent:main:acp:x": {"sessionId": "b", "spawnedBy": "agent:main:main"},
            "agent:main:cron:other": {"sessionId": "c"},
            "agent:main:main": {"sessionId": "c"},
        }
    )
    for session_id in ("a-topic-1", "b", "c"):
        home.write_file(session_id, conversation(session_id, 1))
    transcripts = files_of(home).find()
    assert set(transcripts.files) == {"sessions/c.jsonl"}
    assert transcripts.excluded == {"cron": 1, "subagent": 1}


# --- a file that grows ------------------------------------------------------------------------------


def test_incomplete_line_is_left_out_until_complete(home: TranscriptHome) -> None:
    location = home.write_file("a", [message("user", "one")])
    record = message("assistant", "zwei und dreißig")
    source = files_of(home)
    for cut in range(len(record.encode()) + 1):
        location.write_bytes(f"{message('user', 'one')}\n".encode() + record.encode()[:cut])
        text = source.load(source.find().files["sessions/a.jsonl"])
        assert text.text == (
            "User: one" if cut < len(record.encode()) else "User: one\nAssistant: zwei und dreißig"
        )


def test_only_added_records_are_parsed(home: TranscriptHome, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def read(record: str) -> TranscriptRecord:
        seen.append(record)
        return TranscriptRecord(None)

    home.write_file("a", conversation("a", 50))
    source = files_of(home)
    (found,) = source.find().files.values()
    source.load(found)
    monkeypatch.setattr(openclaw, "read_record", read)
    home.append_file("a", ["added"])
    source.load(found)
    assert seen == ["added"]


EDITS = st.one_of(
    st.tuples(st.just("append"), st.integers(0, 3)),
    st.tuples(st.just("cut"), st.integers(0, 400)),
    st.tuples(st.just("rewrite"), st.integers(0, 3)),
    st.tuples(st.just("spoil"), st.integers(0, 10_000)),
    st.tuples(st.just("replace"), st.integers(0, 3)),
)


@settings(deadline=None)
@given(st.lists(EDITS, min_size=1, max_size=8))
def test_incremental_load_of_a_file_equals_a_full_load(edits: list[tuple[str, int]]) -> None:
    with TemporaryDirectory(dir="/tmp") as folder:
        home = TranscriptHome(Path(folder))
        location = home.write_file("a", conversation("a", 3))
        source = files_of(home)
        for name, number in edits:
            data = location.read_bytes()
            added = "".join(
                f"{message('user', f'word {n} of {number}')}\n" for n in range(number % 4)
            ).encode()
            if name == "append":
                location.write_bytes(data + added)
            elif name == "cut":
                location.write_bytes(data[: max(0, len(data) - number)])
            elif name == "rewrite":
                location.write_bytes(added)
            elif name == "spoil" and data:
                at = number % len(data)
                location.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] + added)
            elif name == "replace":
                other = location.with_name("other")
                other.write_bytes(data.replace(b"Answer", b"Anders"))
                os.replace(other, location)
            text = source.load(source.find().files["sessions/a.jsonl"])
            fresh = files_of(home)
            assert text == fresh.load(fresh.find().files["sessions/a.jsonl"])
            assert (text.text, list(text.line_map)) == flatten_transcript(_as_text(location.read_bytes()))


def _as_text(data: bytes) -> str:
    """Return a file's lines; lines that are not UTF-8 as empty ones."""
    lines = []
    for line in data.split(b"\n"):
        try:
            lines.append(redact(line.decode("utf-8"))[0])
        except UnicodeDecodeError:
            lines.append("")
    return "\n".join(lines)
