"""Work of agents is indexed with their conversations, and searched only on request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memd_client import Client
from memd_client.errors import BadParamsError
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.transcript_programs.claude_code import ClaudeFile

SESSION = "5f0e9c9a-4b7e-4f6e-9a0e-2f3b9c1d7e55"
SECRET = "sk-proj-" + "Zx9" * 16
FAILED = {"content": "Exit code 2\nmake: *** No rule to make target 'fixtures.sql'. Stop.", "is_error": True}


class Chat:
    """A session of Claude Code that is being written."""

    def __init__(self, home: Path) -> None:
        self.path = home / ".claude" / "projects" / "p" / f"{SESSION}.jsonl"
        self.path.parent.mkdir(parents=True)
        self.file = ClaudeFile(SESSION, cwd="/home/eva/shop", timestamp="2026-11-20T08:00:00.000Z")

    def call(self, call: str, tool: str, result: dict[str, Any] | None = None, **arguments: str) -> None:
        self.file.blocks([{"type": "tool_use", "id": call, "name": tool, "input": arguments}])
        if result is not None:
            self.file.prompt([{"type": "tool_result", "tool_use_id": call, **result}])

    def write(self) -> None:
        self.path.write_bytes(b"\n".join(self.file.lines) + b"\n")


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    """A session with a failed command and an edit."""
    chat = Chat(tmp_path)
    chat.file.prompt("the zebra checkout page shows the wrong total")
    chat.call("t1", "Bash", FAILED, command=f"make integration TOKEN={SECRET}")
    chat.call("t2", "Edit", {"content": "updated"}, file_path="Makefile", old_string="a", new_string="okapi")
    chat.file.answer("The rule had a typing error.")
    chat.write()
    return chat


def started(home: StateHome, user: Path, settings: str = "") -> DaemonProcess:
    """Return a daemon with the source, not started yet."""
    (home.root / "memd.toml").write_text(f"[sources.claude-code]\n{settings}")
    return DaemonProcess(home, {"HOME": str(user)})


def found(client: Client, query: str, *kinds: str) -> list[str]:
    return [hit.snippet for hit in client.search(query, kinds=[*kinds] or None).hits]


def test_work_is_found_on_request_only(chat: Chat, tmp_path: Path) -> None:
    with StateHome(KEYWORD_ONLY) as home, started(home, tmp_path) as daemon, daemon.client() as client:
        assert found(client, "integration fixtures.sql") == []
        assert found(client, "okapi") == []
        (hit,) = client.search("integration fixtures.sql", kinds=["work"]).hits
        assert hit.snippet.startswith("$ make integration TOKEN=[redacted")
        assert "[failed, exit status 2]\nmake: *** No rule to make target" in hit.snippet
        assert (hit.citation, hit.relevance) == (f"claude-code/{SESSION}#L2", "strong")
        assert hit.session is not None
        assert hit.session.project == "/home/eva/shop"
        assert found(client, "zebra checkout", "conversations")
        assert found(client, "zebra checkout", "notes") == []
        with pytest.raises(BadParamsError, match="alone"):
            client.search("make", kinds=["work", "notes"])
        (source,) = client.sources().sources[:1]
        assert (source.commands, source.file_steps) == (1, 1)
        assert source.work_bytes > 0


def test_appended_work_and_a_late_result_are_found_by_the_next_search(chat: Chat, tmp_path: Path) -> None:
    with StateHome(KEYWORD_ONLY) as home, started(home, tmp_path) as daemon, daemon.client() as client:
        assert len(found(client, "make", "work")) == 1
        chat.call("t3", "Bash", command="pnpm run quokka")
        chat.write()
        assert found(client, "quokka", "work") == ["$ pnpm run quokka\n[unknown]"]
        chat.file.prompt([{"type": "tool_result", "tool_use_id": "t3", "content": "done"}])
        chat.write()
        assert found(client, "quokka", "work") == ["$ pnpm run quokka\n[ok]"]


def test_work_goes_and_comes_with_the_setting_of_its_source(chat: Chat, tmp_path: Path) -> None:
    with StateHome(KEYWORD_ONLY) as home:
        for settings, expected in (
            ("work = false\n", 0),
            ("", 1),
            ("work = false\n", 0),
            ("work = true\n", 1),
        ):
            with started(home, tmp_path, settings) as daemon, daemon.client() as client:
                assert len(found(client, "integration", "work")) == expected
                assert found(client, "zebra checkout")


def test_work_of_a_deleted_conversation_stays_in_its_copy(chat: Chat, tmp_path: Path) -> None:
    with StateHome(KEYWORD_ONLY) as home:
        with started(home, tmp_path, "keep = true\n") as daemon, daemon.client() as client:
            assert len(found(client, "integration", "work")) == 1
            chat.path.unlink()
            assert len(found(client, "integration", "work")) == 1
        for index in (home.state / "memory").glob("*.sqlite*"):
            index.unlink()
        with started(home, tmp_path, "keep = true\n") as daemon, daemon.client() as client:
            assert len(found(client, "integration", "work")) == 1
            stored = [path.read_bytes() for path in home.root.rglob("*") if path.is_file()]
            assert not any(SECRET.encode() in data for data in stored)


def test_work_of_a_deleted_conversation_leaves_no_trace_after_compacting(chat: Chat, tmp_path: Path) -> None:
    with StateHome(KEYWORD_ONLY) as home, started(home, tmp_path) as daemon, daemon.client() as client:
        assert len(found(client, "okapi", "work")) == 1
        chat.path.unlink()
        assert found(client, "okapi", "work") == []
        client.vacuum()
        stored = [path.read_bytes() for path in (home.state / "memory").rglob("*") if path.is_file()]
        assert not any(b"okapi" in data or b"fixtures" in data for data in stored)
