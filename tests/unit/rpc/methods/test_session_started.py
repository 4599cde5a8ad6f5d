"""session_started: one sync for each session key, and what the session begins with."""

from __future__ import annotations

from pathlib import Path

from memd.rpc.methods import session_started
from memd_client.sessions import SessionStartedParams
from tests.unit.lifecycle.scripted_host import ScriptedHost
from tests.unit.rpc.methods.calling import run
from tests.unit.rpc.methods.living import living_call


def test_the_reply_names_the_agent_and_says_whether_it_syncs(tmp_path: Path) -> None:
    call = living_call(ScriptedHost(tmp_path))

    replies = [run(session_started.handle(call, SessionStartedParams("agent:main:main"))) for _ in range(2)]

    assert [(reply.agent, reply.syncing) for reply in replies] == [("main", True), ("main", False)]


def test_the_reply_holds_what_the_session_begins_with(tmp_path: Path) -> None:
    host = ScriptedHost(tmp_path)
    host.note("MEMORY.md", "The user builds boats.\n")

    reply = run(session_started.handle(living_call(host), SessionStartedParams("agent:main:main")))

    assert "The user builds boats." in reply.context
    assert [(file.path, file.characters) for file in reply.files] == [("MEMORY.md", 22)]
