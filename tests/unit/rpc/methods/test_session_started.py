"""session_started: one sync for each session key, and what the session begins with."""

from __future__ import annotations

from memd.rpc.methods import session_started
from memd_client.sessions import SessionStartedParams
from tests.support.agents import BlockingAgent
from tests.unit.rpc.methods.living import living_call


def test_the_reply_names_the_agent_and_says_whether_it_syncs(host: BlockingAgent) -> None:
    call = living_call(host.agent)

    params = SessionStartedParams("agent:main:main")
    replies = [host.run(session_started.handle, call, params) for _ in range(2)]

    assert [(reply.agent, reply.syncing) for reply in replies] == [("main", True), ("main", False)]


def test_the_reply_holds_what_the_session_begins_with(host: BlockingAgent) -> None:
    host.note("MEMORY.md", "The user builds boats.\n")

    params = SessionStartedParams("agent:main:main")
    reply = host.run(session_started.handle, living_call(host.agent), params)

    assert "The user builds boats." in reply.context
    assert [(file.path, file.characters) for file in reply.files] == [("MEMORY.md", 22)]
