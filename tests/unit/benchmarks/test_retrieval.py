"""The hits of an evaluation set as tables and as files for its scorer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.evidence import EvaluationQuery, LineRange
from benchmarks.retrieval import (
    PassHits,
    QueryHits,
    chosen_workspaces,
    passes,
    scorer_tables,
    tables,
    write_results,
)
from memd_client.messages import Hit

SCORER = "import sys; print('ALL n=' + str(len(open(sys.argv[2]).readlines())), 'of', sys.argv[3])"


def answered(workspace: str, last_line: int = 3, hits: int = 1) -> QueryHits:
    query = EvaluationQuery("q", "which one", "temporal", (LineRange("a.md", 3, last_line),))
    hit = Hit("a.md", 1, 5, 0.9, None, None, "text", "memory", "a.md#L1-L5")
    return QueryHits(workspace, query, [hit] * hits)


def test_passes_search_hybrid_and_by_keywords_alone_with_and_without_a_budget() -> None:
    assert [(each.mode, each.max_chars) for each in passes(4_000)] == [
        ("hybrid", None),
        ("hybrid", 4_000),
        ("keyword", None),
        ("keyword", 4_000),
    ]


def test_results_of_passes_have_distinct_file_names() -> None:
    assert [each.file_name for each in passes(4_200)] == [
        "hybrid-60-hits.jsonl",
        "hybrid-60-hits-within-4-200-characters.jsonl",
        "keywords-alone-60-hits.jsonl",
        "keywords-alone-60-hits-within-4-200-characters.jsonl",
    ]


def test_workspaces_are_chosen_by_set(tmp_path: Path) -> None:
    for name in ("one-1", "one-2", "two-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "queries.jsonl").touch()
    assert [each.name for each in chosen_workspaces(tmp_path, ["one"])] == ["one-1", "one-2"]
    assert len(chosen_workspaces(tmp_path, None)) == 3


def test_folder_without_queries_ends_the_program(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no workspace with queries"):
        chosen_workspaces(tmp_path, None)


def test_tables_count_refused_unanswerable_queries() -> None:
    found = PassHits([answered("one-1")], [answered("one-1"), answered("one-1", hits=0)])
    assert tables(found, 4_200).splitlines()[-1] == "one unanswerable: 1 of 2 refused"


def test_scorer_runs_for_sets_whose_evidence_is_single_lines(tmp_path: Path) -> None:
    found = PassHits([answered("one-1"), answered("one-2"), answered("two-1", last_line=9)])
    assert scorer_tables(tmp_path, found) == ""
    (tmp_path / "score.py").write_text(SCORER)
    assert scorer_tables(tmp_path, found) == "\nscore.py, one, 6 hits\n\nALL n=2 of 6\n"


def test_results_are_one_line_per_query(tmp_path: Path) -> None:
    write_results(tmp_path / "results.jsonl", PassHits([answered("one-1")]))
    (row,) = map(json.loads, (tmp_path / "results.jsonl").read_text().splitlines())
    assert (row["ws"], row["results"][0]["path"], row["results"][0]["snippet"]) == ("one-1", "a.md", "text")
