"""The programs of docs/agents.md, run against a real daemon and loopback models."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import msgspec
import pytest

import memd_client
from memd_client import Client
from tests.support.chat_server import serve_chat
from tests.support.daemon import DaemonProcess
from tests.support.programs import programs
from tests.support.state_homes import StateHome

PAGE = Path(__file__).parents[2] / "docs" / "agents.md"
EXAMPLES = programs(PAGE, "python")
SETTINGS = {
    "agents": {"defaults": {"memorySearch": {"provider": "none"}}},
    "plugins": {"entries": {"memory-lancedb": {"config": {"autoRecall": True, "autoCapture": True}}}},
}
QUESTION = "Where does Martine keep the spare keys?"


@pytest.fixture
def home() -> Iterator[StateHome]:
    with StateHome(SETTINGS) as home:
        home.note("MEMORY.md", "# Memory\n\nThe user's name is Peter.\n")
        home.note("memory/house.md", "Martine keeps the spare keys in the blue teapot.\n")
        yield home


@pytest.fixture
def daemon(home: StateHome) -> Iterator[DaemonProcess]:
    with DaemonProcess(home) as daemon:
        yield daemon


def run_example(name: str, home: StateHome, *words: str, **environ: str) -> str:
    """Return the output of a program of the page."""
    done = subprocess.run(
        [sys.executable, "-c", EXAMPLES[name], *words],
        env={**home.environ(), "MEMD_SOCKET": str(home.socket), **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_program_without_a_daemon_prints_the_error_of_the_page(tmp_path: Path) -> None:
    """Only the client and its dependencies are installed."""
    for package in (memd_client, msgpack, msgspec):
        folder = Path(package.__path__[0])
        (tmp_path / folder.name).symlink_to(folder)
    environ = {"HOME": str(tmp_path), "MEMD_SOCKET": str(tmp_path / "run" / "s"), "PYTHONPATH": str(tmp_path)}

    ended = subprocess.run(
        [sys.executable, "-S", "-c", EXAMPLES["plain"], "port"],
        env={**environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    error, hint = ended.stderr.splitlines()[-2:]
    name, _, message = error.rpartition(": ")
    assert name == "memd_client.errors.DaemonStartError"
    assert hint.startswith("hint: ")
    said = " ".join(PAGE.read_text().split("## ")[0].split())
    assert "`DaemonStartError`" in said
    assert f"`{message}`" in said


def test_plain_program_appends_a_note_and_finds_it(home: StateHome, daemon: DaemonProcess) -> None:
    said = [run_example("plain", home, "which port is staging on") for _ in range(2)]

    assert all("port 8443" in each for each in said)
    notes = [path.read_text() for path in (home.workspace() / "memory").glob("????-??-??.md")]
    assert "".join(notes).count("port 8443") == 1


def test_openai_sdk_agent_searches_its_memory(home: StateHome, daemon: DaemonProcess) -> None:
    def script(path: str, body: dict[str, Any]) -> dict[str, Any]:
        assert path.endswith("/chat/completions")
        last = body["messages"][-1]
        if last["role"] == "user":
            name = body["tools"][0]["function"]["name"]
            call = {"name": name, "arguments": json.dumps({"query": last["content"]})}
            calls = [{"id": "c1", "type": "function", "function": call}]
            message: dict[str, Any] = {"tool_calls": calls, "content": None}
        else:
            found = json.loads(last["content"])["results"][0]
            message = {"content": f"{found['snippet']} ({found['path']})"}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
        return {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}

    with serve_chat(script) as server:
        said = run_example("openai", home, QUESTION, OPENAI_BASE_URL=f"{server.url}/v1", OPENAI_API_KEY="k")

    assert "blue teapot" in said
    assert "memory/house.md" in said
    system = server.asked[0]["messages"][0]["content"]
    assert "The user's name is Peter." in system
    assert "memory_search" in system


def test_anthropic_sdk_agent_searches_its_memory(home: StateHome, daemon: DaemonProcess) -> None:
    def script(path: str, body: dict[str, Any]) -> dict[str, Any]:
        assert path.endswith("/v1/messages")
        last = body["messages"][-1]["content"]
        if isinstance(last, str):
            block = {
                "type": "tool_use",
                "id": "t1",
                "name": body["tools"][0]["name"],
                "input": {"query": last},
            }
        else:
            found = json.loads(last[0]["content"])["results"][0]
            block = {"type": "text", "text": f"{found['snippet']} ({found['path']})"}
        usage = {"input_tokens": 1, "output_tokens": 1}
        head = {"id": "x", "type": "message", "role": "assistant", "model": "m", "usage": usage}
        return {**head, "content": [block], "stop_reason": "end_turn", "stop_sequence": None}

    with serve_chat(script) as server:
        said = run_example("anthropic", home, QUESTION, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="k")

    assert "blue teapot" in said
    assert "The user's name is Peter." in server.asked[0]["system"]


def load(name: str) -> dict[str, Any]:
    """Return the names that a program of the page defines."""
    defined: dict[str, Any] = {}
    exec(EXAMPLES[name], defined)
    return defined


def test_flush_runs_once_before_each_compaction(home: StateHome, daemon: DaemonProcess) -> None:
    before_turn = load("flush")["before_turn"]
    with Client(home.socket) as memory:

        def run_turn(system: str, prompt: str) -> str:
            assert "NO_REPLY" in system + prompt
            return "Peter decided to move the servers in May."

        ran = [before_turn(memory, "agent:main:main", tokens, run_turn) for tokens in (10, 190_000, 195_000)]
        memory.compaction_done("agent:main:main")
        ran += [before_turn(memory, "agent:main:main", tokens, run_turn) for tokens in (20, 190_000)]

        assert ran == [False, True, False, False, True]
        assert memory.search("servers in May").hits


def test_facts_are_added_to_a_prompt(home: StateHome, daemon: DaemonProcess) -> None:
    answer = load("facts")["answer"]
    prompts: list[str] = []

    def run_turn(prompt: str) -> str:
        prompts.append(prompt)
        return "green"

    with Client(home.socket) as memory:
        answer(memory, "I prefer green tea in the morning", run_turn)
        answer(memory, "Which tea do I prefer?", run_turn)

    assert prompts[0] == "I prefer green tea in the morning"
    assert "green tea" in prompts[1]
    assert prompts[1].endswith("Which tea do I prefer?")
