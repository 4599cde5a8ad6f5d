"""Evidence that hits show, and ranks of sessions: figures of one query, and their means by set and category.

An evaluation set is a folder of workspaces (`SET-NAME/memory/*.md` with `SET-NAME/queries.jsonl`). Each row has `id`,
`query`, `category` and `relevant`, a list of `path` and `line`, or `start_line` and `end_line`. Queries about a value
that changed also have `original` and `updated`: lists of [path, line]. Rows of `unanswerable.jsonl` have no answer.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

MAX_RESULTS: Final = 60
"""Hits of a query, so that sessions can be ranked."""

MAX_CHARS: Final = 4_200
"""Characters that an agent reads: what six hits of 700 have."""

FIRST_HITS: Final = 6
"""Hits of a search that names no number."""

BEST_SESSIONS: Final = 10

STATEMENT_LINES: Final = 3
"""Lines after the first of a statement in which a hit still shows it."""

ADVERSARIAL: Final = "adversarial"
"""Category of queries with a false premise. Means without a category leave them out."""

QUERIES: Final = "queries.jsonl"
UNANSWERABLE: Final = "unanswerable.jsonl"

COLUMNS: Final = (
    "evidence",
    "evidence@6",
    "all@6",
    "chars@6",
    "hit@1",
    "hit@5",
    "recall@10",
    "mrr",
    "new_first",
    "refused",
)
"""The figures of a query.

evidence: share of its evidence that the hits within the budget of characters overlap
evidence@6, all@6: that of the first six hits, and whether they overlap all of it
chars@6: characters of the first six hits
hit@1, hit@5, recall@10, mrr: of the hits' files, which are sessions, in order
new_first: whether a hit shows the updated statement before any shows the original one
refused: whether there is no hit
"""


class ShownHit(Protocol):
    """What is read of a hit."""

    @property
    def path(self) -> str: ...
    @property
    def start_line(self) -> int: ...
    @property
    def end_line(self) -> int: ...
    @property
    def snippet(self) -> str: ...


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of a file."""

    path: str
    first: int
    last: int

    def is_shown_by(self, hit: ShownHit) -> bool:
        """Return whether a hit has one of the lines."""
        return hit.path == self.path and hit.start_line <= self.last and hit.end_line >= self.first


@dataclass(frozen=True, slots=True)
class EvaluationQuery:
    """A query with the evidence that answers it."""

    id: str
    text: str
    category: str
    evidence: tuple[LineRange, ...]
    original: tuple[LineRange, ...] = ()
    updated: tuple[LineRange, ...] = ()

    @property
    def has_single_lines(self) -> bool:
        """Whether each piece of evidence is one line."""
        return all(each.first == each.last for each in self.evidence)


def find_workspaces(root: Path) -> list[Path]:
    """Return the workspaces of an evaluation folder."""
    return sorted(path.parent for path in root.glob(f"*/{QUERIES}"))


def set_of(workspace: str) -> str:
    """Return the name of the set that a workspace belongs to."""
    return workspace.split("-")[0]


def load_queries(workspace: Path, name: str = QUERIES) -> list[EvaluationQuery]:
    """Return the queries of a workspace; none if it has no such file."""
    path = workspace / name
    rows = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [_parse_query(json.loads(row)) for row in rows]


def _parse_query(row: Mapping[str, Any]) -> EvaluationQuery:
    return EvaluationQuery(
        row["id"],
        row["query"],
        row["category"],
        tuple(_line_range(each) for each in row.get("relevant", ())),
        tuple(_statement(*each) for each in row.get("original", ())),
        tuple(_statement(*each) for each in row.get("updated", ())),
    )


def _line_range(row: Mapping[str, Any]) -> LineRange:
    if "start_line" in row:
        return LineRange(row["path"], row["start_line"], row["end_line"])
    return LineRange(row["path"], row["line"], row["line"])


def _statement(path: str, line: int) -> LineRange:
    return LineRange(path, line, line + STATEMENT_LINES)


def figures_of(
    query: EvaluationQuery, hits: Sequence[ShownHit], max_chars: int = MAX_CHARS
) -> dict[str, float]:
    """Return the figures of a query by column; `new_first` only if a value changed."""
    first = hits[:FIRST_HITS]
    shown = [any(each.is_shown_by(hit) for hit in first) for each in query.evidence]
    within = hits_within(hits, max_chars)
    files = list(dict.fromkeys(hit.path for hit in hits))
    sessions = {each.path for each in query.evidence}
    ranks = [at for at, file in enumerate(files, start=1) if file in sessions]
    figures = {
        "evidence": _share(any(each.is_shown_by(hit) for hit in within) for each in query.evidence),
        "evidence@6": _share(shown),
        "all@6": float(all(shown)),
        "chars@6": float(sum(len(hit.snippet) for hit in first)),
        "hit@1": float(1 in ranks),
        "hit@5": float(any(rank <= 5 for rank in ranks)),
        "recall@10": sum(rank <= BEST_SESSIONS for rank in ranks) / len(sessions),
        "mrr": 1 / ranks[0] if ranks else 0.0,
        "refused": float(not hits),
    }
    if query.original and query.updated:
        figures["new_first"] = float(_first_rank(query.updated, hits) < _first_rank(query.original, hits))
    return figures


def hits_within(hits: Sequence[ShownHit], max_chars: int) -> Sequence[ShownHit]:
    """Return the first hits whose snippets have at most so many characters together."""
    used = 0
    for at, hit in enumerate(hits):
        used += len(hit.snippet)
        if used > max_chars:
            return hits[:at]
    return hits


def _first_rank(statements: Iterable[LineRange], hits: Sequence[ShownHit]) -> int:
    """Return the rank of the first hit that shows a statement, behind all if none does."""
    wanted = tuple(statements)
    return next(
        (at for at, hit in enumerate(hits) if any(each.is_shown_by(hit) for each in wanted)), len(hits)
    )


def _share(values: Iterable[bool]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


@dataclass(frozen=True, slots=True)
class ScoredQuery:
    """The figures of one query of a set."""

    set_name: str
    category: str
    figures: Mapping[str, float]


def mean_table(scored: Iterable[ScoredQuery]) -> str:
    """Return the mean figures as a table: a row per set, and one per category."""
    groups: dict[tuple[str, str], list[Mapping[str, float]]] = defaultdict(list)
    for each in scored:
        if each.category != ADVERSARIAL:
            groups[each.set_name, ""].append(each.figures)
        groups[each.set_name, each.category].append(each.figures)
    lines = [f"{'set, category':34} {'n':>5} " + " ".join(f"{column:>10}" for column in COLUMNS)]
    for (set_name, category), rows in sorted(groups.items()):
        cells = " ".join(f"{_mean_cell(column, rows):>10}" for column in COLUMNS)
        lines.append(f"{f'{set_name} {category}':34} {len(rows):5} {cells}")
    return "\n".join(lines) + "\n"


def _mean_cell(column: str, rows: Sequence[Mapping[str, float]]) -> str:
    values = [row[column] for row in rows if column in row]
    if not values:
        return ""
    mean = sum(values) / len(values)
    return f"{mean:,.0f}" if column.startswith("chars") else f"{mean:.3f}"
