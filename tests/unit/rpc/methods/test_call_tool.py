"""call_tool: a model's call is answered, a caller's mistake is named."""

from __future__ import annotations

from pathlib import Path

from memd.rpc.methods import call_tool
from memd_client.tooling import CallToolParams
from tests.unit.lifecycle.scripted_host import ScriptedHost, found, hit
from tests.unit.rpc.methods.calling import run
from tests.unit.rpc.methods.living import living_call


def test_the_reply_is_the_tools(tmp_path: Path) -> None:
    host = ScriptedHost(tmp_path)
    host.reply = found(hit("We chose REST."))

    reply = run(call_tool.handle(living_call(host), CallToolParams("memory_search", {"query": "api"})))

    assert (reply.agent, reply.name, reply.ok) == ("main", "memory_search", True)
    assert reply.result["results"][0]["path"] == "memory/2026-01-16.md"


def test_a_models_mistake_is_no_error(tmp_path: Path) -> None:
    reply = run(call_tool.handle(living_call(ScriptedHost(tmp_path)), CallToolParams("nothing", 5)))

    assert not reply.ok
