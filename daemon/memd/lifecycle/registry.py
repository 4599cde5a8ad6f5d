"""The lifecycle of each agent, built on first use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from memd.agents.agent import Agent
from memd.agents.registry import AgentRegistry
from memd.system.clock import Clock, wall_clock_ms

if TYPE_CHECKING:
    from memd.lifecycle.facts.facts import Facts
    from memd.lifecycle.flush.flushes import Flushes
    from memd.lifecycle.notes.notes import Notes
    from memd.lifecycle.tools.startup import Startup
    from memd.lifecycle.tools.tools import Tools

Complete = Callable[[Agent, str], Awaitable[str]]
"""Returns the reply of an agent's chat model to a prompt."""


class AgentLifecycle(Struct, frozen=True):
    """The parts of one agent's lifecycle; they use the agent's memory and are independent of each other."""

    agent: Agent
    tools: Tools
    startup: Startup
    flushes: Flushes
    notes: Notes
    facts: Facts


class LifecycleRegistry:
    """The lifecycles of all agents. Their state is on disk, so they can be rebuilt at any time."""

    def __init__(self, clock: Clock = wall_clock_ms, complete: Complete | None = None) -> None:
        self._clock = clock
        self._complete = complete
        self._lifecycles: dict[tuple[str, Path], AgentLifecycle] = {}

    def __repr__(self) -> str:
        return f"<LifecycleRegistry of {len(self._lifecycles)} agents>"

    def of(self, agents: AgentRegistry, agent_id: str | None) -> AgentLifecycle:
        """Return an agent's lifecycle."""
        agent = agents.agent(agent_id)
        key = agent.agent_id, agents.state_dir
        known = self._lifecycles.get(key)
        if known is None or known.agent is not agent:
            known = self._lifecycles[key] = self._build(agent, agents.state_dir)
        return known

    def _build(self, agent: Agent, state_dir: Path) -> AgentLifecycle:
        # Imported here because the daemon's start needs none of it: 20 ms and 2 MB.
        from memd.lifecycle.facts.facts import Facts
        from memd.lifecycle.facts.tools import fact_tools
        from memd.lifecycle.flush.flushes import Flushes
        from memd.lifecycle.notes.notes import Notes
        from memd.lifecycle.tools.startup import Startup
        from memd.lifecycle.tools.tools import Tools

        clock, complete = self._clock, self._complete
        facts = Facts(agent, clock)
        ask = None if complete is None else lambda prompt: complete(agent, prompt)
        return AgentLifecycle(
            agent,
            Tools(agent, fact_tools(facts)),
            Startup(agent, clock),
            Flushes(agent, clock),
            Notes(agent, clock, state_dir=state_dir, complete=ask),
            facts,
        )
