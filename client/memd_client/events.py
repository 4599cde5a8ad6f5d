"""Subscriptions and their events.

All times are milliseconds since the epoch.
"""

from __future__ import annotations

from memd_client.record import Any, field, record


@record
class SubscribeParams:
    """Which events to send: of one agent (None: of all) and of some kinds (None: of all).

    Attributes:
        agent: Events of one agent; None: of all.
        kinds: Events of these kinds; None: of all.
    """

    agent: str | None = None
    kinds: list[str] | None = None


@record
class SubscribeReply:
    """The reply when the daemon ends a subscription: events sent, and events dropped for a slow client.

    Attributes:
        events: Events sent.
        dropped: Events dropped.
    """

    events: int
    dropped: int


@record
class Event:
    """An event of the daemon.

    Attributes:
        id: The request of the subscription.
        kind: Kind of the event.
        agent: The agent's id.
        at_ms: Time of the event.
        data: Facts about the event; which ones depends on its kind.
        dropped: Events before this one that were dropped, because this client was too slow.
    """

    id: int
    kind: str
    agent: str
    at_ms: int
    data: dict[str, Any] = field(default_factory=dict)
    dropped: int = 0
