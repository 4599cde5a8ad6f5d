"""An agent's flushes: asked for when a session nears compaction, recorded when done, counted by cycle."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import trio

from memd.lifecycle.flush.check import Access, SessionFigures, decide
from memd.lifecycle.flush.prompts import flush_prompts
from memd.lifecycle.flush.state import Cycle, FlushState
from memd.lifecycle.host import Host
from memd.lifecycle.notes.session_kinds import settle_kind
from memd.system.clock import Clock
from memd.system.events import EVENTS
from memd_client.errors import MemoryDisabledError
from memd_client.sessions import (
    CompactionDoneParams,
    CompactionDoneReply,
    FlushCheckParams,
    FlushCheckReply,
    FlushDoneParams,
    FlushDoneReply,
)

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
        """Return whether a session is to be flushed now, with what its agent is to be told.

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
        self._tell("due", params.session_key, count)
        prompts = flush_prompts(config.life.flush, self._clock(), config.life.time_zone)
        return FlushCheckReply(
            config.id,
            run=True,
            reason=decision.reason,
            message=decision.message,
            threshold_tokens=decision.threshold_tokens,
            compaction_count=count,
            system_prompt=prompts.system,
            prompt=prompts.user,
            path=prompts.path,
        )

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
        self._tell("done", params.session_key, count)
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
        self._tell("compacted", params.session_key, count)
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

    def _tell(self, state: str, session_key: str, count: int) -> None:
        """Tell those who listen."""
        EVENTS.publish("flush", self._host.agent_id, state=state, session_key=session_key, cycle=count)

    def _sync(self) -> bool:
        """Have a sync run; say whether one was asked for. An agent without search is flushed too."""
        try:
            return self._host.compaction_done()
        except MemoryDisabledError:
            return False


def _state_path(index_path: Path) -> Path:
    """Return where the state of an index's agent is kept: two indexes never share one."""
    if index_path.suffix == ".sqlite":
        return index_path.with_suffix(STATE_SUFFIX)
    return index_path.with_name(index_path.name + STATE_SUFFIX)
