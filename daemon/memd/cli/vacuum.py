"""`memctl vacuum`: make an index as small as it can be, and see what that brought."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memd.cli.connect import Session
from memd.cli.lines import BLANK, line, problem_lines
from memd.cli.options import agent_option, examples, json_option
from memd.cli.progress import agent_first, of_agent
from memd.cli.wording import size, span

if TYPE_CHECKING:
    from memd_client.messages import VacuumedAgent

HEADS = ("agent", "before", "after", "vectors removed", "took")


@click.command("vacuum", epilog=examples("memctl vacuum", "memctl vacuum --agent main --json"))
@agent_option
@json_option
@click.pass_obj
@click.pass_context
def command(ctx: click.Context, session: Session, agent: str | None, as_json: bool) -> None:
    """Make the index of one agent, or of all, as small as it can be.

    Vectors go that no text needs and the settings don't keep. Searches go on meanwhile. Ends with 1 where any agent
    had an error.
    """
    split = agent_first if agent is None else of_agent(agent)
    with session.client() as client, session.output.progress(split, quiet=as_json) as show:
        reply = client.vacuum(agent=agent, on_progress=show)
    if as_json:
        from memd_client.wire import to_wire

        session.output.document(to_wire(reply))
    elif not reply.agents:
        session.output.lines([line("No agents.")])
    else:
        session.output.table(HEADS, [_cells(each) for each in reply.agents])
        for each in reply.agents:
            if each.error is not None:
                session.output.lines([BLANK, line((each.agent, "title")), *problem_lines([each.error])])
    if any(each.error is not None for each in reply.agents):
        ctx.exit(1)


def _cells(agent: VacuumedAgent) -> list[str]:
    """Return one agent's row of the table."""
    sizes = (size(agent.bytes_before), size(agent.bytes_after))
    return [agent.agent, *sizes, f"{agent.vectors_removed:,}", span(agent.took_ms)]
