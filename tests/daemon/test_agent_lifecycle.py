"""An agent of 300 turns over three sessions, two compactions, a crash and a restart."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memd_client import Client
from memd_client.messages import Event, FlushCheckReply
from tests.support.chat_server import serve_chat
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

MAX_CONCURRENT_SEARCHES = 100
"""Turns of a session."""

WINDOW, COMPACTED_TOKENS = 100_000, 9_000
"""The model's context window and its fill after a compaction, in tokens."""

KEY = "agent:main:main"
SETTINGS = {
    "agents": {"defaults": {"memorySearch": {"provider": "none"}, "userTimezone": "Europe/Prague"}},
    "plugins": {"entries": {"memory-lancedb": {"config": {"autoCapture": True, "autoRecall": True}}}},
}
TAUGHT = {
    3: "I prefer my coffee without sugar, remember that",
    41: "My brother is called Ondrej and he lives in Brno",
    77: "We decided to use PostgreSQL for the invoices",
}
"""What the user says in the first session and asks for in the third, by turn."""


class ScriptedAgent:
    """An agent that chats, writes a transcript and flushes when memd asks for it."""

    def __init__(self, home: StateHome, daemon: DaemonProcess) -> None:
        self.home = home
        self.daemon = daemon
        self.memory = Client(home.socket, agent="main", timeout_s=60)
        self.flushes: list[tuple[str, int]] = []
        self.turn_tokens = 1_100
        self.tokens = 0
        self.compactions = 0
        self.session = ""
        self.transcript = Path()

    def start(self, session: str) -> str:
        """Begin a session; return its opening context."""
        self.session, self.tokens, self.compactions = session, 0, 0
        self.transcript = self.home.state / "agents" / "main" / "sessions" / f"{session}.jsonl"
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        self.write({"type": "session", "id": session})
        return self.memory.session_started(KEY).context

    def turn(self, said: str) -> str:
        """Run a turn; return the block of facts the model saw with it."""
        self.flush_if_due()
        if self.tokens > WINDOW:
            self.tokens, self.compactions = COMPACTED_TOKENS, self.compactions + 1
            self.memory.compaction_done(KEY, session_id=self.session)
        block = self.memory.facts_for_prompt(said).text
        self.write({"type": "message", "message": {"role": "user", "content": said}})
        self.write({"type": "message", "message": {"role": "assistant", "content": f"Answer to: {said}"}})
        self.memory.capture_facts([{"role": "user", "content": said}])
        self.tokens += self.turn_tokens
        return block

    def flush_if_due(self) -> FlushCheckReply:
        """Flush the memory if memd requests it."""
        check = self.memory.flush_check(
            KEY, session_id=self.session, total_tokens=self.tokens, context_window=WINDOW
        )
        if check.run:
            assert "NO_REPLY" in check.prompt
            note = f"Flush {self.session} {self.compactions}: the plan was to repaint the boat."
            self.memory.append_note(note, key=f"flush-{self.session}-{self.compactions}")
            self.memory.flush_done(KEY, session_id=self.session)
            self.flushes.append((self.session, self.compactions))
        return check

    def write(self, entry: object) -> None:
        """Add a line to the transcript."""
        with self.transcript.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def run_short_session(self) -> None:
        """Run one turn that causes a flush, a note and a fact."""
        self.start("short")
        self.tokens = WINDOW - 1
        self.turn("I prefer oak, remember that")

    def crash(self) -> None:
        """Kill the daemon and start another one."""
        self.daemon.kill()
        self.daemon.start()

    def restart(self) -> None:
        """Stop the daemon cleanly and start another one."""
        self.daemon.stop()
        self.daemon.start()


@pytest.fixture
def agent() -> Iterator[ScriptedAgent]:
    with StateHome(SETTINGS) as home, DaemonProcess(home) as daemon:
        home.note("MEMORY.md", "# Memory\n\nThe user builds boats.\n")
        agent = ScriptedAgent(home, daemon)
        with agent.memory:
            yield agent


def test_chat_model_of_the_settings_names_the_note() -> None:
    def script(path: str, body: dict[str, Any]) -> dict[str, Any]:
        assert path == "/v1/chat/completions"
        assert (body["model"], "spare keys" in body["messages"][0]["content"]) == ("small", True)
        return {"choices": [{"message": {"role": "assistant", "content": "Spare Keys"}}]}

    with serve_chat(script) as server, StateHome() as home:
        mine = {"baseUrl": f"{server.url}/v1", "apiKey": "k", "api": "openai-completions", "models": []}
        named = {"hooks": {"internal": {"entries": {"session-memory": {"slugModel": "mine/small"}}}}}
        home.configure(SETTINGS | named | {"models": {"providers": {"mine": mine}}})
        with DaemonProcess(home) as daemon:
            agent = ScriptedAgent(home, daemon)
            with agent.memory:
                agent.start("one")
                agent.turn("Where are the spare keys?")
                ended = agent.memory.session_ended(KEY, session_id="one")

    assert (ended.slug, ended.slug_from) == ("spare-keys", "model")


def test_subscriber_receives_events_of_the_session(agent: ScriptedAgent) -> None:
    with (
        Client(agent.home.socket) as listener,
        listener.subscribe(kinds=["note", "flush", "fact", "sync"]) as events,
    ):
        heard: list[Event] = []
        talking = threading.Thread(target=agent.run_short_session)
        talking.start()
        for event in events:
            heard.append(event)
            if {each.kind for each in heard} == {"note", "flush", "fact", "sync"}:
                break
        talking.join()

    assert {each.agent for each in heard} == {"main"}
    assert next(each for each in heard if each.kind == "flush").data["state"] == "due"


def run_first_session(agent: ScriptedAgent) -> None:
    """Run the first session: three facts, a full context window, a note."""
    assert "The user builds boats." in agent.start("one")
    for number in range(MAX_CONCURRENT_SEARCHES):
        agent.turn(TAUGHT.get(number, f"Tell me more about plank {number}"))
    assert agent.compactions == 1
    ended = agent.memory.session_ended(KEY, session_id="one", slug="planks", channel="telegram")
    assert ended.path.endswith("-planks.md")
    assert ended.messages == 15
    said = [f"Tell me more about plank {number}" for number in range(92, MAX_CONCURRENT_SEARCHES)]
    last = [line for each in said for line in (f"user: {each}", f"assistant: Answer to: {each}")]
    note = (agent.home.workspace() / ended.path).read_text()
    head, _, body = note.partition("## Conversation Summary\n\n")
    assert body == "\n".join(last[-15:]) + "\n"
    assert [line for line in head.splitlines() if line.startswith("- ")] == [
        f"- **Session Key**: {KEY}",
        "- **Session ID**: one",
        "- **Source**: telegram",
    ]


def run_second_session(agent: ScriptedAgent) -> None:
    """Run the second session: a crash after a flush, which must not be repeated."""
    agent.start("two")
    for number in range(MAX_CONCURRENT_SEARCHES):
        before = len(agent.flushes)
        agent.turn(f"And what about rope {number}?")
        if len(agent.flushes) > before:
            agent.crash()
            assert not agent.flush_if_due().run
    assert agent.compactions == 1


def run_third_session(agent: ScriptedAgent) -> list[str]:
    """Run the third session; return the facts for three queries about the first."""
    assert "the plan was to repaint the boat" in agent.start("three")
    for number in range(MAX_CONCURRENT_SEARCHES - len(TAUGHT)):
        agent.turn(f"How long is mast {number}?")
    return [
        agent.turn("Do I prefer coffee with sugar?"),
        agent.turn("Where does my brother Ondrej live?"),
        agent.turn("Which database did we decide to use for the invoices?"),
    ]


def test_facts_of_the_first_session_are_recalled_in_the_third(agent: ScriptedAgent) -> None:
    run_first_session(agent)
    run_second_session(agent)
    agent.restart()
    agent.turn_tokens = 500
    blocks = run_third_session(agent)

    for block, said in zip(blocks, TAUGHT.values(), strict=True):
        assert said in block
        assert said in agent.memory.search(said).hits[0].snippet
    assert agent.flushes == [("one", 0), ("two", 0)]
    workspace = agent.home.workspace()
    daily = "".join(path.read_text() for path in (workspace / "memory").glob("????-??-??.md"))
    assert [daily.count(f"Flush {session} 0:") for session in ("one", "two")] == [1, 1]
    assert (workspace / "MEMORY.md").read_text() == "# Memory\n\nThe user builds boats.\n"
