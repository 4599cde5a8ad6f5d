"""The patterns for ASCII queries find what the patterns for all scripts find."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memd.text.query import identifiers, terms

ASCII_TEXTS = st.text(st.sampled_from("aZ9 _-./:@+#&~'$()\\\"\nC"), max_size=40)


@given(ASCII_TEXTS)
@example("don't --flag #tag C++ (x_y) a..b ~/notes/a.md call() POL-358 user@example.com")
def test_ascii_pattern_finds_the_same_spans(text: str) -> None:
    for every, ascii_only in (
        (terms._QUERY_TOKEN, terms._ASCII_QUERY_TOKEN),
        (terms._PART, terms._ASCII_PART),
        (identifiers._NAME, identifiers._ASCII_NAME),
    ):
        assert spans(ascii_only, text) == spans(every, text)


def spans(pattern: re.Pattern[str], text: str) -> list[tuple[tuple[int, int], dict[str, str | None]]]:
    """Return the spans of all matches, with their groups."""
    return [
        (match.span(), {name: part for name, part in match.groupdict().items() if part})
        for match in pattern.finditer(text)
    ]


@given(ASCII_TEXTS)
@pytest.mark.parametrize("name", ["", "C++", "C#", ".NET", "node.js", "ASP.net", ".Net"])
def test_names_with_signs_are_found_wherever_they_stand(name: str, text: str) -> None:
    together = f"{text} {name} {text}"

    found = [match.span() for match in identifiers._symbols(together)]

    assert found == [match.span() for match in identifiers._SYMBOL.finditer(together)]
