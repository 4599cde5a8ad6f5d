"""The one word for how an agent's memory is, and the problems behind it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memd_client.messages import AgentStatus, Problem


def state_of(agent: AgentStatus) -> tuple[str, str]:
    """Return the one word that matters most about an agent, and its style."""
    if not agent.enabled:
        return "off", "quiet"
    if other_problems(agent) or any(not check.ok for check in agent.checks):
        return "needs attention", "bad"
    if agent.degraded is not None:
        return "degraded", "warn"
    if agent.fallback is not None:
        return "fallen back", "warn"
    if agent.syncing:
        return "syncing", "good"
    if agent.files_pending or agent.chunks_pending:
        return "catching up", "good"
    if agent.filling is not None:
        return "filling", "good"
    return "ready", "good"


def other_problems(agent: AgentStatus) -> list[Problem]:
    """Return the problems that the line on degradation doesn't tell already."""
    told = agent.degraded
    return [
        problem
        for problem in agent.problems
        if told is None or (problem.code, problem.message) != (told.code, told.reason)
    ]
