"""What agents ran and what fixed an error, asked of a real daemon: by the client, `memctl`, and MCP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession

from memd_client.errors import QueryEmptyError
from memd_client.messages import FixReply, HowReply
from tests.support.daemon import DaemonProcess
from tests.support.mcp_session import run_mcp_session, text_of
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.transcript_programs import codex
from tests.support.transcript_programs.claude_code import ClaudeFile

SHOP, BLOG = "/home/eva/shop", "/home/eva/blog"
BREAKS, AGAIN, FLAKY = (f"5f0c8a5{number}-0000-4000-8000-000000000001" for number in range(3))
THREAD = codex.timed_id(0, 2)

MISSING = 'Traceback (most recent call last):\n  File "/home/eva/shop/pay.py", line 3, in <module>\n' + (
    "    import stripe\nModuleNotFoundError: No module named 'stripe'"
)
PORT = "Error: listen EADDRINUSE: address already in use :::8443"


class ClaudeSession:
    """A session of Claude Code that is being written: each command and edit with its result."""

    def __init__(self, session: str, cwd: str, request: str) -> None:
        self._session, self._calls = session, 0
        self.file = ClaudeFile(session, cwd=cwd)
        self.file.prompt(request)

    def _call(self, tool: str, arguments: dict[str, str], output: str, *, failed: bool) -> None:
        self._calls += 1
        call = f"t{self._calls}"
        self.file.blocks([{"type": "tool_use", "id": call, "name": tool, "input": arguments}])
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call, "content": output}
        self.file.prompt([{**result, "is_error": True} if failed else result])

    def ran(self, command: str, error: str = "", code: int = 1) -> ClaudeSession:
        output = f"Exit code {code}\n{error}" if error else "done"
        self._call("Bash", {"command": command}, output, failed=bool(error))
        return self

    def edited(self, path: str, old: str, new: str) -> ClaudeSession:
        self._call("Edit", {"file_path": path, "old_string": old, "new_string": new}, "updated", failed=False)
        return self

    def write(self, home: Path) -> None:
        path = home / ".claude" / "projects" / "p" / f"{self._session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\n".join(self.file.lines) + b"\n")


def codex_command(call: str, seconds: int, command: str, output: str, code: int) -> list[bytes]:
    """Return a command of Codex and its result."""
    arguments = json.dumps({"cmd": command, "workdir": SHOP})
    frame = f"Chunk ID: 36c2f2\nWall time: 0.0100 seconds\nProcess exited with code {code}\nOutput:\n{output}"
    call_item = {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": call}
    return [
        codex.line("response_item", call_item, seconds),
        codex.line(
            "response_item", {"type": "function_call_output", "call_id": call, "output": frame}, seconds + 1
        ),
    ]


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with sessions of two programs: a missing module, a taken port, and a flaky test."""
    home = tmp_path_factory.mktemp("user")
    session = ClaudeSession(BREAKS, SHOP, "The payment tests don't start")
    session.ran("pytest -q tests/pay", MISSING).ran("ls").ran(
        "pip install strip", "ERROR: No matching distribution"
    )
    session.ran("pip install stripe==9.1").ran("pytest -q tests/pay").write(home)
    session = ClaudeSession(AGAIN, SHOP, "Start the server")
    session.ran("npm run serve", PORT).ran("git status").edited(f"{SHOP}/server.js", "8443", "9001")
    session.ran("npm run serve").ran("npm run deploy -- --prod", "Error: no token", 2).write(home)
    session = ClaudeSession(FLAKY, BLOG, "Check the links")
    session.ran("npm test", "Error: socket hang up").ran("npm test").ran("pytest --blog").write(home)
    folder = home / ".codex" / "sessions" / "2026" / "11" / "02"
    folder.mkdir(parents=True)
    lines = [codex.meta(THREAD, cwd=SHOP), codex.asked("Run the payment tests", 1)]
    lines += codex_command("c1", 2, "pytest -q tests/pay", MISSING.replace("/home/eva", "/srv"), 1)
    lines += codex_command("c2", 4, "pip install stripe==9.1", "ok", 0)
    lines += codex_command("c3", 6, "pytest -q tests/pay", "3 passed", 0)
    lines += [*codex_command("c4", 8, "npm run serve", "ok", 0), codex.answered("Done.", 10)]
    (folder / codex.rollout(THREAD)).write_bytes(b"\n".join(lines) + b"\n")
    return home


@pytest.fixture(scope="module")
def daemon(user: Path) -> Iterator[DaemonProcess]:
    with StateHome(KEYWORD_ONLY) as home:
        settings = '[sources.claude-code]\n[sources.codex]\nagent = "shared"\n'
        (home.root / "memd.toml").write_text(settings)
        with DaemonProcess(home, {"HOME": str(user)}) as process:
            yield process


def how(daemon: DaemonProcess, command: str, **arguments: Any) -> HowReply:
    with daemon.client() as client:
        return client.how(command, **arguments)


def fix(daemon: DaemonProcess, error: str, **arguments: Any) -> FixReply:
    with daemon.client() as client:
        return client.fix(error, **arguments)


def test_runs_of_one_invocation_in_sessions_of_several_programs_are_one_row(daemon: DaemonProcess) -> None:
    (command, *others) = how(daemon, "pytest", project=SHOP).commands

    assert (command.line, command.folder, command.status) == ("pytest -q tests/pay", SHOP, "ok")
    assert (command.succeeded, command.failed, command.sessions) == (2, 2, 2)
    assert [other.line for other in others] == ["pytest --blog"]
    assert how(daemon, "pytest", project=BLOG).commands[0].line == "pytest --blog"


def test_invocation_that_only_ever_failed_is_counted_and_shown_only_if_requested(
    daemon: DaemonProcess,
) -> None:
    reply = how(daemon, "npm run deploy")
    assert (reply.commands, reply.only_failed) == ([], 1)

    (command,) = how(daemon, "npm run deploy", include_failed=True).commands
    assert (command.line, command.status, command.failed) == ("npm run deploy -- --prod", "failed", 1)


def test_command_is_found_by_a_description_and_by_the_request_that_led_to_it(daemon: DaemonProcess) -> None:
    assert how(daemon, "how do I serve this with npm").commands[0].line == "npm run serve"
    assert "pytest -q tests/pay" in [row.line for row in how(daemon, "run the payment tests").commands]
    assert how(daemon, "calibrate the telescope").commands == []


@pytest.mark.parametrize(
    "error",
    [
        MISSING,
        "ModuleNotFoundError: No module named 'stripe'",
        MISSING.replace("/home/eva/shop", "/tmp/other").replace("line 3", "line 27"),
        "the module stripe is missing",
    ],
)
def test_fix_is_what_lies_between_the_failure_and_its_own_next_success(
    daemon: DaemonProcess, error: str
) -> None:
    fixes = fix(daemon, error).fixes

    best = fixes[0]
    assert (best.command, best.fixed_by, best.is_same_command) == ("pytest -q tests/pay",) * 2 + (True,)
    assert [(step.action, step.text) for step in best.steps] == [("ran", "pip install stripe==9.1")]
    assert (best.sessions, best.has_held, len(fixes)) == (2, True, 1)
    assert best.error == "ModuleNotFoundError: No module named 'stripe'"


def test_edit_that_fixed_an_error_is_returned_with_its_spans(daemon: DaemonProcess) -> None:
    (found,) = fix(daemon, PORT).fixes
    (step,) = found.steps

    assert (step.action, step.text, step.old, step.new) == ("edited", f"{SHOP}/server.js", "8443", "9001")
    assert found.session is not None
    assert found.session.id == AGAIN


def test_rerun_without_any_change_is_reported_and_never_a_fix(daemon: DaemonProcess) -> None:
    reply = fix(daemon, "Error: socket hang up")

    assert (reply.fixes, reply.reruns) == ([], 1)


def test_error_about_another_name_and_an_unfixed_one_have_no_fix(daemon: DaemonProcess) -> None:
    other = fix(daemon, "ModuleNotFoundError: No module named 'redis'")
    assert (other.fixes, other.unfixed) == ([], 0)
    assert other.searched > 0
    assert fix(daemon, "Error: no token").unfixed == 1


def test_empty_command_and_error_are_refused(daemon: DaemonProcess) -> None:
    for request in (how, fix):
        with pytest.raises(QueryEmptyError):
            request(daemon, "  ")


def test_memctl_prints_answers_whose_citations_open(daemon: DaemonProcess) -> None:
    printed = daemon.memctl("how", "pytest", "--project", SHOP).stdout
    assert printed.startswith(
        "$ pytest -q tests/pay\n  succeeded 2 times, failed 2 times · 2 sessions · 2026-"
    )
    fixed = daemon.memctl("fix", f"collecting ...\n{MISSING}\n")
    assert "    $ pip install stripe==9.1\n  then the same command succeeded\n" in fixed.stdout
    reply = json.loads(daemon.memctl("fix", MISSING, "--json").stdout)
    opened = daemon.memctl("get", reply["fixes"][0]["citation"], "--agent", reply["fixes"][0]["agent"])
    assert "payment tests" in opened.stdout
    assert daemon.memctl("how", "npm", "run", "deploy").stdout == (
        "no successful run of that command among 16 recorded commands\n"
        "1 invocation only ever failed and isn't shown\n  hint: show them with --failed\n"
    )


def test_mcp_lists_the_tools_of_work_and_quotes_commands_as_they_are(daemon: DaemonProcess) -> None:
    async def steps(session: ClientSession) -> Any:
        names = [tool.name for tool in (await session.list_tools()).tools]
        calls = (("memory_how", {"command": "pytest", "project": "shop"}), ("memory_fix", {"error": MISSING}))
        return names, *[await session.call_tool(name, arguments) for name, arguments in calls]

    names, ran, fixed = run_mcp_session(daemon, steps)

    assert names[-4:] == ["memory_how", "memory_fix", "memory_blame", "memory_files"]
    assert text_of(ran).startswith("$ pytest -q tests/pay\n")
    assert "$ pip install stripe==9.1" in text_of(fixed)
