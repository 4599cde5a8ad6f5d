"""Which words of a snippet are marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.cli.highlight import marked, pattern_for


def marks(query: str, text: str) -> list[str]:
    """Return what of the text is marked for the query."""
    return [piece[0] for piece in marked(text, pattern_for(query)) if isinstance(piece, tuple)]


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("painted", "Painting, painters, a pain", ["Painting", "painters"]),
        ("the lease", "the lease of the flat", ["lease"]),
        ("who is it", "Who is it?", ["Who", "is", "it"]),
        ("ci", "CI and city", ["CI"]),
        ("a828e60", "commit a828e60.", ["a828e60"]),
        ("POL-358", "see POL-358", ["POL", "358"]),
        ("部署", "重新部署完成", ["部署"]),
        ("重新部署", "先部署再说", ["部署"]),
        ("重跑gen", "重跑 generator", ["重跑", "generator"]),
        ("C++ (.*)", "a (.*) b C", ["C"]),
        ("...", "dots ...", []),
        ("", "anything", []),
    ],
)
def test_words_of_the_question_are_marked(query: str, text: str, expected: list[str]) -> None:
    assert marks(query, text) == expected


@given(st.text(), st.text())
def test_marking_changes_no_character(query: str, text: str) -> None:
    pieces = marked(text, pattern_for(query))

    assert "".join(piece if isinstance(piece, str) else piece[0] for piece in pieces) == text
