"""`memctl top`: current load of the daemon."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from memd.cli.arguments import examples
from memd.cli.connect import CliSession
from memd.cli.lines import BLANK, Line, count, dotted, line, row, size, span
from memd.cli.metrics import Figures, figures_between
from memd.cli.watching import watch

if TYPE_CHECKING:
    from memd.cli.output import Output
    from memd_client import Client
    from memd_client.messages import MetricsReply

REFRESH_S = 1.0

REQUEST_HEADS = ("request", "per s", "p50", "p95", "errors", "count")
AGENT_HEADS = ("agent", "searches/s", "searches", "files", "chunks", "to read", "to embed")

AGENTS_SHOWN = 20
"""Agents listed, busiest first; `memctl agents` lists all."""


@click.command(
    "top", epilog=examples("memctl top", "memctl top --once", "memctl top --json | jq .cpu_percent")
)
@click.option("--once", is_flag=True, help="Print the totals since the daemon's start, and exit.")
@click.option("as_json", "--json", is_flag=True, help="Print the totals as JSON.")
@click.pass_obj
def command(session: CliSession, once: bool, as_json: bool) -> None:
    """Show the daemon's requests, agents, models and load.

    Refreshes every second until q or Ctrl-C. If the output is a pipe, prints the totals since the daemon's start.
    """
    if session.output.out.terminal and not once and not as_json:
        watch(session, REFRESH_S, TopView().paint)
        return
    with session.client() as client:
        figures = figures_between(None, client.metrics())
    if as_json:
        session.output.document(asdict(figures))
    else:
        show(figures, session.output)


class TopView:
    """Prints the changes since its last refresh."""

    def __init__(self) -> None:
        self._earlier: MetricsReply | None = None

    def paint(self, client: Client, output: Output) -> None:
        later = client.metrics()
        show(figures_between(self._earlier, later), output)
        self._earlier = later


def show(figures: Figures, output: Output) -> None:
    output.lines(_head(figures))
    if figures.requests:
        output.lines([BLANK])
        output.table(
            REQUEST_HEADS,
            [
                (
                    each.method,
                    f"{each.per_s:,.1f}",
                    span(each.p50_ms) if each.count else "-",
                    span(each.p95_ms) if each.count else "-",
                    f"{each.errors:,}" if each.errors else "-",
                    f"{each.count:,}",
                )
                for each in figures.requests
            ],
        )
    if figures.agents:
        output.lines([BLANK])
        output.table(
            AGENT_HEADS,
            [
                (
                    each.agent,
                    f"{each.searches_per_s:,.1f}",
                    f"{each.searches:,}",
                    f"{each.files:,}",
                    f"{each.chunks:,}",
                    f"{each.files_pending:,}" if each.files_pending else "-",
                    f"{each.chunks_pending:,}" if each.chunks_pending else "-",
                )
                for each in figures.agents[:AGENTS_SHOWN]
            ],
        )
    hidden = len(figures.agents) - AGENTS_SHOWN
    if hidden > 0:
        output.lines([line((f"and {hidden:,} more; `memctl agents` lists all", "quiet"))])


def _head(figures: Figures) -> list[Line]:
    """Return the lines about the daemon as a whole."""
    files = sum(each.files_pending for each in figures.agents)
    chunks = sum(each.chunks_pending for each in figures.agents)
    lines = [
        line(
            *dotted(
                (f"memd {figures.version}", "title"),
                f"up {span(figures.uptime_ms)}",
                f"pid {figures.pid}",
                size(figures.rss_bytes),
                f"CPU {figures.cpu_percent:.0f} %",
            )
        ),
        row(
            "requests",
            *dotted(
                f"{figures.requests_per_s:,.1f} per s",
                count(figures.connections, "connection"),
                f"in the last {span(figures.seconds * 1000)}",
            ),
        ),
        row(
            "pending",
            *(
                dotted(
                    f"{count(files, 'file')} to read" if files else None,
                    f"{count(chunks, 'chunk')} to embed" if chunks else None,
                    f"{count(figures.texts_queued, 'text')} in the model's queue"
                    if figures.texts_queued
                    else None,
                )
                or ("nothing",)
            ),
        ),
    ]
    for each in figures.models:
        style = (
            "good" if each.state == "ready" else "warn" if each.state in ("failed", "restarting") else "quiet"
        )
        lines.append(row("model", *dotted(each.model, (each.state, style), size(each.rss_bytes))))
    return lines
