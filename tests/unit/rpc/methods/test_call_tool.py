"""call_tool: a model's call is answered, a caller's mistake is named."""

from __future__ import annotations

from memd.rpc.methods import call_tool
from memd_client.tooling import CallToolParams
from tests.support.agents import BlockingAgent
from tests.unit.rpc.methods.living import living_call


def test_the_reply_is_the_tools(host: BlockingAgent) -> None:
    host.note("memory/2026-01-16.md", "# API\n\nWe chose REST.\n")
    params = CallToolParams("memory_search", {"query": "REST"})

    reply = host.run(call_tool.handle, living_call(host.agent), params)

    assert (reply.agent, reply.name, reply.ok) == ("main", "memory_search", True)
    assert reply.result["results"][0]["path"] == "memory/2026-01-16.md"
    assert "We chose REST." in reply.result["results"][0]["snippet"]


def test_a_models_mistake_is_no_error(host: BlockingAgent) -> None:
    reply = host.run(call_tool.handle, living_call(host.agent), CallToolParams("nothing", 5))

    assert not reply.ok
