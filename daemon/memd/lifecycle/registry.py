"""Every agent's life, put together when it is first asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from memd.lifecycle.facts.facts import Facts
from memd.lifecycle.facts.tools import fact_tools
from memd.lifecycle.flush.flushes import Flushes
from memd.lifecycle.host import Host
from memd.lifecycle.notes.notes import Notes
from memd.lifecycle.tools.startup import Startup
from memd.lifecycle.tools.tools import Tools
from memd.system.clock import Clock, wall_clock_ms

Complete = Callable[[Host, str], Awaitable[str]]
"""Takes an agent and a prompt; returns what the chat model of its settings says."""


class Hosts(Protocol):
    """Who the agents are."""

    @property
    def state_dir(self) -> Path:
        """The state directory."""

    def agent(self, agent_id: str | None) -> Host:
        """Return an agent's memory, the default agent's for None; raise `AgentUnknownError`."""


@dataclass(frozen=True, slots=True)
class AgentLifecycle:
    """One agent's life: each part knows the agent's memory and nothing of the others."""

    host: Host
    tools: Tools
    startup: Startup
    flushes: Flushes
    notes: Notes
    facts: Facts


class LifecycleRegistry:
    """All agents' lives. What they remember between requests, they have on disk: they may be made anew."""

    def __init__(self, clock: Clock = wall_clock_ms, complete: Complete | None = None) -> None:
        self._clock = clock
        self._complete = complete
        self._lives: dict[tuple[str, Path], AgentLifecycle] = {}

    def __repr__(self) -> str:
        return f"<Lives of {len(self._lives)} agents>"

    def of(self, hosts: Hosts, agent_id: str | None) -> AgentLifecycle:
        """Return an agent's life."""
        host = hosts.agent(agent_id)
        key = host.agent_id, hosts.state_dir
        known = self._lives.get(key)
        if known is None or known.host is not host:
            known = self._lives[key] = self._begin(host, hosts.state_dir)
        return known

    def _begin(self, host: Host, state_dir: Path) -> AgentLifecycle:
        """Put an agent's life together."""
        clock, complete = self._clock, self._complete
        facts = Facts(host, clock)
        ask = None if complete is None else lambda prompt: complete(host, prompt)
        return AgentLifecycle(
            host,
            Tools(host, clock, fact_tools(facts)),
            Startup(host, clock),
            Flushes(host, clock),
            Notes(host, clock, state_dir=state_dir, complete=ask),
            facts,
        )
