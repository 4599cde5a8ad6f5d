"""prompt_section: what the prompt says, for the session it is meant for."""

from __future__ import annotations

from memd.rpc.methods import prompt_section
from memd_client.tooling import PromptSectionParams
from tests.support.agents import BlockingAgent
from tests.unit.rpc.methods.living import living_call


def test_the_reply_says_whether_places_are_named(host: BlockingAgent) -> None:
    params = PromptSectionParams(session_kind="group")

    reply = host.run(prompt_section.handle, living_call(host.agent), params)

    assert (reply.agent, reply.citations) == ("main", "off")
    assert reply.text.startswith("## Memory\n")
