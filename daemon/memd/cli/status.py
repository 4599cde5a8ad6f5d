"""`memctl status` and `agents`: the state of the daemon and of its agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memd.cli.arguments import agent_option, examples, json_option
from memd.cli.connect import CliSession, offer_sample
from memd.cli.lines import NO_AGENTS, Line, embedder
from memd.cli.status_lines import other_problems, state_of, status_lines
from memd.cli.watching import watch

if TYPE_CHECKING:
    from memd.cli.output import Output
    from memd_client import Client
    from memd_client.messages import AgentStatus, StatusReply

WATCH_INTERVAL_S = 2.0


AGENT_HEADS = ("agent", "state", "files", "chunks", "pending", "provider", "problems", "workspace")


@click.command(
    "status",
    epilog=examples(
        "memctl status",
        "memctl status --verbose",
        "memctl status --agent main --deep",
        "memctl status --watch",
        "memctl status --json | jq .agents",
    ),
)
@agent_option
@click.option("-v", "--verbose", is_flag=True, help="Show all details.")
@click.option("--deep", is_flag=True, help="Also check embeddings, vectors and keyword index.")
@click.option("watched", "--watch", is_flag=True, help="Refresh every 2 seconds until q or Ctrl-C.")
@json_option
@click.pass_obj
def status(
    session: CliSession, agent: str | None, verbose: bool, deep: bool, watched: bool, as_json: bool
) -> None:
    """Show the state of the daemon and its agents.

    One line each for the daemon, the model and every agent, followed by problems and hints.
    """

    def format_status(reply: StatusReply) -> list[Line]:
        return status_lines(reply, session.now_ms(), verbose=verbose)

    if watched and as_json:
        raise click.UsageError("--watch cannot be combined with --json")
    if watched and session.output.out.terminal:

        def paint(client: Client, output: Output) -> None:
            output.lines(format_status(client.status(agent=agent, deep=deep)))

        watch(session, WATCH_INTERVAL_S, paint)
        return
    with session.client() as client:
        reply = client.status(agent=agent, deep=deep)
    if as_json:
        session.output.reply(reply)
    else:
        session.output.lines(format_status(reply))
    if not any(each.files for each in reply.agents):
        offer_sample(session)


@click.command(
    "agents",
    epilog=examples(
        "memctl agents", "memctl agents --json | jq -r '.agents[] | select(.problems > 0).agent'"
    ),
)
@json_option
@click.pass_obj
def agents(session: CliSession, as_json: bool) -> None:
    """List the agents and the state of their memory."""
    with session.client() as client:
        agents = client.status().agents
    if as_json:
        session.output.document({"agents": [_agent_document(agent) for agent in agents]})
    elif agents:
        session.output.table(AGENT_HEADS, [_agent_row(agent) for agent in agents], shorten=("workspace",))
    else:
        session.output.note(NO_AGENTS)
    if not any(each.files for each in agents):
        offer_sample(session)


def _agent_document(agent: AgentStatus) -> dict[str, object]:
    """Return an agent's row for JSON."""
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


def _agent_row(agent: AgentStatus) -> tuple[str, ...]:
    """Return an agent's row of the table."""
    facts = _agent_document(agent)
    pending = agent.files_pending + agent.chunks_pending
    return (
        agent.agent,
        str(facts["state"]),
        f"{agent.files:,}",
        f"{agent.chunks:,}",
        f"{pending:,}" if pending else "-",
        embedder(agent.provider, agent.model) or "keywords only",
        str(facts["problems"] or "-"),
        agent.workspace,
    )
