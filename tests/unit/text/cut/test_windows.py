"""Windows are exact slices that grow towards the higher score within their section."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.cut.chunking import cut_chunks
from memd.text.cut.windows import Region, SpanScore, Window, fitting_part, grow_window

NOTE = """\
# Ledger
Ann leads it.

## Import
The file comes at six.
It has two columns.
Amounts are in cents.

Ben checks it.
## Export
Nobody reads it."""

LINES = st.one_of(
    st.text("abc 部", min_size=0, max_size=40),
    st.sampled_from(["", "  ", "# One", "### Two", "#", "#no", "line of words", "x" * 120]),
)


@st.composite
def places(draw: st.DrawFn) -> tuple[Region, int, int]:
    """Return a region of a file, and the span of a chunk in it."""
    text = draw(st.lists(LINES, min_size=1, max_size=14).map("\n".join).filter(str.strip))
    at, line = draw(st.sampled_from([(0, 1), (700, 31)]))
    first = draw(st.integers(0, len(text) - 1))
    end = draw(st.integers(first + 1, len(text)))
    return Region(text, at, line), at + first, at + end


@st.composite
def worths_in(draw: st.DrawFn) -> list[SpanScore]:
    """Return some spans with scores."""
    rows = draw(
        st.lists(st.tuples(st.integers(0, 900), st.integers(0, 300), st.floats(0, 1, width=16)), max_size=5)
    )
    return [(start, start + size, value) for start, size, value in rows]


def lines_of(region: Region) -> list[tuple[int, int, str]]:
    """Return the lines of a region with their spans in the file."""
    start, lines = region.start, []
    for text in region.text.split("\n"):
        lines.append((start, start + len(text), text))
        start += len(text) + 1
    return lines


def grown(
    chunk: str,
    limit: int = 700,
    worths: Sequence[tuple[str, float]] = (),
    shown: Sequence[str] = (),
    note: str = NOTE,
) -> Window:
    """Return the window around a text of a note; spans are given by their texts too."""
    spans = {text: (note.index(text), note.index(text) + len(text)) for text, _ in worths}
    region = Region(note, 0, 1)
    first = note.index(chunk)
    return grow_window(
        region,
        first,
        first + len(chunk),
        limit,
        [(*spans[text], value) for text, value in worths],
        [(note.index(text), note.index(text) + len(text)) for text in shown],
    )


@given(places(), st.integers(0, 400), worths_in())
def test_a_window_is_an_exact_slice_with_its_lines(
    place: tuple[Region, int, int], limit: int, worths: list[SpanScore]
) -> None:
    region, first, end = place

    window = grow_window(region, first, end, limit, worths)

    assert window.text == region.text[window.start - region.start : window.end - region.start]
    assert window.start_line == region.line + region.text.count("\n", 0, window.start - region.start)
    assert window.end_line == window.start_line + window.text.count("\n")


@given(places(), st.integers(0, 400), worths_in())
def test_a_window_contains_the_words_of_its_chunk(
    place: tuple[Region, int, int], limit: int, worths: list[SpanScore]
) -> None:
    region, first, end = place

    window = grow_window(region, first, end, limit, worths)

    assert region.text[first - region.start : end - region.start].strip() in window.text


@given(places(), st.integers(0, 400), worths_in())
def test_a_window_exceeds_the_limit_only_if_its_chunk_does(
    place: tuple[Region, int, int], limit: int, worths: list[SpanScore]
) -> None:
    region, first, end = place

    window = grow_window(region, first, end, limit, worths)

    assert len(window.text) <= max(limit, end - first)


@given(places(), st.integers(0, 400), worths_in())
def test_a_window_adds_whole_lines(
    place: tuple[Region, int, int], limit: int, worths: list[SpanScore]
) -> None:
    region, first, end = place
    lines = lines_of(region)

    window = grow_window(region, first, end, limit, worths)

    assert window.start >= first or window.start in {start for start, _, _ in lines}
    assert window.end <= end or window.end in {stop for _, stop, _ in lines}


@given(places(), st.integers(0, 2000), worths_in())
def test_a_window_adds_a_heading_only_as_its_first_line(
    place: tuple[Region, int, int], limit: int, worths: list[SpanScore]
) -> None:
    region, first, end = place

    window = grow_window(region, first, end, limit, worths)

    for start, stop, text in lines_of(region):
        if window.start <= start and stop <= window.end and re.match(r" {0,3}#{1,6}[ \t]", text):
            assert start == window.start or first <= start < end


@given(places(), st.integers(0, 2000), worths_in(), st.lists(st.integers(0, 13), max_size=4))
def test_a_window_adds_no_line_that_is_shown_already(
    place: tuple[Region, int, int], limit: int, worths: list[SpanScore], numbers: list[int]
) -> None:
    region, first, end = place
    lines = lines_of(region)
    shown = [lines[at] for at in numbers if at < len(lines) and lines[at][2].strip()]

    window = grow_window(region, first, end, limit, worths, [(start, stop) for start, stop, _ in shown])

    for start, stop, _ in shown:
        is_added = window.start <= start and stop <= window.end and (stop <= first or start >= end)
        assert not is_added


@given(st.lists(LINES, min_size=1, max_size=30).map("\n".join), st.integers(0, 900))
def test_any_chunk_of_a_note_can_be_shown(content: str, limit: int) -> None:
    for each in cut_chunks(content, "memory/plan.md"):
        window = grow_window(Region(content, 0, 1), each.start, each.start + len(each.text), limit, [])

        assert each.text.strip() in window.text
        assert window.start_line <= each.start_line
        assert window.end_line >= each.end_line


def test_a_window_within_the_limit_spans_its_section() -> None:
    window = grown("It has two columns.")

    assert window.text.startswith("## Import\n")
    assert window.text.endswith("Ben checks it.")
    assert (window.start_line, window.end_line) == (4, 9)


def test_a_chunk_that_starts_with_a_heading_grows_down_only() -> None:
    window = grown("## Import\nThe file comes at six.")

    assert window.text.startswith("## Import\n")
    assert window.text.endswith("Ben checks it.")


def test_a_chunk_may_hold_headings_itself() -> None:
    chunk = "Ben checks it.\n## Export\nNobody"

    assert chunk in grown(chunk).text


@pytest.mark.parametrize(
    ("worths", "text"),
    [
        ([], "It has two columns.\nAmounts are in cents."),
        ([("Amounts are in cents.", 0.4)], "It has two columns.\nAmounts are in cents."),
        ([("The file comes at six.", 0.4)], "The file comes at six.\nIt has two columns."),
        (
            [("The file comes at six.", 0.4), ("Amounts are in cents.", 0.5)],
            "It has two columns.\nAmounts are in cents.",
        ),
    ],
)
def test_a_window_grows_towards_the_higher_score_and_down_if_equal(
    worths: list[tuple[str, float]], text: str
) -> None:
    assert grown("It has two columns.", limit=45, worths=worths).text == text


def test_a_line_has_the_best_score_of_its_spans() -> None:
    worths = [("six.\nIt has two columns.\nAmounts are in cents.", 0.9), ("The file comes at six.", 0.3)]

    window = grown("It has two columns.", limit=45, worths=[*worths, ("Amounts are in cents.", 0.1)])

    assert window.text == "It has two columns.\nAmounts are in cents."


def test_a_window_grows_on_the_other_side_if_the_better_one_does_not_fit() -> None:
    window = grown("It has two columns.", limit=41, worths=[("The file comes at six.", 0.9)])

    assert window.text == "It has two columns.\nAmounts are in cents."


def test_blank_lines_are_kept_between_lines_and_dropped_at_the_ends() -> None:
    window = grown("\nBen checks it.\n", limit=5)

    assert window.text == "Ben checks it."
    assert (window.start_line, window.end_line) == (9, 9)


def test_a_chunk_longer_than_the_limit_is_unchanged() -> None:
    chunk = "The file comes at six.\nIt has two columns."

    assert grown(chunk, limit=10).text == chunk


def test_a_part_of_a_line_is_completed_before_it_grows() -> None:
    assert grown("The file comes", limit=22).text == "The file comes at six."
    assert grown("columns.", limit=42).text == "It has two columns.\nAmounts are in cents."


def test_a_part_of_a_line_that_cannot_be_completed_is_marked_as_cut() -> None:
    window = grown("file comes", limit=12)

    assert window.text == "file comes"
    assert window.is_cut_above
    assert window.is_cut_below


WRAPPED = """\
## Harbor

The harbor office moved to the old customs house in May, and
its number is 4711 now. Letters still go to the old address,
because the post needs a year. Nobody calls there.

- The crane is inspected every spring by a company from the
  next town.
- The key is with Ann."""


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("number is 4711", "its number is 4711 now."),
        ("Letters still", "Letters still go to the old address,\nbecause the post needs a year."),
        ("because the post", "Letters still go to the old address,\nbecause the post needs a year."),
        ("  next town.", "- The crane is inspected every spring by a company from the\n  next town."),
        ("key", "- The key is with Ann."),
    ],
)
def test_a_window_has_whole_sentences_and_list_items(part: str, text: str) -> None:
    first = WRAPPED.index(part)

    window = grow_window(Region(WRAPPED, 0, 1), first, first + len(part), 200, [], completes_only=True)

    assert text in window.text
    assert window.text[:3] in ("The", "Let", "- T")
    assert not window.is_cut_above
    assert not window.is_cut_below


def test_a_window_stops_at_lines_already_shown() -> None:
    window = grown("Amounts are in cents.", shown=["It has two columns.", "Ben checks it."])

    assert window.text == "Amounts are in cents."


def test_fitting_part_is_the_run_of_lines_with_most_words() -> None:
    window = Window("a heron\nb\nc heron queue\nd", 10, 32, 4, 7, True, True)

    part = fitting_part(window, lambda line: line != 5, ["heron", "queue"])

    assert part == Window("c heron queue\nd", 20, 35, 6, 7, False, True)


def test_fitting_part_of_a_window_that_fits_is_the_window() -> None:
    window = Window("a\nb", 10, 13, 4, 5, True, False)

    assert fitting_part(window, lambda line: True, []) == window


def test_fitting_part_without_a_line_that_fits_is_none() -> None:
    assert fitting_part(Window("a\n\nb", 0, 4, 1, 3), lambda line: line == 2, ["a"]) is None
