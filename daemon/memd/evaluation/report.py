"""The result of `memctl eval` as tables, and as a document for JSON. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memd.evaluation.measure import SHARES, Measurement, QueryOutcome, compare, groups_of, summarize
from memd.evaluation.queries import EvalQuery
from memd.system.units import span

Row = tuple[str, ...]

COMPARED_HEADS = ("now", "against", "difference", "95 % interval")


ROUNDED = "{:,.0f}".format


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


COLUMNS: dict[str, Callable[[float], str]] = {
    "queries": ROUNDED,
    **dict.fromkeys(SHARES, _percent),
    "p50_ms": span,
    "p95_ms": span,
    "characters": ROUNDED,
}
"""The figures of a row, and how each is printed."""


def tables(now: Sequence[QueryOutcome], other: Sequence[QueryOutcome] | None) -> list[tuple[Row, list[Row]]]:
    """Return the heads and rows of each table; `other` are the outcomes with the settings of `--compare`, if any."""
    if other is None:
        heads = ("", *(name.removesuffix("_ms") for name in COLUMNS))
        return [(heads, [_figure_row(name, group) for name, group in {"all": now, **_by_name(now)}.items()])]
    before, after = summarize(now), summarize(other)
    differences = {name: _difference(now, other, name) for name in SHARES}
    totals = [
        (name.removesuffix("_ms"), text(before[name]), text(after[name]), *differences.get(name, ("", "")))
        for name, text in COLUMNS.items()
        if name != "queries"
    ]
    others = _by_name(other)
    groups = [_compared_row(name, group, others[name]) for name, group in _by_name(now).items()]
    return [(("all queries", *COMPARED_HEADS), totals), (("found", "queries", *COMPARED_HEADS), groups)]


def _figure_row(name: str, outcomes: Sequence[QueryOutcome]) -> Row:
    figures = summarize(outcomes)
    return (name, *(text(figures[figure]) for figure, text in COLUMNS.items()))


def _compared_row(name: str, now: Sequence[QueryOutcome], other: Sequence[QueryOutcome]) -> Row:
    """Return the row that compares the share of queries found."""
    shares = [_percent(summarize(each)["found"]) for each in (now, other)]
    return (name, ROUNDED(len(now)), *shares, *_difference(now, other, "found"))


def _by_name(outcomes: Sequence[QueryOutcome]) -> dict[str, list[QueryOutcome]]:
    """Return all groups of outcomes by name; no two kinds have the same name."""
    return {name: group for groups in groups_of(outcomes).values() for name, group in groups.items()}


def _difference(now: Sequence[QueryOutcome], other: Sequence[QueryOutcome], share: str) -> Row:
    """Return the difference of a share in percentage points, and its interval."""
    value, low, high = (f"{100 * each:+.1f}" for each in compare(now, other, share))
    return value, f"{low} to {high}"


def document(
    agent: str, now: Measurement, other: Measurement | None, settings: Mapping[str, Any], *, with_misses: bool
) -> dict[str, Any]:
    """Return the result for JSON; shares and differences are from 0 to 1."""
    against: dict[str, Any] | None = None
    if other is not None:
        differences = {
            name: dict(
                zip(("value", "low", "high"), compare(now.outcomes, other.outcomes, name), strict=True)
            )
            for name in SHARES
        }
        against = {"settings": settings, **_figures(other), "differences": differences}
    misses = [each.query for each in now.outcomes if with_misses and "found" not in each.shares]
    return {
        "agent": agent,
        "queries": len(now.outcomes),
        "now": _figures(now),
        "against": against,
        "misses": list(map(_miss, misses)),
    }


def _miss(query: EvalQuery) -> dict[str, Any]:
    """Return a query whose place was not found."""
    line = query.lines[0]
    place = {"path": line.note.path, "line": line.number}
    return {"query": query.text, "kind": query.kind, "wording": query.wording, **place}


def _figures(measured: Measurement) -> dict[str, Any]:
    """Return the figures of one measurement."""
    return {
        "modes": measured.modes,
        "provider": measured.provider,
        "model": measured.model,
        "all": summarize(measured.outcomes),
        **{
            kind: {name: summarize(group) for name, group in groups.items()}
            for kind, groups in groups_of(measured.outcomes).items()
        },
    }
