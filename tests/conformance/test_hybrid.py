"""Weighted fusion, decay and diversity give OpenClaw's order and scores."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from memd.search.rank.fusion import Ranked, fuse_weighted
from memd.search.rank.stages import decay_candidates, rerank_mmr
from tests.conformance.cases import recorded


@recorded("hybrid", "vector_weight")
def test_hybrid_ranking_is_as_recorded(case: dict[str, Any]) -> None:
    ranked = rank(case)

    expected = case["expected"]
    assert [(item.path, item.start_line, item.snippet) for item in ranked] == [
        (row["path"], row["start_line"], row["snippet"]) for row in expected
    ]
    assert [item.score for item in ranked] == pytest.approx([row["score"] for row in expected], abs=1e-9)


def rank(case: dict[str, Any]) -> list[Ranked]:
    """Return the final order of a recorded case."""
    ranked = fuse_weighted(candidates(case), case["vector_weight"], case["text_weight"])
    decay, mmr = case["temporal_decay"], case["mmr"]
    if decay["enabled"]:
        ranked = decay_candidates(ranked, case["now_ms"], decay["half_life_days"])
    return rerank_mmr(ranked, mmr["lambda"]) if mmr["enabled"] else ranked


def candidates(case: dict[str, Any]) -> list[Ranked]:
    """Return both recorded lists merged; a keyword match's snippet takes precedence."""
    merged: dict[str, Ranked] = {}
    for row in case["vector"]:
        merged[row["id"]] = candidate(row, vector_score=row["vector_score"], text_score=None)
    for row in case["keyword"]:
        known = merged.get(row["id"])
        merged[row["id"]] = (
            candidate(row, vector_score=None, text_score=row["text_score"])
            if known is None
            else replace(known, text_score=row["text_score"], snippet=row["snippet"] or known.snippet)
        )
    return list(merged.values())


def candidate(row: dict[str, Any], *, vector_score: float | None, text_score: float | None) -> Ranked:
    """Return one recorded row."""
    return Ranked(
        row["id"], row["path"], row["start_line"], row["end_line"], row["snippet"], vector_score, text_score
    )
