"""The latest decisions of hooks, without the text of memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice

from memd.system.clock import Clock, wall_clock_ms
from memd_client.hooks import HookLogEntry, HookParams, HookReply

MAX_ENTRIES = 500
"""Decisions kept, in RAM."""

MAX_PLACES = 10

MAX_NAME_CHARS = 200
"""Longest name of a program or session that is kept; they come from the client."""


class HookLog:
    """The latest decisions, newest first."""

    def __init__(self, clock: Clock = wall_clock_ms) -> None:
        self._clock = clock
        self._entries: deque[HookLogEntry] = deque(maxlen=MAX_ENTRIES)

    def __repr__(self) -> str:
        return f"<HookLog of {len(self._entries)} decisions>"

    def add(self, params: HookParams, reply: HookReply, places: Iterable[str]) -> None:
        """Record a decision and the places of what was injected."""
        self._entries.appendleft(
            HookLogEntry(
                time_ms=self._clock(),
                program=params.program[:MAX_NAME_CHARS],
                session_id=params.session_id[:MAX_NAME_CHARS],
                event=params.event,
                decision=reply.decision,
                chars=len(reply.text),
                places=list(islice(places, MAX_PLACES)),
            )
        )

    def newest(self, limit: int, session_id: str | None = None) -> list[HookLogEntry]:
        """Return the newest decisions, of all sessions or of one."""
        wanted = None if session_id is None else session_id[:MAX_NAME_CHARS]
        return list(
            islice((each for each in self._entries if wanted is None or each.session_id == wanted), limit)
        )
