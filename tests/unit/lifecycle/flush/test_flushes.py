"""Flushes are asked for and recorded by session and cycle, across restarts."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trio

from memd.lifecycle.flush.flushes import Flushes
from memd.settings.lifecycle import Life
from memd_client.errors import MemoryDisabledError
from memd_client.sessions import CompactionDoneParams, FlushCheckParams, FlushCheckReply, FlushDoneParams
from tests.unit.lifecycle.scripted_host import ScriptedHost

FULL = {"total_tokens": 176_000, "context_window": 200_000}
NOON = int(datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp() * 1000)


class Session:
    """A session of an agent, as a gateway tells of it."""

    def __init__(self, home: Path, life: Life | None = None, *, enabled: bool = True) -> None:
        self.host = ScriptedHost(home, life or Life(time_zone="UTC"), enabled=enabled)
        self.host.workspace.mkdir(exist_ok=True)
        self.flushes = Flushes(self.host, lambda: NOON)

    def check(self, key: str = "agent:main:main", **params: Any) -> FlushCheckReply:
        """Ask whether a flush is due."""
        return trio.run(self.flushes.check, FlushCheckParams(key, **{**FULL, **params}))

    def done(self, key: str = "agent:main:main", **params: Any) -> tuple[int, bool]:
        """Say that it was done."""
        reply = trio.run(self.flushes.done, FlushDoneParams(key, **params))
        return reply.compaction_count, reply.syncing

    def compacted(self, key: str = "agent:main:main", **params: Any) -> tuple[int, bool]:
        """Say that the context was compacted."""
        reply = trio.run(self.flushes.compaction_done, CompactionDoneParams(key, **params))
        return reply.compaction_count, reply.syncing

    def restart(self) -> None:
        """Begin anew with what is on disk."""
        self.flushes = Flushes(self.host, lambda: NOON)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def test_a_due_flush_comes_with_its_prompts(session: Session) -> None:
    reply = session.check()

    assert (reply.run, reply.reason, reply.threshold_tokens) == (True, "tokens", 176_000)
    assert reply.path == "memory/2026-11-22.md"
    assert "NO_REPLY" in reply.prompt
    assert "NO_REPLY" in reply.system_prompt


def test_a_flush_that_is_not_due_has_none(session: Session) -> None:
    reply = session.check(total_tokens=5)

    assert (reply.run, reply.reason) == (False, "below_threshold")
    assert (reply.prompt, reply.system_prompt, reply.path) == ("", "", "")


def test_a_cycle_is_flushed_once_and_the_next_one_again(session: Session) -> None:
    assert session.done() == (0, True)
    assert session.check().reason == "flushed_already"
    assert session.check("agent:main:other").run

    assert session.compacted() == (1, True)
    assert session.check().compaction_count == 1
    assert session.check().run
    assert session.host.syncs == 2


def test_the_callers_count_comes_before_ours(session: Session) -> None:
    assert session.done(compaction_count=7) == (7, True)

    assert session.check(compaction_count=7).reason == "flushed_already"
    assert session.check(compaction_count=8).run
    assert session.compacted(compaction_count=12) == (12, True)
    assert session.check().compaction_count == 12


def test_what_was_flushed_is_known_after_a_restart(session: Session) -> None:
    session.compacted()
    session.done()

    session.restart()

    assert session.check().reason == "flushed_already"
    assert session.compacted() == (2, True)


def test_another_session_under_the_same_key_begins_anew(session: Session) -> None:
    session.done(session_id="a", compaction_count=0)

    assert session.check(session_id="a").reason == "flushed_already"
    assert session.check(session_id="b").run
    assert session.compacted(session_id="b") == (1, True)
    assert session.check(session_id="b").run


def test_a_session_that_is_forgotten_begins_anew(session: Session) -> None:
    session.done()
    trio.run(session.flushes.forget, "agent:main:main")
    session.restart()

    assert session.check().run


def test_a_heartbeats_key_and_a_missing_workspace_are_seen(session: Session) -> None:
    assert session.check("agent:main:main:heartbeat").reason == "heartbeat"
    session.host.workspace.rmdir()
    assert session.check().reason == "no_workspace"


def test_an_agent_without_search_is_flushed_too(tmp_path: Path) -> None:
    session = Session(tmp_path, enabled=False)

    assert session.check().run
    assert session.done() == (0, False)
    with pytest.raises(MemoryDisabledError):
        session.compacted()
    assert session.check().run


def test_a_compaction_without_a_session_only_syncs(session: Session, tmp_path: Path) -> None:
    assert session.compacted("") == (0, True)
    assert not (tmp_path / "memory").exists()


def test_the_state_lies_beside_the_index(session: Session, tmp_path: Path) -> None:
    session.done()

    held = json.loads((tmp_path / "memory" / "main.sessions.json").read_text())
    assert held["sessions"]["agent:main:main"]["flushed_at"] == 0


def test_many_tell_at_once_and_none_is_lost(session: Session) -> None:
    async def tell() -> None:
        async with trio.open_nursery() as nursery:
            for number in range(30):
                nursery.start_soon(session.flushes.done, FlushDoneParams(f"agent:main:s{number % 10}"))
                nursery.start_soon(session.flushes.compaction_done, CompactionDoneParams("agent:main:main"))

    trio.run(tell)
    session.restart()

    assert session.check().compaction_count == 30
    assert {session.check(f"agent:main:s{number}").reason for number in range(10)} == {"flushed_already"}
