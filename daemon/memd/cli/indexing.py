"""`memctl index`, `reset` and `vacuum`: update, rebuild and compact indexes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from memd.cli.arguments import agent_option, examples, json_option
from memd.cli.connect import CliSession, offer_sample
from memd.cli.lines import BLANK, Line, degraded_lines, line, problem_lines, size, skipped_lines, span
from memd.cli.progress import for_agent, split_agent

if TYPE_CHECKING:
    from memd_client.messages import IndexedAgent, IndexReply, ResetReply, VacuumedAgent


VACUUM_HEADS = ("agent", "before", "after", "vectors removed", "took")
INDEX_HEADS = ("agent", "files", "chunks", "changed", "removed", "embedded", "reused", "took")


@click.command(
    "index",
    epilog=examples("memctl index", "memctl index --agent main --force", "memctl index --json"),
)
@agent_option
@click.option("--force", is_flag=True, help="Read, chunk and embed everything again.")
@json_option
@click.pass_obj
@click.pass_context
def index(ctx: click.Context, session: CliSession, agent: str | None, force: bool, as_json: bool) -> None:
    """Update the index of one agent, or of all agents.

    Exits with 1 if an agent had an error.
    """
    split = split_agent if agent is None else for_agent(agent)
    with session.client() as client, session.output.progress(split, quiet=as_json) as show:
        reply = client.index(agent=agent, force=force, on_progress=show)
    if not any(each.files for each in reply.agents):
        offer_sample(session)
    print_reply(ctx, session, reply, as_json=as_json)


def print_reply(
    ctx: click.Context, session: CliSession, reply: IndexReply | ResetReply, *, as_json: bool
) -> None:
    """Print the result of each agent; exit with 1 if an agent had an error."""
    if as_json:
        session.output.reply(reply)
    elif reply.agents:
        session.output.table(INDEX_HEADS, [_index_cells(each) for each in reply.agents])
        session.output.lines(notice_lines(reply.agents, session.now_ms()))
    else:
        session.output.lines([line("no agents to index")])
    if any(each.error is not None for each in reply.agents):
        ctx.exit(1)


def _index_cells(indexed: IndexedAgent) -> list[str]:
    """Return one agent's row of the table."""
    figures = (
        indexed.files,
        indexed.chunks,
        indexed.files_changed,
        indexed.files_removed,
        indexed.embedded,
        indexed.reused,
    )
    return [indexed.agent, *(f"{figure:,}" for figure in figures), span(indexed.took_ms)]


def notice_lines(agents: list[IndexedAgent], now_ms: int) -> list[Line]:
    """Return the errors, degraded searches and skipped files of each agent that has any."""
    lines: list[Line] = []
    for indexed in agents:
        notices = [
            *problem_lines([] if indexed.error is None else [indexed.error]),
            *degraded_lines(indexed.degraded, now_ms),
            *skipped_lines(indexed.skipped),
        ]
        if notices:
            lines += [BLANK, line((indexed.agent, "title")), *notices]
    return lines


@click.command(
    "reset",
    short_help="Delete an index and rebuild it from the Markdown files.",
    epilog=examples("memctl reset --agent main", "memctl reset --vectors --yes"),
)
@agent_option
@click.option(
    "--vectors", is_flag=True, help="Also delete the vectors: all chunks are embedded, and paid for, again."
)
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
@click.pass_obj
@click.pass_context
def reset(
    ctx: click.Context, session: CliSession, agent: str | None, vectors: bool, yes: bool, as_json: bool
) -> None:
    """Delete the index of one agent, or of all agents, and rebuild it from the Markdown files.

    Vectors are kept unless `--vectors` is given. Exits with 1 if an agent had an error.
    """
    whose = f"the index of {agent}" if agent is not None else "the indexes of all agents"
    also = ", including vectors," if vectors else ""
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("no terminal for a confirmation; pass --yes")
        click.confirm(f"Delete {whose}{also} and rebuild from the files?", abort=True, err=True)
    split = split_agent if agent is None else for_agent(agent)
    with session.client() as client, session.output.progress(split, quiet=as_json) as show:
        reply = client.reset(agent=agent, delete_vectors=vectors, on_progress=show)
    print_reply(ctx, session, reply, as_json=as_json)


@click.command("vacuum", epilog=examples("memctl vacuum", "memctl vacuum --agent main --json"))
@agent_option
@json_option
@click.pass_obj
@click.pass_context
def vacuum(ctx: click.Context, session: CliSession, agent: str | None, as_json: bool) -> None:
    """Compact the index of one agent, or of all agents.

    Deletes vectors that no chunk uses and the settings don't keep, and rewrites the file, so that nothing of deleted
    notes is left in it. Searches continue meanwhile. Exits with 1 if an agent had an error.
    """
    split = split_agent if agent is None else for_agent(agent)
    with session.client() as client, session.output.progress(split, quiet=as_json) as show:
        reply = client.vacuum(agent=agent, on_progress=show)
    if as_json:
        session.output.reply(reply)
    elif not reply.agents:
        session.output.lines([line("no agents")])
    else:
        session.output.table(VACUUM_HEADS, [_vacuum_cells(each) for each in reply.agents])
        for each in reply.agents:
            if each.error is not None:
                session.output.lines([BLANK, line((each.agent, "title")), *problem_lines([each.error])])
    if any(each.error is not None for each in reply.agents):
        ctx.exit(1)


def _vacuum_cells(agent: VacuumedAgent) -> list[str]:
    """Return one agent's row of the table."""
    sizes = (size(agent.bytes_before), size(agent.bytes_after))
    return [agent.agent, *sizes, f"{agent.vectors_removed:,}", span(agent.took_ms)]
