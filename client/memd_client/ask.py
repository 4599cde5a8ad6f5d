"""A request before it is sent (its name, its parameters, the type of its reply, how patient to be), and under way.

Nothing here waits or sends. `requests` makes these, a client's `call` and `follow` take them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .errors import ConnectionLostError, FrameInvalidError, IdleTimeoutError, MemdError, RequestCancelledError
from .messages import Progress
from .wire import from_wire, to_wire

TYPE_CHECKING = False  # typing's own costs a client 6 ms at import; type checkers know the name
if TYPE_CHECKING:
    from typing import Any, Generic, TypeVar

    OnProgress = Callable[[Progress], None]
    Step = TypeVar("Step")
    T = TypeVar("T")
else:
    Step = T = None

    class Generic:
        """Stands in for typing's: at run time a parameter means nothing."""

        def __class_getitem__(cls, _):
            return cls


LONG_SILENCE_S = 300.0
"""`index` and its like may take hours; they are given up after this long without progress."""

REPLY_S = 5.0
"""Added to a request's own deadline: the daemon keeps it, and its answer still has to arrive."""

ENDLESS = float("inf")
"""As `least_s`: the request has no deadline, however long it is silent."""


class Ask(Generic[T]):
    """A request, ready to be sent by any client.

    Args:
        method: Its name in `messages.REQUESTS`.
        params: Its parameters, a record.
        reply: The type of its reply.
        least_s: How many seconds it is given at least, whatever the client's `timeout_s` is.
        renew: Every progress starts its time anew.
        on_progress: Called with every progress, in the thread or task that waits.
        own_agent: The client's own agent is meant where the parameters name none.
        repeatable: Doing it twice does what doing it once does, so that it is sent once more where its
            connection broke before the reply. Otherwise it is repeated only where it can't have arrived.
    """

    __slots__ = ("least_s", "method", "on_progress", "own_agent", "params", "renew", "repeatable", "reply")

    def __init__(
        self,
        method: str,
        params: Any,
        reply: type[T],
        *,
        least_s: float = 0.0,
        renew: bool = False,
        on_progress: OnProgress | None = None,
        own_agent: bool = True,
        repeatable: bool = True,
    ) -> None:
        self.method = method
        self.params = params
        self.reply = reply
        self.least_s = least_s
        self.renew = renew
        self.on_progress = on_progress
        self.own_agent = own_agent
        self.repeatable = repeatable

    def __repr__(self) -> str:
        return f"<Ask {self.method}>"

    def wire(self, agent: str | None) -> dict[str, Any]:
        """Return the parameters, ready for msgpack.

        Args:
            agent: The client's own agent.
        """
        params: dict[str, Any] = to_wire(self.params)
        if self.own_agent and "agent" in params:
            params["agent"] = params["agent"] or agent
        return params

    def wait_s(self, timeout_s: float | None) -> float | None:
        """Return how many seconds to wait for the reply (with `renew`, for the next sign of life); None: no end.

        Args:
            timeout_s: The client's own patience.
        """
        if timeout_s is None or self.least_s == ENDLESS:
            return None
        return max(timeout_s, self.least_s)

    def typed(self, result: Mapping[str, Any]) -> T:
        """Return a reply as its type.

        Raises:
            FrameInvalidError: A field is missing.
        """
        try:
            return from_wire(self.reply, result)
        except (TypeError, AttributeError) as error:
            raise FrameInvalidError(f"the daemon's reply to {self.method} is incomplete: {error}") from error

    def may_repeat(self, error: MemdError) -> bool:
        """Say whether to send it again over a new connection after this error."""
        if isinstance(error, IdleTimeoutError):
            return True  # the daemon closed before it read the request
        if not isinstance(error, ConnectionLostError):
            return False
        return self.repeatable or error.data.get("sent") is False


def long(
    method: str, params: Any, reply: type[T], on_progress: OnProgress | None, repeatable: bool = True
) -> Ask[T]:
    """Return a request that lives as long as it makes progress."""
    return Ask(
        method,
        params,
        reply,
        least_s=LONG_SILENCE_S,
        renew=True,
        on_progress=on_progress,
        repeatable=repeatable,
    )


class Running(Generic[Step, T]):
    """What the streams of all clients share.

    Args:
        ask: The request.
        agent: The client's own agent.
        timeout_s: The client's own patience, in seconds.
    """

    def __init__(self, ask: Ask[T], agent: str | None, timeout_s: float | None) -> None:
        self._ask = ask
        self._params = ask.wire(agent)
        self._wait_s = ask.wait_s(timeout_s)
        self._result: Mapping[str, Any] | None = None
        self._closed = False
        self._has_repeated = False

    def __repr__(self) -> str:
        state = "answered" if self._result is not None else "closed" if self._closed else "open"
        return f"<{type(self).__name__} of {self._ask.method}, {state}>"

    @property
    def reply(self) -> T:
        """The reply, once the loop is over.

        Raises:
            RequestCancelledError: There is none: the loop was left, or isn't over.
            FrameInvalidError: The daemon left something out.
        """
        if self._result is None:
            raise RequestCancelledError(
                f"{self._ask.method} has no reply: its steps were not taken to the end"
            )
        return self._ask.typed(self._result)

    def _is_over(self) -> bool:
        """Whether no step is to come."""
        return self._closed or self._result is not None

    def _repeat_or_raise(self, error: MemdError) -> None:
        """Note that the request is sent once more, or raise the error where it may not be."""
        if self._closed or self._has_repeated or not self._ask.may_repeat(error):
            raise error
        self._has_repeated = True
