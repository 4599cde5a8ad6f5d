"""Retrieval quality: the evaluation sets of a folder through the real daemon.

    python -m benchmarks.retrieval --eval DIR [--sets SET ...] [--max-chars N] [--settings JSON]
                                   [--features FILE [--lexical]]

DIR has one folder per workspace: `SET-NAME/memory/*.md` with `SET-NAME/queries.jsonl`. Each row has `id`, `query`,
`category` and `relevant`, a list of `path` and `line`, or `start_line` and `end_line`. Rows of `unanswerable.jsonl`
have no answer. Each workspace becomes an agent of one daemon with the local MiniLM model, and every query goes over the
socket like a client's. Tables follow for 60 hits, for 60 hits within a budget of characters, and the same by keyword
search alone. Their columns are

    evidence             share of a query's evidence that the hits within the budget of characters overlap
    evidence@6, chars@6  the same of the first six hits, and their characters
    hit@1, hit@5, recall@10, mrr    of the hits' files, which are conversations, in order
    refused              share of queries without a hit

`--features FILE` writes a row for each hit within the budget instead, for `scripts/fit_confidence.py`: with `--lexical`
of keyword search alone. The hits of queries of other sets are among them, which hold no evidence.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.corpora import VECTOR_SEARCH, StateError, check_all_indexed
from memd_client import Client
from memd_client.messages import Hit
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

MAX_RESULTS: Final = 60
"""Hits of a query, so that conversations can be ranked."""

MAX_CHARS: Final = 4_200
"""Characters that an agent reads: what six hits of 700 have."""

FIRST_HITS: Final = 6
"""Hits of a search that names no number."""

BEST_FILES: Final = 10

ADVERSARIAL: Final = "adversarial"
"""Category of queries with a false premise. Means without a category leave them out."""

QUERIES: Final = "queries.jsonl"
UNANSWERABLE: Final = "unanswerable.jsonl"

COLUMNS: Final = ("evidence", "evidence@6", "chars@6", "hit@1", "hit@5", "recall@10", "mrr", "refused")

FOREIGN: Final = "foreign"
"""The set of queries that are asked in a workspace of another set."""

FOREIGN_QUERIES: Final = 12
"""Queries of other sets that are asked in each workspace."""


class LineRange(NamedTuple):
    """Lines of a file."""

    path: str
    first: int
    last: int

    def is_shown_by(self, hit: Hit) -> bool:
        """Return whether a hit has one of the lines."""
        return hit.path == self.path and hit.start_line <= self.last and hit.end_line >= self.first


class EvaluationQuery(NamedTuple):
    """A query with the evidence that answers it."""

    id: str
    text: str
    category: str
    evidence: tuple[LineRange, ...]


class ScoredQuery(NamedTuple):
    """The figures of one query of a set."""

    set_name: str
    category: str
    figures: Mapping[str, float]


def find_workspaces(root: Path, sets: Sequence[str] | None = None) -> list[Path]:
    """Return the workspaces of some sets, or of all."""
    return sorted(
        path.parent for path in root.glob(f"*/{QUERIES}") if not sets or set_of(path.parent.name) in sets
    )


def set_of(workspace: str) -> str:
    """Return the name of the set that a workspace belongs to."""
    return workspace.split("-")[0]


def load_queries(workspace: Path, name: str = QUERIES) -> list[EvaluationQuery]:
    """Return the queries of a workspace; none if it has no such file."""
    path = workspace / name
    rows = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [_parse_query(json.loads(row)) for row in rows]


def _parse_query(row: Mapping[str, Any]) -> EvaluationQuery:
    evidence = [
        LineRange(
            each["path"], each.get("start_line", each.get("line")), each.get("end_line", each.get("line"))
        )
        for each in row.get("relevant", ())
    ]
    return EvaluationQuery(row["id"], row["query"], row["category"], tuple(evidence))


def figures_of(query: EvaluationQuery, hits: Sequence[Hit], max_chars: int = MAX_CHARS) -> dict[str, float]:
    """Return the figures of a query by column."""
    first, within = hits[:FIRST_HITS], hits_within(hits, max_chars)
    files = list(dict.fromkeys(hit.path for hit in hits))
    relevant = {each.path for each in query.evidence}
    ranks = [rank for rank, file in enumerate(files, start=1) if file in relevant]
    return {
        "evidence": _share(any(each.is_shown_by(hit) for hit in within) for each in query.evidence),
        "evidence@6": _share(any(each.is_shown_by(hit) for hit in first) for each in query.evidence),
        "chars@6": float(sum(len(hit.snippet) for hit in first)),
        "hit@1": float(1 in ranks),
        "hit@5": float(any(rank <= 5 for rank in ranks)),
        "recall@10": sum(rank <= BEST_FILES for rank in ranks) / len(relevant),
        "mrr": 1 / ranks[0] if ranks else 0.0,
        "refused": float(not hits),
    }


def hits_within(hits: Sequence[Hit], max_chars: int) -> Sequence[Hit]:
    """Return the first hits whose snippets have at most so many characters together."""
    used = 0
    for count, hit in enumerate(hits):
        used += len(hit.snippet)
        if used > max_chars:
            return hits[:count]
    return hits


def _share(values: Iterable[bool]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


def mean_table(scored: Iterable[ScoredQuery]) -> str:
    """Return the mean figures as a table: a row per set, and one per category."""
    groups: dict[tuple[str, str], list[Mapping[str, float]]] = defaultdict(list)
    for each in scored:
        if each.category != ADVERSARIAL:
            groups[each.set_name, ""].append(each.figures)
        groups[each.set_name, each.category].append(each.figures)
    lines = [f"{'set, category':34} {'n':>5} " + " ".join(f"{column:>10}" for column in COLUMNS)]
    for (set_name, category), rows in sorted(groups.items()):
        means = [sum(row[column] for row in rows) / len(rows) for column in COLUMNS]
        cells = [f"{mean:10,.0f}" if mean > 1 else f"{mean:10.3f}" for mean in means]
        lines.append(f"{f'{set_name} {category}':34} {len(rows):5} {' '.join(cells)}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Search for all queries and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--eval", type=Path, required=True, help="folder of the evaluation sets")
    parser.add_argument("--sets", nargs="*", help="names of sets, instead of all")
    parser.add_argument("--max-chars", type=int, default=MAX_CHARS, help="budget of characters")
    parser.add_argument("--settings", default="{}", help="memorySearch settings as JSON, over the defaults")
    parser.add_argument("--features", type=Path, help="file for the features of hits, instead of tables")
    parser.add_argument("--lexical", action="store_true", help="features of keyword search alone")
    arguments = parser.parse_args()
    workspaces = find_workspaces(arguments.eval, arguments.sets)
    if not workspaces:
        sys.exit(f"{arguments.eval} has no workspace with queries")
    with StateHome() as home:
        home.configure(copy_workspaces(home, workspaces, {**VECTOR_SEARCH, **json.loads(arguments.settings)}))
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=600) as client:
            client.model("minilm")
            chunks = sum(agent.chunks for agent in check_all_indexed(client.index()))
            print(f"{chunks:,} chunks indexed", file=sys.stderr)
            if arguments.features is not None:
                rows = feature_rows(client, workspaces, arguments.max_chars, lexical_only=arguments.lexical)
                arguments.features.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
                return
            for lexical_only in (False, True):
                for max_chars in (None, arguments.max_chars):
                    limits = {"lexical_only": lexical_only, "max_chars": max_chars}
                    what = "keyword search alone" if lexical_only else "hybrid search"
                    budget = "" if max_chars is None else f" within {max_chars:,} characters"
                    print(f"\n{what}, {MAX_RESULTS} hits{budget}\n")
                    print(tables(client, workspaces, limits, arguments.max_chars), end="", flush=True)


def feature_rows(
    client: Client, workspaces: Sequence[Path], max_chars: int, *, lexical_only: bool
) -> Iterator[dict[str, Any]]:
    """Yield the set, the features and the label of each hit within the budget."""
    for workspace in workspaces:
        name = set_of(workspace.name)
        others = [other for other in workspaces if set_of(other.name) != name]
        foreign = [query for other in others for query in load_queries(other)]
        asked = [
            (name, query) for query in (*load_queries(workspace), *load_queries(workspace, UNANSWERABLE))
        ]
        asked += [(FOREIGN, query) for query in foreign[:: max(1, len(foreign) // FOREIGN_QUERIES)]]
        for set_name, query in asked:
            reply = client.search(
                query.text,
                agent=workspace.name,
                max_results=MAX_RESULTS,
                explain=True,
                lexical_only=lexical_only,
            )
            for hit in hits_within(reply.hits, max_chars):
                label = set_name != FOREIGN and any(each.is_shown_by(hit) for each in query.evidence)
                why = hit.explain or {}
                yield {"set": set_name, "label": label, "judge": why["judge"], "features": why["features"]}


def copy_workspaces(
    home: StateHome, workspaces: Sequence[Path], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Copy each workspace for an agent of its own; return the settings."""
    agents = []
    for workspace in workspaces:
        shutil.copytree(workspace / "memory", home.state / workspace.name / "memory")
        agents.append({"id": workspace.name, "workspace": str(home.state / workspace.name)})
    return {"agents": {"defaults": {"memorySearch": dict(settings)}, "list": agents}}


def tables(client: Client, workspaces: Sequence[Path], limits: Mapping[str, Any], max_chars: int) -> str:
    """Search for every query; return the figures by set and category, and how many unanswerable queries had no hit."""
    scored: list[ScoredQuery] = []
    refused: dict[str, list[bool]] = defaultdict(list)
    mode = "keyword" if limits["lexical_only"] else "hybrid"

    def search(query: EvaluationQuery) -> Sequence[Hit]:
        reply = client.search(query.text, agent=workspace.name, max_results=MAX_RESULTS, **limits)
        if reply.mode != mode:
            raise StateError(f"{query.id}: mode {reply.mode}, degraded {reply.degraded}")
        return reply.hits

    for workspace in workspaces:
        name = set_of(workspace.name)
        for query in load_queries(workspace):
            scored.append(ScoredQuery(name, query.category, figures_of(query, search(query), max_chars)))
        refused[name] += [not search(query) for query in load_queries(workspace, UNANSWERABLE)]
    rows = [
        f"{name} unanswerable: {sum(each)} of {len(each)} refused\n" for name, each in refused.items() if each
    ]
    return mean_table(scored) + "".join(rows)


if __name__ == "__main__":
    main()
