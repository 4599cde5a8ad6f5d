"""Three-way merges of notes: nothing is lost, nothing is doubled, and Markdown stays intact."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.replication.merge.texts import MergedText, is_append_style, merge_texts
from tests.support.sampling import one_in
from tests.unit.replication.note_edits import EDITS, FENCE, EditedNote, block_of, edited_notes

TEXTS = st.lists(st.sampled_from(["a", "b", "- c", "## d", "", FENCE, "10:30 e", "  f"]), max_size=10).map(
    "\n".join
)

MOVED = ["a", "b", "- c", "- d", "e", "", "  f", "10:30 g"]

NEWLINE = "\n"

LONG_FUZZ = 20_000
"""Examples of a long run."""


def merge(note: EditedNote, *, is_appended: bool, theirs_first: bool = False) -> MergedText:
    """Merge an edited note."""
    return merge_texts(note.base, note.ours, note.theirs, is_appended=is_appended, theirs_first=theirs_first)


def lines_of(text: str) -> Counter[str]:
    """Return how often a text has each line with words."""
    return Counter(line for line in text.splitlines() if line.strip() and line != FENCE)


def outside_code(text: str) -> Counter[str]:
    """Return the lines with words that are in no fenced code block."""
    lines, is_code = Counter[str](), False
    for line in text.splitlines():
        is_code ^= line == FENCE
        if line.strip() and line != FENCE and not is_code:
            lines[line] += 1
    return lines


def check_lines(note: EditedNote, merged: MergedText) -> None:
    """Check that a merge loses, doubles and restores no line."""
    base, ours, theirs, result = map(lines_of, (note.base, note.ours, note.theirs, merged.text))
    conflicts = {line for each in merged.conflicts for line in each.lines}
    assert set(ours - base) <= set(result)
    assert set(theirs - base) <= set(result) | conflicts
    base, ours, theirs, result = map(outside_code, (note.base, note.ours, note.theirs, merged.text))
    assert not [line for line in base if line in result and not (line in ours and line in theirs)]
    assert set(base & ours & theirs) <= set(result)
    assert max(result.values(), default=1) == 1


def check_markdown(merged: MergedText) -> None:
    """Check that code blocks are whole, and that no two blocks became one."""
    lines, is_code = merged.text.splitlines(), False
    for line, following in pairwise([*lines, "", ""]):
        is_code ^= line == FENCE
        is_plain = line.startswith("block") and not is_code
        if (is_code and line != FENCE) or (is_plain and following.startswith("block")):
            assert not following.strip() or following == FENCE or block_of(following) == block_of(line)
        if line.startswith("-") and not is_code:
            assert not following.startswith("block")
    assert not is_code


@pytest.mark.parametrize("is_appended", [True, False])
@given(note=edited_notes(), theirs_first=st.booleans())
def test_merge_of_edited_notes_loses_and_doubles_no_line(
    note: EditedNote, theirs_first: bool, is_appended: bool
) -> None:
    merged = merge(note, is_appended=is_appended, theirs_first=theirs_first)
    check_lines(note, merged)
    check_markdown(merged)


@pytest.mark.long
@pytest.mark.parametrize("is_appended", [True, False])
@settings(max_examples=LONG_FUZZ)
@given(note=edited_notes(), theirs_first=st.booleans())
def test_long_fuzz_of_edited_notes_loses_and_doubles_no_line(
    note: EditedNote, theirs_first: bool, is_appended: bool
) -> None:
    merged = merge(note, is_appended=is_appended, theirs_first=theirs_first)
    check_lines(note, merged)
    check_markdown(merged)


@pytest.mark.parametrize("is_appended", [True, False])
@given(note=edited_notes((*EDITS, "move", "move")))
def test_merge_of_moved_blocks_loses_no_line_and_doubles_none_that_both_moved(
    note: EditedNote, is_appended: bool
) -> None:
    merged = merge(note, is_appended=is_appended)
    base, ours, theirs, result = map(lines_of, (note.base, note.ours, note.theirs, merged.text))
    conflicts = {line for each in merged.conflicts for line in each.lines}
    assert set(ours - base) <= set(result)
    assert set(theirs - base) <= set(result) | conflicts
    base, ours, theirs, result = map(outside_code, (note.base, note.ours, note.theirs, merged.text))
    assert set(base & ours & theirs) <= set(result)
    kept = base & ours & theirs
    assert not [line for line in kept if result[line] > 1 and not line.startswith("#")]
    check_markdown(merged)


@pytest.mark.parametrize("is_appended", [True, False])
@given(base=st.permutations(MOVED), ours=st.permutations(MOVED), theirs=st.permutations(MOVED))
def test_merge_of_lines_in_any_order_has_each_once(
    base: list[str], ours: list[str], theirs: list[str], is_appended: bool
) -> None:
    note = EditedNote(*(f"{NEWLINE.join(lines)}\n" for lines in (base, [*ours, "ours"], ["theirs", *theirs])))
    merged = merge(note, is_appended=is_appended)
    lines = lines_of(merged.text) + Counter(line for each in merged.conflicts for line in each.lines)
    assert lines == Counter([*filter(None, MOVED), "ours", "theirs"])


@pytest.mark.parametrize(("kinds", "is_appended"), one_in(2, [(3, True), (200_000, False)]))
def test_merge_of_200_000_short_lines_ends_soon_and_loses_none(kinds: int, is_appended: bool) -> None:
    random = Random(7)
    base = [str(random.randrange(kinds)) for _ in range(200_000)]
    ours, theirs = (list(base) for _ in range(2))
    for number in range(2_000):
        ours[random.randrange(len(ours))] = f"ours {number}"
        theirs.insert(random.randrange(len(theirs)), f"theirs {number}")
    note = EditedNote(*map(NEWLINE.join, (base, ours, theirs)))
    merged = merge(note, is_appended=is_appended)  # with quadratic work, it takes minutes
    lines = {*merged.text.splitlines(), *(line for each in merged.conflicts for line in each.lines)}
    assert {line for line in [*ours, *theirs] if " " in line} <= lines


@given(note=edited_notes())
def test_merge_on_either_machine_has_the_same_lines(note: EditedNote) -> None:
    mine = merge(note, is_appended=True)
    others = merge(EditedNote(note.base, note.theirs, note.ours), is_appended=True, theirs_first=True)
    assert lines_of(mine.text) == lines_of(others.text)


@pytest.mark.parametrize("is_appended", [True, False])
@given(base=TEXTS, side=TEXTS)
def test_merge_of_one_changed_side_is_that_side(base: str, side: str, is_appended: bool) -> None:
    for ours, theirs in ((side, side), (base, side), (side, base)):
        assert merge(EditedNote(base, ours, theirs), is_appended=is_appended) == MergedText(side)


@pytest.mark.parametrize("is_appended", [True, False])
@given(base=TEXTS, ours=TEXTS, theirs=TEXTS)
def test_merge_of_any_texts_has_every_added_line(
    base: str, ours: str, theirs: str, is_appended: bool
) -> None:
    merged = merge(EditedNote(base, ours, theirs), is_appended=is_appended)
    before, mine, others, result = map(lines_of, (base, ours, theirs, merged.text))
    conflicts = {line for each in merged.conflicts for line in each.lines}
    assert set(mine) - set(before) <= set(result)
    assert set(others) - set(before) <= set(result) | conflicts
    assert not (is_appended and conflicts)


def test_entry_that_both_machines_moved_appears_once() -> None:
    note = EditedNote("- a\n- b\n- c\n- d\n", "- b\n- c\n- d\n- a\n", "- b\n- a\n- c\n- d\n")
    assert merge(note, is_appended=False).text == note.ours


def test_fact_that_both_machines_added_at_different_places_appears_once() -> None:
    base = "# Memory\n\n## People\n- Ann\n\n## Food\n- tea\n"
    ours = base.replace("- Ann\n", "- Ann\n- Bob likes pie\n")
    theirs = base.replace("- tea\n", "- tea\n- Bob likes pie\n")
    assert merge(EditedNote(base, ours, theirs), is_appended=False).text == ours


def test_line_that_one_machine_moved_into_a_conflict_is_kept() -> None:
    base = "- a\n- b\n\n## Title\n\n- c\n"
    note = EditedNote(base, base.replace("- c", "ours"), "- a\n\n## Title\n\n- theirs\n- b\n")
    merged = merge(note, is_appended=False)
    assert merged.text == "- a\n\n## Title\n\nours\n- b\n"
    assert [each.lines for each in merged.conflicts] == [("- theirs",)]


def test_headings_that_both_machines_added_stay_above_their_text() -> None:
    base = "# Memory\n\ntext\n\nmore\n"
    ours = base.replace("text\n", "text\n\n## Plans\n- ours\n")
    theirs = base + "\n## Plans\n- theirs\n"
    merged = merge(EditedNote(base, ours, theirs), is_appended=False).text
    assert "## Plans\n- ours\n" in merged
    assert "## Plans\n- theirs\n" in merged


def test_line_next_to_a_blank_line_that_moved_is_kept() -> None:
    base = "one\n\n## Title\n\ntwo\n\n- last\n"
    ours = "one\n\n## Title\n\nours\n\n- last\n"
    theirs = "one\n\ntheirs\n\n## Title\n\n- last\n"
    for versions in (EditedNote(base, ours, theirs), EditedNote(base, theirs, ours)):
        assert "## Title" in merge(versions, is_appended=False).text


def test_code_block_with_changes_of_both_machines_is_merged() -> None:
    base = "```py\na\nb\nc\n```\n"
    merged = merge(EditedNote(base, base.replace("a", "A"), base.replace("c", "C")), is_appended=False)
    assert merged == MergedText("```py\nA\nb\nC\n```\n")


def test_code_block_that_one_machine_deleted_and_the_other_edited_stays_whole() -> None:
    base = "text\n\n```\na\nb\n```\n"
    merged = merge(EditedNote(base, "text\n", base.replace("b", "B")), is_appended=False)
    assert merged.text == "text\n\n```\na\nB\n```\n"


def test_code_block_with_overlapping_changes_is_a_whole_conflict() -> None:
    base = "```\na\n```\n"
    merged = merge(EditedNote(base, "```\nours\n```\n", "```\ntheirs\n```\n"), is_appended=False)
    assert merged.text == "```\nours\n```\n"
    assert [each.lines for each in merged.conflicts] == [("```", "theirs", "```")]


def test_conflict_names_the_line_of_the_merged_text() -> None:
    base = "a\n```\nx\ny\n```\nb\n"
    merged = merge(
        EditedNote(base, base.replace("b", "ours"), base.replace("b", "theirs")), is_appended=False
    )
    assert [(each.line, each.lines) for each in merged.conflicts] == [(6, ("theirs",))]
    assert merged.text.splitlines()[5] == "ours"


def test_paragraphs_of_both_machines_stay_apart() -> None:
    base = "- one\n  more\n- two\n\n## Title\n\n- last\n"
    ours = "- one\n  more\n- two\n\n## Title\n\nours\n\n- last\n"
    theirs = "- one\n  more\n\n- last\n"
    merged = merge(EditedNote(base, ours, theirs), is_appended=True).text
    assert "\n\nours\n\n" in merged


def test_rows_that_both_machines_add_continue_the_table() -> None:
    base = "| a | b |\n|---|---|\n| 1 | 2 |\n"
    merged = merge(EditedNote(base, base + "| 3 | 4 |\n", base + "| 5 | 6 |\n"), is_appended=False)
    assert merged.text == base + "| 3 | 4 |\n| 5 | 6 |\n"


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"),
    [
        ("a\r\nb\r\n", "a\r\nb\r\n\r\nours\r\n", "A\r\nb\r\n", "A\r\nb\r\n\r\nours\r\n"),
        ("a\nb\n", "a\r\nb\r\nours\r\n", "A\nb\n", "A\r\nb\r\nours\r\n"),
        ("a\r\nb\r\n", "a\nb\nours\n", "A\r\nb\r\n", "A\nb\nours\n"),
        ("a\nb", "a\nb\nours", "A\nb", "A\nb\nours\n"),
        ("", "ours", "theirs\n", "ours\n\ntheirs\n"),
        ("a", "", "a\nb", "b\n"),
        ("- a\n", "", "- a\n- b\n", "- b\n"),
        ("早上\n", "早上\n\n下午：我们\n", "早晨\n", "早晨\n\n下午：我们\n"),
        ("- 茶\n", "- 茶\n- 咖啡\n", "- 茶\n- 水\n", "- 茶\n- 咖啡\n- 水\n"),
        ("a\n\n", "a\n\nours\n\n", "a\n\ntheirs\n\n", "a\n\nours\n\ntheirs\n\n"),
        ("\ufeffa\nb\n", "\ufeffa\nb\nours\n", "\ufeffa\nB\n", "\ufeffa\nB\nours\n"),
    ],
)
def test_merge_of_unusual_texts_applies_both_sides(base: str, ours: str, theirs: str, result: str) -> None:
    assert merge(EditedNote(base, ours, theirs), is_appended=False) == MergedText(result)


def test_merge_of_very_long_lines_applies_both_sides() -> None:
    long = "word " * 200_000
    note = EditedNote(f"{long}\nb\n", f"{long}\nb\n\nours {long}\n", f"{long}theirs\nb\n")
    assert merge(note, is_appended=False).text == f"{long}theirs\nb\n\nours {long}\n"


@pytest.mark.parametrize("is_appended", [True, False])
def test_merge_of_long_notes_has_every_line(is_appended: bool) -> None:
    base = [f"- line {number}" if number % 2 else "- ok" for number in range(20_000)]
    ours = [line + " ours" if number % 4 == 1 else line for number, line in enumerate(base)]
    theirs = [line + " theirs" if number % 4 == 3 else line for number, line in enumerate(base)]
    merged = merge(EditedNote(*map("\n".join, (base, ours, theirs))), is_appended=is_appended)
    assert merged.text.count(" ours\n") == merged.text.count(" theirs\n") == 5_000
    assert len(merged.text.splitlines()) == 20_000


def test_merge_of_long_notes_without_a_base_has_every_line() -> None:
    ours, theirs = "- ok\n" * 20_000 + "- ours\n", "- theirs\n" + "- ok\n" * 19_000
    merged = merge(EditedNote("", ours, theirs), is_appended=True)
    assert {"- ours", "- theirs"} <= set(merged.text.splitlines())


@pytest.mark.parametrize(
    ("path", "is_appended"),
    [
        ("memory/2026-11-26.md", True),
        ("memory/2026-11-26-session.md", True),
        ("memory/logs/2026-11-26.md", True),
        ("memory/2026-11-26.MD", True),
        ("memory/conflicts/2026-11-26-laptop-MEMORY.md", True),
        ("MEMORY.md", False),
        ("memory/projects.md", False),
        ("2026-11-26.md", False),
        ("memory/notes-2026-11-26.md", False),
        ("memory/2026-11-26/notes.md", False),
    ],
)
def test_append_style_depends_on_the_name(path: str, is_appended: bool) -> None:
    assert is_append_style(path) is is_appended


def test_equal_paragraphs_below_new_items_are_both_kept() -> None:
    base = "- a\n- b\n- c\n"
    ours, theirs = base.replace("- a\n", "- a\n- x\n\n  Done.\n"), base + "- y\n\n  Done.\n"
    merged = merge(EditedNote(base, ours, theirs), is_appended=False).text
    assert merged == "- a\n- x\n\n  Done.\n- b\n- c\n- y\n\n  Done.\n"
