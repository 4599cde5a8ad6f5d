"""Hooks of memd around commands and edits in the real programs of npm: memory reaches the model on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memd_client.hooks import HookLogEntry
from tests.support.daemon import DaemonProcess
from tests.support.model_servers.server import DialectServer
from tests.support.openclaw import ModelRequest, TextReply, ToolCall
from tests.support.real_program import ANSWER, RealProgram
from tests.support.real_programs import real_program
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.transcript_programs.agent_homes import write_sessions
from tests.support.transcript_programs.agent_steps import AgentSession, Edited, Event, Ran, Said

pytestmark = pytest.mark.long

PROMPT = "please build the shop"
COMMAND = "python3 build.py"
ERROR = "error: the templates of the shop are missing"
REMEDY = "git checkout templates"
REASON = "Staging uses 8443, because the proxy owns 443."

ARGUMENTS = {
    "claude-code": ("--allowedTools", "Bash,Edit,Read"),
    "codex": ("--dangerously-bypass-approvals-and-sandbox",),
    "gemini": ("--yolo",),
    "qwen": ("--yolo",),
    "copilot": (),
}
"""What lets a program run commands and edit files without a user."""


def command_call(tools: tuple[str, ...]) -> ToolCall:
    """Return the call of the tool that runs a command, as the model of a program makes it."""
    if "exec_command" in tools:
        return ToolCall("exec_command", {"cmd": COMMAND})
    name = next(name for name in ("Bash", "bash", "run_shell_command") if name in tools)
    more = {"is_background": False} if name == "run_shell_command" else {}
    return ToolCall(name, {"command": COMMAND, "description": "Build", **more})


def edit_call(tools: tuple[str, ...], path: str) -> ToolCall:
    """Return the call of the tool that edits a file."""
    if "exec_command" in tools:
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-staging listens on 8443\n+staging: 8443\n"
        return ToolCall("exec_command", {"cmd": f"apply_patch <<'EOF'\n{patch}*** End Patch\nEOF"})
    if "Edit" in tools:
        return ToolCall("Edit", {"file_path": path, "old_string": "listens on", "new_string": "uses"})
    return ToolCall("edit", {"path": path, "old_str": "listens on", "new_str": "uses"})


def read_call(tools: tuple[str, ...], path: str) -> ToolCall:
    """Return the call of the tool that reads a file, which some programs require before an edit."""
    return ToolCall("Read", {"file_path": path}) if "Read" in tools else command_call(tools)


@contextmanager
def hooked(name: str, home: Path) -> Iterator[tuple[RealProgram, DialectServer, DaemonProcess]]:
    """Install a program with memd's hooks, and a daemon with an earlier session of another program."""

    def script(request: ModelRequest) -> TextReply | ToolCall:
        path = str(home / "shop" / "ports.txt")
        steps = [read_call, edit_call] if "edit" in request.prompt else [lambda tools, _: command_call(tools)]
        done = len(request.results)
        return steps[done](request.tools, path) if request.tools and done < len(steps) else TextReply(ANSWER)

    with real_program(name, home, script) as (program, server), StateHome(KEYWORD_ONLY) as state:
        folder, user = str(program.folder), state.root / "user"
        (program.folder / "build.py").write_text(f"raise SystemExit({ERROR!r})\n")
        fixed: list[Event] = [Ran(COMMAND, 1, ERROR), Ran(REMEDY), Ran(COMMAND)]
        edited: list[Event] = [Edited(f"{folder}/ports.txt", "443", "8443"), Said("assistant", REASON)]
        events: list[Event] = [Said("user", "build it"), *fixed, Said("user", "which port?"), *edited]
        other = "codex" if name == "claude-code" else "claude-code"
        write_sessions(user, state.state, [AgentSession("earlier", other, folder, events)])
        (state.root / "memd.toml").write_text(f"[sources.{other}]\n")
        with DaemonProcess(state, {"HOME": str(user)}) as daemon, daemon.client() as client:
            client.index()
            done = daemon.memctl("hooks", "install", name, environ=program.environ())
            assert done.returncode == 0, done.stderr
            yield program, server, daemon


def entries_of(daemon: DaemonProcess) -> list[HookLogEntry]:
    """Return the logged decisions at commands and edits."""
    with daemon.client() as client:
        entries = client.hook_log().entries
    return [entry for entry in entries if entry.event.startswith(("before_", "after_"))]


@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_fix_of_another_program_reaches_the_model_after_a_failure(name: str, tmp_path: Path) -> None:
    with hooked(name, tmp_path) as (program, server, daemon):
        program.run(*program.headless(PROMPT), *program.with_hooks, *ARGUMENTS[name])
        entries = entries_of(daemon)
    before, after = server.bodies[0].decode(), server.bodies[-1].decode()

    assert REMEDY not in before
    assert f"ran `{REMEDY}`" in after
    assert [entry.decision for entry in entries] == ["injected"]
    assert entries[0].event == ("after_failure" if name in ("claude-code", "qwen") else "after_tool")
    (conversation,) = program.conversations()
    assert [message.text for message in conversation.messages] == [PROMPT, ANSWER]


@pytest.mark.parametrize("name", ["claude-code", "codex", "copilot"])
def test_the_decision_about_a_file_reaches_the_model_with_its_edit(name: str, tmp_path: Path) -> None:
    with hooked(name, tmp_path) as (program, server, daemon):
        program.run(*program.headless("please edit ports.txt"), *program.with_hooks, *ARGUMENTS[name])
        entries = entries_of(daemon)

    assert REASON not in server.bodies[0].decode()
    assert REASON in server.bodies[-1].decode()
    assert ("before_tool", "injected") in [(entry.event, entry.decision) for entry in entries]
