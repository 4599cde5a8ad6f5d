"""Annotations and markers in comments of a note, and hiding them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.cut.annotations import (
    AnnotatedEntry,
    Annotations,
    find_annotated,
    hide_annotations,
    hide_markers,
    marker_pattern,
    project_key,
    read_annotations,
    scan_markers,
    split_entries,
)

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


def test_a_multi_line_marker_is_ignored_within_a_line() -> None:
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
def test_hiding_a_marker_removes_blanks_at_the_end_of_its_line(text: str, shown: str) -> None:
    assert hide_markers(text, OPENING) == shown


@given(TEXTS)
def test_hiding_removes_only_markers_and_blanks_and_keeps_line_numbers(text: str) -> None:
    hidden = hide_markers(text, OPENING)

    assert hidden.count("\n") == text.count("\n")
    rest, at = [], 0
    for marker in scan_markers(text, OPENING, within_line=True):
        rest.append(text[at : marker.start])
        at = marker.end
    kept = "".join([*rest, text[at:]])
    assert "".join(hidden.split()) == "".join(kept.split())


@given(TEXTS)
def test_a_text_without_markers_is_returned_unchanged(text: str) -> None:
    if not list(scan_markers(text, OPENING, within_line=True)):
        assert hide_markers(text, OPENING) == text


def test_many_unclosed_markers_take_linear_time() -> None:
    """It takes half a minute or more if each opening scans the rest of the text."""
    text = "<!-- color: " * 200_000 + "\n-->"

    assert hide_markers(text, OPENING) == text


PIECES = st.sampled_from(
    [
        *(
            "- ",
            "# ",
            "## Head",
            "tea",
            " ",
            "\n",
            "\r\n",
            "-->",
            "<!-- trigger:",
            "<!-- project:",
            ";",
            ",",
            "7",
        ),
        *("<!-- importance: 7 -->", "<!-- trigger: a; b -->", "<!-- project: x -->"),
    ]
)
NOTES = st.lists(PIECES, max_size=40).map("".join)


def said(*lines: str, path: str = "MEMORY.md") -> Annotations:
    """Return the annotations in some lines."""
    return read_annotations(lines, path)


# --- triggers and importance ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "triggers"),
    [
        ("- tea <!-- trigger: kettle; tea time -->", ("kettle", "tea time")),
        ("- tea <!-- TRIGGER :a,b ;; a-->", ("a", "b")),
        ("- tea <!-- trigger: a --> <!-- trigger: b -->\u3000", ("a", "b")),
        ("- tea <!-- trigger: a --> more", ()),
        ("- tea <!-- trigger: ; , -->", ()),
        ("- tea <!-- triggers: a -->", ()),
    ],
)
def test_triggers_are_read_from_comments_at_the_end_of_a_line(line: str, triggers: tuple[str, ...]) -> None:
    assert said(line) == Annotations(triggers=triggers)


@pytest.mark.parametrize(
    ("line", "importance"),
    [
        ("<!-- importance: 1 -->", 1),
        ("<!-- importance:10-->", 10),
        ("<!-- importance: 007 -->", 7),
        ("<!-- importance: 3 --> <!-- importance: 8 --> <!-- importance: 5 -->", 8),
        ("<!-- importance: 0 -->", None),
        ("<!-- importance: 11 -->", None),
        ("<!-- importance: 7.5 -->", None),
        ("<!-- importance: \u0667 -->", None),
        ("<!-- importance: " + "9" * 5_000 + " -->", None),
        ("<!-- importance: high -->", None),
        ("<!-- importance: 9 --> and on", None),
    ],
)
def test_importance_is_the_highest_whole_number_from_1_to_10(line: str, importance: int | None) -> None:
    assert said(line).importance == importance


@pytest.mark.parametrize("path", ["memory/2026-05-01.md", "memory/MEMORY.md", "user.md", "notes/USER.md"])
def test_triggers_and_importance_count_only_in_curated_notes(path: str) -> None:
    assert not said("tea <!-- trigger: a --> <!-- importance: 9 -->", path=path)


# --- projects -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ("GitHub.com/Owner/Name", "github.com/Owner/Name"),
        (" path:/Home/Me ", "path:/Home/Me"),
        ("Solo", "Solo"),
        ("/rooted", "/rooted"),
        ("", None),
        ("a<b", None),
        ("a\nb", None),
    ],
)
def test_the_host_of_a_project_is_compared_in_lower_case(value: str, key: str | None) -> None:
    assert project_key(value) == key


@pytest.mark.parametrize(
    ("lines", "projects", "is_invalid"),
    [
        (["x <!-- project: a/b --> y"], ("a/b",), False),
        (["x <!-- project: a; B/c -->", "<!-- project: a -->"], ("a", "b/c"), False),
        (["x <!-- project:", "a -->"], ("a",), False),
        (["x <!-- project: -->"], (), True),
        (["x <!-- project: a;; b -->"], (), True),
        (["x <!-- project: a"], (), True),
        (["x <!-- project: a <!-- project: b -->"], (), True),
        (["x <!-- project: a>b -->"], (), True),
    ],
)
def test_an_unreadable_project_comment_makes_the_entry_invalid(
    lines: list[str], projects: tuple[str, ...], is_invalid: bool
) -> None:
    wanted = Annotations(projects=projects, is_invalid=is_invalid)

    assert said(*lines) == said(*lines, path="memory/2026-05-01.md") == wanted
    assert not said(*lines, path="USER.md")
    assert not said(*lines, path="user.md")


# --- entries --------------------------------------------------------------------------------------------


def test_an_entry_is_a_list_item_with_what_follows_it_or_a_section() -> None:
    text = "intro\n\n- tea\n  - green\n\n- milk\n# Head\ntext\n####### no head\n#\n* star\n"

    entries = [(entry.start_line, entry.end_line, entry.is_item) for entry in split_entries(text)]

    assert entries == [(1, 2, False), (3, 5, True), (6, 6, True), (7, 9, False), (10, 12, False)]


def test_comments_belong_to_their_entry() -> None:
    text = "# Head\n- tea\n  <!-- trigger: kettle -->\n- milk\r\n- rye <!-- importance: 2 -->\r\n"

    assert find_annotated(text, "MEMORY.md") == [
        AnnotatedEntry(2, 3, Annotations(triggers=("kettle",))),
        AnnotatedEntry(5, 6, Annotations(importance=2)),
    ]
    assert find_annotated(text, "memory/a.md") == []


@given(NOTES)
def test_entries_cover_every_line_once(text: str) -> None:
    hidden = hide_annotations(text)
    entries = split_entries(hidden)

    lines = [line for entry in entries for line in range(entry.start_line, entry.end_line + 1)]
    assert lines == list(range(1, text.count("\n") + 2))
    spans = {entry[:2] for entry in entries}
    assert all(entry[:2] in spans and entry.annotations for entry in find_annotated(text, "MEMORY.md"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("- tea <!-- fact id=01K importance=0.7 category=other -->\n", "- tea\n"),
        ("entry\n<!-- memd:key=a.b:c-1 -->\nnext", "entry\n\nnext"),
        ('<!-- memd-import {"kind": "x"} -->\nbody', "\nbody"),
        ('\ufeff<!-- memd-import {"kind": "x"} -->\r\nbody', "\ufeff\r\nbody"),
        ('---\r\n# memd-import {"kind": "x"}\r\ntags: []\r\n---\r\n', "---\r\n\r\ntags: []\r\n---\r\n"),
        ("<!-- fact check this -->", "<!-- fact check this -->"),
        ("<!-- fact: tea is green -->", "<!-- fact: tea is green -->"),
        ("<!-- memd: a note of mine -->", "<!-- memd: a note of mine -->"),
        ("<!-- memd-import of last year -->", "<!-- memd-import of last year -->"),
        ("text\n---\n# memd-import {}\n", "text\n---\n# memd-import {}\n"),
    ],
)
def test_memds_own_markers_are_hidden_and_comments_of_users_are_not(text: str, shown: str) -> None:
    assert hide_annotations(text) == shown
