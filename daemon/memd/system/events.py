"""Events of agents' memories for the current subscribers: publishing never waits, and events are not stored.

Only for the event loop's thread. Memory text is never part of an event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import trio
from msgspec import Struct

from memd.system.clock import wall_clock_ms

KINDS: Final[dict[str, str]] = {
    "sync": "A sync changed the contents of the index: `files_changed`, `files_removed`, `took_ms`.",
    "degraded": "A provider began to fail, or its error changed: `provider`, `code`, `reason`.",
    "recovered": "A failing provider works again: `provider`.",
    "provider": "Another one answers: `state` (`fell_back`, `returned`, `switched`); `provider`; `model` or `code`.",
    "flush": "A session's `state` in its `cycle` changed to `due`, `done` or `compacted`; `session_key`.",
    "note": "The daemon wrote to a note: `path`; `state` is `entry` or `session`.",
    "fact": "A fact was stored, edited or forgotten: `state`, `id`.",
}
"""Every kind of event with the fields of its data."""

MAX_WAITING_EVENTS = 256
"""Events queued for a slow subscriber; when more arrive, the oldest are dropped and counted."""


class MemoryEvent(Struct, frozen=True):
    """One event: its kind, the agent, the time in epoch milliseconds, and its data."""

    kind: str
    agent: str
    at_ms: int
    data: Mapping[str, str | int | float | bool]


class Subscription:
    """One subscriber's events, oldest first. Made by `EventBus.subscribe`.

    Attributes:
        dropped: Events that were dropped because the subscriber was too slow.
    """

    def __init__(self, agent: str | None, kinds: Collection[str]) -> None:
        self._agent = agent
        self._kinds = kinds
        self._waiting: deque[MemoryEvent] = deque()
        self._has_events = trio.Event()
        self.dropped = 0

    def __repr__(self) -> str:
        return f"<Subscription to {', '.join(self._kinds)}, {len(self._waiting)} waiting, {self.dropped} dropped>"

    def offer(self, event: MemoryEvent) -> None:
        """Queue an event if its kind and agent match this subscription."""
        if event.kind not in self._kinds or self._agent not in (None, event.agent):
            return
        if len(self._waiting) == MAX_WAITING_EVENTS:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(event)
        self._has_events.set()

    async def receive(self) -> MemoryEvent:
        """Wait for the next event and return it."""
        while not self._waiting:
            self._has_events = trio.Event()
            await self._has_events.wait()
        return self._waiting.popleft()


class EventBus:
    """The current subscriptions of this process."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()

    def __repr__(self) -> str:
        return f"<EventBus with {len(self._subscriptions)} subscriptions>"

    def publish(self, kind: str, agent: str, **data: str | int | float | bool) -> None:
        """Deliver an event to all subscriptions."""
        assert kind in KINDS
        if self._subscriptions:
            event = MemoryEvent(kind, agent, wall_clock_ms(), data)
            for subscription in self._subscriptions:
                subscription.offer(event)

    @contextmanager
    def subscribe(self, agent: str | None, kinds: Collection[str]) -> Iterator[Subscription]:
        """Yield a subscription that receives events inside the `with` block; all agents' if `agent` is None."""
        subscription = Subscription(agent, kinds)
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)


EVENTS = EventBus()
"""The event bus of this process."""
