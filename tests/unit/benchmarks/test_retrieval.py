"""Figures of hits against the evidence of a query, and their tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.retrieval import (
    COLUMNS,
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
from memd_client.messages import Hit


def hit(path: str, start_line: int, end_line: int, chars: int = 10) -> Hit:
    """Return lines of a file with so many characters."""
    return Hit(path, start_line, end_line, 0.9, None, None, "x" * chars, "memory", f"{path}#L{start_line}")


def query(*evidence: LineRange) -> EvaluationQuery:
    return EvaluationQuery("q", "which one", "single-hop", evidence)


def write_rows(path: Path, *rows: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")


@pytest.mark.parametrize(
    ("start", "end", "shown"), [(1, 4, False), (1, 5, True), (7, 9, True), (8, 9, False)]
)
def test_hit_shows_a_range_if_one_line_overlaps(start: int, end: int, shown: bool) -> None:
    assert LineRange("a", 5, 7).is_shown_by(hit("a", start, end)) is shown


def test_hit_of_another_file_does_not_show_a_range() -> None:
    assert not LineRange("a", 5, 7).is_shown_by(hit("b", 5, 7))


def test_hits_end_before_the_first_that_exceeds_the_budget() -> None:
    hits = [hit("a", 1, 1, 30), hit("a", 2, 2, 30), hit("a", 3, 3, 1)]
    assert hits_within(hits, 60) == hits[:2]
    assert hits_within(hits, 59) == hits[:1]
    assert hits_within(hits, 61) == hits


def test_evidence_is_counted_within_the_budget_and_among_the_first_hits() -> None:
    hits = [hit("a", line, line, 100) for line in range(1, 9)]
    figures = figures_of(query(LineRange("a", 1, 1), LineRange("a", 8, 8)), hits, max_chars=200)
    assert (figures["evidence"], figures["evidence@6"]) == (0.5, 0.5)
    assert figures_of(query(LineRange("a", 8, 8)), hits, max_chars=800)["evidence"] == 1.0
    assert figures["chars@6"] == 600


def test_sessions_rank_by_their_first_hit() -> None:
    hits = [hit("a", 1, 1), hit("a", 2, 2), hit("b", 1, 1)]
    figures = figures_of(query(LineRange("b", 9, 9), LineRange("c", 1, 1)), hits)
    assert (figures["hit@1"], figures["hit@5"], figures["recall@10"], figures["mrr"]) == (0.0, 1.0, 0.5, 0.5)


def test_session_behind_the_tenth_file_is_not_recalled() -> None:
    hits = [hit(str(number), 1, 1) for number in range(11)]
    figures = figures_of(query(LineRange("9", 1, 1), LineRange("10", 1, 1)), hits)
    assert figures["recall@10"] == 0.5


def test_query_without_hits_is_refused_and_has_no_evidence() -> None:
    figures = figures_of(query(LineRange("a", 1, 1)), [])
    assert figures["refused"] == 1.0
    assert sum(figures.values()) == 1.0


def test_queries_are_loaded_with_single_lines_and_ranges(tmp_path: Path) -> None:
    row = {"id": "1", "query": "which one", "category": "temporal"}
    line, span = {"path": "a", "line": 3}, {"path": "a", "line": 3, "start_line": 3, "end_line": 8}
    write_rows(
        tmp_path / "set-1" / "queries.jsonl",
        row | {"relevant": [line]},
        row | {"relevant": [line, span]},
    )
    (workspace,) = find_workspaces(tmp_path)
    one, two = load_queries(workspace)
    assert one.evidence == (LineRange("a", 3, 3),)
    assert two.evidence == (LineRange("a", 3, 3), LineRange("a", 3, 8))


def test_missing_file_of_queries_has_no_queries(tmp_path: Path) -> None:
    assert load_queries(tmp_path, "unanswerable.jsonl") == []


def test_set_of_a_workspace_is_the_name_before_the_number() -> None:
    assert set_of("chats-12") == "chats"


def test_workspaces_are_chosen_by_set(tmp_path: Path) -> None:
    for name in ("one-1", "one-2", "two-1"):
        write_rows(tmp_path / name / "queries.jsonl")
    assert [each.name for each in find_workspaces(tmp_path, ["one"])] == ["one-1", "one-2"]
    assert len(find_workspaces(tmp_path)) == 3


def test_mean_table_leaves_adversarial_queries_out_of_the_mean_of_a_set() -> None:
    none = dict.fromkeys(COLUMNS, 0.0)
    scored = [
        ScoredQuery("chats", "temporal", {**none, "evidence": 1.0, "chars@6": 2_400.0}),
        ScoredQuery("chats", "single-hop", none),
        ScoredQuery("chats", "adversarial", none),
    ]
    rows = [line.split() for line in mean_table(scored).splitlines()[1:]]
    assert [row[:3] for row in rows] == [
        ["chats", "2", "0.500"],
        ["chats", "adversarial", "1"],
        ["chats", "single-hop", "1"],
        ["chats", "temporal", "1"],
    ]
    assert rows[0][4] == "1,200"
