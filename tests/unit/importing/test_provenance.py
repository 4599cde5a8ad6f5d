"""A copy says where it came from, and holds the source to the last byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.importing.provenance import Provenance, hash_of, read_copy, with_provenance

FROM = Provenance("codex", "/home/ann/.codex/memories/MEMORY.md", "ab" * 32, "2026-11-22T17:00:00Z")

PIECES = st.sampled_from(
    [
        "---",
        "...",
        "\n",
        "\r\n",
        "\r",
        "\ufeff",
        "title: tea",
        "# memd-import {}",
        "<!-- memd-import {} -->",
        "x",
    ]
)
"""What frontmatter, comments and provenance are made of."""

TEXTS = st.text() | st.lists(PIECES).map("".join)


def made(text: str, source: str = FROM.source) -> str:
    """Return the copy of a text."""
    return with_provenance(text, Provenance("codex", source, hash_of(text), FROM.imported))


@given(TEXTS, st.text())
def test_a_copy_gives_back_its_source_to_the_last_character(text: str, source: str) -> None:
    copy = read_copy(made(text, source))

    assert copy is not None
    assert (copy.body, copy.provenance.source, copy.is_edited) == (text, source, False)


@given(TEXTS, TEXTS)
def test_any_edit_of_a_copy_is_seen(text: str, other: str) -> None:
    line = made(text)
    held = read_copy(line + other)

    assert held is not None
    assert held.is_edited == (other != "")


@given(TEXTS)
def test_a_copy_of_a_copy_gives_back_the_copy(text: str) -> None:
    copy = read_copy(made(made(text)))

    assert copy is not None
    assert copy.body == made(text)


@given(st.text())
def test_no_path_ends_the_comment_it_stands_in(source: str) -> None:
    line = made("text\n", source).splitlines()[0]

    assert line.count("-->") == 1
    assert line.endswith("-->")
    assert line.isprintable()


@given(st.text() | st.lists(PIECES).map("".join))
def test_a_text_without_provenance_is_nobodys_copy(text: str) -> None:
    copy = read_copy(text)

    assert copy is None, "no text of these pieces has a whole provenance"


def test_a_plain_note_gets_a_comment_of_html() -> None:
    assert (
        made("# Tea\n").splitlines()[0].startswith('<!-- memd-import {"kind": "codex", "source": "/home/ann/')
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_frontmatter_stays_the_beginning_of_its_file(end: str) -> None:
    copy = made(f"---{end}title: Tea{end}---{end}# Tea{end}")

    lines = copy.split(end)
    assert lines[0] == "---"
    assert lines[1].startswith("# memd-import {")
    assert lines[2:] == ["title: Tea", "---", "# Tea", ""]


def test_a_rule_at_the_beginning_is_no_frontmatter() -> None:
    assert made("---\n\nTea\n").startswith("<!-- memd-import ")


@pytest.mark.parametrize(
    "line",
    [
        "<!-- memd-import {} -->",
        '<!-- memd-import {"kind": 1, "source": "", "sha256": "", "imported": ""} -->',
        "<!-- memd-import {" + "[" * 100_000 + "} -->",
        "<!-- another comment -->",
    ],
)
def test_a_line_that_says_nothing_makes_no_copy(line: str) -> None:
    assert read_copy(f"{line}\nTea\n") is None
