"""Identifiers and syntax: a query for a name finds its location first."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.support.models import minilm_path
from tests.support.retrieval import is_first, load_queries, serve_set

SET = "technical"

MIN_FIRST_OVERALL = 0.95
"""Minimum share of all queries whose location is the first hit."""

MIN_FIRST_IN_GROUP = 0.85
"""Minimum share of each kind of name."""

MIN_QUERIES_PER_GROUP = 20
"""Minimum number of queries per kind, so that a single one does not decide."""

KEYWORD_SEARCH = {"provider": "none"}
MINILM = {"provider": "local", "local": {"modelPath": "minilm"}}


@pytest.mark.parametrize(
    "search",
    [
        pytest.param(KEYWORD_SEARCH, id="words"),
        pytest.param(MINILM, id="minilm", marks=[pytest.mark.model, pytest.mark.long]),
    ],
)
def test_an_identifier_query_finds_its_location_first(search: dict[str, Any]) -> None:
    """The thresholds are the same with a model: exact matches never rank below similar text."""
    if search is MINILM:
        minilm_path()
    queries = load_queries(SET)
    with serve_set(SET, search) as client:
        if search is MINILM:
            client.model("minilm")
        replies = {each.id: client.search(each.query) for each in queries}
    modes = {reply.mode for reply in replies.values()}
    assert modes == ({"hybrid"} if search is MINILM else {"keyword"}), modes

    first = {each.id: is_first(each, replies[each.id]) for each in queries}

    asked = Counter(each.group for each in queries)
    found = Counter(each.group for each in queries if first[each.id])
    missed = [
        f"  {each.id}: {each.query!r} wants {each.relevant}, got "
        f"{[(hit.path, hit.start_line, hit.end_line) for hit in replies[each.id].hits[:1]]}"
        for each in queries
        if not first[each.id]
    ]
    table = [f"  {group}: {found[group]} of {count}" for group, count in sorted(asked.items())]
    report = "\n".join([f"{found.total()} of {len(queries)} first", *table, *missed])
    overall = found.total() / len(queries)
    assert overall >= MIN_FIRST_OVERALL, report
    weakest = min(found[group] / count for group, count in asked.items())
    assert weakest >= MIN_FIRST_IN_GROUP, report


def test_the_set_has_enough_identifiers_of_every_kind() -> None:
    queries = load_queries(SET)
    assert len(queries) >= 320
    assert min(Counter(each.group for each in queries).values()) >= MIN_QUERIES_PER_GROUP
    assert len({each.query for each in queries}) == len(queries)
    assert all(each.relevant for each in queries)
