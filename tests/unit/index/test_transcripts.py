"""Line maps of transcripts in the index."""

from __future__ import annotations

from memd.index.database import transaction
from memd.index.files import forget_file
from memd.index.transcripts import StoredTranscript, count_transcripts, load_line_maps, store_transcript
from tests.support.indexes import new_index, publish

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


def test_forgotten_transcript_has_no_line_map() -> None:
    db = new_index(extension=False)
    publish(db, PATH, ["User: hello"], source="sessions")
    with transaction(db):
        store_transcript(db, PATH, StoredTranscript([1], redactions=0))
        forget_file(db, PATH)
    assert load_line_maps(db, [PATH]) == {}
    assert count_transcripts(db).transcripts == 0
