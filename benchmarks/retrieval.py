"""Retrieval quality: an evaluation set through the real daemon, with the set's own scorer.

    python -m benchmarks.retrieval --eval DIR [--results FILE] [--max-results N]

DIR (default: the environment's MEMD_EVAL) has one workspace per folder (`memory/*.md`, `queries.jsonl`) and `score.py`.
Each workspace becomes an agent of one daemon with the local MiniLM model; every query goes over the socket like a
client's.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.sync_checks import StateError, check_all_indexed
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

SEEN_CHARACTERS = 120
"""Characters of a line that have to be in a snippet for the set's scorer to count it as seen."""

WITH_MODEL: dict[str, Any] = {"provider": "local", "local": {"modelPath": "minilm"}}


def default_eval() -> Path | None:
    """Return the folder that MEMD_EVAL names, if any."""
    named = os.environ.get("MEMD_EVAL")
    return Path(named) if named else None


def main() -> None:
    """Run the evaluation and print the scorer's table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--eval", type=Path, default=default_eval(), help="folder of the evaluation set")
    parser.add_argument("--results", type=Path, help="keep the results file here")
    parser.add_argument("--max-results", type=int, default=6)
    parser.add_argument("--settings", default="{}", help="memorySearch settings as JSON, over the defaults")
    parser.add_argument("--keyword-only", action="store_true", help="no vectors")
    arguments = parser.parse_args()
    if arguments.eval is None or not (arguments.eval / "score.py").is_file():
        sys.exit(f"{arguments.eval} is not an evaluation set: score.py is missing")
    search: dict[str, Any] = {"provider": "none"} if arguments.keyword_only else dict(WITH_MODEL)
    search.update(json.loads(arguments.settings))
    lines = run_set(arguments.eval, search, arguments.max_results)
    print(scores(arguments.eval, lines, arguments.results, arguments.max_results), end="")


def run_set(folder: Path, search: Mapping[str, Any], max_results: int) -> list[dict[str, Any]]:
    """Run the queries of a set with a new daemon; return one row per query."""
    workspaces = sorted(path.parent for path in folder.glob("*/queries.jsonl"))
    with StateHome() as home:
        home.configure(copy_workspaces(home, workspaces, search))
        with DaemonProcess(home) as daemon:
            return run_queries(daemon, workspaces, max_results, vectors=search["provider"] != "none")


def copy_workspaces(home: StateHome, workspaces: list[Path], search: Mapping[str, Any]) -> dict[str, Any]:
    """Copy each workspace for an agent of its own; return the settings."""
    agents = []
    for workspace in workspaces:
        shutil.copytree(workspace / "memory", home.state / workspace.name / "memory")
        agents.append({"id": workspace.name, "workspace": str(home.state / workspace.name)})
    return {"agents": {"defaults": {"memorySearch": dict(search)}, "list": agents}}


def run_queries(
    daemon: DaemonProcess, workspaces: list[Path], max_results: int, *, vectors: bool
) -> list[dict[str, Any]]:
    """Index every workspace and return one row per query."""
    rows = []
    took: list[float] = []
    with daemon.client(timeout_s=600) as client:
        if vectors:
            client.model("minilm")
        started = time.perf_counter()
        reply = client.index()
        chunks = sum(agent.chunks for agent in reply.agents)
        print(f"indexed {chunks} chunks in {time.perf_counter() - started:.1f} s", file=sys.stderr)
        check_all_indexed(reply)
        for workspace in workspaces:
            for line in (workspace / "queries.jsonl").read_text().splitlines():
                query = json.loads(line)
                begun = time.perf_counter()
                found = client.search(query["query"], agent=workspace.name, max_results=max_results)
                took.append(time.perf_counter() - begun)
                expected = "hybrid" if vectors else "keyword"
                if found.mode != expected:
                    raise StateError(f"{query['id']}: mode {found.mode}, degraded {found.degraded}")
                rows.append(
                    {
                        "id": query["id"],
                        "ws": workspace.name,
                        "results": [
                            {
                                "path": hit.path,
                                "start_line": hit.start_line,
                                "end_line": hit.end_line,
                                "score": hit.score,
                                "snippet": hit.snippet,
                            }
                            for hit in found.hits
                        ],
                    }
                )
    took.sort()
    if took:
        print(
            f"{len(took)} queries, p50 {took[len(took) // 2] * 1000:.1f} ms (each query is new)",
            file=sys.stderr,
        )
    return rows


def scores(folder: Path, rows: list[dict[str, Any]], keep: Path | None, max_results: int) -> str:
    """Return the table of the set's scorer, one line per category."""
    with tempfile.TemporaryDirectory() as scratch:
        results = keep or Path(scratch) / "results.jsonl"
        results.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
        command = [sys.executable, str(folder / "score.py"), str(folder), str(results), str(max_results)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
