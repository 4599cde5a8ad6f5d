"""What has arrived for one request and was not taken yet."""

from __future__ import annotations

from collections import deque

from .errors import ConnectionLostError, MemdError, RequestCancelledError
from .session import EventArrival, Failure, ProgressArrival, Reply

TYPE_CHECKING = False  # typing's own costs a client 6 ms at import; type checkers know the name
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .events import Event
    from .messages import Progress

MAX_STEPS = 4096
"""Steps kept for a caller that takes them slowly; beyond it the oldest go, and are counted."""


class Inbox:
    """Steps (progress, events) and the outcome of one request, in the order they came."""

    __slots__ = ("dropped", "outcome", "steps")

    def __init__(self) -> None:
        self.steps: deque[Progress | Event] = deque()
        self.outcome: Reply | Failure | None = None
        self.dropped = 0

    def take_in(self, arrival: Reply | Failure | ProgressArrival | EventArrival) -> None:
        """Keep what arrived."""
        if isinstance(arrival, ProgressArrival):
            self._keep(arrival.progress)
        elif isinstance(arrival, EventArrival):
            self._keep(arrival.event)
        elif self.outcome is None:
            self.outcome = arrival

    def stop(self) -> None:
        """Let whoever waits know that the request was given up on this side."""
        if self.outcome is None:
            self.outcome = Failure(0, RequestCancelledError("the request was given up before its reply"))

    @property
    def has_news(self) -> bool:
        """Whether there is anything to take."""
        return bool(self.steps) or self.outcome is not None

    def next_step(self) -> Progress | Event | None:
        """Take the oldest step out; None where there is none."""
        return self.steps.popleft() if self.steps else None

    def result(self) -> Mapping[str, Any]:
        """Return what the daemon answered.

        Raises:
            MemdError: It answered with an error, or the request was given up.
        """
        if isinstance(self.outcome, Failure):
            raise self.outcome.error
        if self.outcome is None:
            raise ConnectionLostError("the request has not been answered")
        return self.outcome.result

    def _keep(self, step: Progress | Event) -> None:
        if len(self.steps) >= MAX_STEPS:
            self.steps.popleft()
            self.dropped += 1
        self.steps.append(step)


def reason_again(broken: MemdError, sent: bool) -> MemdError:
    """Return the reason a connection broke, as a new instance: several threads or tasks may raise it.

    Args:
        broken: The reason.
        sent: Whether something of the request in question may have gone out; `data` says where nothing did.
    """
    shape = broken.to_wire()
    if not sent:
        shape["data"]["sent"] = False
    return MemdError.from_wire(shape)


def lost(error: BaseException) -> str:
    """Return the sentence for a connection that broke."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return f"the connection to the daemon broke: {reason}"
