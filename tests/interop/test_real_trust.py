"""Orders on a page, in a note and in a commit from a remote: what real programs send to their models afterwards.

A first session really fetches the page, repeats it in its answer and writes the note. In a second one, the prompts
match the poisoned lines, hooks and tools of memd are installed, and the model searches and reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.openclaw import (
    ModelRequest,
    ModelServer,
    OpenClawInstallation,
    TextReply,
    ToolCall,
    plugin_folder,
    serve_model,
    settings,
)
from tests.support.poisoned_memory import (
    COMMITTED_PATH,
    CONTROL,
    CONTROL_PROMPT,
    NOTE_PATH,
    NOTED,
    ORDERS,
    PROMPTS,
    SAID,
    answer_of,
    note_of,
    reached,
    receive_commit,
    received,
    sentence_of,
    serve_pages,
)
from tests.support.programs import TerminalProgram
from tests.support.real_program import ANSWER, RealProgram
from tests.support.real_programs import real_program
from tests.support.state_homes import KEYWORD_ONLY, StateHome

pytestmark = pytest.mark.long

ALLOWED = ("--permission-mode=acceptEdits", "--allowedTools=Bash,Edit,Read,Write,mcp__memd")
PREFIX = "mcp__memd__"

OPENCLAW_SETTINGS = {
    "memory": {
        "search": {
            "provider": "none",
            "sources": ["memory", "sessions"],
            "experimental": {"sessionMemory": True},
        }
    },
    "plugins": {
        "entries": {
            "memd": {
                "config": {"startDaemon": False, "autoRecall": True, "factTools": True},
                "hooks": {"allowConversationAccess": True},
            }
        }
    },
}
"""Conversations are searched, and facts are put before each message."""


def lookups(prompt: str) -> list[ToolCall]:
    """Return the calls of a model that looks up a prompt in memory."""
    return [
        ToolCall(f"{PREFIX}memory_search", {"query": prompt}),
        ToolCall(f"{PREFIX}conversation_search", {"query": prompt}),
        ToolCall(f"{PREFIX}memory_get", {"path": NOTE_PATH}),
        ToolCall(f"{PREFIX}memory_get", {"path": COMMITTED_PATH}),
        ToolCall(f"{PREFIX}session_handoff", {}),
    ]


def work_as_told(program: RealProgram, home: StateHome, calls: list[ToolCall], pages: str) -> None:
    """Run a session on a terminal that fetches two pages, writes one order into a note and answers with the other."""
    settings = json.loads((program.home / ".claude.json").read_text())
    settings["projects"][str(home.workspace())] = {"hasTrustDialogAccepted": True}
    (program.home / ".claude.json").write_text(json.dumps(settings))
    note = {"file_path": str(home.workspace() / NOTE_PATH), "content": note_of(NOTED)}
    calls += [
        ToolCall("Bash", {"command": f"curl -s {pages}/{ORDERS.index(order)}"}) for order in (SAID, NOTED)
    ]
    calls.append(ToolCall("Write", note))
    options = [*ALLOWED, f"--add-dir={home.workspace()}"]
    command = [*program.command(), *options, "Look up how the gateway and the queue are set up"]
    with TerminalProgram(command, program.environ(), program.folder, (40, 140)) as terminal:
        terminal.press_until(b"", lambda: answer_of(SAID) in program.said())


@contextmanager
def poisoned(tmp_path: Path) -> Iterator[tuple[list[str], list[ToolCall]]]:
    """Run Claude Code with a poisoned memory; yield what is sent to its model, and the calls left to it."""
    calls: list[ToolCall] = []
    answers = [answer_of(SAID)]

    def reply(request: ModelRequest) -> TextReply | ToolCall:
        if "Bash" not in request.tools:
            return TextReply(ANSWER)
        return calls.pop(0) if calls else TextReply(answers.pop() if answers else ANSWER)

    with StateHome(KEYWORD_ONLY) as home, real_program("claude-code", tmp_path, reply) as (program, server):
        home.note("memory/ports.md", f"# Ports\n\n- {CONTROL}\n")
        with serve_pages() as pages:
            work_as_told(program, home, calls, pages)
        assert (home.workspace() / NOTE_PATH).read_text() == note_of(NOTED)
        sent = [json.dumps(json.loads(body)) for body in server.bodies]
        assert len(reached(sent)) == 2, "the first session fetched both pages"
        (home.root / "memd.toml").write_text("[sources.claude-code]\n")
        with DaemonProcess(home, {"HOME": str(program.home)}) as daemon:
            with daemon.client() as client:
                client.index()
                receive_commit(client, home.root)
                client.index()
            for command in ("hooks", "mcp"):
                environ = {**program.environ(), "MEMD_AUTOSTART": "0"}
                done = daemon.memctl(command, "install", "claude-code", environ=environ)
                assert done.returncode == 0, done.stderr
            server.bodies.clear()
            for prompt in (CONTROL_PROMPT, *PROMPTS):
                calls += lookups(prompt)
                program.run(*program.headless(prompt), *program.with_hooks, *ALLOWED)
            yield [body.decode() for body in server.bodies], calls


def test_claude_code_sends_no_order_of_other_people_as_its_own_memory(tmp_path: Path) -> None:
    with poisoned(tmp_path) as (sent, calls):
        before_tools = [body for body in sent if '"tool_result"' not in body]

    assert calls == [], "the model's tools were there"
    assert any(CONTROL in body for body in before_tools), "hooks add lines of memory"
    assert received(before_tools) == []
    assert len(received(sent)) == len(ORDERS), "tools return the orders"
    assert reached(sent) == []


def shell_of(request: ModelRequest) -> str:
    """Return the name of the tool that runs commands in OpenClaw."""
    return next(name for name in ("exec", "bash") if name in request.tools)


@contextmanager
def poisoned_openclaw(tmp_path: Path) -> Iterator[tuple[OpenClawInstallation, DaemonProcess, ModelServer]]:
    """Run a turn of OpenClaw that fetches a page, writes a note and answers; then receive a commit and store a fact."""
    with serve_pages() as pages, serve_model(lambda request: script(request)) as model:

        def script(request: ModelRequest) -> TextReply | ToolCall:
            if "Look up" not in request.prompt:
                return look_up(request)
            match len(request.results):
                case 0:
                    return ToolCall(shell_of(request), {"command": f"curl -s {pages}/0; curl -s {pages}/1"})
                case 1:
                    return ToolCall("write", {"path": NOTE_PATH, "content": note_of(NOTED)})
            return TextReply(answer_of(SAID))

        with StateHome(settings(model.url)) as home:
            home.note("memory/ports.md", f"# Ports\n\n- {CONTROL}\n")
            claw = OpenClawInstallation(home)
            claw.install(plugin_folder(tmp_path))
            claw.run("plugins", "disable", "memory-core")
            claw.change(OPENCLAW_SETTINGS)
            with DaemonProcess(home) as daemon, daemon.client() as client:
                assert claw.turn("Look up how the gateway and the queue are set up").strip() == answer_of(
                    SAID
                )
                assert (home.workspace() / NOTE_PATH).read_text() == note_of(NOTED)
                assert len(reached(["\n".join(request.results) for request in model.asked])) == 2
                client.index()
                receive_commit(client, home.root)
                client.memory_store(sentence_of(SAID))
                client.index()
                model.asked.clear()
                yield claw, daemon, model


def look_up(request: ModelRequest) -> TextReply | ToolCall:
    """Call each tool of memory once, and answer."""
    prompt = next(prompt for prompt in (CONTROL_PROMPT, *PROMPTS) if prompt in request.prompt)
    calls = [ToolCall("memory_search", {"query": prompt}), ToolCall("memory_recall", {"query": prompt})]
    calls += [ToolCall("memory_get", {"path": path}) for path in (NOTE_PATH, COMMITTED_PATH)]
    calls = [call for call in calls if call.tool in request.tools]
    return calls[len(request.results)] if len(request.results) < len(calls) else TextReply(ANSWER)


def test_openclaw_sends_no_order_of_other_people_as_its_own_memory(tmp_path: Path) -> None:
    with poisoned_openclaw(tmp_path) as (claw, _, model):
        for number, prompt in enumerate((CONTROL_PROMPT, *PROMPTS)):
            claw.turn(prompt, session=f"agent:main:later-{number}")
        injected = [f"{request.system}\n{request.prompt}" for request in model.asked]
        results = ["\n".join(request.results) for request in model.asked]

    assert CONTROL in "\n".join(results), "tools return lines of memory"
    assert received(injected) == []
    assert len(received(results)) == len(ORDERS), "tools return the orders"
    assert reached(results) == []
