"""Ranking settings compared over an evaluation set, with paired confidence intervals.

    python -m benchmarks.sweep --eval DIR [--work DIR] [--max-results N] [--only NAME ...] [--list]

A real daemon indexes the set once. Each setting then runs memd's own search over those indexes with the same vectors.
Every row is compared with the first, query by query (bootstrap over queries, 95 %).
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.retrieval import SEEN_CHARACTERS, copy_workspaces, default_eval
from memd.index.database import Database, connect_read_only
from memd.index.meta import active_space
from memd.index.snapshot import take_snapshot
from memd.index.vectors.cache import MatrixBudget, VectorCache
from memd.index.vectors.matrix import MatrixSearch
from memd.index.vectors.sqlite_vec import VectorExtension
from memd.search.find import find
from memd.search.query import QueryVector, SearchLimits, parse_query
from memd.settings.schema import QuerySettings
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

RESAMPLES = 2_000
"""Bootstrap samples of the queries."""


@dataclass(frozen=True)
class RankingVariant:
    """One row: `query` settings, and values of constants (`module:NAME`)."""

    name: str
    query: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    keywords: bool = True
    vectors: bool = True


def weights(vector: float) -> dict[str, Any]:
    """Return settings with a vector weight; keywords have the rest."""
    return {"hybrid": {"vector_weight": vector, "text_weight": 1 - vector, "weights_set": True}}


SETTINGS = (
    RankingVariant("default"),
    *(RankingVariant(f"vector weight {share}", query=weights(share)) for share in (0.2, 0.5, 0.7)),
    RankingVariant("keywords alone", vectors=False),
    RankingVariant("vectors alone", query={"hybrid": {"enabled": False}}),
    RankingVariant("rrf", query={"hybrid": {"fusion": "rrf"}}),
    RankingVariant("weighted, no minScore", query={"hybrid": {"fusion": "weighted"}, "min_score": 0.0}),
    RankingVariant("weighted, minScore 0.35", query={"hybrid": {"fusion": "weighted"}}),
    RankingVariant("mmr 0.7", query={"hybrid": {"mmr": {"enabled": True, "lambda_": 0.7}}}),
    RankingVariant(
        "decay, 30 days", query={"hybrid": {"temporal_decay": {"enabled": True, "half_life_days": 30}}}
    ),
    *(
        RankingVariant(
            f"neighbour weight {share}", constants={"memd.search.rank.fusion:NEIGHBOUR_WEIGHT": share}
        )
        for share in (0.0, 0.2, 0.5)
    ),
    *(
        RankingVariant(f"shown {share}", constants={"memd.search.snippets:MAX_SHOWN_SHARE": share})
        for share in (0.25, 0.5)
    ),
    *(
        RankingVariant(f"snippets of {size}", constants={"memd.search.snippets:MAX_SNIPPET_CHARACTERS": size})
        for size in (500, 600, 700)
    ),
    *(
        RankingVariant(f"{count} candidates", constants={"memd.search.retrieve:MAX_CANDIDATES": count})
        for count in (50, 200)
    ),
    RankingVariant("day share 0", constants={"memd.search.rank.stages:DAY_SHARE": 0.0}),
)


@dataclass
class EvaluationWorkspace:
    """One indexed workspace with its queries and their vectors."""

    name: str
    db: Database
    search: MatrixSearch
    space_id: str
    queries: list[dict[str, Any]]
    vectors: NDArray[np.float32]
    lines: dict[str, list[str]]
    cache: VectorCache


def main() -> None:
    """Run the settings and print a row for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--eval", type=Path, default=default_eval(), help="folder of the evaluation set")
    parser.add_argument("--work", type=Path, help="keep the indexes here, and use those that are there")
    parser.add_argument("--max-results", type=int, default=6)
    parser.add_argument("--only", nargs="*", help="names of settings to run besides the default")
    parser.add_argument("--list", action="store_true", help="list the settings")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(setting.name for setting in SETTINGS))
        return
    if arguments.eval is None or not (arguments.eval / "score.py").is_file():
        sys.exit(f"{arguments.eval} is not an evaluation set: score.py is missing")
    with StateHome() as home:
        folder = arguments.work or home.root / "indexes"
        if not folder.is_dir():
            build_indexes(home, arguments.eval, folder)
        workspaces = [load_workspace(arguments.eval, path) for path in sorted(folder.glob("*.sqlite"))]
        chosen = [each for each in SETTINGS[1:] if not arguments.only or each.name in arguments.only]
        compare([SETTINGS[0], *chosen], workspaces, arguments.max_results)


def build_indexes(home: StateHome, root: Path, folder: Path) -> None:
    """Index every workspace with a daemon; keep indexes and query vectors."""
    workspaces = sorted(path.parent for path in root.glob("*/queries.jsonl"))
    search = {"provider": "local", "local": {"modelPath": "minilm"}}
    home.configure(copy_workspaces(home, workspaces, search))
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=600) as client:
        client.model("minilm")
        client.index()
        folder.mkdir(parents=True)
        for workspace in workspaces:
            texts = [
                json.loads(line)["query"] for line in (workspace / "queries.jsonl").read_text().splitlines()
            ]
            reply = client.embed(texts, agent=workspace.name, kind="query")
            vectors = np.frombuffer(reply.vectors, dtype="<f4").reshape(reply.count, reply.dims)
            np.save(folder / f"{workspace.name}.npy", vectors)
    for index in (home.state / "memory").glob("*.sqlite"):
        shutil.copy(index, folder / index.name.replace(".memd", ""))


def load_workspace(root: Path, index: Path) -> EvaluationWorkspace:
    """Open an index that was built before, with its queries."""
    folder = root / index.stem
    db = connect_read_only(index)
    space = active_space(db)
    assert space is not None
    search = MatrixSearch()
    search.load(db, space.id)
    extension = VectorExtension()
    cache = VectorCache(extension, MatrixBudget(1 << 30))
    search.load(db, space.id)
    queries = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    paths = {each["path"] for query in queries for each in query["relevant"]}
    lines = {path: (folder / path).read_text().split("\n") for path in paths}
    vectors = np.load(index.with_suffix(".npy"))
    return EvaluationWorkspace(index.stem, db, search, space.id, queries, vectors, lines, cache)


def compare(settings: list[RankingVariant], workspaces: list[EvaluationWorkspace], max_results: int) -> None:
    """Print the evidence each setting shows, and its difference to the first."""
    baseline: NDArray[np.float64] | None = None
    print(f"{'setting':28} {'seen':>6} {'chars':>6} {'multi-hop':>10} {'temporal':>9}  difference, 95 %")
    for setting in settings:
        with constants_set(setting.constants):
            rows = [row for workspace in workspaces for row in run_setting(setting, workspace, max_results)]
        seen = np.array([row[1] for row in rows])
        kinds = np.array([row[0] for row in rows])
        known = seen[kinds != "adversarial"]
        characters = np.mean([row[2] for row in rows if row[0] != "adversarial"])
        if baseline is None:
            baseline, difference = known, ""
        else:
            low, high = bootstrap(known - baseline)
            difference = f"{np.mean(known - baseline):+.3f} ({low:+.3f} to {high:+.3f})"
        print(
            f"{setting.name:28} {np.mean(known):6.3f} {characters:6.0f} {np.mean(seen[kinds == 'multi-hop']):10.3f}"
            f" {np.mean(seen[kinds == 'temporal']):9.3f}  {difference}",
            flush=True,
        )


def run_setting(
    setting: RankingVariant, workspace: EvaluationWorkspace, max_results: int
) -> Iterator[tuple[str, float, int]]:
    """Yield (category, share of the evidence shown, characters shown) of every query."""
    settings = merged(QuerySettings(), setting.query)
    today = datetime.now(tz=UTC)
    for row, vector in zip(workspace.queries, workspace.vectors, strict=True):
        snapshot = take_snapshot(workspace.db, workspace.cache, workspace.search)
        query = parse_query(
            row["query"],
            snapshot.languages(),
            settings=settings,
            limits=SearchLimits(max_results),
            now_ms=int(today.timestamp() * 1000),
            vector=QueryVector(vector, workspace.space_id, "minilm") if setting.vectors else None,
        )
        found = find(snapshot, query)
        shown = [(hit.path, " ".join(hit.snippet.split())) for hit in found.hits]
        seen = [
            any(path == each["path"] and evidence(workspace, each) in text for path, text in shown)
            for each in row["relevant"]
        ]
        yield row["category"], sum(seen) / len(seen), sum(len(hit.snippet) for hit in found.hits)


def evidence(workspace: EvaluationWorkspace, relevant: Mapping[str, Any]) -> str:
    """Return the part of a line that has to be seen, as the set's scorer does."""
    return " ".join(workspace.lines[relevant["path"]][relevant["line"] - 1].split())[:SEEN_CHARACTERS]


def merged(settings: Any, changes: Mapping[str, Any]) -> Any:
    """Return settings with some values replaced, nested ones by nested maps."""
    values = {
        key: merged(getattr(settings, key), value) if isinstance(value, Mapping) else value
        for key, value in changes.items()
    }
    return msgspec.structs.replace(settings, **values)


@contextmanager
def constants_set(constants: Mapping[str, Any]) -> Iterator[None]:
    """Set constants of modules inside the block."""
    before = {}
    for name, value in constants.items():
        module, attribute = name.split(":")
        before[name] = getattr(import_module(module), attribute)
        setattr(import_module(module), attribute, value)
    try:
        yield
    finally:
        for name, value in before.items():
            module, attribute = name.split(":")
            setattr(import_module(module), attribute, value)


def bootstrap(differences: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % interval of the mean difference."""
    random = np.random.default_rng(5)
    picks = random.integers(0, len(differences), size=(RESAMPLES, len(differences)))
    low, high = np.quantile(differences[picks].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


if __name__ == "__main__":
    main()
