"""Two real gateways of OpenClaw in one home directory, one of them with `--profile work`, at the same time."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from memd_client import Client
from memd_client.messages import StatusReply
from tests.support.openclaw import (
    ModelRequest,
    OpenClawGateway,
    OpenClawInstallation,
    TextReply,
    ToolCall,
    plugin_folder,
    serve_model,
    settings,
)
from tests.support.profiles import FOLDERS, NOTES, QUERY, ProfileHome, Profiles, other, variables
from tests.support.sockets import wait_until

PLUGIN_ENTRY = {
    "config": {"autoCapture": True, "sessionNotes": True, "daemonCommand": [sys.executable, "-m", "memd"]},
    "hooks": {"allowConversationAccess": True},
}


def script(conversation: ModelRequest) -> TextReply | ToolCall:
    """Search, read the note, and reply with what it contains."""
    match conversation.results:
        case ():
            return ToolCall("memory_search", {"query": QUERY})
        case (_,):
            return ToolCall("memory_get", {"path": "MEMORY.md"})
    return TextReply(f"My notes say: {json.loads(conversation.results[1])['text']}")


class ProfileGateway:
    """A profile with a model, the plugin and a running gateway."""

    def __init__(self, profiles: Profiles, name: str, plugin: Path, stack: ExitStack) -> None:
        self.name = name
        self.model = stack.enter_context(serve_model(script))
        home = ProfileHome(profiles, name)
        home.configure(settings(self.model.url))
        self._claw = OpenClawInstallation(home, "" if name == "home" else name)
        self._claw.install(plugin)
        self._claw.change({"plugins": {"entries": {"memd": PLUGIN_ENTRY}}})
        self._gateway = stack.enter_context(OpenClawGateway(self._claw))

    def run_session(self) -> str:
        """Run one session, and return the reply of the model; the session has ended then."""
        answer = self._claw.turn(f"I prefer the colour of {self.name}", local=False)
        self._gateway.call("sessions.reset", key="agent:main:main", reason="new")
        return answer


def facts_of(profiles: Profiles, name: str) -> str:
    """Return the facts of a profile."""
    path = profiles.state(name) / "workspace" / "memory" / "facts.md"
    return path.read_text() if path.exists() else ""


def status_of(profiles: Profiles, name: str) -> StatusReply:
    """Return the status of a profile's daemon."""
    with variables(profiles.environ(name)), Client() as client:
        return client.status()


@pytest.mark.long
def test_gateways_of_two_profiles_never_share_memory(tmp_path: Path) -> None:
    plugin = plugin_folder(tmp_path)
    with Profiles() as profiles, ExitStack() as stack:
        # One after the other: two programs that start or answer at once miss deadlines of OpenClaw on a busy machine.
        gateways = [ProfileGateway(profiles, name, plugin, stack) for name in FOLDERS]
        answers = [gateway.run_session() for gateway in gateways]
        daemons = {name: status_of(profiles, name) for name in FOLDERS}
        for name in FOLDERS:
            wait_until(lambda name=name: "assistant: My notes say:" in profiles.text(name))
            wait_until(lambda name=name: f"I prefer the colour of {name}" in facts_of(profiles, name))
        texts = {name: profiles.text(name) for name in FOLDERS}

    for gateway, answer in zip(gateways, answers, strict=True):
        name, theirs = gateway.name, other(gateway.name)
        results = "\n".join(result for request in gateway.model.asked for result in request.results)
        assert NOTES[name] in answer
        assert NOTES[name] in results
        assert NOTES[theirs] not in results
        assert f"My notes say: # Gateway {NOTES[name]}" in texts[name], "the note of the session"
        assert f"the colour of {theirs}" not in texts[name]
        assert NOTES[theirs] not in texts[name]
        assert daemons[name].state_dir == str(profiles.state(name))
    assert daemons["home"].pid != daemons["work"].pid
