"""The steps and the outcome of one request that have arrived and were not read yet."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from .errors import ConnectionLostError, MemdError, RequestCancelledError
from .session import EventArrival, Failure, ProgressArrival, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .events import Event
    from .messages import Progress

MAX_STEPS = 4096
"""Steps kept for a slow caller; beyond it the oldest are dropped and counted."""

DAEMON_CLOSED = "the daemon closed the connection"
"""The message for the end of a connection to a daemon of this machine."""


class Inbox:
    """Steps (progress, events) and the outcome of one request, in order of arrival."""

    __slots__ = ("dropped", "outcome", "steps")

    def __init__(self) -> None:
        self.steps: deque[Progress | Event] = deque()
        self.outcome: Reply | Failure | None = None
        self.dropped = 0

    def add(self, arrival: Reply | Failure | ProgressArrival | EventArrival) -> None:
        """Keep what arrived."""
        if isinstance(arrival, ProgressArrival):
            self._keep(arrival.progress)
        elif isinstance(arrival, EventArrival):
            self._keep(arrival.event)
        elif self.outcome is None:
            self.outcome = arrival

    def stop(self) -> None:
        """Wake the waiting caller with the error of a cancelled request."""
        if self.outcome is None:
            self.outcome = Failure(0, RequestCancelledError("the request was cancelled before its reply"))

    @property
    def is_ready(self) -> bool:
        """Whether a step or the outcome has arrived."""
        return bool(self.steps) or self.outcome is not None

    def pop_step(self) -> Progress | Event | None:
        """Remove and return the oldest step; None if there is none."""
        return self.steps.popleft() if self.steps else None

    def result(self) -> Mapping[str, Any]:
        """Return the daemon's reply.

        Raises:
            MemdError: The daemon replied with an error, or the request was cancelled.
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


def copy_error(broken: MemdError, sent: bool) -> MemdError:
    """Return a copy of the reason a connection broke: several threads or tasks may raise it.

    Args:
        broken: The reason.
        sent: Whether any byte of the caller's request may have been sent; if not, `data` has `sent: False`.
    """
    shape = broken.to_wire()
    if not sent:
        shape["data"]["sent"] = False
    return MemdError.from_wire(shape)


def describe_break(error: BaseException) -> str:
    """Return the message for a connection that broke."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return f"the connection to the daemon broke: {reason}"
