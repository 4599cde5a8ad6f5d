"""What a client is told without asking again: a subscription, and the events it brings.

All times are milliseconds since the epoch.
"""

from __future__ import annotations

from memd_client.record import Any, field, record


@record
class SubscribeParams:
    """Which events are wanted: of one agent (all where none is named), of some kinds (all where none are)."""

    agent: str | None = None
    kinds: list[str] | None = None


@record
class SubscribeReply:
    """How a subscription ended that the daemon ended: events sent, and those dropped as nobody read them."""

    events: int
    dropped: int


@record
class Event:
    """Something happened. `id` is the subscription's request; what `data` holds depends on `kind`.

    `dropped` counts the events before it that this client was too slow for.
    """

    id: int
    kind: str
    agent: str
    at_ms: int
    data: dict[str, Any] = field(default_factory=dict)
    dropped: int = 0
