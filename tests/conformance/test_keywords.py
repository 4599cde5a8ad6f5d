"""`content_keywords` selects the same words as OpenClaw."""

from __future__ import annotations

from typing import Any

from memd.text.query.keywords import content_keywords
from tests.conformance.cases import recorded


@recorded("keywords", "query")
def test_content_keywords_are_as_recorded(case: dict[str, Any]) -> None:
    assert content_keywords(case["query"]) == case["expected"]
