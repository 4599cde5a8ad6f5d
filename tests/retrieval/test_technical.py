"""Identifiers and syntax: who asks for a name as it is written gets the place where it stands, first."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.support.models import minilm_path
from tests.support.retrieval import is_first, load_set, serving

SET = "technical"

FIRST_OVERALL = 0.95
"""Share of all questions whose place has to come first: a name is either known or not."""

FIRST_IN_GROUP = 0.85
"""The same within one kind of name, so that no kind is given up for the sum of all."""

LEAST_IN_GROUP = 20
"""Questions of one kind at least; with fewer of them a single one would decide."""

WORDS = {"provider": "none"}
MINILM = {"provider": "local", "local": {"modelPath": "minilm"}}


@pytest.mark.parametrize(
    "search",
    [
        pytest.param(WORDS, id="words"),
        pytest.param(MINILM, id="minilm", marks=[pytest.mark.model, pytest.mark.long]),
    ],
)
def test_an_identifier_finds_the_place_where_it_stands_first(search: dict[str, Any]) -> None:
    """The bar is the same with a model: what is written never loses to what is merely alike."""
    if search is MINILM:
        minilm_path()
    questions = load_set(SET)
    with serving(SET, search) as client:
        if search is MINILM:
            client.model("minilm")
        replies = {each.id: client.search(each.query) for each in questions}
    modes = {reply.mode for reply in replies.values()}
    assert modes == ({"hybrid"} if search is MINILM else {"keyword"}), modes

    first = {each.id: is_first(each, replies[each.id]) for each in questions}

    asked = Counter(each.group for each in questions)
    found = Counter(each.group for each in questions if first[each.id])
    missed = [
        f"  {each.id}: {each.query!r} wants {each.relevant}, got "
        f"{[(hit.path, hit.start_line, hit.end_line) for hit in replies[each.id].hits[:1]]}"
        for each in questions
        if not first[each.id]
    ]
    table = [f"  {group}: {found[group]} of {count}" for group, count in sorted(asked.items())]
    report = "\n".join([f"{found.total()} of {len(questions)} first", *table, *missed])
    overall = found.total() / len(questions)
    assert overall >= FIRST_OVERALL, report
    weakest = min(found[group] / count for group, count in asked.items())
    assert weakest >= FIRST_IN_GROUP, report


def test_the_set_is_large_enough_in_every_kind_of_name() -> None:
    questions = load_set(SET)
    assert len(questions) >= 320
    assert min(Counter(each.group for each in questions).values()) >= LEAST_IN_GROUP
    assert len({each.query for each in questions}) == len(questions)
    assert all(each.relevant for each in questions)
