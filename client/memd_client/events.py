"""Subscriptions and their events.

All times are milliseconds since the epoch.
"""

from __future__ import annotations

from typing import Any

from msgspec import field

from memd_client.limits import AgentId, Names
from memd_client.schema import Record


class SubscribeParams(Record, frozen=True):
    """Send events of the daemon from now on, until the request is cancelled.

    Attributes:
        agent: Only events of this agent; None: of all.
        kinds: Only events of these kinds, as listed in docs/protocol.md: `["sync", "note"]`; None: of all.
    """

    agent: AgentId | None = None
    kinds: Names | None = None


class SubscribeReply(Record, frozen=True):
    """The reply when the daemon ends a subscription: events sent, and events dropped for a slow client.

    Attributes:
        events: Events sent.
        dropped: Events dropped.
    """

    events: int
    dropped: int


class Event(Record, frozen=True):
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
