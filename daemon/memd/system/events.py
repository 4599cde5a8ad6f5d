"""Events of agents' memories for those subscribed at the moment: publishing never waits, nothing is kept.

For one thread, the loop's. Memory text is never part of an event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import trio

from memd.system.clock import wall_clock_ms

KINDS: Final[dict[str, str]] = {
    "sync": "A sync changed what the index holds: `files_changed`, `files_removed`, `took_ms`.",
    "degraded": "A provider began to fail, or fails otherwise: `provider`, `code`, `reason`.",
    "recovered": "It works again: `provider`.",
    "provider": "Others answer: `state` is `fell_back`, `returned` or `switched`; `provider`, `model` or `code`.",
    "flush": "A session's `state` in its `cycle`: a flush is `due`, is `done`, or it was `compacted`; `session_key`.",
    "note": "The daemon wrote to a note: `path`; `state` is `entry` or `session`.",
    "fact": "A fact was stored, edited or forgotten: `state`, `id`.",
}
"""Every kind of event, and what its data hold."""

WAITING = 256
"""Events that wait for a slow listener; beyond them the oldest are dropped, and counted."""


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """One event: its kind, whose memory, when (epoch milliseconds), and small facts."""

    kind: str
    agent: str
    at_ms: int
    data: Mapping[str, str | int | float | bool]


class Subscription:
    """One listener's events, oldest first. Made by `Events.listen`.

    Attributes:
        dropped: Events that were dropped because it was too slow.
    """

    def __init__(self, agent: str | None, kinds: Collection[str]) -> None:
        self._agent = agent
        self._kinds = kinds
        self._waiting: deque[MemoryEvent] = deque()
        self._news = trio.Event()
        self.dropped = 0

    def __repr__(self) -> str:
        return f"<Subscription to {', '.join(self._kinds)}, {len(self._waiting)} waiting, {self.dropped} dropped>"

    def offer(self, event: MemoryEvent) -> None:
        """Take an event that may concern this listener."""
        if event.kind not in self._kinds or self._agent not in (None, event.agent):
            return
        if len(self._waiting) == WAITING:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(event)
        self._news.set()

    async def receive(self) -> MemoryEvent:
        """Wait for the next event and return it."""
        while not self._waiting:
            self._news = trio.Event()
            await self._news.wait()
        return self._waiting.popleft()


class Events:
    """Who listens, and the way to tell them."""

    def __init__(self) -> None:
        self._listeners: set[Subscription] = set()

    def __repr__(self) -> str:
        return f"<Events with {len(self._listeners)} listeners>"

    def publish(self, kind: str, agent: str, **data: str | int | float | bool) -> None:
        """Tell all listeners."""
        assert kind in KINDS
        if self._listeners:
            event = MemoryEvent(kind, agent, wall_clock_ms(), data)
            for listener in self._listeners:
                listener.offer(event)

    @contextmanager
    def listen(self, agent: str | None, kinds: Collection[str]) -> Iterator[Subscription]:
        """Give a listener's events inside the block."""
        listener = Subscription(agent, kinds)
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)


EVENTS = Events()
"""Those of this process."""
