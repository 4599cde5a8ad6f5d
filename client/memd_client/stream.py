"""What a request tells while it runs, as an iterator: progress with the reply at its end, or events."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .ask import Ask, Running, Step, T
from .errors import MemdError, RequestCancelledError
from .exchange import Exchange
from .link import Link

TYPE_CHECKING = False  # typing's own costs a client 6 ms at import; type checkers know the name
if TYPE_CHECKING:
    from typing import Any


class Stream(Running[Step, T]):
    """A request under way: an iterator over its steps, and a context manager.

    It is sent when the block begins, or with the first step taken. Leaving the block, or `close` from any
    thread, cancels it if it still runs; the loop ends then. One thread iterates.

    Args:
        connected: Returns a connection that isn't known to be broken.
        ask: The request.
        agent: The client's own agent.
        timeout_s: The client's own patience, in seconds.

    Iterating raises what the daemon answered, `DeadlineExceededError` and `ConnectionLostError`.
    """

    def __init__(
        self, connected: Callable[[], Link], ask: Ask[T], agent: str | None, timeout_s: float | None
    ) -> None:
        super().__init__(ask, agent, timeout_s)
        self._connected = connected
        self._link: Link | None = None
        self._exchange = Exchange(self._wait_s, ask.renew)

    @property
    def dropped(self) -> int:
        """How many steps were dropped on this side, the oldest first, since they were taken too slowly."""
        return self._exchange.dropped

    def __enter__(self) -> Stream[Step, T]:
        try:
            self._repeating(self._begin)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel the request if it still runs, and end the loop. Idempotent; from any thread."""
        self._closed = True
        if self._link is not None:
            self._link.end(self._exchange)

    def __iter__(self) -> Iterator[Step]:
        return self

    def __next__(self) -> Step:
        if self._is_over():
            raise StopIteration
        try:
            step: Step | None = self._repeating(self._take)
        except BaseException as error:
            was_closed = self._closed
            self.close()
            if was_closed and isinstance(error, RequestCancelledError):
                raise StopIteration from None
            raise
        if step is None or self._closed:
            self.close()
            raise StopIteration
        return step

    def _repeating(self, do: Callable[[], Any]) -> Any:
        """Do it, and once more over a new connection where that may be."""
        try:
            return do()
        except MemdError as error:
            self._repeat_or_raise(error)
        if self._link is not None:
            self._link.end(self._exchange)
            self._link = None
        return do()

    def _begin(self) -> None:
        """Send the request, unless it was."""
        if self._link is None:
            link = self._connected()
            self._exchange = Exchange(self._wait_s, self._ask.renew)
            self._link = link  # before the sending: whatever interrupts it finds the way to `end`
            link.begin(self._exchange, self._ask.method, self._params)
            if self._closed:  # by another thread, meanwhile
                link.end(self._exchange)

    def _take(self) -> Any:
        """Return the next step, or None when the reply is there."""
        self._begin()
        assert self._link is not None
        step = self._link.step(self._exchange)
        if step is None:
            self._result = self._exchange.result()
        return step
