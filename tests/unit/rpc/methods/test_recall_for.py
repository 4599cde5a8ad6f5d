"""recall_for: the prompt goes to the facts of the agent meant."""

from __future__ import annotations

from typing import Any, cast

import trio

from memd.rpc.call import Call
from memd.rpc.methods import recall_for
from memd_client.facts import RecallForParams
from tests.unit.rpc.methods.living import AskedFacts


def test_a_prompt_goes_to_the_agent_meant() -> None:
    life = AskedFacts()
    params = RecallForParams("Set up my editor", "other", True)

    reply: Any = trio.run(recall_for.handle, cast(Call, life), params)

    assert (reply, life.asked, life.agents) == ("reply", [params], ["other"])
