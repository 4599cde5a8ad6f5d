"""An agent's notes and transcripts, within its limits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memd.sources.agent_sources import AgentSources
from memd.sources.capacity import SourceLimits, WriteCapacity, find_capacity
from memd.sources.notes import WorkspaceNotes
from memd.sources.source import FileText, Listing, Source, SourceFile
from memd.system.safe_open import FileStat
from memd_client.errors import FileMissingError, NoteUnwritableError

WIDE = SourceLimits(1_000_000, 100, 10_000_000)


class TwoConversations(Source):
    """A source with two conversations of 50 bytes, newer than any note."""

    name = "sessions"
    is_conversation = True

    def __init__(self) -> None:
        names = ("sessions/one.jsonl", "sessions/two.jsonl")
        self.listing = Listing(
            {
                name: SourceFile(name, f"/x/{name}", 2**62 + at, 50, 1, 1, "sessions", is_conversation=True)
                for at, name in enumerate(names)
            },
            by_key={"agent:main:main": names[1]},
        )

    def find(self) -> Listing:
        """Return both."""
        return self.listing

    def load(self, found: SourceFile) -> FileText:
        """Return a transcript's text."""
        return FileText("User: hello", "hash", 1, 50, 1, 1, (3,), 1)

    def growth(self, found: SourceFile, indexed: FileStat | None) -> tuple[int, int] | None:
        """Return that a conversation grew by one message of ten bytes."""
        return 10, 1

    def close(self) -> None:
        """Do nothing."""


def sources_of(workspace: Path, limits: SourceLimits = WIDE, *others: Source) -> AgentSources:
    """Return the sources of an agent: its workspace, and others."""
    return AgentSources([WorkspaceNotes(workspace, (), limits.file_bytes), *others], limits)


def note(workspace: Path, name: str, size: int = 10) -> None:
    """Write a note of a size."""
    path = workspace / "memory" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x" * size)


def test_transcripts_are_found_but_are_not_notes(tmp_path: Path) -> None:
    note(tmp_path, "a.md")
    sources = sources_of(tmp_path, WIDE, TwoConversations())
    assert set(sources.find().files) == {"memory/a.md", "sessions/one.jsonl", "sessions/two.jsonl"}
    assert set(sources.find_notes().files) == {"memory/a.md"}


def test_notes_and_transcripts_are_loaded_from_their_source(tmp_path: Path) -> None:
    note(tmp_path, "a.md")
    sources = sources_of(tmp_path, WIDE, TwoConversations())
    found = sources.find().files
    assert sources.load(found["memory/a.md"]).text == "x" * 10
    assert sources.load(found["sessions/one.jsonl"]).line_map == (3,)
    with pytest.raises(FileMissingError):
        sources_of(tmp_path).load(found["sessions/one.jsonl"])


def test_the_same_listing_is_returned_while_no_source_changed(tmp_path: Path) -> None:
    note(tmp_path, "a.md")
    sources = sources_of(tmp_path, WIDE, TwoConversations())
    found, notes = sources.find(), sources.find_notes()
    assert sources.find() is found
    assert sources.find_notes() is notes
    note(tmp_path, "b.md")
    assert set(sources.find().files) == {*found.files, "memory/b.md"}
    assert set(found.files) == {"memory/a.md", "sessions/one.jsonl", "sessions/two.jsonl"}


def test_of_two_files_with_the_same_path_that_of_the_first_source_counts(tmp_path: Path) -> None:
    first, second = TwoConversations(), TwoConversations()
    second.name = "others"
    second.listing.files["sessions/one.jsonl"] = SourceFile("sessions/one.jsonl", "/y", 1, 1, 1, 1, "others")
    found = sources_of(tmp_path, WIDE, first, second).find()
    assert found.files == first.listing.files


def test_sources_that_could_not_be_listed_are_named(tmp_path: Path) -> None:
    broken = TwoConversations()
    broken.listing = Listing(unseen=frozenset({"sessions"}))
    found = sources_of(tmp_path / "missing", WIDE, broken).find()
    assert (found.unseen, found.is_missing) == (frozenset({"sessions"}), True)


def test_growth_is_asked_of_the_files_source(tmp_path: Path) -> None:
    note(tmp_path, "a.md")
    sources = sources_of(tmp_path, WIDE, TwoConversations())
    found = sources.find().files
    assert sources.growth(found["sessions/one.jsonl"], None) == (10, 1)
    assert sources.growth(found["memory/a.md"], None) is None
    assert sources_of(tmp_path).growth(found["sessions/one.jsonl"], None) is None


def test_conversation_is_found_by_its_key_also_from_the_run_that_searches_memory(tmp_path: Path) -> None:
    sources = sources_of(tmp_path, WIDE, TwoConversations())
    for key in ("agent:main:main", " agent:main:main ", "agent:main:main:active-memory:0123456789ab"):
        assert sources.find_session(key) == "sessions/two.jsonl"
    assert sources.find_session("agent:main:other") is None


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
    disk = sources_of(tmp_path, limits, TwoConversations()).find()
    assert set(disk.files) == {"memory/a.md", "memory/b.md", "sessions/two.jsonl"}
    assert disk.beyond_limits == 1


def test_files_of_memd_have_precedence_over_newer_notes_beyond_the_limits(tmp_path: Path) -> None:
    for age, name in enumerate(["new.md", "2026-11-24.md", "2026-11-24-2.md", "facts.md", "facts-2.md"]):
        note(tmp_path, name)
        os.utime(tmp_path / "memory" / name, (1_000 - age, 1_000 - age))
    disk = sources_of(tmp_path, SourceLimits(1_000_000, 4, 40)).find()
    assert set(disk.files) == {
        "memory/2026-11-24.md",
        "memory/2026-11-24-2.md",
        "memory/facts.md",
        "memory/facts-2.md",
    }


def test_large_file_counts_with_its_indexed_size(tmp_path: Path) -> None:
    note(tmp_path, "big.md", 1_000)
    note(tmp_path, "a.md")
    disk = sources_of(tmp_path, SourceLimits(100, 10, 110)).find()
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
