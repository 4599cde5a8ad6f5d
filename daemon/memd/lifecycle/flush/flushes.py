"""An agent's flushes: requested when a session nears compaction, recorded when done, counted by cycle.

The record is a small JSON file beside the index. It outlives restarts: a flush that was done is not requested again.
Losing the file costs one more flush a session.
"""

from __future__ import annotations

import contextlib
import os
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, cast

import msgspec
import structlog
import trio

from memd.lifecycle.flush.check import Access, SessionFigures, decide, flush_prompts
from memd.lifecycle.host import Host
from memd.lifecycle.notes.session_kinds import settle_kind
from memd.system.clock import Clock
from memd.system.events import EVENTS
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

log = structlog.get_logger(__name__)

MOST_SESSIONS = 1_000
"""Sessions remembered; beyond them, those that said nothing for the longest time are forgotten."""

MOST_KEY_CHARS = 512
"""The longest key or id of a session. Those of OpenClaw have about fifty characters."""

MOST_BYTES = 16_000_000
"""A larger file is not ours: a session takes about 200 bytes, and 15,000 with the strangest key and id there can be."""

FORMAT = 1

ASIDE = ".corrupt"
"""Ends the name of a file that could not be understood; the newest one stays."""


class Cycle(msgspec.Struct, frozen=True):
    """How often a session was compacted, and at which of these counts it was last flushed."""

    compactions: int = 0
    flushed_at: int | None = None
    session_id: str = ""

    def count(self, given: int | None) -> int:
        """Return the caller's number of compactions, or the recorded one if the caller gives none."""
        return self.compactions if given is None else given


class _File(msgspec.Struct):
    """What the file holds; sessions by their key, the one that said something last at the end."""

    format: int
    sessions: dict[str, Cycle]


_decode = msgspec.json.Decoder(_File, strict=True).decode


class FlushState:
    """The cycles of one agent's sessions. Not for two threads at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sessions: OrderedDict[str, Cycle] | None = None

    def __repr__(self) -> str:
        known = "not read" if self._sessions is None else f"{len(self._sessions)} sessions"
        return f"<FlushState {self.path.name}: {known}>"

    def find(self, session_key: str, session_id: str = "") -> Cycle:
        """Return how a session stands; one that isn't known begins."""
        cycle = self._known().get(session_key, Cycle())
        if session_id and cycle.session_id and session_id != cycle.session_id:
            return Cycle(session_id=session_id)
        return cycle

    def keep(self, session_key: str, cycle: Cycle) -> None:
        """Remember how a session stands, on disk too if that can be written."""
        known = self._known()
        known[session_key] = cycle
        known.move_to_end(session_key)
        while len(known) > MOST_SESSIONS:
            known.popitem(last=False)
        self._write()

    def forget(self, session_key: str) -> None:
        """Forget a session: the next one of its key has no record."""
        if self._known().pop(session_key, None) is not None:
            self._write()

    def _known(self) -> OrderedDict[str, Cycle]:
        """Return what is remembered, read from the file the first time."""
        if self._sessions is None:
            self._sessions = OrderedDict(self._read())
        return self._sessions

    def _read(self) -> dict[str, Cycle]:
        """Return what the file holds; nothing if there is none or it can't be understood."""
        try:
            held = _decode(load_whole(self.path, MOST_BYTES, through_link=False))
            if held.format != FORMAT:
                raise ValueError("it has another format")
            return dict(list(held.sessions.items())[-MOST_SESSIONS:])
        except FileNotFoundError:
            pass
        except NotRegularFileError as error:
            self._set_aside(error)
        except OSError as error:
            log.warning("lifecycle.flush_state_unread", file=str(self.path), reason=_reason(error))
        except (ValueError, msgspec.MsgspecError, RecursionError) as error:
            self._set_aside(error)
        return {}

    def _set_aside(self, error: Exception) -> None:
        """Rename a file that can't be understood, and say so."""
        aside = self.path.with_name(self.path.name + ASIDE)
        with contextlib.suppress(OSError):
            os.replace(self.path, aside)
        log.warning("lifecycle.flush_state_set_aside", file=str(self.path), reason=_reason(error))

    def _write(self) -> None:
        """Replace the file whole; where that fails, what is remembered stays in memory until the next time."""
        try:
            replace_whole(self.path, msgspec.json.encode(_File(FORMAT, dict(self._known()))))
        except OSError as error:
            log.warning("lifecycle.flush_state_unwritten", file=str(self.path), reason=_reason(error))


def _reason(error: Exception) -> str:
    """Return why, without what the file holds."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "it is damaged" if isinstance(error, msgspec.MsgspecError) else str(error)


T = TypeVar("T")

STATE_SUFFIX = ".sessions.json"
"""Ends the name of the file beside the index, in the place of `.sqlite`."""


class Flushes:
    """The flushes of one agent.

    Resources: nothing is read before the first request, and no file is kept open.
    """

    def __init__(self, host: Host, clock: Clock) -> None:
        self._host = host
        self._clock = clock
        self._turn = trio.Lock()
        self._state: FlushState | None = None

    def __repr__(self) -> str:
        return f"<Flushes {self._host.agent_id}: {self._state!r}>"

    async def check(self, params: FlushCheckParams) -> FlushCheckReply:
        """Return whether a session is to be flushed now, with the prompts of that turn.

        Cancellation: nothing is changed by a check.
        """
        config = self._host.config
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
        """Record that a session was flushed in this cycle, and have what it wrote brought in.

        Cancellation: the cycle is recorded or not, never half.
        """

        def record(state: FlushState) -> int:
            cycle = state.find(params.session_key, params.session_id)
            count = cycle.count(params.compaction_count)
            state.keep(params.session_key, Cycle(count, count, params.session_id or cycle.session_id))
            return count

        count = await self._with_state(record)
        self._publish("done", params.session_key, count)
        return FlushDoneReply(self._host.agent_id, self._sync(), count)

    async def compaction_done(self, params: CompactionDoneParams) -> CompactionDoneReply:
        """Count a session's compaction, so that a new cycle begins, and have a sync run.

        Cancellation: the compaction is counted or not, never half.
        """

        def count_up(state: FlushState) -> int:
            cycle = state.find(params.session_key, params.session_id)
            count = cycle.compactions + 1 if params.compaction_count is None else params.compaction_count
            session_id = params.session_id or cycle.session_id
            state.keep(params.session_key, Cycle(count, cycle.flushed_at, session_id))
            return count

        count = await self._with_state(count_up) if params.session_key else 0
        self._publish("compacted", params.session_key, count)
        return CompactionDoneReply(self._host.agent_id, self._host.compaction_done(), count)

    async def forget(self, session_key: str) -> None:
        """Forget a session that ended: the next one under its key begins with no compaction and no flush."""
        await self._with_state(lambda state: state.forget(session_key))

    async def _with_state(self, use: Callable[[FlushState], T]) -> T:
        """Return what some use of the state gives, one at a time and in a thread."""
        async with self._turn:
            path = _state_path(self._host.config.index_path)
            if self._state is None or self._state.path != path:
                self._state = FlushState(path)
            return await trio.to_thread.run_sync(use, self._state)

    def _publish(self, state: str, session_key: str, count: int) -> None:
        EVENTS.publish("flush", self._host.agent_id, state=state, session_key=session_key, cycle=count)

    def _sync(self) -> bool:
        """Request a sync; return whether it was requested. An agent without search is flushed too."""
        try:
            return self._host.compaction_done()
        except MemoryDisabledError:
            return False


def _state_path(index_path: Path) -> Path:
    """Return where the state of an index's agent is kept: two indexes never share one."""
    if index_path.suffix == ".sqlite":
        return index_path.with_suffix(STATE_SUFFIX)
    return index_path.with_name(index_path.name + STATE_SUFFIX)
