"""A question without the words that only name its days; what is looked through for it."""

from __future__ import annotations

import pytest

from memd.index.keyword import Scope
from memd.search.query import Limits, without_days
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
def test_words_that_only_name_a_day_are_not_looked_for(query: str, left: str) -> None:
    """No note holds `yesterday` because it is of that day; one may well hold `2026-05-08`."""
    assert without_days(query, find_days(query, TODAY)).strip() == left


def test_a_question_looks_through_its_scope_and_through_notes_alone_where_wanted() -> None:
    everything, notes = Scope(("memory", "sessions")), Scope(("memory",))
    assert Limits(6).scopes == (None,)
    assert Limits(6, scope=everything).scopes == (everything,)
    assert Limits(6, scope=everything, notes_scope=notes).scopes == (everything, notes)
