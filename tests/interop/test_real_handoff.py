"""A session of the real Claude Code is continued in real programs, started as `memctl handoff --to` says."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from memd.programs.catalog import PROGRAMS
from memd.text.transcripts.injected import without_injected
from tests.support.daemon import DaemonProcess
from tests.support.openclaw import ModelRequest, TextReply, ToolCall
from tests.support.programs import TerminalProgram
from tests.support.real_program import ANSWER, RealProgram
from tests.support.real_programs import REAL_PROGRAMS, real_program
from tests.support.state_homes import KEYWORD_ONLY, StateHome

pytestmark = pytest.mark.long

REQUEST = "Fix the failing test of the ports"
TEST = "python3 -m unittest -q"
TEST_FILE = """\
import unittest

import ports


class PortsTest(unittest.TestCase):
    def test_port_of_staging(self):
        self.assertEqual(ports.STAGING, 9001)


unittest.main() if __name__ == "__main__" else None
"""


def run_on_terminal(program: RealProgram, *arguments: str) -> None:
    """Start a program with a prompt, and wait for its answer."""
    command = [*program.command(), *program.on_terminal, *arguments]
    with TerminalProgram(command, program.environ(), program.folder, (40, 140)) as terminal:
        terminal.press_until(b"", lambda: program.said()[1:] == [ANSWER])


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of a session in which a test failed, a file was edited, and the test passed."""
    home = tmp_path_factory.mktemp("claude")
    calls: list[ToolCall] = []

    def reply(request: ModelRequest) -> TextReply | ToolCall:
        return calls.pop(0) if calls and "Bash" in request.tools else TextReply(ANSWER)

    with real_program("claude-code", home, reply) as (program, _):
        path = str(program.folder / "ports.py")
        (program.folder / "ports.py").write_text("STAGING = 8443\n")
        (program.folder / "test_ports.py").write_text(TEST_FILE)
        edit = {"file_path": path, "old_string": "8443", "new_string": "9001"}
        calls += [ToolCall("Bash", {"command": TEST}), ToolCall("Read", {"file_path": path})]
        calls += [ToolCall("Edit", edit), ToolCall("Bash", {"command": TEST})]
        options = ("--permission-mode=acceptEdits", "--allowedTools=Bash,Edit,Read")
        run_on_terminal(program, *options, REQUEST)
    with StateHome(KEYWORD_ONLY) as state:
        (state.root / "memd.toml").write_text("[sources.claude-code]\n")
        with DaemonProcess(state, {"HOME": str(home)}) as daemon:
            return daemon.memctl("handoff", "--project", str(home / "shop")).stdout


def test_digest_has_what_the_session_did(digest: str) -> None:
    assert f"1. {REQUEST}\n" in digest
    assert "- ports.py: edited\n" in digest
    assert f"- `{TEST}`: failed (exit 1: " in digest
    assert "AssertionError: 8443 != 9001); worked afterwards\n" in digest
    assert f"> {ANSWER}\n" in digest


@pytest.mark.parametrize("name", REAL_PROGRAMS)
def test_program_that_is_started_with_the_digest_sends_it_to_its_model(
    name: str, digest: str, tmp_path: Path
) -> None:
    conversations = PROGRAMS[name].conversations
    assert conversations is not None
    _, *options = shlex.split(conversations.starter)
    with real_program(name, tmp_path, lambda request: TextReply(ANSWER)) as (program, server):
        run_on_terminal(program, *options, digest.strip())
    (conversation,) = [each for each in program.conversations() if each.messages]

    assert any(digest.strip() in request.prompt for request in server.asked)
    assert without_injected(conversation.messages[0].text) == digest.split("\n")[0]
