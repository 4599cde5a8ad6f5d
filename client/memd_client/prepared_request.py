"""A request before it is sent, and the state that the streams of all clients share.

No I/O. `requests` builds prepared requests; a client's `request` and `follow` send them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from .errors import (
    BadParamsError,
    ConnectionLostError,
    FrameInvalidError,
    IdleTimeoutError,
    MemdError,
    RequestCancelledError,
)
from .messages import REQUESTS, Progress
from .schema import NO_DEADLINE, from_wire, require_finite, to_wire

OnProgress = Callable[[Progress], None]
Step = TypeVar("Step")
T = TypeVar("T")


class PreparedRequest(Generic[T]):
    """A request, ready to be sent by any client.

    Args:
        method: The request's name in `messages.REQUESTS`.
        params: The parameters, a record.
        reply: The type of the reply.
        min_timeout_s: The shortest timeout in seconds, even if the client's `timeout_s` is shorter.
        renews_deadline: Each progress restarts the timeout.
        on_progress: Called with each progress, in the thread or task that waits.
        uses_client_agent: If the parameters name no agent, the client's own agent is filled in.
        repeatable: Executing it twice has the same effect as once, so the client sends it again if the connection
            breaks before the reply. Otherwise it is sent again only if the daemon can't have received it.
    """

    __slots__ = (
        "method",
        "min_timeout_s",
        "on_progress",
        "params",
        "renews_deadline",
        "repeatable",
        "reply",
        "uses_client_agent",
    )

    def __init__(
        self,
        method: str,
        params: Any,
        reply: type[T],
        *,
        min_timeout_s: float = 0.0,
        renews_deadline: bool = False,
        on_progress: OnProgress | None = None,
        uses_client_agent: bool = True,
        repeatable: bool = True,
    ) -> None:
        self.method = method
        self.params = params
        self.reply = reply
        self.min_timeout_s = min_timeout_s
        self.renews_deadline = renews_deadline
        self.on_progress = on_progress
        self.uses_client_agent = uses_client_agent
        self.repeatable = repeatable

    def __repr__(self) -> str:
        return f"<PreparedRequest {self.method}>"

    def wire_params(self, agent: str | None) -> dict[str, Any]:
        """Return the parameters, ready for msgpack.

        Args:
            agent: The client's own agent.

        Raises:
            BadParamsError: A value has a type that can't be sent.
        """
        try:
            params: dict[str, Any] = to_wire(self.params)
        except TypeError as error:
            raise BadParamsError(f"{self.method}: a parameter can't be sent: {error}") from error
        if self.uses_client_agent and "agent" in params:
            params["agent"] = params["agent"] or agent
        return params

    def reply_timeout_s(self, timeout_s: float | None) -> float | None:
        """Return how long to wait for the reply or the next progress, in seconds; None: no limit.

        Args:
            timeout_s: The client's `timeout_s`.
        """
        if timeout_s is None or self.min_timeout_s == NO_DEADLINE:
            return None
        return max(timeout_s, self.min_timeout_s)

    def parse_reply(self, result: Mapping[str, Any]) -> T:
        """Return a reply as its record.

        Raises:
            FrameInvalidError: A field is missing or has the wrong type, or a number is not finite.
        """
        try:
            require_finite(result)
            return from_wire(self.reply, result)
        except ValueError as error:
            raise FrameInvalidError(f"the daemon's reply to {self.method} is invalid: {error}") from error

    def can_repeat(self, error: MemdError) -> bool:
        """Return whether to send it again over a new connection after this error."""
        if isinstance(error, IdleTimeoutError):
            return True  # the daemon closed before it read the request
        if not isinstance(error, ConnectionLostError):
            return False
        return self.repeatable or error.data.get("sent") is False


def prepare(
    method: str, params: Any, reply: type[T], on_progress: OnProgress | None = None
) -> PreparedRequest[T]:
    """Return a request with the properties that `messages.REQUESTS` gives it.

    Args:
        method: Its name.
        params: Its parameters, a record.
        reply: The type of its reply.
        on_progress: As in `PreparedRequest`.
    """
    known = REQUESTS[method]
    return PreparedRequest(
        method,
        params,
        reply,
        min_timeout_s=known.timeout_s(params) if callable(known.timeout_s) else known.timeout_s,
        renews_deadline=known.renews_deadline,
        on_progress=on_progress,
        uses_client_agent=known.uses_client_agent,
        repeatable=known.repeatable(params) if callable(known.repeatable) else known.repeatable,
    )


class StreamState(Generic[Step, T]):
    """Base of the streams of all clients.

    Args:
        request: The request.
        agent: The client's own agent.
        timeout_s: The client's `timeout_s`.
    """

    def __init__(self, request: PreparedRequest[T], agent: str | None, timeout_s: float | None) -> None:
        self._request = request
        self._params = request.wire_params(agent)
        self._timeout_s = request.reply_timeout_s(timeout_s)
        self._result: Mapping[str, Any] | None = None
        self._closed = False
        self._has_repeated = False

    def __repr__(self) -> str:
        state = "answered" if self._result is not None else "closed" if self._closed else "open"
        return f"<{type(self).__name__} of {self._request.method}, {state}>"

    @property
    def reply(self) -> T:
        """The reply, available when the loop has ended.

        Raises:
            RequestCancelledError: The loop has not ended, or was left early.
            FrameInvalidError: A field of the reply is missing.
        """
        if self._result is None:
            raise RequestCancelledError(
                f"{self._request.method} has no reply: its steps were not iterated to the end"
            )
        return self._request.parse_reply(self._result)

    def _is_finished(self) -> bool:
        """Return whether no further step will come."""
        return self._closed or self._result is not None

    def _check_repeat(self, error: MemdError) -> None:
        """Record that the request is sent again, or raise the error if it must not be."""
        if self._closed or self._has_repeated or not self._request.can_repeat(error):
            raise error
        self._has_repeated = True
