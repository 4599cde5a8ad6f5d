"""Union of the entries of two machines: in order of time, equal ones once, and each entry whole."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.replication.merge.blocks import is_later, unite
from memd.replication.merge.texts import merge_texts

MINUTES = st.lists(st.integers(0, 24 * 60 - 1), unique=True, max_size=6)

STYLES = (
    "- {hour:02}:{minute:02} entry",
    "## {hour:02}:{minute:02}",
    "2026-11-26 {hour:02}:{minute:02} entry\n",
)
"""How daily notes write the time of an entry."""


def entries(minutes: Collection[int], style: str) -> str:
    """Return entries in order of time."""
    return "".join(style.format(hour=each // 60, minute=each % 60) + "\n" for each in sorted(minutes))


def united(ours: str, theirs: str, *, theirs_first: bool = False) -> str:
    """Return the union of two texts."""
    return "\n".join(unite(ours.split("\n"), theirs.split("\n"), theirs_first=theirs_first))


@pytest.mark.parametrize("style", STYLES)
@given(base=MINUTES, ours=MINUTES, theirs=MINUTES)
def test_entries_with_times_are_in_order_of_time(
    style: str, base: list[int], ours: list[int], theirs: list[int]
) -> None:
    texts = [entries({*base, *added}, style) for added in ((), ours, theirs)]
    merged = merge_texts(texts[0], texts[1], texts[2], is_appended=True)
    lines = [line.rstrip() for line in merged.text.splitlines() if line]
    assert lines == entries({*base, *ours, *theirs}, style.rstrip()).splitlines()
    assert not merged.conflicts


@given(MINUTES, MINUTES, st.integers(0, 5))
def test_entries_added_behind_an_edited_one_are_in_order_of_time(
    ours: list[int], theirs: list[int], edited: int
) -> None:
    base = entries([60 * hour for hour in range(3)], STYLES[0])
    mine = base + entries([180 + each for each in ours if each < 1260], STYLES[0])
    others = base.replace(f"0{edited}:00 entry", f"0{edited}:00 edited")
    others += entries([180 + each for each in theirs if each < 1260], STYLES[0])
    times = [line[2:7] for line in merge_texts(base, mine, others, is_appended=True).text.splitlines()]
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("ours", "theirs", "result"),
    [
        ("- 09:00 a", "- 08:00 b", "- 08:00 b\n- 09:00 a"),
        ("- 9:00 a", "- 10:00 b", "- 9:00 a\n- 10:00 b"),
        ("- 09:00:30 a", "- 09:00:10 b", "- 09:00:10 b\n- 09:00:30 a"),
        ("- 09:00 a", "- 09:00 b", "- 09:00 a\n- 09:00 b"),
        ("- **09:00** a", "- [08:00] b", "- [08:00] b\n- **09:00** a"),
        ("## 14:05\n\ntext a", "## 13:00\n\ntext b", "## 13:00\n\ntext b\n\n## 14:05\n\ntext a"),
        ("2026-11-27 08:00 a", "2026-11-26 09:00 b", "2026-11-26 09:00 b\n\n2026-11-27 08:00 a"),
        ("2026-11-27T08:00 a", "2026-11-27T07:00 b", "2026-11-27T07:00 b\n\n2026-11-27T08:00 a"),
        ("- 10:00 a\n  more", "- 09:00 b\n  more", "- 09:00 b\n  more\n- 10:00 a\n  more"),
        ("- 10:00 a\n- no time", "- 10:30 b", "- 10:00 a\n- no time\n- 10:30 b"),
        ("- 09:00 a", "# Title\n\n- 08:00 b", "# Title\n\n- 08:00 b\n- 09:00 a"),
        ("# Title\n\n- 09:00 a", "- 08:00 b", "# Title\n\n- 08:00 b\n- 09:00 a"),
        ("- 10:00 a\n\npara", "- 10:00 a\n- 09:00 b", "- 10:00 a\n\npara\n\n- 09:00 b"),
        ("- 10:00 a\n- 11:00 c", "- 10:00 a\n\npara\n- 10:30 d", "- 10:00 a\n\npara\n\n- 10:30 d\n- 11:00 c"),
        ("- 25:00 a", "- 3:1 b", "- 25:00 a\n- 3:1 b"),
        ("- a", "- b", "- a\n- b"),
        ("- a\n- b", "- b\n- c", "- a\n- b\n- c"),
        ("a\nb", "c\nd", "a\nb\n\nc\nd"),
        ("a\n\nb", "b\n\nc", "a\n\nb\n\nc"),
        ("", "- b", "\n- b\n"),
    ],
)
def test_union_of_entries_has_each_once_in_order(ours: str, theirs: str, result: str) -> None:
    assert united(ours, theirs) == result


def test_union_without_times_starts_with_the_earlier_machine() -> None:
    assert united("- ours", "- theirs", theirs_first=True) == "- theirs\n- ours"


def test_union_of_equal_headings_keeps_entries_below_their_own() -> None:
    merged = united("## Todo\n- a\n\n## Done\n- b", "## Done\n- c\n\n## Todo\n- d").split("\n")
    section, sections = "", dict[str, str]()
    for line in merged:
        section = line if line.startswith("#") else section
        sections[line] = section
    assert [sections[f"- {name}"][3:] for name in "abcd"] == ["Todo", "Done", "Done", "Todo"]


def test_union_of_equal_paragraphs_below_items_keeps_each() -> None:
    merged = united("- 09:00 a\n\n  Done.\n- 11:00 c", "- 08:00 b\n\n  Done.")
    assert merged == "- 08:00 b\n\n  Done.\n- 09:00 a\n\n  Done.\n- 11:00 c"


@pytest.mark.parametrize(
    "block",
    [
        "```\ncode\n\n- no item\n## no heading\n```",
        "~~~~\n~~~\ncode\n~~~~",
        "````md\n```py\n```\n````",
        "```py\n```no end\n```",
        "- item\n  ```\n  code\n  ```",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "> quoted\n> text",
    ],
)
def test_union_keeps_blocks_whole(block: str) -> None:
    for ours, theirs in (
        (f"- 10:00 a\n\n{block}", "- 09:00 b\n- 11:00 c"),
        ("- a\n\nb", f"c\n\n{block}\n\n- d"),
    ):
        merged = united(ours, theirs)
        assert f"\n{block}\n" in f"\n{merged}\n"
        assert {*ours.split("\n"), *theirs.split("\n")} <= set(merged.split("\n"))


def test_line_with_a_whole_code_span_starts_no_code_block() -> None:
    assert united("```npm install```\n\n- a", "- b") == "```npm install```\n\n- a\n- b"


def test_tables_of_both_machines_stay_apart() -> None:
    one, other = "| a |\n|---|\n| 1 |", "| b |\n|---|\n| 2 |"
    assert united(one, other) == f"{one}\n\n{other}"
    assert united("| 1 |", "| 2 |") == "| 1 |\n| 2 |"


@given(st.lists(st.sampled_from(["- a", "- 10:00 b", "text", "", "```", "## c", "  d"]), max_size=8))
def test_union_of_equal_entries_has_each_line_as_often(lines: list[str]) -> None:
    merged = unite(lines, lines)
    assert [line for line in merged if line] == [line for line in lines if line]


@pytest.mark.parametrize(
    ("one", "other", "later"),
    [
        ("- 10:00 a", "- 09:00 b", True),
        ("- 09:00 a", "- 10:00 b", False),
        ("- a", "- 09:00 b", False),
        ("- 10:00 a", "", False),
    ],
)
def test_entries_are_later_by_their_times_alone(one: str, other: str, later: bool) -> None:
    assert is_later([one], [other]) is later
