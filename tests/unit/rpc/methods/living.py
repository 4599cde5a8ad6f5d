"""A call whose agent lives with a scripted memory: for methods that ask the agent's life."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

from memd.lifecycle.flush.flushes import Flushes
from memd.lifecycle.tools.startup import Startup
from memd.lifecycle.tools.tools import Tools
from memd.rpc.call import Call
from memd_client.errors import AgentUnknownError
from tests.unit.lifecycle.scripted_host import ScriptedHost

NOON_MS = 1_795_348_800_000
"""2026-11-22, 12:00 UTC."""


@dataclass
class Living:
    """What a method reaches of an agent."""

    host: ScriptedHost

    def __post_init__(self) -> None:
        self.tools = Tools(self.host, lambda: NOON_MS)
        self.flushes = Flushes(self.host, lambda: NOON_MS)
        self.startup = Startup(self.host, lambda: NOON_MS)

    def life(self, agent: str | None) -> Living:
        """Return the life of the one agent there is."""
        if agent not in (None, self.host.agent_id):
            raise AgentUnknownError(f"there is no agent {agent}")
        return self


def living_call(host: ScriptedHost) -> Call:
    """Return a call that reaches the life of one agent, and nothing else."""
    return cast(Call, cast(Any, SimpleNamespace(life=Living(host).life)))


class AskedFacts:
    """A call, the life it leads to and its facts in one; remembers what they were asked, and of which agent."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.agents: list[str | None] = []
        self.facts = self

    def life(self, agent: str | None) -> AskedFacts:
        """Return the life of any agent."""
        self.agents.append(agent)
        return self

    async def _ask(self, params: Any) -> str:
        self.asked.append(params)
        return "reply"

    store = recall = forget = recall_for = capture = edit = list_all = _ask
