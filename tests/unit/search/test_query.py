"""Days are removed from a query; its scopes."""

from __future__ import annotations

import pytest

from memd.index.keyword import Scope
from memd.search.query import SearchLimits, without_days
from memd.text.query.days.find import find_days
from tests.support.indexes import TODAY


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("what did Anna say yesterday", "what did Anna say"),
        ("yesterday, was the release yesterday", ", was the release"),
        ("last week: deploys", ": deploys"),
        ("昨天部署了什么", "部署了什么"),
        ("what was done on 2026-05-08", "what was done on 2026-05-08"),
        ("who is Anna", "who is Anna"),
        ("yesterday", ""),
    ],
)
def test_words_that_only_name_a_day_are_removed_from_the_query(query: str, left: str) -> None:
    """Notes of that day need not contain `yesterday`, but they may contain `2026-05-08`."""
    assert without_days(query, find_days(query, TODAY)).strip() == left


def test_scopes_include_notes_alone_if_transcripts_are_searched() -> None:
    everything, notes = Scope(("memory", "sessions")), Scope(("memory",))
    assert SearchLimits(6).scopes == (None,)
    assert SearchLimits(6, scope=everything).scopes == (everything,)
    assert SearchLimits(6, scope=everything, notes_scope=notes).scopes == (everything, notes)
