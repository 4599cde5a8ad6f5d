"""An agent's memory flushes: requested when a session nears compaction, and recorded by compaction cycle.

The record is a small JSON file next to the index, so that a restart doesn't request a flush again. Without the file,
each session is flushed again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import msgspec
import trio
from msgspec.structs import replace

from memd.agents.agent import Agent
from memd.lifecycle.flush.check import Access, SessionFigures, decide, flush_prompts
from memd.lifecycle.notes.session_kinds import settle_kind
from memd.system.clock import Clock
from memd.system.events import EVENTS
from memd.system.log import log
from memd.system.lru import LruCache
from memd.system.state_file import NotRegularFileError, load_whole, replace_whole
from memd_client.errors import MemoryDisabledError
from memd_client.sessions import (
    CompactionDoneParams,
    CompactionDoneReply,
    FlushCheckParams,
    FlushCheckReply,
    FlushDoneParams,
    FlushDoneReply,
)

MAX_SESSIONS = 1_000
"""Limit of recorded sessions; beyond it, the least recently used ones are dropped."""

MAX_BYTES = 16_000_000
"""Limit of the file: a session takes about 200 bytes, and 15,000 with the longest possible key and id."""

FORMAT = 1

QUARANTINE_SUFFIX = ".corrupt"
"""Suffix of an unreadable file in quarantine; only the newest one is kept."""


class CompactionCycle(msgspec.Struct, frozen=True):
    """How often a session was compacted, and the count at which it was last flushed."""

    compactions: int = 0
    flushed_at: int | None = None
    session_id: str = ""

    def count(self, given: int | None) -> int:
        """Return the caller's number of compactions, or the recorded one for None."""
        return self.compactions if given is None else given


class _File(msgspec.Struct):
    """The contents of the file; sessions by key, the most recently used last."""

    format: int
    sessions: dict[str, CompactionCycle]


_decode = msgspec.json.Decoder(_File, strict=True).decode


class FlushState:
    """The cycles of one agent's sessions. Not thread-safe."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sessions: LruCache[str, CompactionCycle] | None = None

    def __repr__(self) -> str:
        known = "not read" if self._sessions is None else f"{len(self._sessions)} sessions"
        return f"<FlushState {self.path.name}: {known}>"

    def find(self, session_key: str, session_id: str = "") -> CompactionCycle:
        """Return the cycle of a session; a new one for an unknown session."""
        cycle = self._known().get(session_key) or CompactionCycle()
        if session_id and cycle.session_id and session_id != cycle.session_id:
            return CompactionCycle(session_id=session_id)
        return cycle

    def keep(self, session_key: str, cycle: CompactionCycle) -> None:
        """Record the cycle of a session, in the file too if that can be written."""
        self._known().put(session_key, cycle)
        self._write()

    def forget(self, session_key: str) -> None:
        """Drop the record of a session."""
        if self._known().take(session_key) is not None:
            self._write()

    def _known(self) -> LruCache[str, CompactionCycle]:
        """Return the recorded sessions, read from the file the first time."""
        if self._sessions is None:
            self._sessions = LruCache(MAX_SESSIONS, self._read().items())
        return self._sessions

    def _read(self) -> dict[str, CompactionCycle]:
        """Return the sessions of the file; none if it is missing or unreadable."""
        try:
            held = _decode(load_whole(self.path, MAX_BYTES, through_link=False))
            if held.format != FORMAT:
                raise ValueError("it has another format")
            return held.sessions
        except FileNotFoundError:
            pass
        except NotRegularFileError as error:
            self._quarantine(error)
        except OSError as error:
            log.warning("lifecycle.flush_state_unread", file=str(self.path), reason=_reason(error))
        except (ValueError, msgspec.MsgspecError, RecursionError) as error:
            self._quarantine(error)
        return {}

    def _quarantine(self, error: Exception) -> None:
        """Move an unreadable file to quarantine, and log it."""
        aside = self.path.with_name(self.path.name + QUARANTINE_SUFFIX)
        with contextlib.suppress(OSError):
            os.replace(self.path, aside)
        log.warning("lifecycle.flush_state_set_aside", file=str(self.path), reason=_reason(error))

    def _write(self) -> None:
        """Replace the file atomically; if that fails, the record stays in RAM until the next write."""
        try:
            replace_whole(self.path, msgspec.json.encode(_File(FORMAT, dict(self._known().items()))))
        except OSError as error:
            log.warning("lifecycle.flush_state_unwritten", file=str(self.path), reason=_reason(error))


def _reason(error: Exception) -> str:
    """Return the reason of an error, without contents of the file."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "it is damaged" if isinstance(error, msgspec.MsgspecError) else str(error)


T = TypeVar("T")

STATE_SUFFIX = ".sessions.json"
"""Suffix of the file next to the index, instead of `.sqlite`."""


class Flushes:
    """The flushes of one agent.

    Resources: nothing is read before the first request, and no file is kept open.
    """

    def __init__(self, agent: Agent, clock: Clock) -> None:
        self._agent = agent
        self._clock = clock
        self._lock = trio.Lock()
        self._state: FlushState | None = None

    def __repr__(self) -> str:
        return f"<Flushes {self._agent.agent_id}: {self._state!r}>"

    async def check(self, params: FlushCheckParams) -> FlushCheckReply:
        """Return whether a session needs a flush now, with its prompts. Changes nothing."""
        config = self._agent.config
        cycle = await self._with_state(lambda state: state.find(params.session_key, params.session_id))
        count = cycle.count(params.compaction_count)
        has_workspace = await trio.to_thread.run_sync(os.path.isdir, config.workspace)
        decision = decide(
            config.life.flush,
            SessionFigures(
                total_tokens=params.total_tokens,
                context_window=params.context_window,
                compaction_count=count,
                flushed_at_compaction=cycle.flushed_at,
                next_input_tokens=params.next_input_tokens,
                transcript_bytes=params.transcript_bytes,
                kind=settle_kind(params.kind, params.session_key, config.id),
                cli_provider=params.cli_provider,
                workspace_access=cast(Access, params.workspace_access),
                has_workspace=has_workspace,
            ),
        )
        reply = FlushCheckReply(
            config.id, decision.run, decision.reason, decision.message, decision.threshold_tokens, count
        )
        if not decision.run:
            return reply
        self._publish("due", params.session_key, count)
        prompts = flush_prompts(config.life.flush, self._clock(), config.life.time_zone)
        return replace(reply, system_prompt=prompts.system, prompt=prompts.user, path=prompts.path)

    async def done(self, params: FlushDoneParams) -> FlushDoneReply:
        """Record that a session was flushed in this cycle, and request a sync of its notes.

        Cancellation: the record is atomic.
        """

        def record(state: FlushState) -> int:
            cycle = state.find(params.session_key, params.session_id)
            count = cycle.count(params.compaction_count)
            state.keep(
                params.session_key, CompactionCycle(count, count, params.session_id or cycle.session_id)
            )
            return count

        count = await self._with_state(record)
        self._publish("done", params.session_key, count)
        return FlushDoneReply(self._agent.agent_id, self._sync(), count)

    async def compaction_done(self, params: CompactionDoneParams) -> CompactionDoneReply:
        """Count a session's compaction, so that a new cycle begins, and request a sync.

        Cancellation: the count is atomic.
        """

        def count_up(state: FlushState) -> int:
            cycle = state.find(params.session_key, params.session_id)
            count = cycle.compactions + 1 if params.compaction_count is None else params.compaction_count
            session_id = params.session_id or cycle.session_id
            state.keep(params.session_key, CompactionCycle(count, cycle.flushed_at, session_id))
            return count

        count = await self._with_state(count_up) if params.session_key else 0
        self._publish("compacted", params.session_key, count)
        return CompactionDoneReply(self._agent.agent_id, self._agent.compaction_done(), count)

    async def forget(self, session_key: str) -> None:
        """Drop the record of an ended session: the next one under its key starts at zero."""
        await self._with_state(lambda state: state.forget(session_key))

    async def _with_state(self, use: Callable[[FlushState], T]) -> T:
        """Return the result of `use`, run in a thread with exclusive access to the state."""
        async with self._lock:
            path = _state_path(self._agent.config.index_path)
            if self._state is None or self._state.path != path:
                self._state = FlushState(path)
            return await trio.to_thread.run_sync(use, self._state)

    def _publish(self, state: str, session_key: str, count: int) -> None:
        EVENTS.publish("flush", self._agent.agent_id, state=state, session_key=session_key, cycle=count)

    def _sync(self) -> bool:
        """Request a sync; return whether it was requested. Agents without search are flushed too."""
        try:
            return self._agent.compaction_done()
        except MemoryDisabledError:
            return False


def _state_path(index_path: Path) -> Path:
    """Return the path of an index's state file; each index has its own."""
    if index_path.suffix == ".sqlite":
        return index_path.with_suffix(STATE_SUFFIX)
    return index_path.with_name(index_path.name + STATE_SUFFIX)
