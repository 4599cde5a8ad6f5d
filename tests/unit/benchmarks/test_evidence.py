"""Figures of hits against the evidence of a query."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.evidence import (
    EvaluationQuery,
    LineRange,
    ScoredQuery,
    figures_of,
    find_workspaces,
    hits_within,
    load_queries,
    mean_table,
    set_of,
)


@dataclass
class FakeHit:
    """Lines of a file with so many characters."""

    path: str
    start_line: int
    end_line: int
    chars: int = 10

    @property
    def snippet(self) -> str:
        """Text of the wanted length."""
        return "x" * self.chars


def query(*evidence: LineRange, **changed: Any) -> EvaluationQuery:
    return EvaluationQuery("q", "which one", "single-hop", evidence, **changed)


def write_rows(path: Path, *rows: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")


@pytest.mark.parametrize(
    ("start", "end", "shown"), [(1, 4, False), (1, 5, True), (7, 9, True), (8, 9, False)]
)
def test_hit_shows_a_range_if_one_line_overlaps(start: int, end: int, shown: bool) -> None:
    assert LineRange("a", 5, 7).is_shown_by(FakeHit("a", start, end)) is shown


def test_hit_of_another_file_does_not_show_a_range() -> None:
    assert not LineRange("a", 5, 7).is_shown_by(FakeHit("b", 5, 7))


def test_hits_end_before_the_first_that_exceeds_the_budget() -> None:
    hits = [FakeHit("a", 1, 1, 30), FakeHit("a", 2, 2, 30), FakeHit("a", 3, 3, 1)]
    assert hits_within(hits, 60) == hits[:2]
    assert hits_within(hits, 59) == hits[:1]
    assert hits_within(hits, 61) == hits


def test_evidence_is_counted_within_the_budget_and_among_the_first_hits() -> None:
    hits = [FakeHit("a", line, line, 100) for line in range(1, 9)]
    figures = figures_of(query(LineRange("a", 1, 1), LineRange("a", 8, 8)), hits, max_chars=200)
    assert (figures["evidence"], figures["evidence@6"], figures["all@6"]) == (0.5, 0.5, 0.0)
    assert figures_of(query(LineRange("a", 8, 8)), hits, max_chars=800)["evidence"] == 1.0
    assert figures["chars@6"] == 600


def test_sessions_rank_by_their_first_hit() -> None:
    hits = [FakeHit("a", 1, 1), FakeHit("a", 2, 2), FakeHit("b", 1, 1)]
    figures = figures_of(query(LineRange("b", 9, 9), LineRange("c", 1, 1)), hits)
    assert (figures["hit@1"], figures["hit@5"], figures["recall@10"], figures["mrr"]) == (0.0, 1.0, 0.5, 0.5)


def test_session_behind_the_tenth_file_is_not_recalled() -> None:
    hits = [FakeHit(str(number), 1, 1) for number in range(11)]
    figures = figures_of(query(LineRange("9", 1, 1), LineRange("10", 1, 1)), hits)
    assert figures["recall@10"] == 0.5


def test_query_without_hits_is_refused_and_has_no_evidence() -> None:
    figures = figures_of(query(LineRange("a", 1, 1)), [])
    assert figures["refused"] == 1.0
    assert sum(figures.values()) == 1.0


@pytest.mark.parametrize(
    ("lines", "first"), [([9, 1], 1.0), ([1, 9], 0.0), ([9], 1.0), ([1], 0.0), ([], 0.0)]
)
def test_updated_statement_is_first_if_it_ranks_above_the_original(lines: list[int], first: float) -> None:
    changed = query(LineRange("a", 9, 9), original=(LineRange("a", 1, 4),), updated=(LineRange("a", 9, 12),))
    hits = [FakeHit("a", line, line) for line in lines]
    assert figures_of(changed, hits)["new_first"] == first


def test_query_about_an_unchanged_value_has_no_order_of_statements() -> None:
    assert "new_first" not in figures_of(query(LineRange("a", 1, 1)), [])


def test_queries_are_loaded_with_single_lines_ranges_and_statements(tmp_path: Path) -> None:
    row = {"id": "1", "query": "which one", "category": "temporal"}
    line, span = {"path": "a", "line": 3}, {"path": "a", "line": 3, "start_line": 3, "end_line": 8}
    changed = {"original": [["a", 3]], "updated": [["a", 7]]}
    write_rows(
        tmp_path / "set-1" / "queries.jsonl",
        row | {"relevant": [line]},
        row | {"relevant": [line, span]} | changed,
    )
    (workspace,) = find_workspaces(tmp_path)
    one, two = load_queries(workspace)
    assert (one.evidence, one.has_single_lines) == ((LineRange("a", 3, 3),), True)
    assert (two.evidence[1], two.has_single_lines) == (LineRange("a", 3, 8), False)
    assert (two.original, two.updated) == ((LineRange("a", 3, 6),), (LineRange("a", 7, 10),))


def test_missing_file_of_queries_has_no_queries(tmp_path: Path) -> None:
    assert load_queries(tmp_path, "unanswerable.jsonl") == []


def test_set_of_a_workspace_is_the_name_before_the_number() -> None:
    assert set_of("chats-12") == "chats"


def test_mean_table_leaves_adversarial_queries_out_of_the_mean_of_a_set() -> None:
    scored = [
        ScoredQuery("chats", "temporal", {"evidence": 1.0, "chars@6": 1_200.0}),
        ScoredQuery("chats", "single-hop", {"evidence": 0.0}),
        ScoredQuery("chats", "adversarial", {"evidence": 0.0}),
    ]
    rows = [line.split() for line in mean_table(scored).splitlines()[1:]]
    assert [row[:3] for row in rows] == [
        ["chats", "2", "0.500"],
        ["chats", "adversarial", "1"],
        ["chats", "single-hop", "1"],
        ["chats", "temporal", "1"],
    ]
    assert rows[0][3] == "1,200"
