"""Subscriptions and their events.

All times are milliseconds since the epoch.
"""

from __future__ import annotations

from memd_client.record import Any, field, record


@record
class SubscribeParams:
    """Which events to send: of one agent (None: of all) and of some kinds (None: of all)."""

    agent: str | None = None
    kinds: list[str] | None = None


@record
class SubscribeReply:
    """The reply when the daemon ends a subscription: events sent, and events dropped for a slow client."""

    events: int
    dropped: int


@record
class Event:
    """An event of the daemon. `id` is the subscription's request; the contents of `data` depend on `kind`.

    `dropped` counts the events before it that were dropped because this client was too slow.
    """

    id: int
    kind: str
    agent: str
    at_ms: int
    data: dict[str, Any] = field(default_factory=dict)
    dropped: int = 0
