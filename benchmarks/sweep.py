"""Ranking variants compared over the evaluation sets of a folder, with paired confidence intervals.

    python -m benchmarks.sweep --eval DIR [--work DIR] [--sets SET ...] [--only NAME ...] [--list]

A real daemon indexes the sets once. Each variant (`benchmarks/variants.py`) then runs memd's own search over those
indexes with the same vectors. Every variant is compared with the default, query by query (bootstrap over the queries of
a set, 95 %). Lines are not compared for relevance, as the daemon does if a search leaves doubt: it refuses a few more.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.evidence import (
    ADVERSARIAL,
    MAX_RESULTS,
    EvaluationQuery,
    ScoredQuery,
    figures_of,
    load_queries,
    set_of,
)
from benchmarks.retrieval import WITH_MODEL, chosen_workspaces, copy_workspaces, default_eval
from benchmarks.variants import DEFAULT, VARIANTS, RankingVariant, constants_set
from memd.index.meta import active_space
from memd.index.snapshot import take_snapshot
from memd.index.vectors.cache import MatrixBudget, VectorCache
from memd.index.vectors.matrix import MatrixSearch
from memd.index.vectors.sqlite_vec import VectorExtension
from memd.search.find import find
from memd.search.query import QueryVector, SearchLimits, parse_query
from memd.settings.schema import QuerySettings
from memd.system.sqlite import Database, connect_read_only
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

RESAMPLES: Final = 2_000
"""Bootstrap samples of the queries."""

SHOWN_CATEGORIES: Final = ("multi-hop",)
"""Categories with a column of their own."""

WITH_INTERVALS: Final = "evidence"
"""The figure whose difference to the default has an interval."""

FIGURES: Final = (WITH_INTERVALS, "hit@1", "new_first", "refused")

Floats = NDArray[np.float64]


@dataclass
class IndexedWorkspace:
    """One indexed workspace with its queries and their vectors."""

    name: str
    db: Database
    search: MatrixSearch
    space_id: str
    queries: list[EvaluationQuery]
    vectors: NDArray[np.float32]
    cache: VectorCache


def main() -> None:
    """Run the variants and print a row for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--eval", type=Path, default=default_eval(), help="folder of the evaluation sets")
    parser.add_argument("--work", type=Path, help="keep the indexes here, and use those that are there")
    parser.add_argument("--sets", nargs="*", help="names of sets, instead of all")
    parser.add_argument("--only", nargs="*", help="names of variants to run besides the default")
    parser.add_argument("--list", action="store_true", help="list the variants")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(variant.name for variant in VARIANTS))
        return
    workspaces = chosen_workspaces(arguments.eval, arguments.sets)
    with StateHome() as home:
        folder = arguments.work or home.root / "indexes"
        if not folder.is_dir():
            build_indexes(home, workspaces, folder)
        indexed = [load_workspace(each, folder / f"{each.name}.sqlite") for each in workspaces]
        chosen = [each for each in VARIANTS if not arguments.only or each.name in arguments.only]
        for line in compare([DEFAULT, *chosen], indexed):
            print(line, flush=True)


def build_indexes(home: StateHome, workspaces: Sequence[Path], folder: Path) -> None:
    """Index every workspace with a daemon; keep indexes and query vectors."""
    home.configure(copy_workspaces(home, workspaces, WITH_MODEL))
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=600) as client:
        client.model("minilm")
        client.index()
        folder.mkdir(parents=True)
        for workspace in workspaces:
            texts = [query.text for query in load_queries(workspace)]
            reply = client.embed(texts, agent=workspace.name, kind="query")
            vectors = np.frombuffer(reply.vectors, dtype="<f4").reshape(reply.count, reply.dims)
            np.save(folder / f"{workspace.name}.npy", vectors)
    for index in (home.state / "memory").glob("*.sqlite"):
        shutil.copy(index, folder / index.name.replace(".memd", ""))


def load_workspace(workspace: Path, index: Path) -> IndexedWorkspace:
    """Open an index that was built before, with the queries of its workspace."""
    db = connect_read_only(index)
    space = active_space(db)
    assert space is not None
    search = MatrixSearch()
    search.load(db, space.id)
    cache = VectorCache(VectorExtension(), MatrixBudget(1 << 30))
    vectors = np.load(index.with_suffix(".npy"))
    return IndexedWorkspace(workspace.name, db, search, space.id, load_queries(workspace), vectors, cache)


def compare(variants: Iterable[RankingVariant], workspaces: Sequence[IndexedWorkspace]) -> Iterator[str]:
    """Yield a Markdown table of the variants: what each shows, and its difference to the first."""
    baseline: dict[str, Floats] = {}
    for variant in variants:
        columns = columns_of(run_variant(variant, workspaces))
        if not baseline:
            baseline = columns
            yield f"| variant | {' | '.join(columns)} |"
            yield "|---" * (len(columns) + 1) + "|"
        cells = [cell(name, values, baseline[name]) for name, values in columns.items()]
        yield f"| {variant.name} | {' | '.join(cells)} |"


def run_variant(variant: RankingVariant, workspaces: Sequence[IndexedWorkspace]) -> list[ScoredQuery]:
    """Return the figures of all queries with one variant."""
    settings = merged(QuerySettings(), variant.query)
    now_ms = int(datetime.now(tz=UTC).timestamp() * 1000)
    scored = []
    with constants_set(variant.constants):
        for workspace in workspaces:
            for query, vector in zip(workspace.queries, workspace.vectors, strict=True):
                snapshot = take_snapshot(workspace.db, workspace.cache, workspace.search)
                parsed = parse_query(
                    query.text,
                    snapshot.languages(),
                    settings=settings,
                    limits=SearchLimits(MAX_RESULTS),
                    now_ms=now_ms,
                    vector=QueryVector(vector, workspace.space_id, "minilm") if variant.vectors else None,
                )
                figures = figures_of(query, find(snapshot, parsed).hits)
                scored.append(ScoredQuery(set_of(workspace.name), query.category, figures))
    return scored


def columns_of(scored: Sequence[ScoredQuery]) -> dict[str, Floats]:
    """Return the values of all queries by column; columns without a value are left out.

    The evidence has a column for each set, for one with its adversarial queries, and for its multi-hop ones.
    """
    columns: dict[str, list[float]] = {}
    with_adversarial = {each.set_name for each in scored if each.category == ADVERSARIAL}
    for figure in FIGURES:
        for each in scored:
            if figure not in each.figures:
                continue
            names = [] if each.category == ADVERSARIAL else [each.set_name]
            if figure == WITH_INTERVALS:
                names += [f"{each.set_name} with {ADVERSARIAL}"] if each.set_name in with_adversarial else []
                names += [f"{each.set_name} {each.category}"] if each.category in SHOWN_CATEGORIES else []
            for name in names:
                columns.setdefault(f"{figure} {name}", []).append(each.figures[figure])
    return {name: np.array(values) for name, values in columns.items()}


def cell(name: str, values: Floats, baseline: Floats) -> str:
    """Return the mean of a column, and its difference to the default if that has an interval."""
    mean = f"{np.mean(values):.3f}"
    if values is baseline or not name.startswith(WITH_INTERVALS):
        return mean
    difference = values - baseline
    if not difference.any():
        return f"{mean} (same)"
    low, high = bootstrap(difference)
    return f"{mean} {np.mean(difference):+.3f} ({low:+.3f} to {high:+.3f})"


def merged(settings: Any, changes: Mapping[str, Any]) -> Any:
    """Return settings with some values replaced, nested ones by nested maps."""
    values = {
        key: merged(getattr(settings, key), value) if isinstance(value, Mapping) else value
        for key, value in changes.items()
    }
    return msgspec.structs.replace(settings, **values)


def bootstrap(differences: Floats) -> tuple[float, float]:
    """Return the 95 % interval of the mean difference."""
    random = np.random.default_rng(5)
    picks = random.integers(0, len(differences), size=(RESAMPLES, len(differences)))
    low, high = np.quantile(differences[picks].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


if __name__ == "__main__":
    main()
