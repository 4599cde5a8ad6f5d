"""Queries that go on where the last conversation ended."""

from __future__ import annotations

import pytest

from memd.text.query.resuming import without_resuming


@pytest.mark.parametrize(
    ("query", "rest"),
    [
        ("I’m back", ""),
        ("Where did we leave off last time?", "?"),
        ("What's the next step for the fitness plan", "for the fitness plan"),
        ("let's continue with the parser", "with the parser"),
        ("wo waren wir beim Parser", "beim Parser"),
        ("我们上次说到哪里了", ""),
        ("how do we roll back a bad release", None),
        ("how should I format my resume", None),
        ("when did we go to the next town", None),
    ],
)
def test_phrases_that_resume_a_conversation_are_left_out(query: str, rest: str | None) -> None:
    assert without_resuming(query) == rest
