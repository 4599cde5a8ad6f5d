"""How much growth of a transcript is worth indexing before anybody asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.index.files import FileRow
from memd.settings.schema import SessionSync
from memd.sync.disk.discover import Found
from memd.sync.transcripts.growth import has_grown

LIMITS = SessionSync(delta_bytes=1000, delta_messages=5)


def file(path: Path, lines: int, width: int = 10) -> Found:
    """Write a transcript of so many lines, and return it as a stat tells it."""
    path.write_text(("x" * (width - 1) + "\n") * lines)
    facts = path.stat()
    return Found("sessions/s.jsonl", str(path), 1, facts.st_size, 7, 1, "sessions")


def row(size: int, inode: int = 7) -> FileRow:
    """Return the transcript as it was indexed at a size."""
    return FileRow("sessions/s.jsonl", "sessions", "hash", 1, size, inode, 1, 1)


@pytest.mark.parametrize(
    ("lines", "indexed", "grown"),
    [(10, 100, False), (14, 100, False), (15, 100, True), (3, 100, True), (5, 0, True), (4, 0, False)],
)
def test_messages_count_by_lines_and_a_shorter_file_always(
    tmp_path: Path, lines: int, indexed: int, grown: bool
) -> None:
    assert has_grown(file(tmp_path / "s.jsonl", lines), row(indexed), LIMITS) is grown


def test_bytes_count_without_reading_the_file(tmp_path: Path) -> None:
    found = Found("sessions/s.jsonl", str(tmp_path / "gone"), 1, 1100, 7, 1, "sessions")
    assert has_grown(found, row(100), LIMITS)
    assert not has_grown(found, row(101), LIMITS)


def test_another_file_of_that_name_counts(tmp_path: Path) -> None:
    assert has_grown(file(tmp_path / "s.jsonl", 1), row(10, inode=8), LIMITS)


def test_a_session_in_a_database_counts_its_events() -> None:
    def session(last_event: int) -> Found:
        return Found("sessions/s.jsonl", "/x.sqlite", 1, 10, last_event, 0, "sessions")

    assert has_grown(session(12), row(10, inode=7), LIMITS)
    assert not has_grown(session(11), row(10, inode=7), LIMITS)
    assert has_grown(session(5), None, LIMITS)
