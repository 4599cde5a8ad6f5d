"""prompt_section: what the prompt says, for the session it is meant for."""

from __future__ import annotations

from pathlib import Path

from memd.rpc.methods import prompt_section
from memd_client.tooling import PromptSectionParams
from tests.unit.lifecycle.scripted_host import ScriptedHost
from tests.unit.rpc.methods.calling import run
from tests.unit.rpc.methods.living import living_call


def test_the_reply_says_whether_places_are_named(tmp_path: Path) -> None:
    call = living_call(ScriptedHost(tmp_path))

    reply = run(prompt_section.handle(call, PromptSectionParams(session_kind="group")))

    assert (reply.agent, reply.citations) == ("main", "off")
    assert reply.text.startswith("## Memory\n")
