"""`memctl status`: how the daemon and every agent's memory are, at a glance."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from memd.cli.agent_state import other_problems, state_of
from memd.cli.connect import MemoryClient, Session
from memd.cli.embedding import job_lines, provider_lines, refused_lines, supply_lines
from memd.cli.lines import (
    BLANK,
    LABEL_INDENT,
    NO_AGENTS,
    Line,
    Piece,
    check_line,
    degraded_lines,
    dotted,
    line,
    problem_lines,
    row,
    skipped_lines,
)
from memd.cli.options import agent_option, examples, json_option
from memd.cli.watching import watch
from memd.cli.wording import ago, count, size, span

if TYPE_CHECKING:
    from memd.cli.output import Output
    from memd_client.messages import AgentStatus, SessionsStatus, StatusReply

WATCH_S = 2.0
"""Seconds between two looks of `--watch`."""

VECTOR_PATHS = {"memory": "in memory", "sqlite-vec": "by sqlite-vec", "scan": "by a scan of the index"}
"""How the daemon's names for the three ways to compare vectors read in a sentence."""


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
@click.option("-v", "--verbose", is_flag=True, help="Show everything, not only an outline and what is wrong.")
@click.option("--deep", is_flag=True, help="Also probe embeddings, vectors and keyword index.")
@click.option("watched", "--watch", is_flag=True, help="Show it anew every 2 seconds, until q or Ctrl-C.")
@json_option
@click.pass_obj
def command(
    session: Session, agent: str | None, verbose: bool, deep: bool, watched: bool, as_json: bool
) -> None:
    """Show how the daemon and its agents are.

    A line for the daemon, one for the model and one for each agent, then what is wrong and what to do about it.
    """
    from memd.cli.short_status import short_status_lines

    say = status_lines if verbose else short_status_lines
    if watched and as_json:
        raise click.UsageError("--watch is for people; a script asks again by itself.")
    if watched and session.output.out.terminal:

        def paint(client: MemoryClient, output: Output) -> None:
            output.lines(say(client.status(agent=agent, deep=deep), session.now_ms()))

        watch(session, WATCH_S, paint)
        return
    with session.client() as client:
        reply = client.status(agent=agent, deep=deep)
    if as_json:
        from memd_client.wire import to_wire

        session.output.document(to_wire(reply))
    else:
        session.output.lines(say(reply, session.now_ms()))
    if not any(each.files for each in reply.agents):
        from memd.cli.no_memory import offer_sample

        offer_sample(session)


def status_lines(reply: StatusReply, now_ms: int) -> list[Line]:
    """Return everything a status says as lines; `short_status_lines` returns the outline."""
    lines = _daemon_lines(reply, now_ms)
    for agent in reply.agents:
        lines.append(BLANK)
        lines.extend(_agent_lines(agent, now_ms))
    return lines if reply.agents else [*lines, BLANK, line(NO_AGENTS)]


def _daemon_lines(reply: StatusReply, now_ms: int) -> list[Line]:
    """Return the head of a status: the daemon itself."""
    is_loaded = reply.sqlite_vec[:1] in set("v0123456789")
    lines = [
        line(
            *dotted(
                (f"memd {reply.version}", "title"),
                f"up {span(reply.uptime_ms)}",
                f"pid {reply.pid}",
                size(reply.rss_bytes),
            )
        ),
        *problem_lines(reply.problems),
        row("agents", *_tally(reply.agents)),
    ]
    lines.extend(supply_lines(reply, now_ms))
    lines += [
        row("sqlite-vec", reply.sqlite_vec if is_loaded else (reply.sqlite_vec, "warn")),
        row("socket", *dotted((reply.socket, "path"), count(reply.connections, "connection"))),
        row("state", (reply.state_dir, "path")),
        row("config", (reply.config_path, "path")),
    ]
    return lines


def _tally(agents: list[AgentStatus]) -> tuple[Piece, ...]:
    """Return how many agents are in which state."""
    if not agents:
        return ("none",)
    states = Counter(state_of(agent) for agent in agents)
    return dotted(*((f"{number} {word}", style) for (word, style), number in states.items()))


def _agent_lines(agent: AgentStatus, now_ms: int) -> list[Line]:
    """Return one agent's memory: what is wrong, what is there, how it is searched.

    An agent whose report failed has only the problem to tell.
    """
    word, style = state_of(agent)
    lines = [
        line((agent.agent, "title"), "  ", (word, style)),
        *problem_lines(other_problems(agent)),
        *degraded_lines(agent.degraded, now_ms),
    ]
    if not agent.index_path:
        return lines
    lines.append(row("workspace", (agent.workspace, "path")))
    if not agent.enabled:
        return [*lines, row("search", "off: search.enabled is false for this agent")]
    lines += [
        row("indexed", *dotted(count(agent.files, "file"), count(agent.chunks, "chunk"), _vectors(agent))),
        row("pending", *_pending(agent)),
        row("last sync", *dotted(ago(agent.last_sync_ms, now_ms), "running now" if agent.syncing else None)),
        row("watching", *_watching(agent)),
        row("sources", ", ".join(agent.sources) or "none"),
        *_session_lines(agent.sessions),
        *provider_lines(agent, now_ms),
        row("vectors", *_vector_path(agent)),
        row("index", *_index_file(agent)),
        *job_lines(agent.jobs, now_ms),
        *refused_lines(agent.refused),
        *skipped_lines(agent.skipped),
        *(check_line(check) for check in agent.checks),
    ]
    return lines


def _vectors(agent: AgentStatus) -> str:
    """Return how many vectors of which size an agent has."""
    return count(agent.vectors, "vector") + (f" of {agent.dims} dimensions" if agent.dims else "")


def _pending(agent: AgentStatus) -> tuple[Piece, ...]:
    """Return what is known to have changed and isn't indexed yet."""
    if not agent.files_pending and not agent.chunks_pending:
        return ("nothing",)
    return dotted(
        f"{count(agent.files_pending, 'file')} to read" if agent.files_pending else None,
        f"{count(agent.chunks_pending, 'chunk')} to embed" if agent.chunks_pending else None,
        f"the oldest for {span(agent.oldest_pending_ms)}" if agent.oldest_pending_ms else None,
        f"waiting for {agent.waits_for}" if agent.waits_for else None,
    )


def _watching(agent: AgentStatus) -> tuple[Piece, ...]:
    """Return how changes are noticed between searches."""
    words: dict[str, Piece] = {
        "events": "by the system's file events",
        "polling": ("by looking again and again", "warn"),
    }
    return dotted(
        words.get(agent.watch, "off: changes are found by the next search or sync"),
        (agent.watch_reason, "quiet") if agent.watch_reason else None,
        f"synced every {agent.interval_minutes} min" if agent.interval_minutes else None,
    )


def _session_lines(sessions: SessionsStatus | None) -> list[Line]:
    """Return how an agent's transcripts are, where they are memory."""
    if sessions is None:
        return []
    eras = {"jsonl": "files", "sqlite": "OpenClaw's database"}
    facts = dotted(
        f"{count(sessions.transcripts, 'transcript')} with {count(sessions.messages, 'message')}",
        *(f"{number:,} in {eras.get(era, era)}" for era, number in sessions.eras.items() if number),
        f"{count(sessions.redactions, 'secret')} left out" if sessions.redactions else None,
    )
    lines = [row("sessions", *facts)]
    if sessions.left_out:
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(sessions.left_out.items()))
        lines.append(line((f"no memory: {kinds}", "quiet"), indent=LABEL_INDENT))
    return lines


def _vector_path(agent: AgentStatus) -> tuple[Piece, ...]:
    """Return how vectors are compared, and why that way."""
    if not agent.vectors:
        return ("none",)
    path = VECTOR_PATHS.get(agent.vector_path, agent.vector_path) or "not searched"
    return (path, (f" ({agent.vector_path_reason})", "quiet")) if agent.vector_path_reason else (path,)


def _index_file(agent: AgentStatus) -> tuple[Piece, ...]:
    """Return where an agent's index is, and how big."""
    return dotted((agent.index_path, "path"), size(agent.index_bytes), f"generation {agent.generation}")
