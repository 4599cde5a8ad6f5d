"""The result of `memctl eval` as tables, and as a document for JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from memd.cli.evaluation.measure import Measurement
from memd.cli.evaluation.outcomes import (
    SHARES,
    QualityFigures,
    QueryOutcome,
    ShareDifference,
    compare,
    groups_of,
    summarize,
)
from memd.cli.lines import span

HEADS = ("", "queries", "first", "found", "shown", "refused", "p50", "p95", "characters")
TOTAL_HEADS = ("all queries", "now", "against", "difference", "95 % interval")
GROUP_HEADS = ("found", "queries", "now", "against", "difference", "95 % interval")

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of one run; `other` is the measurement with the settings of `--compare`, if any."""

    agent: str
    seed: int
    now: Measurement
    other: Measurement | None
    settings: Mapping[str, Any]


def share(value: float) -> str:
    """Return a share in percent with one decimal."""
    return f"{100 * value:.1f} %"


def points(value: float) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    return f"{100 * value:+.1f}"


def figure_rows(outcomes: Sequence[QueryOutcome]) -> list[Row]:
    """Return the rows of the table: all queries, then by kind of file, kind of query, and wording."""
    rows = [_figure_row("all", summarize(outcomes))]
    for groups in groups_of(outcomes).values():
        rows += [_figure_row(name, summarize(each)) for name, each in groups.items()]
    return rows


def _figure_row(name: str, figures: QualityFigures) -> Row:
    """Return one row of the table."""
    return (
        name,
        f"{figures.queries:,}",
        share(figures.first),
        share(figures.found),
        share(figures.shown),
        share(figures.refused),
        span(figures.p50_ms),
        span(figures.p95_ms),
        f"{figures.characters:,.0f}",
    )


def total_rows(now: Sequence[QueryOutcome], other: Sequence[QueryOutcome], seed: int) -> list[Row]:
    """Return the rows that compare all queries under two settings."""
    before, after = summarize(now), summarize(other)
    rows: list[Row] = []
    for name, each in SHARES.items():
        cells = share(getattr(before, name)), share(getattr(after, name))
        rows.append((name, *cells, *_difference_cells(compare(now, other, each, seed))))
    rows += [
        (name, span(first), span(second), "", "")
        for name, first, second in (
            ("p50", before.p50_ms, after.p50_ms),
            ("p95", before.p95_ms, after.p95_ms),
        )
    ]
    characters = f"{before.characters:,.0f}", f"{after.characters:,.0f}"
    return [*rows, ("characters", *characters, "", "")]


def group_rows(now: Sequence[QueryOutcome], other: Sequence[QueryOutcome], seed: int) -> list[Row]:
    """Return the rows that compare the share of queries found, by kind of file, kind of query, and wording."""
    groups, others = groups_of(now), groups_of(other)
    return [
        (
            name,
            f"{len(each):,}",
            share(summarize(each).found),
            share(summarize(others[kind][name]).found),
            *_difference_cells(compare(each, others[kind][name], SHARES["found"], seed)),
        )
        for kind, named in groups.items()
        for name, each in named.items()
    ]


def _difference_cells(difference: ShareDifference) -> Row:
    """Return a difference and its interval."""
    return points(difference.value), f"{points(difference.low)} to {points(difference.high)}"


def document(result: Evaluation, *, with_misses: bool) -> dict[str, Any]:
    """Return the result for JSON; shares and differences are from 0 to 1."""
    made: dict[str, Any] = {
        "agent": result.agent,
        "seed": result.seed,
        "queries": len(result.now.outcomes),
        "now": _measurement(result.now),
        "against": None,
        "misses": [_miss(each) for each in result.now.outcomes if with_misses and not each.is_found],
    }
    if result.other is not None:
        now, other = result.now.outcomes, result.other.outcomes
        made["against"] = {
            "settings": dict(result.settings),
            **_measurement(result.other),
            "differences": {
                name: asdict(compare(now, other, each, result.seed)) for name, each in SHARES.items()
            },
        }
    return made


def _miss(outcome: QueryOutcome) -> dict[str, Any]:
    """Return a query whose place was not found."""
    query = outcome.query
    return {
        "query": query.text,
        "kind": query.kind,
        "wording": query.wording,
        "path": query.path,
        "line": query.line,
    }


def _measurement(measured: Measurement) -> dict[str, Any]:
    """Return the figures of one measurement."""
    return {
        "modes": measured.modes,
        "provider": measured.provider,
        "model": measured.model,
        "all": asdict(summarize(measured.outcomes)),
        **{
            kind: {name: asdict(summarize(each)) for name, each in groups.items()}
            for kind, groups in groups_of(measured.outcomes).items()
        },
    }
