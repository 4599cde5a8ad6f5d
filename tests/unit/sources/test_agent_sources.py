"""An agent's notes and transcripts, within its limits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memd.sources.agent_sources import SourceLimits, Sources
from memd.sources.capacity import WriteCapacity, find_capacity
from memd.sources.discover import SourceFile
from memd.sources.read import FileText
from memd.sources.source import Transcripts
from memd_client.errors import FileMissingError, NoteUnwritableError

WIDE = SourceLimits(1_000_000, 100, 10_000_000)


class TwoTranscripts:
    """A session source with two transcripts of 50 bytes, newer than any note."""

    def find(self) -> Transcripts:
        """Return both."""
        names = ("sessions/one.jsonl", "sessions/two.jsonl")
        return Transcripts(
            {
                name: SourceFile(name, f"/x/{name}", 2**62 + at, 50, 1, 1, "sessions", is_talk=True)
                for at, name in enumerate(names)
            }
        )

    def load(self, found: SourceFile) -> FileText:
        """Return a transcript's text."""
        return FileText("User: hello", "hash", 1, 50, 1, 1, (3,), 1)

    def close(self) -> None:
        """Do nothing."""


def note(workspace: Path, name: str, size: int = 10) -> None:
    """Write a note of a size."""
    path = workspace / "memory" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x" * size)


def test_transcripts_are_found_but_are_not_notes(tmp_path: Path) -> None:
    note(tmp_path, "a.md")
    sources = Sources(tmp_path, (), WIDE, TwoTranscripts())
    assert set(sources.find().files) == {"memory/a.md", "sessions/one.jsonl", "sessions/two.jsonl"}
    assert set(sources.find_notes().files) == {"memory/a.md"}


def test_notes_and_transcripts_are_loaded_from_their_source(tmp_path: Path) -> None:
    note(tmp_path, "a.md")
    sources = Sources(tmp_path, (), WIDE, TwoTranscripts())
    found = sources.find().files
    assert sources.load(found["memory/a.md"]).text == "x" * 10
    assert sources.load(found["sessions/one.jsonl"]).line_map == (3,)
    with pytest.raises(FileMissingError):
        Sources(tmp_path, (), WIDE, None).load(found["sessions/one.jsonl"])


@pytest.mark.parametrize(
    "limits",
    [SourceLimits(1_000_000, 3, 10_000_000), SourceLimits(1_000_000, 100, 80)],
    ids=["files", "bytes"],
)
def test_notes_have_precedence_over_transcripts_beyond_the_limits(
    tmp_path: Path, limits: SourceLimits
) -> None:
    note(tmp_path, "a.md")
    note(tmp_path, "b.md")
    disk = Sources(tmp_path, (), limits, TwoTranscripts()).find()
    assert set(disk.files) == {"memory/a.md", "memory/b.md", "sessions/two.jsonl"}
    assert disk.beyond_limits == 1


def test_files_of_memd_have_precedence_over_newer_notes_beyond_the_limits(tmp_path: Path) -> None:
    for age, name in enumerate(["new.md", "2026-11-24.md", "2026-11-24-2.md", "facts.md", "facts-2.md"]):
        note(tmp_path, name)
        os.utime(tmp_path / "memory" / name, (1_000 - age, 1_000 - age))
    disk = Sources(tmp_path, (), SourceLimits(1_000_000, 4, 40), None).find()
    assert set(disk.files) == {
        "memory/2026-11-24.md",
        "memory/2026-11-24-2.md",
        "memory/facts.md",
        "memory/facts-2.md",
    }


def test_large_file_counts_with_its_indexed_size(tmp_path: Path) -> None:
    note(tmp_path, "big.md", 1_000)
    note(tmp_path, "a.md")
    disk = Sources(tmp_path, (), SourceLimits(100, 10, 110), None).find()
    assert set(disk.files) == {"memory/big.md", "memory/a.md"}
    assert [each.path for each in disk.partial] == ["memory/big.md"]


def test_capacity_is_the_limits_minus_files_written_by_memd(tmp_path: Path) -> None:
    limits = SourceLimits(100, 5, 250)
    assert find_capacity(tmp_path, limits) == WriteCapacity(100, 5, 250)
    for name in ("facts.md", "2026-11-24-2.md", "2026-11-24-plans.md", "other.md"):
        note(tmp_path, name, 60)
    assert find_capacity(tmp_path, limits) == WriteCapacity(100, 2, 70)


@pytest.mark.parametrize(
    ("room", "is_new", "limit"),
    [
        (WriteCapacity(100, 0, 100), True, "max_agent_files"),
        (WriteCapacity(100, 0, 100), False, None),
        (WriteCapacity(100, 1, 9), True, "max_agent_mb"),
        (WriteCapacity(100, 1, 10), True, None),
    ],
)
def test_addition_beyond_the_capacity_is_refused(
    room: WriteCapacity, is_new: bool, limit: str | None
) -> None:
    if limit is None:
        room.require("memory/facts.md", 10, is_new=is_new)
        return
    with pytest.raises(NoteUnwritableError, match=f"the limit `{limit}`"):
        room.require("memory/facts.md", 10, is_new=is_new)
