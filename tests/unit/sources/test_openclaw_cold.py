"""Cold archives: events that OpenClaw moved out of its database belong to their transcripts."""

from __future__ import annotations

import pytest
import zstandard

from memd.programs.packed import decompress
from memd.sources.databases import ConversationDatabases
from memd_client.errors import FileUnreadableError
from tests.support.transcripts import (
    OpenClawDatabase,
    TranscriptHome,
    conversation,
    header,
    message,
    text_of,
)


@pytest.mark.parametrize("embedded", [False, True])
@pytest.mark.parametrize("up_to", [None, 4])
def test_cold_and_hot_events_form_one_transcript(
    openclaw: OpenClawDatabase, source: ConversationDatabases, embedded: bool, up_to: int | None
) -> None:
    openclaw.add_session("a", conversation("a", 3))
    before = source.load(source.find().files["sessions/a.jsonl"])
    openclaw.freeze("a", up_to=up_to, embedded=embedded)
    found = source.find()
    after = source.load(found.files["sessions/a.jsonl"])
    assert (after.text, after.line_map, after.hash) == (before.text, before.line_map, before.hash)
    assert after.inode == before.inode == found.files["sessions/a.jsonl"].inode
    assert found.problems == []
    openclaw.append("a", [message("user", "back again")])
    assert text_of(source, "a").startswith("User: Question 0" if up_to is not None else "User:")


def test_events_both_cold_and_hot_are_read_once(
    openclaw: OpenClawDatabase, source: ConversationDatabases
) -> None:
    records = conversation("a", 2)
    openclaw.add_session("a", records)
    openclaw.freeze("a")
    openclaw.append("a", records)
    assert len(text_of(source, "a").split("\n")) == 4


def test_archive_of_plain_records_is_read(
    home: TranscriptHome, openclaw: OpenClawDatabase, source: ConversationDatabases
) -> None:
    data = zstandard.ZstdCompressor().compress("\n".join(conversation("a", 2)).encode())
    home.cold.mkdir()
    (home.cold / "elsewhere.jsonl.zst").write_bytes(data)
    openclaw.db.execute(
        "DROP TABLE session_transcript_cold_archives;"
        "CREATE TABLE session_transcript_cold_archives (archive TEXT, for_session TEXT, note TEXT);"
        "INSERT INTO session_transcript_cold_archives VALUES ('/old/cold/elsewhere.jsonl.zst', 'a', NULL)"
    )
    loaded = source.load(source.find().files["sessions/a.jsonl"])
    assert loaded.line_map == (2, 4, 5, 7)
    openclaw.add_session("a", [header("a"), message("user", "and hot")])
    assert text_of(source, "a").endswith("User: and hot")


def test_missing_archive_is_reported_and_hot_events_are_read(
    openclaw: OpenClawDatabase, source: ConversationDatabases
) -> None:
    openclaw.add_session("a", conversation("a", 1))
    openclaw.add_session("b", conversation("b", 3))
    openclaw.freeze("a").unlink()
    lost = openclaw.freeze("b", up_to=3)
    kept = lost.read_bytes()
    lost.unlink()
    transcripts = source.find()
    assert set(transcripts.files) == {"sessions/b.jsonl"}
    assert [skipped.path for skipped in transcripts.skipped] == ["sessions/a.jsonl"]
    (problem,) = transcripts.problems
    assert problem.code == "openclaw_database"
    assert "the cold history of 2 sessions" in problem.message
    assert text_of(source, "b").startswith("User: Question 1")
    assert [skipped.path for skipped in source.find().skipped][1:] == ["sessions/b.jsonl (cold history)"]
    lost.write_bytes(kept)
    openclaw.append("b", [message("user", "restored")])
    assert text_of(source, "b").startswith("User: Question 0")
    assert [skipped.path for skipped in source.find().skipped] == ["sessions/a.jsonl"]


def test_deleted_database_has_no_missing_history(
    home: TranscriptHome, openclaw: OpenClawDatabase, source: ConversationDatabases
) -> None:
    openclaw.add_session("a", conversation("a", 1))
    openclaw.freeze("a").unlink()
    assert len(source.find().problems) == 1
    for leftover in home.database.parent.iterdir():
        leftover.unlink()
    listing = source.find()
    assert (listing.files, listing.skipped, listing.problems) == ({}, [], [])


@pytest.mark.parametrize("data", [b"", b"garbage", zstandard.ZstdCompressor().compress(b"{}")])
def test_archive_with_a_wrong_checksum_is_refused(
    openclaw: OpenClawDatabase, source: ConversationDatabases, data: bytes
) -> None:
    openclaw.add_session("a", conversation("a", 1))
    archive = openclaw.freeze("a")
    (found,) = source.find().files.values()
    archive.write_bytes(data)
    with pytest.raises(FileUnreadableError) as caught:
        source.load(found)
    assert caught.value.data["reason"] == "damaged"


def test_archive_that_is_a_link_or_has_no_file_is_refused(
    home: TranscriptHome, openclaw: OpenClawDatabase, source: ConversationDatabases
) -> None:
    openclaw.add_session("a", conversation("a", 1))
    archive = openclaw.freeze("a")
    (found,) = source.find().files.values()
    archive.rename(home.cold / "real")
    archive.symlink_to(home.cold / "real")
    with pytest.raises(FileUnreadableError):
        source.load(found)
    openclaw.db.execute(
        "UPDATE session_transcript_cold_archives SET archive_name = '../../x', archive_sha256 = 'y'"
    )
    transcripts = source.find()
    assert (transcripts.files, len(transcripts.problems)) == ({}, 1)


def test_frame_never_expands_beyond_the_limit() -> None:
    frame = zstandard.ZstdCompressor().compress(b"x" * 5_000)
    assert decompress(frame, 5_000, "x") == b"x" * 5_000
    with pytest.raises(FileUnreadableError) as caught:
        decompress(frame, 4_999, "sessions/a")
    assert "sessions/a" in caught.value.message
    pieces = zstandard.ZstdCompressor().compressobj()
    unsized = pieces.compress(b"y" * 90_000) + pieces.flush()
    assert decompress(unsized, 90_000, "x") == b"y" * 90_000
    for damaged in (unsized[:-1], b"", b"\x28\xb5\x2f\xfd", b"{}"):
        with pytest.raises(FileUnreadableError):
            decompress(damaged, 90_000, "x")
