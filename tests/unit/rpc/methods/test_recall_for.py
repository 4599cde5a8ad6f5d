"""recall_for: the prompt goes to the facts of the agent meant."""

from __future__ import annotations

from typing import Any, cast

import trio

from memd.rpc.call import Call
from memd.rpc.methods import recall_for
from memd_client.facts import RecallForParams


class Life:
    """A call and the life it leads to; remembers what their facts were asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.agents: list[str | None] = []
        self.facts = self

    def life(self, agent: str | None) -> Life:
        self.agents.append(agent)
        return self

    async def recall_for(self, params: RecallForParams) -> str:
        self.asked.append(params)
        return "reply"


def test_a_prompt_goes_to_the_agent_meant() -> None:
    life = Life()
    params = RecallForParams("Set up my editor", "other", True)

    reply: Any = trio.run(recall_for.handle, cast(Call, life), params)

    assert (reply, life.asked, life.agents) == ("reply", [params], ["other"])
