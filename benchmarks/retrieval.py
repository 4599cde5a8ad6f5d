"""Retrieval quality: the evaluation sets of a folder through the real daemon.

    python -m benchmarks.retrieval --eval DIR [--sets SET ...] [--max-chars N] [--results DIR] [--settings JSON]

DIR (default: the environment's MEMD_EVAL) has one workspace per folder, described in `benchmarks/evidence.py`. Each
becomes an agent of one daemon with the local MiniLM model, and every query goes over the socket like a client's. Tables
follow for 60 hits, for 60 hits within a budget of characters, and the same by keyword search alone. If DIR has a
`score.py`, its table of six hits follows for each set whose evidence is single lines.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.evidence import (
    FIRST_HITS,
    MAX_CHARS,
    MAX_RESULTS,
    UNANSWERABLE,
    EvaluationQuery,
    ScoredQuery,
    figures_of,
    find_workspaces,
    load_queries,
    mean_table,
    set_of,
)
from benchmarks.sync_checks import StateError, check_all_indexed
from memd_client import Client
from memd_client.messages import Hit
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

WITH_MODEL: dict[str, Any] = {"provider": "local", "local": {"modelPath": "minilm"}}

SCORER = "score.py"


@dataclass(frozen=True)
class SearchPass:
    """One search of every query."""

    name: str
    max_results: int
    max_chars: int | None = None
    lexical_only: bool = False

    @property
    def file_name(self) -> str:
        """The name of the file with its hits."""
        return f"{re.sub(r'[^a-z0-9]+', '-', self.name)}.jsonl"

    @property
    def mode(self) -> str:
        """The mode that each reply must have."""
        return "keyword" if self.lexical_only else "hybrid"


class QueryHits(NamedTuple):
    """A query of a workspace and its hits, best first."""

    workspace: str
    query: EvaluationQuery
    hits: list[Hit]


@dataclass(frozen=True)
class PassHits:
    """The hits of one pass."""

    answerable: list[QueryHits] = field(default_factory=list)
    unanswerable: list[QueryHits] = field(default_factory=list)


def passes(max_chars: int) -> list[SearchPass]:
    """Return what is searched for the tables."""
    return [
        SearchPass(f"{name}, {what}", MAX_RESULTS, limit, lexical_only)
        for name, lexical_only in (("hybrid", False), ("keywords alone", True))
        for what, limit in (
            (f"{MAX_RESULTS} hits", None),
            (f"{MAX_RESULTS} hits within {max_chars:,} characters", max_chars),
        )
    ]


FOR_SCORER = SearchPass(f"hybrid, {FIRST_HITS} hits", FIRST_HITS)


def default_eval() -> Path | None:
    """Return the folder that MEMD_EVAL names, if any."""
    named = os.environ.get("MEMD_EVAL")
    return Path(named) if named else None


def chosen_workspaces(root: Path | None, sets: Sequence[str] | None) -> list[Path]:
    """Return the workspaces of some sets, or of all; exit if there are none."""
    found = find_workspaces(root) if root is not None else []
    chosen = [each for each in found if not sets or set_of(each.name) in sets]
    if not chosen:
        sys.exit(f"{root} has no workspace with queries")
    return chosen


def main() -> None:
    """Search for all queries and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--eval", type=Path, default=default_eval(), help="folder of the evaluation sets")
    parser.add_argument("--sets", nargs="*", help="names of sets, instead of all")
    parser.add_argument("--max-chars", type=int, default=MAX_CHARS, help="budget of characters")
    parser.add_argument("--results", type=Path, help="keep a file of hits per table in this folder")
    parser.add_argument("--settings", default="{}", help="memorySearch settings as JSON, over the defaults")
    arguments = parser.parse_args()
    workspaces = chosen_workspaces(arguments.eval, arguments.sets)
    wanted = [*passes(arguments.max_chars), FOR_SCORER]
    settings = WITH_MODEL | json.loads(arguments.settings)
    found = run_passes(workspaces, settings, wanted)
    for searched, hits in zip(wanted, found, strict=True):
        if arguments.results is not None:
            arguments.results.mkdir(parents=True, exist_ok=True)
            write_results(arguments.results / searched.file_name, hits)
        if searched is not FOR_SCORER:
            print(f"\n{searched.name}\n\n{tables(hits, arguments.max_chars)}", end="", flush=True)
    print(scorer_tables(arguments.eval, found[-1]), end="")


def run_passes(
    workspaces: Sequence[Path], settings: Mapping[str, Any], wanted: Sequence[SearchPass]
) -> list[PassHits]:
    """Index the workspaces with a new daemon and return the hits of each pass."""
    with StateHome() as home:
        home.configure(copy_workspaces(home, workspaces, settings))
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=600) as client:
            client.model("minilm")
            started = time.perf_counter()
            reply = client.index()
            chunks = sum(agent.chunks for agent in reply.agents)
            print(f"indexed {chunks} chunks in {time.perf_counter() - started:.1f} s", file=sys.stderr)
            check_all_indexed(reply)
            return [run_pass(client, workspaces, each) for each in wanted]


def copy_workspaces(
    home: StateHome, workspaces: Sequence[Path], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Copy each workspace for an agent of its own; return the settings."""
    agents = []
    for workspace in workspaces:
        shutil.copytree(workspace / "memory", home.state / workspace.name / "memory")
        agents.append({"id": workspace.name, "workspace": str(home.state / workspace.name)})
    return {"agents": {"defaults": {"memorySearch": dict(settings)}, "list": agents}}


def run_pass(client: Client, workspaces: Sequence[Path], wanted: SearchPass) -> PassHits:
    """Search for every query of the workspaces."""
    found = PassHits()
    took_ms: list[float] = []

    def search(agent: str, query: EvaluationQuery) -> QueryHits:
        begun = time.perf_counter()
        reply = client.search(
            query.text,
            agent=agent,
            max_results=wanted.max_results,
            max_chars=wanted.max_chars,
            lexical_only=wanted.lexical_only,
        )
        took_ms.append((time.perf_counter() - begun) * 1000)
        if reply.mode != wanted.mode:
            raise StateError(f"{query.id}: mode {reply.mode}, degraded {reply.degraded}")
        return QueryHits(agent, query, reply.hits)

    for workspace in workspaces:
        found.answerable.extend(search(workspace.name, query) for query in load_queries(workspace))
        unanswerable = load_queries(workspace, UNANSWERABLE)
        found.unanswerable.extend(search(workspace.name, query) for query in unanswerable)
    p50 = sorted(took_ms)[len(took_ms) // 2]
    print(f"{wanted.name}: {len(took_ms)} queries, p50 {p50:.1f} ms", file=sys.stderr)
    return found


def tables(found: PassHits, max_chars: int) -> str:
    """Return the figures of a pass by set and category, and how many unanswerable queries it refused."""
    table = mean_table(
        ScoredQuery(set_of(row.workspace), row.query.category, figures_of(row.query, row.hits, max_chars))
        for row in found.answerable
    )
    for name, rows in by_set(found.unanswerable).items():
        table += f"{name} unanswerable: {sum(not row.hits for row in rows)} of {len(rows)} refused\n"
    return table


def by_set(rows: Iterable[QueryHits]) -> dict[str, list[QueryHits]]:
    """Return rows by the name of their set."""
    found: dict[str, list[QueryHits]] = defaultdict(list)
    for row in rows:
        found[set_of(row.workspace)].append(row)
    return found


def scorer_tables(root: Path, found: PassHits) -> str:
    """Return the tables of the folder's scorer, one for each set whose evidence is single lines."""
    text = ""
    for name, rows in by_set(found.answerable).items():
        if (root / SCORER).is_file() and all(row.query.has_single_lines for row in rows):
            text += f"\n{SCORER}, {name}, {FIRST_HITS} hits\n\n{scores(root, PassHits(rows))}"
    return text


def scores(root: Path, found: PassHits) -> str:
    """Return the table of the folder's scorer, one line per category."""
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch) / "results.jsonl"
        write_results(results, found)
        command = [sys.executable, str(root / SCORER), str(root), str(results), str(FIRST_HITS)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def write_results(path: Path, found: PassHits) -> None:
    """Write the hits of a pass as the scorers read them, one query per line."""
    with path.open("w", encoding="utf-8") as file:
        for workspace, query, hits in found.answerable:
            results = [
                {
                    "path": hit.path,
                    "start_line": hit.start_line,
                    "end_line": hit.end_line,
                    "score": hit.score,
                    "snippet": hit.snippet,
                }
                for hit in hits
            ]
            file.write(json.dumps({"id": query.id, "ws": workspace, "results": results}) + "\n")


if __name__ == "__main__":
    main()
