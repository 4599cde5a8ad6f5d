"""`memctl eval`: how well searches find what is in the user's own notes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from memd.cli.arguments import HintedError, agent_option, examples, json_option, utf8
from memd.cli.connect import CliSession, offer_sample
from memd.cli.lines import BLANK, count, dotted, embedder, line
from memd.cli.progress import for_agent

if TYPE_CHECKING:
    from memd.evaluation.measure import Measurement
    from memd_client.messages import Progress

MIN_QUERIES, MAX_QUERIES = 20, 10_000
"""Fewer queries tell nothing: one more hit changes a share by 5 percentage points."""


@click.command(
    "eval",
    short_help="Measure how well searches find what is in your notes.",
    epilog=examples(
        "memctl eval",
        "memctl eval --agent main --queries 1000 --show-misses",
        "memctl eval --compare query.hybrid.fusion=rrf",
        "memctl eval --compare local.modelPath=~/models/other.gguf --json",
    ),
)
@agent_option
@click.option(
    "limit",
    "--queries",
    type=click.IntRange(MIN_QUERIES, MAX_QUERIES),
    default=300,
    show_default=True,
    metavar="N",
    help="Maximum number of queries.",
)
@click.option(
    "--compare",
    "against",
    multiple=True,
    type=utf8,
    metavar="KEY=VALUE",
    help="Compare with another value of a setting below `search`; may be repeated.",
)
@click.option(
    "--allow-remote",
    is_flag=True,
    help="Send queries, and with --compare also notes, to a remote provider.",
)
@click.option(
    "--show-misses", "misses", is_flag=True, help="Also list the queries whose place was not found."
)
@json_option
@click.pass_obj
def command(
    session: CliSession,
    agent: str | None,
    limit: int,
    against: tuple[str, ...],
    allow_remote: bool,
    misses: bool,
    as_json: bool,
) -> None:
    """Measure how well searches find what is in an agent's notes.

    Makes queries from the notes, runs them, and prints how often the place that a query was made from is found. With
    `--compare`, runs them a second time on a temporary index with other settings, and prints the difference. Nothing
    is written to notes or index, and nothing leaves this machine unless `--allow-remote` is given.
    """
    from memd.evaluation import comparison, notes, queries, report
    from memd.evaluation.measure import measure, remote_provider

    settings = comparison.parse_settings(against, allow_remote=allow_remote)
    with session.client() as client:
        status = client.status()
        agent = client.files(agent=agent, limit=1).agent
        state = next(each for each in status.agents if each.agent == agent)
        provider = "" if allow_remote else remote_provider(state)
        if provider:
            session.output.note(
                f"searching by keywords alone, because queries would be sent to {provider}; "
                "--allow-remote permits that"
            )
        with session.output.progress(for_agent(agent), quiet=as_json) as show:
            read = notes.read_notes(client, agent, _counting(show, "notes"))
            made = queries.make_queries(read, limit)
            if len(made) < MIN_QUERIES:
                if not read:
                    offer_sample(session)
                raise HintedError(
                    f"the notes of agent {agent} are too few: {count(len(read), 'file')} gave "
                    f"{len(made):,} queries, at least {MIN_QUERIES} are needed",
                    "choose an agent with more notes by --agent; `memctl agents` lists them",
                )
            other: Measurement | None = None
            if settings:
                if not allow_remote:
                    settings = comparison.with_local_provider(settings, state.provider)
                with comparison.private_daemon(status, agent, settings, show) as private:
                    counting = _counting(show, "queries with --compare")
                    other = measure(private, agent, made, counting, allow_remote=allow_remote)
            counting = _counting(show, "queries")
            now = measure(
                client, agent, made, counting, allow_remote=allow_remote, keywords_only=bool(provider)
            )
    if as_json:
        session.output.document(report.document(agent, now, other, settings, with_misses=misses))
    else:
        _print(session, now, other, with_misses=misses)


def _counting(show: Callable[[Progress], None], stage: str) -> Callable[[int, int], None]:
    """Return a function that shows how much of a stage is done."""
    from memd_client.messages import Progress

    return lambda done, total: show(Progress(0, stage, done, total))


def _print(session: CliSession, now: Measurement, other: Measurement | None, *, with_misses: bool) -> None:
    """Print the tables, how was searched, and the queries whose place was not found, each with that place."""
    from memd.evaluation.report import tables

    for at, (heads, rows) in enumerate(tables(now.outcomes, other.outcomes if other else None)):
        session.output.lines([BLANK] if at else [])
        session.output.table(heads, rows)
    lines = [BLANK, line(("now: ", "label") if other else "", *_how(now))]
    if other is not None:
        lines.append(line(("against: ", "label"), *_how(other)))
    misses = [each.query for each in now.outcomes if with_misses and "found" not in each.shares]
    lines += [BLANK] if with_misses else []
    for query in misses:
        path, number = query.lines[0].note.path, query.lines[0].number
        lines.append(line((path, "path"), f":{number}", (f"  {query.kind}", "quiet"), f"  {query.text}"))
    session.output.lines(lines)


def _how(measured: Measurement) -> tuple[Any, ...]:
    """Return how many queries were searched for, by which search, and with which model."""
    return dotted(
        (f"{len(measured.outcomes):,} queries", "title"),
        " and ".join(measured.modes),
        embedder(measured.provider, measured.model),
    )
