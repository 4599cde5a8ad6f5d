"""How the agents of one search were searched: in one line if all alike, and what each answer lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memd.cli.lines import Line, Piece, dotted, embedder, fallback_pieces, line, since
from memd.cli.wording import count, span

if TYPE_CHECKING:
    from memd_client.messages import SearchAgentsReply, SearchedAgent

Notice = tuple[str, tuple[Piece, ...], str]
"""A label, what it says, and a hint or nothing."""


def summary_lines(reply: SearchAgentsReply, now_ms: int) -> list[Line]:
    """Return how many hits and agents there are, how the agents were searched, and what is missing."""
    searched = [row for row in reply.agents if row.error is None]
    how = {(row.mode, _embedder(row)) for row in searched}
    mode, embedder_name = next(iter(how)) if len(how) == 1 else ("", "")
    lines = [
        line(
            *dotted(
                (count(len(reply.hits), "hit"), "title"),
                f"{count(len(searched), 'agent')} searched",
                mode,
                span(reply.took_ms),
                embedder_name,
            )
        )
    ]
    notices: dict[Notice, list[str]] = {}
    for row in reply.agents:
        if row.empty is not None and not reply.hits:
            notices.setdefault(("no hits", (row.empty.message,), with_options(row.empty.hint)), []).append(
                row.agent
            )
        for notice in _notices(row, now_ms, with_mode=len(how) > 1):
            notices.setdefault(notice, []).append(row.agent)
    for (label, pieces, hint), agents in notices.items():
        lines.append(line((f"{label}: ", "warn"), *_whose(agents, reply.agents), *pieces))
        if hint:
            lines.append(line(("try: ", "label"), hint, indent=2))
    return lines


def with_options(hint: str) -> str:
    """Return a hint of the daemon with the command line's name of a parameter."""
    return hint.replace("min_score", "--min-score")


def _whose(agents: Sequence[str], rows: Sequence[SearchedAgent]) -> tuple[Piece, ...]:
    """Return the names that stand before a notice; none if it is about all agents."""
    return () if len(agents) == len(rows) > 1 else ((f"{', '.join(agents)}: ", "title"),)


def _notices(row: SearchedAgent, now_ms: int, *, with_mode: bool) -> Iterator[Notice]:
    """Return what is to be said of one agent's search."""
    if row.error is not None:
        yield "error", (f"{row.error.message} ({row.error.code})",), row.error.hint
        return
    if with_mode:
        yield "mode", dotted(row.mode, _embedder(row)), ""
    if row.fallback is not None:
        yield "fallback", fallback_pieces(row.fallback, _embedder(row), now_ms), ""
    if row.degraded is not None:
        degraded = row.degraded
        yield "degraded", (degraded.reason, (since(degraded, now_ms), "quiet")), degraded.hint
    if row.partial:
        yield "partial", ("time was up before everything was looked at",), ""
    if row.pending is not None:
        waiting = dotted(
            f"{count(row.pending.files, 'changed file')} not read yet" if row.pending.files else None,
            f"{count(row.pending.chunks, 'chunk')} still without a vector" if row.pending.chunks else None,
        )
        if waiting:
            yield "pending", waiting, ""


def _embedder(row: SearchedAgent) -> str:
    """Return whose vectors were compared; empty if keywords alone answered."""
    return "" if row.mode == "keyword" else embedder(row.provider, row.model)
