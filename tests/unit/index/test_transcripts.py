"""Line maps of transcripts in the index."""

from __future__ import annotations

import msgspec
import pytest

from memd.index.database import transaction
from memd.index.files import forget_file
from memd.index.schema import MIGRATIONS
from memd.index.transcripts import (
    SessionFacts,
    StoredTranscript,
    count_by_source,
    count_transcripts,
    load_line_maps,
    load_said,
    load_session_facts,
    store_transcript,
)
from memd.sync.text.file_rows import cut_conversations
from memd.text.cut.chunking import Chunk, chunk_text, cut_chunks
from memd_client.agent_parts import UnknownType
from tests.support.indexes import new_index, publish, publish_note

PATH = "sessions/s.jsonl"


def test_stored_line_map_is_loaded_unchanged() -> None:
    db = new_index(extension=False)
    with transaction(db):
        store_transcript(db, PATH, StoredTranscript([2, 3, 5, 2**40], redactions=4))
    assert list(load_line_maps(db, [PATH, "sessions/other.jsonl"])[PATH]) == [2, 3, 5, 2**40]
    with transaction(db):
        store_transcript(db, PATH, StoredTranscript([2], redactions=1))
    assert list(load_line_maps(db, [PATH])[PATH]) == [2]
    counts = count_transcripts(db)
    assert (counts.transcripts, counts.messages, counts.redactions) == (1, 1, 1)


@pytest.mark.parametrize("resets", [[], [1, 4, 7]])
@pytest.mark.parametrize("scheme", ["default", "openclaw"])
def test_messages_of_a_transcript_are_those_that_were_cut(scheme: str, resets: list[int]) -> None:
    db = new_index(extension=False)
    said = [
        f"{speaker}: {number} {'word ' * 40 * number}ü."
        for number in range(12)
        for speaker in ("User", "Assistant")
    ]

    def cut(text: str, path: str) -> list[Chunk]:
        return chunk_text(text, 60, 20) if scheme == "openclaw" else cut_chunks(text, path)

    publish_note(
        db,
        PATH,
        "\n".join(said),
        "sessions",
        lambda text, path: cut_conversations(text, resets, lambda part: cut(part, path)),
    )
    assert [line.rstrip() for line in load_said(db, PATH)] == [line.rstrip() for line in said]
    assert load_said(db, "sessions/other.jsonl") == [""]


def test_forgotten_transcript_has_no_line_map() -> None:
    db = new_index(extension=False)
    publish(db, PATH, ["User: hello"], source="sessions")
    with transaction(db):
        store_transcript(db, PATH, StoredTranscript([1], redactions=0))
        forget_file(db, PATH)
    assert load_line_maps(db, [PATH]) == {}
    assert count_transcripts(db).transcripts == 0


def test_unknown_types_are_added_up_by_source_with_the_newest_release_of_each() -> None:
    db = new_index(extension=False)
    rows = [
        ("claude-code", 2, "2.1.340", '{"progress-v2":9,"foo":1}'),
        ("claude-code", 1, "2.1.338", '{"progress-v2":2,"bar":4}'),
        ("claude-code", 3, "", '{"foo":1}'),
        ("codex", 4, "0.171.0", ""),
    ]
    with transaction(db):
        for number, (program, updated_ms, release, types) in enumerate(rows):
            facts = SessionFacts(program, updated_ms=updated_ms, release=release, unknown_types=types)
            store_transcript(db, f"{program}/{number}", StoredTranscript([1], facts=facts))
    counts = count_by_source(db)
    assert counts["claude-code"].unknown_types == [
        UnknownType("progress-v2", 11, "2.1.340"),
        UnknownType("bar", 4, "2.1.338"),
        UnknownType("foo", 2, "2.1.340"),
    ]
    assert counts["codex"].unknown_types == ()
    assert load_session_facts(db, ["claude-code/1"])["claude-code/1"].release == "2.1.338"


def test_index_of_an_earlier_release_reads_sessions_with_unknown_records_again() -> None:
    db = new_index(extension=False)
    for path in ("codex/a", "codex/b"):
        publish(db, path, ["User: hello"], source="codex")
    with transaction(db):
        store_transcript(db, "codex/a", StoredTranscript([1], facts=SessionFacts("codex", "a", unknown=3)))
        store_transcript(db, "codex/b", StoredTranscript([1], facts=SessionFacts("codex", "b")))
    for column in ("release", "unknown_types"):
        db.execute(f"ALTER TABLE transcripts DROP COLUMN {column}")
    with transaction(db):
        MIGRATIONS[6](db)
    assert [*db.execute("SELECT path, hash != '' FROM files ORDER BY path")] == [
        ("codex/a", 0),
        ("codex/b", 1),
    ]
    assert load_session_facts(db, ["codex/a"])["codex/a"] == SessionFacts("codex", "a", unknown=3)
    assert count_by_source(db)["codex"].unknown_types == ()


def test_facts_in_copies_of_earlier_releases_are_read() -> None:
    facts = SessionFacts("codex", "a", title="Ports", unknown=3)
    assert msgspec.json.decode(msgspec.json.encode(facts[:-4]), type=SessionFacts) == facts
