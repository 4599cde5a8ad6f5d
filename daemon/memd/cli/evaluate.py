"""`memctl eval`: how well searches find what is in the user's own notes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from memd.cli.arguments import HintedError, agent_option, examples, json_option, utf8
from memd.cli.connect import CliSession, offer_sample
from memd.cli.evaluation.measure import Measurement, agent_status, measure, prepare, remote_provider
from memd.cli.evaluation.outcomes import QueryOutcome
from memd.cli.evaluation.private_daemon import private_daemon
from memd.cli.evaluation.queries import EvalQuery, make_queries
from memd.cli.evaluation.reading import choose_files, list_files, read_notes
from memd.cli.evaluation.report import (
    GROUP_HEADS,
    HEADS,
    TOTAL_HEADS,
    Evaluation,
    document,
    figure_rows,
    group_rows,
    total_rows,
)
from memd.cli.evaluation.settings import parse_settings, require_local, with_providers
from memd.cli.lines import BLANK, Line, count, dotted, embedder, line
from memd.cli.progress import for_agent

if TYPE_CHECKING:
    from memd_client import Client
    from memd_client.messages import Progress, StatusReply

DEFAULT_QUERIES = 300
MAX_QUERIES = 10_000

MIN_QUERIES = 20
"""Fewer queries say nothing: one more hit changes a share by 5 percentage points."""

Show = Callable[["Progress"], None]


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
    default=DEFAULT_QUERIES,
    show_default=True,
    metavar="N",
    help="Maximum number of queries.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="Another number makes other queries.",
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
    seed: int,
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
    settings = parse_settings(against)
    if not allow_remote:
        require_local(settings)
    with session.client() as client:
        status = client.status()
        agent = client.files(agent=agent, limit=1).agent
        provider = remote_provider(agent_status(status, agent))
        keywords_only = bool(provider) and not allow_remote
        if keywords_only:
            session.output.note(
                f"searching by keywords alone, because queries would be sent to {provider}; "
                "--allow-remote permits that"
            )
        with session.output.progress(for_agent(agent), quiet=as_json) as show:
            queries = _make_queries(session, client, agent, limit, seed, show)
            settings = _completed(client, settings, status, agent, allow_remote=allow_remote)
            other: Measurement | None = None
            if against:
                other = _measure_other(status, agent, queries, settings, allow_remote=allow_remote, show=show)
            now = measure(
                client,
                agent,
                queries,
                keywords_only=keywords_only,
                allow_remote=allow_remote,
                show=_counting(show, "queries"),
            )
    result = Evaluation(agent, seed, now, other, settings if against else {})
    if as_json:
        session.output.document(document(result, with_misses=misses))
    else:
        _print(session, result, with_misses=misses)


def _make_queries(
    session: CliSession, client: Client, agent: str, limit: int, seed: int, show: Show
) -> list[EvalQuery]:
    """Return queries made from an agent's notes."""
    files = list_files(client, agent)
    chosen = choose_files(files, seed)
    queries = make_queries(read_notes(client, agent, chosen, _counting(show, "notes")), limit, seed)
    if len(queries) < MIN_QUERIES:
        if not files:
            offer_sample(session)
        raise HintedError(
            f"the notes of agent {agent} are too few: {count(len(files), 'file')} gave "
            f"{len(queries):,} queries, at least {MIN_QUERIES} are needed",
            "choose an agent with more notes by --agent; `memctl agents` lists them",
        )
    if len(chosen) < len(files):
        session.output.note(f"queries are made from {len(chosen):,} of {len(files):,} files")
    return queries


def _completed(
    client: Client, settings: Mapping[str, Any], status: StatusReply, agent: str, *, allow_remote: bool
) -> dict[str, Any]:
    """Return the settings of `--compare` with an absolute path of a model, and with a provider."""
    completed = dict(settings)
    model = completed.get("local.modelPath")
    if isinstance(model, str):
        completed["local.modelPath"] = _model_on_disk(client, model)
    return with_providers(completed, agent_status(status, agent).provider, allow_remote=allow_remote)


def _model_on_disk(client: Client, model: str) -> str:
    """Return a reference of a model that is on disk, as an absolute path if it is one."""
    is_path = not model.startswith(("hf:", "https:")) and (os.sep in model or model.endswith(".gguf"))
    path = os.path.abspath(os.path.expanduser(model)) if is_path else model
    if is_path and not os.path.isfile(path):
        raise HintedError(f"--compare local.modelPath: there is no file {path}", "correct the path")
    if not is_path and model not in {each.ref for each in client.model(action="list").models}:
        raise HintedError(
            f"--compare local.modelPath: the model {model} is not on disk",
            f"run `memctl model pull {model}`",
        )
    return path


def _measure_other(
    status: StatusReply,
    agent: str,
    queries: list[EvalQuery],
    settings: Mapping[str, Any],
    *,
    allow_remote: bool,
    show: Show,
) -> Measurement:
    """Return the measurement of a private daemon with other settings."""
    with private_daemon(status, agent, settings) as client:
        prepare(client, agent, settings, show)
        return measure(
            client,
            agent,
            queries,
            keywords_only=False,
            allow_remote=allow_remote,
            show=_counting(show, "queries with --compare"),
        )


def _counting(show: Show, stage: str) -> Callable[[int, int], None]:
    """Return a function that shows how much of a stage is done."""
    from memd_client.messages import Progress

    return lambda done, total: show(Progress(0, stage, done, total))


def _print(session: CliSession, result: Evaluation, *, with_misses: bool) -> None:
    """Print the tables, how was searched, and the misses."""
    now, other = result.now, result.other
    if other is None:
        session.output.table(HEADS, figure_rows(now.outcomes))
    else:
        outcomes = now.outcomes, other.outcomes
        session.output.table(TOTAL_HEADS, total_rows(*outcomes, result.seed))
        session.output.lines([BLANK])
        session.output.table(GROUP_HEADS, group_rows(*outcomes, result.seed))
    lines = [BLANK, line(("now: ", "label") if other else "", *_how(now))]
    if other is not None:
        lines.append(line(("against: ", "label"), *_how(other)))
    if with_misses:
        lines += [BLANK, *_misses(now.outcomes)]
    session.output.lines(lines)


def _how(measured: Measurement) -> tuple[Any, ...]:
    """Return how many queries were searched for, by which search, and with which model."""
    return dotted(
        (f"{len(measured.outcomes):,} queries", "title"),
        " and ".join(measured.modes),
        embedder(measured.provider, measured.model),
    )


def _misses(outcomes: list[QueryOutcome]) -> list[Line]:
    """Return the queries whose place was not found, each with that place."""
    return [
        line(
            (each.query.path, "path"),
            f":{each.query.line}",
            (f"  {each.query.kind}", "quiet"),
            f"  {each.query.text}",
        )
        for each in outcomes
        if not each.is_found
    ]
