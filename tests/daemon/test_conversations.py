"""Conversations through the whole daemon: what a hit cites can be read, by `memctl get`, MCP and clients."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from memd_client.errors import PathRefusedError
from tests.support.daemon import DaemonProcess
from tests.support.mcp_session import run_mcp_session, text_of
from tests.support.state_homes import StateHome
from tests.support.transcript_programs.plain import claude_code, codex
from tests.support.transcripts import TranscriptHome, conversation

SEARCH = {
    "provider": "none",
    "sources": ["memory", "sessions"],
    "experimental": {"sessionMemory": True},
    "sync": {"watch": False},
}
LIVE, RETAINED = "0199a213-81c4-7000-8000-000000000001", "0199a213-81c4-7000-8000-000000000002"
LOCATIONS = {
    "live": f"claude-code/{LIVE}#L1-L4",
    "retained": f"codex/{RETAINED}#L2-L5",
    "openclaw": "sessions/s1.jsonl#L2-L7",
}
"""What `memctl search` prints for the hit in each conversation."""


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    """A daemon with a conversation that exists, one that its program deleted, and one of OpenClaw."""
    with StateHome({"agents": {"defaults": {"memorySearch": SEARCH}}}) as home:
        user = home.root / "user"
        user.mkdir()
        programs = {LIVE: claude_code(user), RETAINED: codex(user)}
        for session, bird in ((LIVE, "cormorant"), (RETAINED, "heron")):
            programs[session].append(session, "user", f"Where does the {bird} nest?")
            programs[session].append(session, "assistant", f"The {bird} nests in the cliff.")
            programs[session].append(session, "user", "And in winter?")
            programs[session].append(session, "assistant", "In the harbour.")
        TranscriptHome(home.state).write_file("s1", conversation("s1", 2, "about the osprey"))
        home.note("MEMORY.md", "# Memory\n\nThe gull is everywhere.\n")
        (home.root / "memd.toml").write_text("[sources.claude-code]\n[sources.codex]\nkeep = true\n")
        with DaemonProcess(home, {"HOME": str(user)}) as process:
            with process.client() as client:
                client.index()
                programs[RETAINED].delete(RETAINED)
                client.index()
            yield process


@pytest.mark.parametrize(
    ("bird", "kind"), [("cormorant", "live"), ("heron", "retained"), ("osprey", "openclaw")]
)
def test_location_printed_by_a_search_is_read_by_get(daemon: DaemonProcess, bird: str, kind: str) -> None:
    printed = daemon.memctl("search", bird).stdout
    (hit,) = json.loads(daemon.memctl("search", bird, "--json").stdout)["hits"]
    location = printed.split("  ")[0]

    assert location == LOCATIONS[kind]
    for cited in (location, hit["citation"]):
        read = daemon.memctl("get", cited)
        assert (read.returncode, read.stdout) == (0, hit["snippet"]), read.stderr


def test_range_of_a_conversation_has_the_messages_in_these_lines_of_its_transcript(
    daemon: DaemonProcess,
) -> None:
    with daemon.client() as client:
        path = "sessions/s1.jsonl"
        reply = client.get(path, from_line=4, lines=3, include_conversations=True)
        assert reply.text == "Assistant: Answer 0 of s1\nUser: Question 1 of s1"
        assert (reply.from_line, reply.lines, reply.total_lines, reply.line_numbers) == (4, 2, 7, [4, 5])
        empty = client.get(path, from_line=3, lines=1, include_conversations=True)
        assert (empty.text, empty.lines, empty.line_numbers) == ("", 0, [])
        by_id = client.get(LIVE, from_line=2, lines=1, include_conversations=True)
        assert (by_id.path, by_id.text) == (
            f"claude-code/{LIVE}",
            "Assistant: The cormorant nests in the cliff.",
        )
    between = daemon.memctl("get", f"{path}:3")
    assert "no message" in between.stderr
    assert daemon.memctl("get", f"{path}:0").returncode == 2


def test_client_that_does_not_ask_for_conversations_gets_none(daemon: DaemonProcess) -> None:
    with daemon.client() as client:
        for path in (f"claude-code/{LIVE}", "sessions/s1.jsonl"):
            with pytest.raises(PathRefusedError):
                client.get(path)
            called = client.call_tool("memory_get", {"path": f"{path}#L2-L4"})
            assert "nest" not in called.text
            assert "Answer" not in called.text


@pytest.mark.parametrize("path", ["codex/nope:1-3", "sessions/nope.jsonl", "opencode/ses_1"])
def test_unknown_conversation_is_an_error_with_a_hint(daemon: DaemonProcess, path: str) -> None:
    read = daemon.memctl("get", path)

    assert read.returncode == 1
    assert f"no conversation '{re.sub(':.*', '', path)}'" in read.stderr
    assert "hint: pass the path" in read.stderr
    assert "code: file_missing" in read.stderr
    assert "only Markdown files" in daemon.memctl("get", "notes.txt").stderr


def test_mcp_tools_read_what_a_hit_cites(daemon: DaemonProcess) -> None:
    live, retained = f"claude-code/{LIVE}", f"codex/{RETAINED}"

    async def steps(session: Any) -> list[str]:
        calls = [
            ("memory_get", {"path": f"{live}#L1-L2"}),
            ("memory_get", {"path": f"{retained}:2-3"}),
            ("conversation_read", {"session": f"{live}#L3-L4", "messages": 2}),
            ("conversation_read", {"session": f"{retained}:2-3", "messages": 1}),
            ("memory_get", {"path": "codex/nope#L1"}),
        ]
        return [text_of(await session.call_tool(name, given)) for name, given in calls]

    one, two, three, four, unknown = run_mcp_session(daemon, steps)

    assert one == "User: Where does the cormorant nest?\nAssistant: The cormorant nests in the cliff."
    assert two == "User: Where does the heron nest?\nAssistant: The heron nests in the cliff."
    assert "And in winter?" in three
    assert "nests in the cliff" in three
    assert "Where does the heron nest?" in four
    assert "no conversation" in unknown
