"""A copy contains its provenance and exactly its source."""

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
"""Parts of frontmatter, comments and provenance."""

TEXTS = st.text() | st.lists(PIECES).map("".join)


def made(text: str, source: str = FROM.source) -> str:
    """Return the copy of a text."""
    return with_provenance(text, Provenance("codex", source, hash_of(text), FROM.imported))


@given(TEXTS, st.text())
def test_copy_without_provenance_equals_its_source(text: str, source: str) -> None:
    copy = read_copy(made(text, source))

    assert copy is not None
    assert (copy.body, copy.provenance.source, copy.is_edited) == (text, source, False)


@given(TEXTS, TEXTS)
def test_any_edit_of_a_copy_is_detected(text: str, other: str) -> None:
    line = made(text)
    held = read_copy(line + other)

    assert held is not None
    assert held.is_edited == (other != "")


@given(TEXTS)
def test_copy_of_a_copy_contains_the_copy(text: str) -> None:
    copy = read_copy(made(made(text)))

    assert copy is not None
    assert copy.body == made(text)


@given(st.text())
def test_path_cannot_end_its_comment(source: str) -> None:
    line = made("text\n", source).splitlines()[0]

    assert line.count("-->") == 1
    assert line.endswith("-->")
    assert line.isprintable()


@given(st.text() | st.lists(PIECES).map("".join))
def test_text_without_provenance_is_not_a_copy(text: str) -> None:
    copy = read_copy(text)

    assert copy is None, "no text of these pieces has a whole provenance"


def test_note_gets_an_html_comment() -> None:
    assert (
        made("# Tea\n").splitlines()[0].startswith('<!-- memd-import {"kind": "codex", "source": "/home/ann/')
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_frontmatter_stays_at_the_start(end: str) -> None:
    copy = made(f"---{end}title: Tea{end}---{end}# Tea{end}")

    lines = copy.split(end)
    assert lines[0] == "---"
    assert lines[1].startswith("# memd-import {")
    assert lines[2:] == ["title: Tea", "---", "# Tea", ""]


def test_horizontal_rule_at_the_start_is_not_frontmatter() -> None:
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
def test_invalid_provenance_is_not_a_copy(line: str) -> None:
    assert read_copy(f"{line}\nTea\n") is None
