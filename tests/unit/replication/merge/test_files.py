"""Merges of notes by path, and the names and texts of files of conflicts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.replication.check import path_problem
from memd.replication.merge.files import (
    Sides,
    conflict_entry,
    conflict_folder_prefix,
    is_conflict_with,
    merge_note,
    merge_one,
    original_of,
)
from memd.replication.merge.texts import ConflictLines, MergedText

SIDES = Sides("laptop", "desktop", "2026-11-26")

LOST = [ConflictLines(3, ("- theirs", "- more")), ConflictLines(9, ("last",))]

FACTS = "memory/facts.md"


def test_notes_are_merged_by_the_kind_of_their_path() -> None:
    versions = ("- a\n", "- ours\n", "- theirs\n")
    curated = merge_note("MEMORY.md", *versions, SIDES)
    assert curated == MergedText("- ours\n", [ConflictLines(1, ("- theirs",))])
    assert merge_note("memory/2026-11-26.md", *versions, SIDES) == MergedText("- ours\n- theirs\n")


def test_entries_of_the_earlier_machine_come_first() -> None:
    sides = Sides("laptop", "desktop", "2026-11-26", theirs_first=True)
    merged = merge_note("memory/2026-11-26.md", "", "- ours\n", "- theirs\n", sides)
    assert merged.text == "- theirs\n- ours\n"


def test_file_of_conflicts_names_machine_note_and_lines() -> None:
    path, text = conflict_entry("memory/people/ann.md", LOST, SIDES, "")
    assert path == "memory/conflicts/2026-11-26-desktop-people-ann.md"
    assert text == (
        "# Lines of desktop that conflict with memory/people/ann.md of laptop\n\n"
        "## memory/people/ann.md line 3\n\n- theirs\n- more\n\n"
        "## memory/people/ann.md line 9\n\nlast\n"
    )


def test_further_conflicts_are_added_to_the_text() -> None:
    _, text = conflict_entry("a.md", LOST[1:], SIDES, "# earlier\n\n\n")
    assert text == "# earlier\n\n## a.md line 9\n\nlast\n"


@pytest.mark.parametrize(
    "path",
    [
        "MEMORY.md",
        "memory/people/ann.md",
        "memory/" + "long/" * 20 + "note.md",
        "memory/" + "长" * 70 + ".md",
        "memory/" + "长" * 30 + "/" + "名" * 60 + ".md",
        "memory/" + "\U0001f469\u200d\U0001f4bb" * 20 + ".md",
    ],
)
def test_file_of_conflicts_of_any_note_has_a_usable_name(path: str) -> None:
    sides = Sides("laptop", "\U00020000" * 40, "2026-11-26")
    conflict, _ = conflict_entry(path, LOST, sides, "")
    assert path_problem(conflict) is None
    assert conflict.startswith(conflict_folder_prefix(sides))
    assert conflict.endswith(".md")
    assert original_of(conflict, {path: 1, "memory/other.md": 1}) == path
    assert is_conflict_with(conflict, path)


@given(st.lists(st.text("ab/长-", min_size=1, max_size=60), min_size=2, max_size=2, unique=True))
def test_files_of_conflicts_with_different_notes_have_different_names(names: list[str]) -> None:
    paths = [f"memory/{name}.md" for name in names]
    conflicts = [conflict_entry(path, LOST, SIDES, "")[0] for path in paths]
    is_flat_equal = paths[0].replace("/", "-") == paths[1].replace("/", "-")
    assert (conflicts[0] == conflicts[1]) is is_flat_equal
    assert is_conflict_with(conflicts[0], paths[1]) is is_flat_equal


def test_file_of_conflicts_with_a_longer_name_is_another_notes() -> None:
    conflict = conflict_entry("memory/team-ann.md", LOST, SIDES, "")[0]
    assert not is_conflict_with(conflict, "memory/ann.md")
    assert not is_conflict_with("memory/2026-11-26-desktop-ann.md", "memory/ann.md")


def test_original_of_an_unknown_note_is_the_name_in_the_path() -> None:
    assert original_of("memory/conflicts/2026-11-26-desktop-ann.md", {}) == "ann.md"


def test_note_that_changed_meanwhile_is_merged() -> None:
    merged = merge_one("MEMORY.md", "a\nb\n", "A\nb\n", "a\nB\n", SIDES, 10)
    assert merged == MergedText("A\nB\n")


def test_facts_that_changed_meanwhile_are_merged_with_the_local_edit() -> None:
    base, ours, theirs = (f"- {text} <!-- fact id=A1 -->\n" for text in ("tea", "coffee", "water"))
    assert merge_one(FACTS, base, ours, theirs, SIDES, 10).text == ours
    assert merge_one(FACTS, base, "", theirs, SIDES, 10).text == ""
    assert merge_one(FACTS, base, base, theirs, SIDES, 10).text == theirs
