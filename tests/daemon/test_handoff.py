"""A session is handed on through the whole daemon: by `memctl handoff`, the client, and MCP."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession
from mcp.types import TextContent

from memd_client.errors import BadParamsError, FileMissingError
from memd_client.messages import SessionHandoffReply
from tests.support.daemon import DaemonProcess
from tests.support.mcp_session import run_mcp_session, text_of
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.transcript_programs import codex
from tests.support.transcript_programs.claude_code import ClaudeFile

FIRST, EMPTY, OTHER, GONE = (f"5f0c8a5{number}-0000-4000-8000-000000000001" for number in range(4))
NEWER = codex.timed_id(0, 2)
KEY = "sk-proj-" + "Zx9" * 16


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Eva", "-c", "user.email=eva@shop.test")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def claude_session(home: Path, session: str, cwd: Path, *texts: str, day: int = 2) -> Path:
    """Write a session of Claude Code in which the user begins, and which changed and tested a file."""
    file = ClaudeFile(session, cwd=str(cwd), timestamp=f"2026-11-{day:02}T08:00:00.000Z")
    for number, text in enumerate(texts):
        if number % 2 == 0:
            file.prompt(text)
            continue
        for name, arguments in (
            ("Bash", {"command": f"pytest -q --token {KEY}"}),
            ("Edit", {"file_path": str(cwd / "ports.py")}),
            ("Write", {"file_path": str(cwd / "gone.py")}),
        ):
            file.blocks([{"type": "tool_use", "id": name, "name": name, "input": arguments}])
            said = {
                "type": "tool_result",
                "tool_use_id": name,
                "content": "Exit code 1\nE   assert 8443 == 9001",
            }
            file.prompt([{**said, "is_error": name == "Bash"}])
        file.answer(text)
    path = home / ".claude" / "projects" / "p" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n".join(file.lines) + b"\n")
    return path


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a repository, a worktree of it, and sessions of two programs."""
    home = tmp_path_factory.mktemp("user")
    shop, fix = home / "shop", home / "shop-fix"
    shop.mkdir()
    git(shop, "init", "-b", "main")
    (shop / "ports.py").write_text("PORT = 8443\n")
    git(shop, "add", ".")
    git(shop, "commit", "-m", "Add ports")
    git(shop, "worktree", "add", str(fix))
    (shop / "ports.py").write_text("PORT = 9001\n")
    claude_session(home, FIRST, shop, "Move staging to 9001", "We decided to use 9001.", day=2)
    claude_session(home, EMPTY, shop, "And then", day=9)
    claude_session(home, OTHER, home / "blog", "Write the post", "Written.", day=8)
    claude_session(home, GONE, home / "attic", "Count the boxes", "There are 12 boxes.", day=3)
    folder = home / ".codex" / "sessions" / "2026" / "11" / "02"
    folder.mkdir(parents=True)
    lines = [
        codex.meta(NEWER, seconds=86_400, cwd=str(fix)),
        codex.asked("Fix the port test", 86_401),
        codex.answered("Fixed.\nNext step: update the docs", 86_402),
    ]
    (folder / codex.rollout(NEWER)).write_bytes(b"\n".join(lines) + b"\n")
    return home


@pytest.fixture(scope="module")
def daemon(user: Path) -> Iterator[DaemonProcess]:
    with StateHome(KEYWORD_ONLY) as home:
        settings = '[sources.claude-code]\nkeep = true\n[sources.codex]\nagent = "shared"\n'
        (home.root / "memd.toml").write_text(settings)
        with DaemonProcess(home, {"HOME": str(user)}) as process:
            yield process


def handoff(daemon: DaemonProcess, **arguments: Any) -> SessionHandoffReply:
    with daemon.client() as client:
        return client.session_handoff(**arguments)


def test_newest_session_of_any_program_in_any_worktree_is_handed_on_and_stays(
    daemon: DaemonProcess, user: Path
) -> None:
    replies = [
        handoff(daemon, project=str(project))
        for project in (user / "shop", user / "shop-fix", user / "shop", "Shop", user / "shop" / "src")
    ]

    assert {reply.session.id for reply in replies} == {NEWER}
    assert {reply.text for reply in replies} == {replies[0].text}
    assert (replies[0].agent, replies[0].path) == ("shared", f"codex/{NEWER}")
    assert "Digest of a session of Codex." in replies[0].text
    assert "- Next step: update the docs" in replies[0].text


def test_session_without_an_answer_never_replaces_one(daemon: DaemonProcess, user: Path) -> None:
    assert handoff(daemon, session=EMPTY[:8]).session.id == EMPTY, "it is newer, and handed on if it is named"
    reply = handoff(daemon, project=str(user / "shop"), exclude_session=NEWER)

    assert reply.session.id == FIRST


def test_digest_has_the_state_of_files_on_disk_and_no_secrets(daemon: DaemonProcess) -> None:
    text = handoff(daemon, session=FIRST).text

    assert "- ports.py: edited, changed since, uncommitted\n" in text
    assert "- gone.py: edited, not on disk now\n" in text
    assert "(exit 1: E   assert 8443 == 9001)" in text
    assert "- Claude Code: We decided to use 9001." in text
    assert "Warning: this session is " in text
    assert KEY not in text


def test_session_is_named_by_the_beginning_of_its_id_or_by_its_path(daemon: DaemonProcess) -> None:
    assert handoff(daemon, session=FIRST[:8]).session.id == FIRST
    assert handoff(daemon, session=f"claude-code/{FIRST}").session.id == FIRST
    with pytest.raises(BadParamsError) as several:
        handoff(daemon, session="5f0c")
    assert f"{FIRST} (2026-11-02, Move staging to 9001)" in several.value.hint
    with pytest.raises(FileMissingError):
        handoff(daemon, session="7777")
    with pytest.raises(FileMissingError):
        handoff(daemon, session=NEWER, agent="main")


def test_project_without_a_session_names_the_projects_that_have_one(
    daemon: DaemonProcess, user: Path
) -> None:
    with pytest.raises(FileMissingError) as missing:
        handoff(daemon, project=str(user / "garden"))

    assert "has a request and an answer" in missing.value.message
    assert all(name in missing.value.hint for name in ("shop", "blog"))


def test_command_that_starts_another_program_is_returned(daemon: DaemonProcess, user: Path) -> None:
    reply = handoff(daemon, session=FIRST, to="gemini")

    assert reply.start == f'cd ~/shop && gemini -i "$(memctl handoff --session {FIRST})"'
    assert handoff(daemon, session=FIRST).start == ""
    with pytest.raises(BadParamsError) as unknown:
        handoff(daemon, to="emacs")
    assert "claude-code, codex, gemini" in unknown.value.hint


def test_session_that_its_program_deleted_is_handed_on_from_the_copy(
    daemon: DaemonProcess, user: Path
) -> None:
    with daemon.client() as client:
        client.index()
        (user / ".claude" / "projects" / "p" / f"{GONE}.jsonl").unlink()
        client.index()
    text = handoff(daemon, project="attic").text

    assert "1. Count the boxes" in text
    assert "> There are 12 boxes." in text


def test_memctl_handoff_prints_the_digest_alone_on_standard_output(daemon: DaemonProcess, user: Path) -> None:
    printed = daemon.memctl("handoff", "--project", str(user / "shop"), "--to", "claude-code")
    reply = json.loads(daemon.memctl("handoff", "--session", NEWER, "--json").stdout)

    assert (printed.returncode, printed.stdout) == (0, reply["text"] + "\n")
    assert 'claude "$(memctl handoff --session ' in printed.stderr
    missing = daemon.memctl("handoff")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "name another project" in missing.stderr


def test_mcp_offers_the_digest_as_a_tool_and_as_a_prompt(daemon: DaemonProcess) -> None:
    async def ask(session: ClientSession) -> tuple[Any, Any, Any]:
        called = await session.call_tool("session_handoff", {"project": "shop", "ownSession": NEWER})
        listed = await session.list_prompts()
        prompt = await session.get_prompt("handoff", {"session": FIRST[:8]})
        return called, listed, prompt

    called, listed, prompt = run_mcp_session(daemon, ask)
    (message,) = prompt.messages
    assert isinstance(message.content, TextContent)

    assert [each.name for each in listed.prompts] == ["handoff"]
    assert [argument.name for argument in listed.prompts[0].arguments] == ["session", "project"]
    assert message.role == "user"
    assert message.content.text == text_of(called) == handoff(daemon, session=FIRST).text


def test_mcp_server_of_one_agent_hands_on_its_sessions_alone(daemon: DaemonProcess) -> None:
    async def ask(session: ClientSession) -> Any:
        return await session.call_tool("session_handoff", {"session": NEWER})

    refused = run_mcp_session(daemon, ask, "--agent", "main")

    assert refused.isError
    assert "no session has an id" in text_of(refused)


def test_session_of_an_excluded_project_is_not_handed_on(daemon: DaemonProcess, user: Path) -> None:
    assert handoff(daemon, session=OTHER).session.id == OTHER
    environ = {"HOME": str(user)}
    assert daemon.memctl("sources", "exclude", "blog", environ=environ).returncode == 0
    for arguments in ({"session": OTHER}, {"project": "blog"}):
        with pytest.raises(FileMissingError):
            handoff(daemon, **arguments)


def test_hostile_repository_runs_nothing(daemon: DaemonProcess, user: Path) -> None:
    marker = user / "ran"
    git(user / "shop", "config", "core.fsmonitor", f"touch {marker}; false")
    handoff(daemon, session=FIRST)

    assert not os.path.lexists(marker)
