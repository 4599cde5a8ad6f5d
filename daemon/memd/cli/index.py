"""`memctl index`: bring the index up to date now, and see what that took."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memd.cli.connect import Session
from memd.cli.lines import BLANK, Line, degraded_lines, line, problem_lines, skipped_lines
from memd.cli.options import agent_option, examples, json_option
from memd.cli.progress import agent_first, of_agent
from memd.cli.wording import span

if TYPE_CHECKING:
    from memd_client.messages import IndexedAgent, IndexReply, ResetReply

HEADS = ("agent", "files", "chunks", "changed", "removed", "embedded", "reused", "took")


@click.command(
    "index",
    epilog=examples("memctl index", "memctl index --agent main --force", "memctl index --json"),
)
@agent_option
@click.option("--force", is_flag=True, help="Read, chunk and embed everything again.")
@json_option
@click.pass_obj
@click.pass_context
def command(ctx: click.Context, session: Session, agent: str | None, force: bool, as_json: bool) -> None:
    """Bring the index of one agent, or of all, up to date.

    Ends with 1 where any agent had an error.
    """
    split = agent_first if agent is None else of_agent(agent)
    with session.client() as client, session.output.progress(split, quiet=as_json) as show:
        reply = client.index(agent=agent, force=force, on_progress=show)
    if not any(each.files for each in reply.agents):
        from memd.cli.no_memory import offer_sample

        offer_sample(session)
    print_reply(ctx, session, reply, as_json=as_json)


def print_reply(
    ctx: click.Context, session: Session, reply: IndexReply | ResetReply, *, as_json: bool
) -> None:
    """Print what became of each agent's index; end with 1 where any had an error."""
    if as_json:
        from memd_client.wire import to_wire

        session.output.document(to_wire(reply))
    elif reply.agents:
        session.output.table(HEADS, [_cells(each) for each in reply.agents])
        session.output.lines(notice_lines(reply.agents, session.now_ms()))
    else:
        session.output.lines([line("No agents to index.")])
    if any(each.error is not None for each in reply.agents):
        ctx.exit(1)


def _cells(indexed: IndexedAgent) -> list[str]:
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
    """Return, for each agent that has any, what went wrong or was left out."""
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
