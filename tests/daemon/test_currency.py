"""Verdicts on hits with a real daemon and a real repository: in the reply, on the command line, in MCP's text."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.mcp.result_text import answer_text
from memd_client import Client
from memd_client.messages import Hit
from tests.support.daemon import DaemonProcess
from tests.support.machines import wait_until
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.transcript_programs.claude_code import ClaudeFile
from tests.unit.currency.test_hostile_repositories import COMMITTED, run, write

CHANGED = "2026-11-10T10:00:00Z"
SESSION = "5f0e9c9a-4b7e-4f6e-9a0e-2f3b9c1d7e55"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository in which `queue.py` changed and `mail.py` was renamed, and a session in it before."""
    folder = tmp_path / "shop"
    folder.mkdir()
    run(folder, "init", "-b", "main")
    write(folder, "queue.py", "RETRIES = 3\n" * 20, COMMITTED)
    write(folder, "mail.py", "SENDER = 'shop'\n" * 20, COMMITTED)
    write(folder, "queue.py", "RETRIES = 5\n" * 20, CHANGED)
    run(folder, "mv", "mail.py", "post.py")
    run(folder, "commit", "-m", "rename", day=CHANGED)
    file = ClaudeFile(SESSION, cwd=str(folder))
    file.prompt("where do the zebra orders wait?")
    file.answer("Zebra orders wait in queue.py, which retries three times.")
    path = tmp_path / ".claude" / "projects" / "p" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\n".join(file.lines) + b"\n")
    return folder


def search(client: Client, query: str) -> Hit:
    return client.search(query).hits[0]


def judged(client: Client, query: str) -> Hit:
    """Return the first hit once it has a verdict: git may take longer than the first search waits."""
    wait_until(lambda: search(client, query).currency is not None)
    return search(client, query)


def test_hits_of_conversations_and_notes_have_verdicts_everywhere(shop: Path, tmp_path: Path) -> None:
    with StateHome(KEYWORD_ONLY) as home:
        (home.root / "memd.toml").write_text("[sources.claude-code]\n")
        home.note("memory/2026-11-02.md", f"# Mails\n\nThe giraffe sender is set in {shop}/mail.py.\n")
        with DaemonProcess(home, {"HOME": str(tmp_path)}) as daemon, daemon.client() as client:
            hit = judged(client, "zebra orders wait")
            assert hit.currency is not None
            assert hit.currency.verdict == "changed"
            assert hit.currency.text == "queue.py changed in 1 commit since, on 2026-11-10"

            hit = judged(client, "giraffe sender")
            assert hit.currency is not None
            assert (hit.currency.verdict, hit.currency.name) == ("missing", "mail.py")
            commit = run(shop, "rev-parse", "HEAD")[:7]
            line = f"now: mail.py is gone; renamed to post.py in {commit}"
            assert hit.currency.text == line.removeprefix("now: ")

            result = client.call_tool("memory_search", {"query": "giraffe sender"}).result
            assert result["results"][0]["currency"] == line
            assert answer_text("memory_search", result).endswith(f"\n{line}")
            assert f"{line}\n" in daemon.memctl("search", "giraffe sender").stdout


def test_setting_turns_verdicts_off(shop: Path, tmp_path: Path) -> None:
    memory_search = {"provider": "none", "query": {"currency": False}}
    settings = {"agents": {"defaults": {"memorySearch": memory_search}}}
    with StateHome(settings) as home:
        (home.root / "memd.toml").write_text("[sources.claude-code]\n")
        with DaemonProcess(home, {"HOME": str(tmp_path)}) as daemon, daemon.client() as client:
            search(client, "zebra orders wait")
            assert search(client, "zebra orders wait").currency is None
