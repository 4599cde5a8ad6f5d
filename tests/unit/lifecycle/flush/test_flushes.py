"""Flushes are requested and recorded by session and cycle, across restarts."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trio

from memd.lifecycle.flush.flushes import (
    MAX_BYTES,
    MAX_SESSIONS,
    QUARANTINE_SUFFIX,
    CompactionCycle,
    Flushes,
    FlushState,
)
from memd.settings.lifecycle import LifecycleSettings
from memd_client.errors import MemoryDisabledError
from memd_client.sessions import CompactionDoneParams, FlushCheckParams, FlushCheckReply, FlushDoneParams
from tests.support.agents import BlockingAgent, config_in
from tests.support.logs import capture_logs


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "main.sessions.json"


def test_a_cycle_is_found_again(path: Path) -> None:
    FlushState(path).keep("k", CompactionCycle(3, 2, "id"))

    assert FlushState(path).find("k") == CompactionCycle(3, 2, "id")
    assert FlushState(path).find("other") == CompactionCycle()


def test_the_state_file_is_private_and_the_only_file(path: Path) -> None:
    FlushState(path).keep("k", CompactionCycle())

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == [path.name]


def test_reading_alone_writes_nothing(path: Path) -> None:
    state = FlushState(path)
    state.find("k")
    state.forget("k")

    assert not path.parent.exists()


def test_those_that_were_silent_longest_are_forgotten(path: Path) -> None:
    held = {f"s{number}": {"compactions": number} for number in range(MAX_SESSIONS)}
    path.parent.mkdir()
    path.write_text(json.dumps({"format": 1, "sessions": held}))
    state = FlushState(path)

    state.keep("s0", CompactionCycle(5))
    state.keep("new", CompactionCycle(1))

    again = FlushState(path)
    assert again.find("s0") == CompactionCycle(5)
    assert again.find("s1") == CompactionCycle()
    assert again.find("s2") == CompactionCycle(2)
    assert len(json.loads(path.read_text())["sessions"]) == MAX_SESSIONS


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"format": 2, "sessions": {}}',
        b'{"format": 1, "sessions": {"k": {"compactions": "many"}}}',
        b'{"format": 1, "sessions": ' + b'{"a":' * 5_000,
        b" " * (MAX_BYTES + 1),
    ],
    ids=["empty", "cut", "list", "bytes", "newer", "types", "deep", "large"],
)
def test_a_damaged_file_is_renamed_and_replaced(path: Path, damage: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(damage)
    state = FlushState(path)

    with capture_logs() as logs:
        assert state.find("k") == CompactionCycle()
    state.keep("k", CompactionCycle(1))

    assert [each["event"] for each in logs] == ["lifecycle.flush_state_set_aside"]
    assert path.with_name(path.name + QUARANTINE_SUFFIX).read_bytes() == damage
    assert FlushState(path).find("k") == CompactionCycle(1)


def test_a_link_in_its_place_is_neither_read_nor_written_through(path: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text('{"format": 1, "sessions": {"k": {"compactions": 9}}}')
    path.parent.mkdir()
    path.symlink_to(elsewhere)
    state = FlushState(path)

    with capture_logs() as logs:
        assert state.find("k") == CompactionCycle()
    state.keep("k", CompactionCycle(1))

    assert [each["event"] for each in logs] == ["lifecycle.flush_state_unread"]
    assert '"compactions": 9' in elsewhere.read_text()
    assert not path.is_symlink()


def test_what_is_no_file_is_set_aside(path: Path) -> None:
    path.parent.mkdir()
    path.mkdir()
    open_before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    state = FlushState(path)

    with capture_logs() as logs:
        state.keep("k", CompactionCycle(1))

    assert [each["event"] for each in logs] == ["lifecycle.flush_state_set_aside"]
    assert FlushState(path).find("k") == CompactionCycle(1)
    assert not open_before or len(os.listdir("/proc/self/fd")) == open_before


def test_what_cant_be_written_is_known_until_the_end(path: Path) -> None:
    path.parent.mkdir()
    state = FlushState(path)
    state.find("k")
    path.mkdir()

    with capture_logs() as logs:
        state.keep("k", CompactionCycle(1))

    assert state.find("k") == CompactionCycle(1)
    assert [each["event"] for each in logs] == ["lifecycle.flush_state_unwritten"]
    assert os.listdir(path.parent) == [path.name]


def test_what_a_stopped_writer_left_is_no_hindrance(path: Path) -> None:
    path.parent.mkdir()
    path.with_name(f"{path.name}.tmp").write_text("half")

    FlushState(path).keep("k", CompactionCycle(1))

    assert FlushState(path).find("k") == CompactionCycle(1)
    assert os.listdir(path.parent) == [path.name]


def test_any_key_can_be_kept(path: Path) -> None:
    keys = ["", "\0", "\u202e", '"\\', "🦀" * 500, "../../etc"]
    state = FlushState(path)
    for number, key in enumerate(keys):
        state.keep(key, CompactionCycle(number))

    again = FlushState(path)
    assert [again.find(key).compactions for key in keys] == list(range(len(keys)))
    assert os.listdir(path.parent) == [path.name]


FULL = {"total_tokens": 176_000, "context_window": 200_000}
NOON = int(datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp() * 1000)


class FlushedSession(BlockingAgent):
    """A session of a real agent, as a gateway tells of it."""

    def __init__(self, home: Path) -> None:
        super().__init__(home, config_in(home, life=LifecycleSettings(time_zone="UTC")))
        self.restart()

    def check(self, key: str = "agent:main:main", **params: Any) -> FlushCheckReply:
        """Ask whether a flush is due."""
        return self.run(self.flushes.check, FlushCheckParams(key, **{**FULL, **params}))

    def done(self, key: str = "agent:main:main", **params: Any) -> tuple[int, bool]:
        """Say that it was done."""
        reply = self.run(self.flushes.done, FlushDoneParams(key, **params))
        return reply.compaction_count, reply.syncing

    def compacted(self, key: str = "agent:main:main", **params: Any) -> tuple[int, bool]:
        """Say that the context was compacted."""
        reply = self.run(self.flushes.compaction_done, CompactionDoneParams(key, **params))
        return reply.compaction_count, reply.syncing

    def restart(self) -> None:
        """Restart with the state on disk."""
        self.flushes = Flushes(self.agent, lambda: NOON)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[FlushedSession]:
    with FlushedSession(tmp_path) as session:
        yield session


def test_a_due_flush_comes_with_its_prompts(session: FlushedSession) -> None:
    reply = session.check()

    assert (reply.run, reply.reason, reply.threshold_tokens) == (True, "tokens", 176_000)
    assert reply.path == "memory/2026-11-22.md"
    assert "NO_REPLY" in reply.prompt
    assert "NO_REPLY" in reply.system_prompt


def test_a_flush_that_is_not_due_has_none(session: FlushedSession) -> None:
    reply = session.check(total_tokens=5)

    assert (reply.run, reply.reason) == (False, "below_threshold")
    assert (reply.prompt, reply.system_prompt, reply.path) == ("", "", "")


def test_a_cycle_is_flushed_once_and_the_next_one_again(session: FlushedSession) -> None:
    assert session.done() == (0, True)
    assert session.check().reason == "flushed_already"
    assert session.check("agent:main:other").run

    assert session.compacted() == (1, True)
    assert session.check().compaction_count == 1
    assert session.check().run
    assert session.syncs == 2


def test_the_callers_count_comes_before_ours(session: FlushedSession) -> None:
    assert session.done(compaction_count=7) == (7, True)

    assert session.check(compaction_count=7).reason == "flushed_already"
    assert session.check(compaction_count=8).run
    assert session.compacted(compaction_count=12) == (12, True)
    assert session.check().compaction_count == 12


def test_what_was_flushed_is_known_after_a_restart(session: FlushedSession) -> None:
    session.compacted()
    session.done()

    session.restart()

    assert session.check().reason == "flushed_already"
    assert session.compacted() == (2, True)


def test_another_session_under_the_same_key_has_no_record(session: FlushedSession) -> None:
    session.done(session_id="a", compaction_count=0)

    assert session.check(session_id="a").reason == "flushed_already"
    assert session.check(session_id="b").run
    assert session.compacted(session_id="b") == (1, True)
    assert session.check(session_id="b").run


def test_a_forgotten_session_has_no_record(session: FlushedSession) -> None:
    session.done()
    session.run(session.flushes.forget, "agent:main:main")
    session.restart()

    assert session.check().run


def test_a_heartbeats_key_and_a_missing_workspace_are_seen(session: FlushedSession) -> None:
    assert session.check("agent:main:main:heartbeat").reason == "heartbeat"
    session.workspace.rmdir()
    assert session.check().reason == "no_workspace"


def test_an_agent_without_search_is_flushed_too(session: FlushedSession) -> None:
    session.use(enabled=False)

    assert session.check().run
    assert session.done() == (0, False)
    with pytest.raises(MemoryDisabledError):
        session.compacted()
    assert session.check().run


def test_a_compaction_without_a_session_only_syncs(session: FlushedSession) -> None:
    assert session.compacted("") == (0, True)
    assert session.syncs == 1
    assert not session.config.index_path.with_name("main.sessions.json").exists()


def test_the_state_file_is_next_to_the_index(session: FlushedSession) -> None:
    session.done()

    held = json.loads(session.config.index_path.with_name("main.sessions.json").read_text())
    assert held["sessions"]["agent:main:main"]["flushed_at"] == 0


def test_many_tell_at_once_and_none_is_lost(session: FlushedSession) -> None:
    async def tell() -> None:
        async with trio.open_nursery() as nursery:
            for number in range(30):
                nursery.start_soon(session.flushes.done, FlushDoneParams(f"agent:main:s{number % 10}"))
                nursery.start_soon(session.flushes.compaction_done, CompactionDoneParams("agent:main:main"))

    session.run(tell)
    session.restart()

    assert session.check().compaction_count == 30
    assert {session.check(f"agent:main:s{number}").reason for number in range(10)} == {"flushed_already"}
