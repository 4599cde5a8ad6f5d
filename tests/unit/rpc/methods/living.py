"""A call that reaches one agent: for methods that use the agent's lifecycle."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from memd.agents.agent import Agent
from memd.lifecycle.flush.flushes import Flushes
from memd.lifecycle.tools.startup import Startup
from memd.lifecycle.tools.tools import Tools
from memd.rpc.call import Call
from memd_client.errors import AgentUnknownError

NOON_MS = 1_795_348_800_000
"""2026-11-22, 12:00 UTC."""


class Living:
    """What a method reaches of a real agent, and of no other."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.tools = Tools(agent)
        self.flushes = Flushes(agent, lambda: NOON_MS)
        self.startup = Startup(agent, lambda: NOON_MS)

    def lifecycle(self, agent: str | None) -> Living:
        """Return the lifecycle of the one agent there is."""
        if agent not in (None, self._agent.agent_id):
            raise AgentUnknownError(f"there is no agent {agent}")
        return self


def living_call(agent: Agent) -> Call:
    """Return a call that reaches the lifecycle of one agent, and nothing else."""
    return cast(Call, cast(Any, SimpleNamespace(lifecycle=Living(agent).lifecycle)))


class AskedFacts:
    """A call with a recording lifecycle and recording facts."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.agents: list[str | None] = []
        self.facts = self

    def lifecycle(self, agent: str | None) -> AskedFacts:
        """Return the lifecycle of any agent."""
        self.agents.append(agent)
        return self

    async def _ask(self, params: Any) -> str:
        self.asked.append(params)
        return "reply"

    store = recall = forget = facts_for_prompt = capture = edit = list_all = _ask
