"""Comments for programs: what counts as one, and a text without them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.cut.markers import SPACE, hide_markers, marker_pattern, scan_markers

OPENING = marker_pattern("color", "size")

WORDS = st.sampled_from(
    ["<!--", "-->", "color", "SIZE", ":", " ", "\t", "\n", "\r\n", "red", "- ", "<!-- color: x -->", "é"]
)
TEXTS = st.lists(WORDS, max_size=30).map("".join)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<!-- color: red -->", [("color", "red")]),
        ("<!--COLOR:red-->", [("color", "red")]),
        ("<!--\u00a0size\ufeff:\u2003L\u2028-->", [("size", "L")]),
        ("<!-- color: a --><!-- size: b -->", [("color", "a"), ("size", "b")]),
        ("<!-- color: a <!-- size: b -->", [("color", "a <!-- size: b")]),
        ("<!-- color: a\nb -->", [("color", "a\nb")]),
        ("<!-- color: a -- >", []),
        ("<!-- colour: a -->", []),
        ("<!-- \u017fize: a -->", []),
        ("<!- color: a -->", []),
    ],
)
def test_a_marker_is_a_comment_that_starts_with_its_name(text: str, found: list[tuple[str, str]]) -> None:
    assert [(marker.name, marker.value) for marker in scan_markers(text, OPENING)] == found


def test_a_marker_that_goes_on_in_another_line_does_not_count_within_a_line() -> None:
    text = "<!-- color: a\n--> <!-- size: b --> <!-- color:\r-->"

    assert [marker.value for marker in scan_markers(text, OPENING, within_line=True)] == ["b"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("tea <!-- color: red -->\nnext", "tea\nnext"),
        ("tea \t <!-- color: red --> \t\r\nnext", "tea\r\nnext"),
        ("<!-- color: red -->\nnext", "\nnext"),
        ("a <!-- color: red --> b", "a  b"),
        ("a <!-- color: x --> <!-- size: y -->", "a"),
        ("<!--\n\ncolor: red --> b", "\n\n b"),
        ("hard break  \na <!-- color: x -->", "hard break  \na"),
        ("a <!-- other: x -->", "a <!-- other: x -->"),
        ("a <!-- color: x", "a <!-- color: x"),
        ("a <!-- color: x\n-->", "a <!-- color: x\n-->"),
    ],
)
def test_a_hidden_marker_takes_the_blanks_it_would_leave_at_the_end_of_its_line(
    text: str, shown: str
) -> None:
    assert hide_markers(text, OPENING) == shown


@given(TEXTS)
def test_hiding_keeps_the_number_of_every_line_and_takes_nothing_but_markers_and_blanks(text: str) -> None:
    hidden = hide_markers(text, OPENING)

    assert hidden.count("\n") == text.count("\n")
    rest, at = [], 0
    for marker in scan_markers(text, OPENING, within_line=True):
        rest.append(text[at : marker.start])
        at = marker.end
    kept = "".join([*rest, text[at:]])
    assert "".join(hidden.split()) == "".join(kept.split())


@given(TEXTS)
def test_a_text_without_markers_is_returned_as_it_is(text: str) -> None:
    if not list(scan_markers(text, OPENING, within_line=True)):
        assert hide_markers(text, OPENING) == text


def test_many_openings_without_an_end_take_linear_time() -> None:
    """It takes half a minute or more if each opening scans the rest of the text."""
    text = "<!-- color: " * 200_000 + "\n-->"

    assert hide_markers(text, OPENING) == text
    assert len(SPACE) == 25
