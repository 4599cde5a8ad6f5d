"""Listing of annotated entries: selection, order and parts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memd.settings.schema import Chunking
from memd.sync.listing import list_curated
from memd.sync.sources import SourceLimits, Sources
from memd_client.messages import CuratedEntriesParams, CuratedEntry

LIMITS = SourceLimits(100_000, 1_000, 1_000_000)

MEMORY = """- tea at five <!-- trigger: tea; five --> <!-- importance: 3 -->
- the anvil is dented <!-- project: A.com/x; b --> <!-- importance: 9 -->
- anvil and tea <!-- project: b --> <!-- trigger: anvil -->
- unreadable <!-- project: --> <!-- trigger: unreadable -->
- nothing said
"""
USER = "- short answers <!-- trigger: style --> <!-- importance: 3 --> <!-- project: zzz -->\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with both notes."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "MEMORY.md").write_text(MEMORY)
    (tmp_path / "USER.md").write_text(USER)
    (tmp_path / "memory" / "a.md").write_text(MEMORY)
    return tmp_path


def listed(
    workspace: Path, kind: str = "triggers", chunking: Chunking | None = None, **asked: object
) -> list[CuratedEntry]:
    """Return the entries that are listed."""
    sources = Sources(workspace, (), LIMITS, None)
    params = CuratedEntriesParams(kind=kind, **asked)  # type: ignore[arg-type]
    return list_curated(sources, chunking or Chunking(), params)


def places(entries: list[CuratedEntry]) -> list[tuple[str, int]]:
    """Return the positions of entries."""
    return [(entry.path, entry.start_line) for entry in entries]


def test_triggers_are_listed_by_importance_then_position(workspace: Path) -> None:
    entries = listed(workspace)

    assert places(entries) == [("MEMORY.md", 1), ("USER.md", 1), ("MEMORY.md", 3)]
    os.utime(workspace / "MEMORY.md", ns=(5_000_000, 7_999_999))
    assert listed(workspace)[0] == CuratedEntry(
        path="MEMORY.md",
        start_line=1,
        end_line=1,
        text="- tea at five",
        importance=3,
        triggers=["tea", "five"],
        projects=[],
        mtime_ms=7,
    )


@pytest.mark.parametrize(
    ("active", "triggers", "projects"),
    [
        (None, [1, 1, 3], []),
        ([], [1, 1], []),
        (["b"], [1, 1, 3], [3]),
        ([" b ", "a.com/x"], [1, 1, 3], [2, 3]),
        (["A.com/x"], [1, 1], []),
    ],
)
def test_entries_about_other_projects_than_the_active_ones_are_left_out(
    workspace: Path, active: list[str] | None, triggers: list[int], projects: list[int]
) -> None:
    assert [entry.start_line for entry in listed(workspace, active_projects=active)] == triggers
    assert [entry.start_line for entry in listed(workspace, "projects", active_projects=active)] == projects


def test_limit_and_paths_filter_the_entries(workspace: Path) -> None:
    assert places(listed(workspace, limit=2)) == [("MEMORY.md", 1), ("USER.md", 1)]
    assert places(listed(workspace, paths=["USER.md"])) == [("USER.md", 1)]
    assert listed(workspace, paths=[]) == []


def test_projects_have_a_default_limit_of_48(workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text("- item <!-- project: a --> <!-- trigger: x -->\n" * 100)

    assert len(listed(workspace, "projects", active_projects=["a"])) == 48
    assert len(listed(workspace, "projects", active_projects=["a"], limit=99)) == 99
    assert len(listed(workspace, paths=["MEMORY.md"])) == 100


def test_missing_and_unreadable_notes_have_no_entries(workspace: Path) -> None:
    (workspace / "MEMORY.md").write_bytes(b"- tea \xff <!-- trigger: tea -->\n")
    assert places(listed(workspace)) == [("USER.md", 1)]
    (workspace / "USER.md").unlink()
    (workspace / "USER.md").symlink_to(workspace / "memory" / "a.md")
    assert listed(workspace) == []


def test_long_item_is_split_and_each_part_has_its_annotations(
    workspace: Path,
) -> None:
    body = "".join(f"  line {number}\n" for number in range(40))
    text = f"# Head <!-- trigger: head -->\n{body}- item <!-- trigger: item -->\n{body}"
    (workspace / "MEMORY.md").write_text(text)

    entries = listed(workspace, chunking=Chunking(tokens=50, overlap=0), paths=["MEMORY.md"])

    items = [entry for entry in entries if entry.triggers == ["item"]]
    assert [entry.triggers for entry in entries if entry.start_line < 42] == [["head"]]
    assert len(items) > 1
    shown = text[text.index("- item") :].replace(" <!-- trigger: item -->", "")
    assert "\n".join(entry.text for entry in items) == shown.rstrip("\n")
