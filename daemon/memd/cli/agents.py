"""`memctl agents`: one line an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memd.cli.agent_state import other_problems, state_of
from memd.cli.connect import Session
from memd.cli.lines import embedder
from memd.cli.options import examples, json_option

if TYPE_CHECKING:
    from memd_client.messages import AgentStatus

HEADS = ("agent", "state", "files", "chunks", "pending", "embeds", "problems", "workspace")


@click.command(
    "agents",
    epilog=examples(
        "memctl agents", "memctl agents --json | jq -r '.agents[] | select(.problems > 0).agent'"
    ),
)
@json_option
@click.pass_obj
def command(session: Session, as_json: bool) -> None:
    """List the agents and how their memories are."""
    with session.client() as client:
        agents = client.status().agents
    if as_json:
        session.output.document({"agents": [_document(agent) for agent in agents]})
    elif agents:
        session.output.table(HEADS, [_row(agent) for agent in agents], shorten=("workspace",))
    else:
        session.output.note("there are no agents; they come from openclaw.json and the folders under agents/")
    if not any(each.files for each in agents):
        from memd.cli.no_memory import offer_sample

        offer_sample(session)


def _document(agent: AgentStatus) -> dict[str, object]:
    """Return an agent's line for a script."""
    return {
        "agent": agent.agent,
        "state": state_of(agent)[0],
        "files": agent.files,
        "chunks": agent.chunks,
        "files_pending": agent.files_pending,
        "chunks_pending": agent.chunks_pending,
        "provider": agent.provider,
        "model": agent.model,
        "problems": len(other_problems(agent)) + (agent.degraded is not None),
        "workspace": agent.workspace,
    }


def _row(agent: AgentStatus) -> tuple[str, ...]:
    """Return an agent's line for a person."""
    facts = _document(agent)
    pending = agent.files_pending + agent.chunks_pending
    return (
        agent.agent,
        str(facts["state"]),
        f"{agent.files:,}",
        f"{agent.chunks:,}",
        f"{pending:,}" if pending else "-",
        embedder(agent.provider, agent.model) or "words only",
        str(facts["problems"] or "-"),
        agent.workspace,
    )
