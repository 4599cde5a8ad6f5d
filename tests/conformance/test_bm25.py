"""`bm25_score` equals OpenClaw's score of an FTS5 rank."""

from __future__ import annotations

from typing import Any

import pytest

from memd.search.rank.fusion import bm25_score
from tests.conformance.cases import recorded


@recorded("bm25", "rank")
def test_bm25_score_is_as_recorded(case: dict[str, Any]) -> None:
    assert bm25_score(case["rank"]) == pytest.approx(case["expected"], abs=1e-12)
