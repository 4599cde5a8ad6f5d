"""The hook as a process, with a daemon and without: what it asks, what it prints, and when it stays silent."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import memd_client.hook
from memd_client.framing import encode_frame
from memd_client.hook_program import (
    MAX_INPUT_BYTES,
    MAX_OUTPUT_CHARS,
    MAX_PROMPT_CHARS,
    output,
    request_params,
)
from memd_client.messages import REQUESTS
from tests.support.scripted_daemon import ScriptedDaemon, ScriptedPeer

HOOK = [sys.executable, "-I", "-S", memd_client.hook.__file__]

TEXT = 'Staging listens on 8443 — "MEMORY.md:3"\n端口'

CLAUDE = {"session_id": "5f2c", "transcript_path": "/t/5f2c.jsonl", "cwd": "/home/eva/shop"}

PROMPT = {**CLAUDE, "hook_event_name": "UserPromptSubmit", "prompt": "Which port?", "source": "user"}

WAIT_LIMIT_S = 120.0
"""Of a hook that should end within a fraction of a second, on a loaded machine."""


def run_hook(path: Path, *arguments: str, given: bytes | dict[str, Any] = b"") -> bytes:
    """Run the hook, and return its output; it ends with status 0 and an empty standard error in any case."""
    data = given if isinstance(given, bytes) else json.dumps(given).encode()
    ran = subprocess.run(
        [*HOOK, *arguments],
        input=data,
        capture_output=True,
        env={"MEMD_SOCKET": str(path), "HOME": str(path.parent)},
        timeout=WAIT_LIMIT_S,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    return ran.stdout


class Asked:
    """A script of a daemon that answers one `hook` request and keeps its parameters."""

    def __init__(self, text: str = TEXT, decision: str = "injected") -> None:
        self.params: dict[str, Any] = {}
        self._reply = {"text": text, "decision": decision, "hits": 1}

    def __call__(self, connection: socket.socket) -> None:
        peer = ScriptedPeer(connection).greet()
        _, number, method, self.params = peer.read()
        assert method == "hook"
        peer.tell("progress", {"id": number, "stage": "search"})
        peer.answer(number, self._reply)


def ask(
    folder: Path, *arguments: str, given: dict[str, Any], reply: str = TEXT
) -> tuple[bytes, dict[str, Any]]:
    """Run the hook with a daemon, and return its output and the parameters of its request."""
    asked = Asked(reply)
    with ScriptedDaemon(folder / "d.sock", asked):
        printed = run_hook(folder / "d.sock", *arguments, given=given)
    return printed, asked.params


def specific(name: str, text: str = TEXT) -> dict[str, Any]:
    """Return the output that Claude Code, Codex and Gemini document."""
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}


CURSOR = {"conversation_id": "c1", "cursor_version": "2.3", "workspace_roots": ["/home/eva/shop", "/x"]}

MAKE = {
    "tool_name": "Bash",
    "tool_input": {"command": "make"},
    "error": "make: *** No rule",
    "tool_response": {"llmContent": "Output: make: *** No rule\nExit Code: 2"},
}

PRINTED = [
    ("claude-code", "session_start", {**CLAUDE, "source": "compact"}, specific("SessionStart")),
    ("claude-code", "prompt", PROMPT, specific("UserPromptSubmit")),
    ("codex", "session_start", {**CLAUDE, "transcript_path": None}, specific("SessionStart")),
    ("codex", "prompt", {**PROMPT, "turn_id": "t"}, specific("UserPromptSubmit")),
    ("gemini", "session_start", CLAUDE, specific("SessionStart")),
    ("gemini", "prompt", PROMPT, specific("BeforeAgent")),
    ("cursor", "session_start", CURSOR, {"additional_context": TEXT}),
    ("cursor", "prompt", {**CURSOR, "prompt": "Which port?"}, {"additional_context": TEXT}),
    ("claude-code", "before_tool", {**CLAUDE, **MAKE}, specific("PreToolUse")),
    ("claude-code", "after_failure", {**CLAUDE, **MAKE}, specific("PostToolUseFailure")),
    ("codex", "before_tool", {**CLAUDE, **MAKE}, specific("PreToolUse")),
    ("gemini", "after_tool", {**CLAUDE, **MAKE}, specific("AfterTool")),
    ("qwen", "after_failure", {**CLAUDE, **MAKE}, specific("PostToolUseFailure")),
    ("copilot", "after_tool", {**CLAUDE, **MAKE}, {"additionalContext": TEXT}),
    ("cursor", "after_failure", {**CURSOR, **MAKE}, {"additional_context": TEXT}),
]


@pytest.mark.parametrize(("program", "event", "given", "expected"), PRINTED)
def test_text_is_printed_in_the_form_of_each_program(
    tmp_path: Path, program: str, event: str, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    printed, params = ask(tmp_path, program, event, given=given)

    assert json.loads(printed) == expected
    assert (params["program"], params["event"]) == (program, event)


@pytest.mark.parametrize("program", ["claude-code", "codex", "gemini", "cursor", "copilot"])
@pytest.mark.parametrize("event", ["compaction", "session_end"])
def test_events_that_take_no_text_are_reported_and_print_nothing(
    tmp_path: Path, program: str, event: str
) -> None:
    printed, params = ask(tmp_path, program, event, given={**CLAUDE, "trigger": "auto"})

    assert printed == b""
    assert (params["event"], params["reason"]) == (event, "auto")


@pytest.mark.parametrize("event", ["session_start", "prompt"])
def test_copilot_gets_no_text(tmp_path: Path, event: str) -> None:
    assert ask(tmp_path, "copilot", event, given=PROMPT)[0] == b""


def test_the_request_has_every_field_and_the_agent(tmp_path: Path) -> None:
    _, params = ask(tmp_path, "claude-code", "prompt", "--agent", "work", given=PROMPT)

    assert params == {
        "program": "claude-code",
        "event": "prompt",
        "session_id": "5f2c",
        "cwd": "/home/eva/shop",
        "prompt": "Which port?",
        "reason": "user",
        "transcript_path": "/t/5f2c.jsonl",
        "agent": "work",
    }


def test_fields_of_cursor_and_copilot_are_found_under_their_names() -> None:
    cursor = request_params("cursor", "session_end", CURSOR)
    copilot = request_params(
        "copilot",
        "session_end",
        {"sessionId": "p1", "cwd": "/w", "reason": "complete", "transcriptPath": "/t"},
    )

    assert cursor is not None
    assert copilot is not None
    assert (cursor["session_id"], cursor["cwd"]) == ("c1", "/home/eva/shop")
    assert (copilot["session_id"], copilot["reason"], copilot["transcript_path"]) == ("p1", "complete", "/t")


def test_a_socket_in_the_arguments_wins_over_the_environment(tmp_path: Path) -> None:
    with ScriptedDaemon(tmp_path / "own.sock", Asked()):
        arguments = ["claude-code", "prompt", "--socket", str(tmp_path / "own.sock")]
        assert run_hook(tmp_path / "no.sock", *arguments, given=PROMPT)


@pytest.mark.parametrize("program", ["claude-code", "codex", "gemini", "copilot"])
def test_hooks_of_other_programs_that_cursor_runs_ask_nothing(program: str) -> None:
    assert request_params(program, "prompt", {**PROMPT, "cursor_version": "2.3"}) is None
    assert request_params("cursor", "prompt", {**PROMPT, "cursor_version": "2.3"}) is not None


SILENT_INPUTS = [
    b"",
    b"{",
    b"[]",
    b"3",
    b"null",
    b"\xff\xfe{}",
    b'{"session_id": "a"}',
    b'{"session_id": 3, "prompt": "x"}',
    b'{"session_id": " ", "prompt": "x"}',
    b'{"session_id": "a", "prompt": ["x"]}',
    b'{"session_id": "a", "prompt": "\\n"}',
    b"[" * 200_000,
    b'{"a":' * 200_000,
    b'{"a": ' + b"9" * 5_000 + b"}",
    b'{"session_id": "a", "prompt": "b"} {}',
    b" " * (MAX_INPUT_BYTES + 1) + b'{"session_id": "a", "prompt": "b"}',
]


@pytest.mark.parametrize("given", SILENT_INPUTS, ids=range(len(SILENT_INPUTS)))
def test_bad_input_prints_nothing_and_asks_nothing(tmp_path: Path, given: bytes) -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(tmp_path / "d.sock"))
    listener.listen()
    listener.setblocking(False)

    try:
        assert run_hook(tmp_path / "d.sock", "claude-code", "prompt", given=given) == b""
        with pytest.raises(BlockingIOError):
            listener.accept()
    finally:
        listener.close()


@pytest.mark.parametrize(
    "arguments",
    [[], ["codex"], ["emacs", "prompt"], ["codex", "stop"], ["codex", "prompt", "--agent"], ["-h"]],
)
def test_wrong_arguments_print_nothing(tmp_path: Path, arguments: list[str]) -> None:
    assert run_hook(tmp_path / "no.sock", *arguments, given=PROMPT) == b""


@pytest.mark.parametrize("program", ["claude-code", "codex", "gemini", "cursor", "copilot"])
def test_without_a_daemon_nothing_is_printed_or_started(tmp_path: Path, program: str) -> None:
    assert run_hook(tmp_path / "no.sock", program, "prompt", given=PROMPT) == b""
    assert list(tmp_path.iterdir()) == []


def _refuse(connection: socket.socket) -> None:
    peer = ScriptedPeer(connection).greet()
    peer.refuse(peer.read()[1], "agent_unknown")


def _of_another_version(connection: socket.socket) -> None:
    peer = ScriptedPeer(connection)
    peer.refuse(peer.read()[1], "protocol_mismatch")


def _hang_up(connection: socket.socket) -> None:
    ScriptedPeer(connection).greet().close()


def _garbage(connection: socket.socket) -> None:
    connection.sendall(b"\x00\x00\x00\x03\xc1\xc1\xc1")


def _half_a_frame(connection: socket.socket) -> None:
    ScriptedPeer(connection).greet()
    connection.sendall(b"\x00\x00\x01\x00\x94\x01")


def _endless(connection: socket.socket) -> None:
    frame = encode_frame([2, "noise", {"text": "x" * 100_000}])
    with contextlib.suppress(OSError):
        while True:
            connection.sendall(frame)


def _of_another_shape(connection: socket.socket) -> None:
    peer = ScriptedPeer(connection).greet()
    peer.answer(peer.read()[1], {"text": 3})


@pytest.mark.parametrize(
    "script",
    [_refuse, _of_another_version, _hang_up, _garbage, _half_a_frame, _endless, _of_another_shape],
)
def test_a_daemon_that_fails_leaves_the_hook_silent(
    tmp_path: Path, script: Callable[[socket.socket], None]
) -> None:
    with ScriptedDaemon(tmp_path / "d.sock", script):
        assert run_hook(tmp_path / "d.sock", "gemini", "prompt", given=PROMPT) == b""


def test_a_daemon_that_never_answers_is_given_up(tmp_path: Path) -> None:
    with ScriptedDaemon(tmp_path / "d.sock", lambda connection: None):
        assert run_hook(tmp_path / "d.sock", "codex", "prompt", given=PROMPT) == b""


def test_a_full_backlog_is_given_up(tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(tmp_path / "d.sock"))
    listener.listen(0)
    waiting = []
    try:
        with contextlib.suppress(BlockingIOError):
            while True:
                waiting.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
                waiting[-1].setblocking(False)
                waiting[-1].connect(str(tmp_path / "d.sock"))
        assert run_hook(tmp_path / "d.sock", "codex", "prompt", given=PROMPT) == b""
    finally:
        for each in (listener, *waiting):
            each.close()


def test_a_pipe_that_stays_open_is_read_up_to_the_end_of_the_object(tmp_path: Path) -> None:
    asked = Asked()
    reading, writing = os.pipe()
    data = json.dumps({**PROMPT, "prompt": "}" * 100_000}).encode()
    writer = threading.Thread(target=os.write, args=(writing, data))
    writer.start()
    try:
        with ScriptedDaemon(tmp_path / "d.sock", asked):
            ran = subprocess.run(
                [*HOOK, "claude-code", "prompt"],
                stdin=reading,
                capture_output=True,
                env={"MEMD_SOCKET": str(tmp_path / "d.sock")},
                timeout=WAIT_LIMIT_S,
                check=True,
            )
    finally:
        os.close(reading)
        writer.join()
        os.close(writing)

    assert json.loads(ran.stdout) == specific("UserPromptSubmit")
    assert asked.params["prompt"] == "}" * 100_000


@pytest.mark.parametrize("broken", [b'{"prompt": "a', b'{"a"}', b'{"a": tru}', b'{"a": [1,}'])
def test_broken_json_is_a_value_error_in_a_process_without_the_json_module(broken: bytes) -> None:
    program = (
        f"import sys; package = type(sys)('memd_client'); package.__path__ = [{str(Path(HOOK[-1]).parent)!r}]\n"
        "sys.modules['memd_client'] = package\n"
        "from memd_client.hook_program import parse_json\n"
        "try:\n"
        f"    parse_json({broken!r})\n"
        "except ValueError:\n"
        "    print('refused')\n"
    )
    ran = subprocess.run(
        [*HOOK[:3], "-c", program], capture_output=True, timeout=WAIT_LIMIT_S, check=True, text=True
    )

    assert (ran.stdout, ran.stderr) == ("refused\n", "")


@pytest.mark.parametrize("kind", ["terminal", "nothing", "closed", "silent pipe"])
def test_a_terminal_or_an_input_without_data_ends_the_hook(kind: str) -> None:
    opened = {"terminal": pty.openpty, "silent pipe": os.pipe}.get(kind)
    handles = () if opened is None else opened()
    given = [subprocess.DEVNULL, *handles][{"terminal": 2, "silent pipe": 1}.get(kind, 0)]
    command = ["sh", "-c", 'exec "$@" <&-', "sh", *HOOK] if kind == "closed" else HOOK
    try:
        ran = subprocess.run(
            [*command, "codex", "prompt"], stdin=given, capture_output=True, timeout=WAIT_LIMIT_S, check=True
        )
    finally:
        for each in handles:
            os.close(each)

    assert (ran.stdout, ran.stderr) == (b"", b"")


def test_a_closed_output_is_no_error(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        with ScriptedDaemon(tmp_path / "d.sock", Asked()):
            ran = subprocess.run(
                [*HOOK, "codex", "prompt"],
                input=json.dumps(PROMPT).encode(),
                stdout=writing,
                stderr=subprocess.PIPE,
                env={"MEMD_SOCKET": str(tmp_path / "d.sock")},
                timeout=WAIT_LIMIT_S,
                check=True,
            )
    finally:
        os.close(writing)

    assert ran.stderr == b""


def test_neither_variables_of_python_nor_the_working_folder_reach_the_hook(tmp_path: Path) -> None:
    for name in ("json.py", "select.py", "os.py", "memd_client.py", "_json.py"):
        (tmp_path / name).write_text("print('loaded')\n")
    ran = subprocess.run(
        [*HOOK, "codex", "prompt"],
        input=json.dumps(PROMPT).encode(),
        capture_output=True,
        cwd=tmp_path,
        env={
            "PYTHONPATH": str(tmp_path),
            "PYTHONSTARTUP": "json.py",
            "MEMD_SOCKET": str(tmp_path / "no.sock"),
        },
        timeout=WAIT_LIMIT_S,
        check=True,
    )

    assert (ran.stdout, ran.stderr) == (b"", b"")


def test_the_hook_loads_no_large_module(tmp_path: Path) -> None:
    """Each of them would cost more than all that the hook does."""
    program = (
        f"import sys; __file__ = {HOOK[-1]!r}; sys.argv = [__file__, 'codex', 'prompt']; __package__ = None\n"
        "exec(compile(open(__file__).read(), __file__, 'exec'))\n"
        "print(*sys.modules)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program],
        input=json.dumps(PROMPT).encode(),
        capture_output=True,
        env={"MEMD_SOCKET": str(tmp_path / "no.sock")},
        timeout=WAIT_LIMIT_S,
        check=True,
    )
    loaded = set(ran.stdout.decode().split())

    assert "memd_client.hook_program" in loaded
    assert not loaded & {"json", "re", "socket", "asyncio", "logging", "typing", "dataclasses", "subprocess"}
    assert not loaded & {"msgpack", "site", "collections", "threading", "memd_client.errors", "enum"}


@pytest.mark.parametrize("program", ["claude-code", "codex", "gemini", "cursor"])
def test_output_never_exceeds_the_limit(program: str) -> None:
    fitting = output(program, "prompt", "x" * (MAX_OUTPUT_CHARS - 200))

    assert len(fitting) <= MAX_OUTPUT_CHARS
    assert json.loads(fitting)
    assert output(program, "prompt", "x" * MAX_OUTPUT_CHARS) == b""
    assert output(program, "prompt", "\\" * (MAX_OUTPUT_CHARS // 2)) == b""
    assert output(program, "prompt", " \n") == output(program, "prompt", None) == b""


def test_a_long_prompt_is_cut_and_a_long_path_left_out() -> None:
    params = request_params("codex", "prompt", {**PROMPT, "prompt": "x" * 200_000, "cwd": "/" * 5_000})

    assert params is not None
    assert len(params["prompt"] or "") == MAX_PROMPT_CHARS
    assert params["cwd"] == ""


def test_parameters_are_those_of_the_request() -> None:
    params = request_params("codex", "prompt", PROMPT)

    assert params is not None
    of_tools = {"tool", "command", "file", "error"}
    assert {*params, "agent"} == set(REQUESTS["hook"][0].__annotations__) - of_tools
