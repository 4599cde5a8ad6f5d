"""`memctl setup` with a real daemon: sources are searched, hooks and MCP servers run, and all is taken back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome
from tests.support.transcript_programs.plain import PlainWriter, claude_code, codex, gemini
from tests.unit.cli.test_setup import picture

NUMBER = "0199a213-81c4-7000-8000-00000000000{}"
PORT = ("Which port does the staging gateway use?", "The staging gateway listens on port 8443.")
BOUNCES = (
    "How often does the mail queue retry bounces?",
    "We decided not to retry bounces in the queue, because the provider blocks senders.",
    "So the queue drops bounces?",
    "Yes, the queue drops bounces and logs them.",
)
KEY = "sk-proj-" + "Zx9" * 16


def say(writer: PlainWriter, session: int, *texts: str) -> None:
    """Write a conversation."""
    for turn, text in enumerate(texts):
        writer.append(NUMBER.format(session), "assistant" if turn % 2 else "user", text)


@pytest.fixture
def daemon() -> Iterator[DaemonProcess]:
    """A daemon of a user with three programs, and neither OpenClaw nor `memd.toml`."""
    with StateHome() as home:
        (home.state / "openclaw.json").unlink()
        (home.root / "memd.toml").unlink()
        user = home.root / "user"
        user.mkdir()
        say(
            claude_code(user),
            1,
            *PORT,
            "Who renews the gateway certificate?",
            "certbot, for the staging gateway.",
        )
        say(codex(user), 2, *BOUNCES)
        say(gemini(user), 3, "What broke the backup?", f"The backup had no inodes; its key was {KEY}.")
        with DaemonProcess(home, {"HOME": str(user)}) as process:
            yield process


def user_of(daemon: DaemonProcess) -> Path:
    """Return the user's home folder."""
    return daemon.home.root / "user"


def test_setup_finds_programs_indexes_them_and_proves_it(daemon: DaemonProcess) -> None:
    with daemon.client() as client:
        done = daemon.memctl("setup", "--yes", "--json")

        assert done.returncode == 0, done.stderr
        reply = json.loads(done.stdout)
        assert [(row["name"], row["conversations"]) for row in reply["programs"]] == [
            ("claude-code", 1), ("codex", 1), ("gemini", 1)
        ]  # fmt: skip
        ran = [(proof["program"], proof["kind"], proof["fault"]) for proof in reply["proofs"]]
        assert ran == [
            (name, what, "") for name in ("claude-code", "codex", "gemini") for what in ("hooks", "mcp")
        ]
        assert {entry.program for entry in client.hook_log().entries} == {"claude-code", "codex", "gemini"}
        sources = {source.name: source for source in client.sources().sources}
        assert {
            (source.agent, source.keep) for source in sources.values() if source.kind == "transcripts"
        } == {("shared", True)}
        (hit,) = client.search("staging gateway port", agent="shared", max_results=1).hits
        assert hit.source == "claude-code"


def test_setup_shows_the_past_with_dates_and_programs(daemon: DaemonProcess) -> None:
    done = daemon.memctl("setup", "--yes")

    past = done.stdout.split("from your own history")[1]
    assert BOUNCES[0] in past
    assert "Codex, 2026-11-02  codex/" in past
    assert "Claude Code" in past
    assert KEY not in done.stdout


def test_setup_can_be_repeated_and_taken_back_byte_for_byte(daemon: DaemonProcess) -> None:
    user = user_of(daemon)
    before = picture(user)

    daemon.memctl("setup", "--yes")
    again = daemon.memctl("setup", "--yes")
    removed = daemon.memctl("setup", "--remove", "--yes")

    assert "nothing to change" in again.stdout
    assert removed.returncode == 0, removed.stderr
    assert picture(user) == before
    assert not (daemon.home.root / "memd.toml").exists()
    with daemon.client() as client:
        assert client.sources().sources == []
        copies = {source.name for source in client.sources().removed}
    assert copies == {"claude-code", "codex", "gemini"}
    assert all(f"memctl sources delete-copies {name}" in removed.stderr for name in copies)


def test_a_hook_that_does_not_reach_the_daemon_is_a_fault(daemon: DaemonProcess) -> None:
    daemon.memctl("setup", "--yes", "--only", "codex")
    hooks = user_of(daemon) / ".codex" / "hooks.json"
    hooks.write_text(hooks.read_text().replace("memd.sock", "other.sock"))

    done = daemon.memctl("setup", "--yes", "--only", "codex")

    assert done.returncode == 1
    assert "not done: codex, hooks: the daemon was not asked" in done.stderr
    assert "Codex, MCP search: " in done.stdout


def test_a_program_finds_what_another_one_settled(daemon: DaemonProcess) -> None:
    daemon.memctl("setup", "--yes")
    with daemon.client() as client:
        reply = client.hook(
            "gemini", "prompt", "new", cwd="/home/eva/shop", prompt="does the mail queue retry bounces?"
        )

    assert reply.decision == "injected"
    assert "not to retry bounces" in reply.text
    assert "codex" in reply.text


def test_conversations_of_the_shared_agent_are_found_by_mcp_without_an_agent(daemon: DaemonProcess) -> None:
    daemon.memctl("setup", "--yes", "--only", "codex")
    calls = [
        ("conversation_search", {"query": "mail queue bounces"}),
        ("conversation_read", {"session": NUMBER.format(2)}),
    ]
    requests = [
        {"jsonrpc": "2.0", "id": at, "method": "tools/call", "params": {"name": name, "arguments": given}}
        for at, (name, given) in enumerate(calls)
    ]
    lines = "".join(f"{json.dumps(each)}\n" for each in requests)
    script = "import io, sys; from memd.mcp.server import serve; serve(None, autostart=False)"
    ran = daemon.run(
        "-c",
        f"import os; r, w = os.pipe(); os.write(w, {lines.encode()!r}); os.close(w); os.dup2(r, 0); {script}",
    )

    texts = [json.loads(line)["result"]["content"][0]["text"] for line in ran.stdout.splitlines()]
    assert len(texts) == len(calls), ran.stderr
    assert all("not to retry bounces" in text for text in texts)


def test_the_client_is_not_asked_for_the_agent_of_setup(daemon: DaemonProcess) -> None:
    done = daemon.memctl("setup", "--yes", "--agent", "nobody")

    assert done.returncode == 1
    assert "there is no agent 'nobody'" in done.stderr
    with daemon.client() as client:
        assert isinstance(client, Client)
        assert client.sources().sources == []
