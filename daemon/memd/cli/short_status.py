"""`memctl status` at a glance: one line for the daemon, the model and each agent, then what is wrong. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memd.cli.agent_state import other_problems, state_of
from memd.cli.embedding import download_line, paused_line, token_lines
from memd.cli.lines import (
    BLANK,
    DETAILS,
    LABEL_INDENT,
    NO_AGENTS,
    Line,
    Piece,
    check_line,
    degraded_lines,
    dotted,
    embedder,
    fallback_pieces,
    filling_pieces,
    line,
    problem_lines,
    row,
)
from memd.cli.wording import ago, cells, count, size, span

if TYPE_CHECKING:
    from memd_client.messages import AgentStatus, ModelStatus, StatusReply


def short_status_lines(reply: StatusReply, now_ms: int) -> list[Line]:
    """Return the outline of a status as lines: all is well if there is one for each agent and no more."""
    head = dotted(
        (f"memd {reply.version}", "title"), f"up {span(reply.uptime_ms)}", f"{size(reply.rss_bytes)} RAM"
    )
    lines = [line(*head), *problem_lines(reply.problems), *_supply_lines(reply, now_ms), BLANK]
    for agent in reply.agents:
        lines += [*_agent_line(agent, now_ms), *_trouble_lines(agent, now_ms)]
    return lines if reply.agents else [*lines, line(NO_AGENTS)]


def _supply_lines(reply: StatusReply, now_ms: int) -> list[Line]:
    """Return where vectors come from: the loaded models, else the providers, and what keeps them from working."""
    lines = [line_ for model in reply.models for line_ in _model_lines(model)]
    if not reply.models:
        providers = dict.fromkeys(
            embedder(each.provider, each.model) for each in reply.agents if each.enabled
        )
        lines.append(row("model", *(dotted(*providers) or ("none loaded",))))
    lines += [download_line(each) for each in reply.downloads]
    lines += [paused_line(each, now_ms) for each in reply.accounts if each.state == "paused"]
    return lines + (token_lines(reply) if 0 < reply.token_budget <= reply.tokens_today else [])


def _model_lines(model: ModelStatus) -> list[Line]:
    """Return a local model's state and RAM, and why it doesn't work."""
    facts = dotted((model.model, "place"), model.state, size(model.rss_bytes) if model.rss_bytes else None)
    problem = [line((model.problem, "warn"), indent=LABEL_INDENT)] if model.problem else []
    return [row("model", *facts), *problem]


def _agent_line(agent: AgentStatus, now_ms: int) -> list[Line]:
    """Return an agent's line; a name that is wider than the labels has a line of its own above."""
    facts = [*dotted(state_of(agent), *_memory(agent, now_ms))]
    if cells(agent.agent) < LABEL_INDENT:
        return [Line(tuple(facts), LABEL_INDENT, (agent.agent, "title"))]
    return [line((agent.agent, "title")), Line(tuple(facts), LABEL_INDENT)]


def _memory(agent: AgentStatus, now_ms: int) -> list[Piece | None]:
    """Return what is indexed of an agent, how fresh it is, and how it is searched."""
    if not agent.enabled or not agent.index_path:
        return []
    pending = [
        count(agent.files_pending, "file") if agent.files_pending else "",
        count(agent.chunks_pending, "chunk") if agent.chunks_pending else "",
    ]
    waiting = " and ".join(each for each in pending if each)
    return [
        count(agent.files, "file"),
        count(agent.chunks, "chunk"),
        count(agent.vectors, "vector"),
        f"{waiting} pending" if waiting else f"synced {ago(agent.last_sync_ms, now_ms)}",
        embedder(agent.provider, agent.model) or "keywords only",
    ]


def _trouble_lines(agent: AgentStatus, now_ms: int) -> list[Line]:
    """Return what is wrong with an agent, each with its hint, and what is under way."""
    lines = [*problem_lines(other_problems(agent)), *degraded_lines(agent.degraded, now_ms)]
    if not agent.enabled or not agent.index_path:
        return lines
    who = embedder(agent.provider, agent.model)
    if agent.fallback is not None:
        lines.append(row("fallback", *fallback_pieces(agent.fallback, who, now_ms)))
    if agent.filling is not None:
        lines.append(row("filling", *filling_pieces(agent.filling, agent.space, who)))
    if agent.waits_for:
        lines.append(row("pending", f"waiting for {agent.waits_for}"))
    if agent.watch == "polling":
        lines.append(row("watching", ("by looking again and again: ", "warn"), agent.watch_reason))
    if agent.vector_path == "scan":
        reason = f" ({agent.vector_path_reason})" if agent.vector_path_reason else ""
        lines.append(row("vectors", ("compared by a scan of the index", "warn"), reason))
    if agent.refused:
        lines.append(row("refused", (count(len(agent.refused), "chunk"), "warn"), DETAILS))
    if agent.skipped:
        lines.append(row("skipped", (count(len(agent.skipped), "file"), "warn"), DETAILS))
    return lines + [check_line(check) for check in agent.checks]
