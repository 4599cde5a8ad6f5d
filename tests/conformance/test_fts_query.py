"""A raw query becomes the strict expression the reference makes of it."""

from __future__ import annotations

from typing import Any

from memd.text.query.keywords import strict_query
from tests.conformance.cases import recorded


@recorded("fts_query", "query")
def test_strict_query_is_as_recorded(case: dict[str, Any]) -> None:
    assert strict_query(case["query"]) == case["expected"]
