"""An iterator over a running request: its progress, with the reply at the end, or events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .errors import MemdError, RequestCancelledError
from .exchange import Exchange
from .prepared_request import PreparedRequest, Step, StreamState, T
from .threaded_connection import ThreadedConnection


class Stream(StreamState[Step, T]):
    """A running request: an iterator over its steps, and a context manager.

    It is sent when the block begins, or with the first step. Leaving the block, or `close` from any thread, cancels it
    if it still runs; the loop ends then. Only one thread may iterate.

    Args:
        connected: Returns a connection that isn't known to be broken.
        request: The request.
        agent: The client's own agent.
        timeout_s: The client's `timeout_s`.

    Iterating raises the daemon's error, `DeadlineExceededError` and `ConnectionLostError`.
    """

    def __init__(
        self,
        connected: Callable[[], ThreadedConnection],
        request: PreparedRequest[T],
        agent: str | None,
        timeout_s: float | None,
    ) -> None:
        super().__init__(request, agent, timeout_s)
        self._connected = connected
        self._connection: ThreadedConnection | None = None
        self._exchange = Exchange(self._timeout_s, request.renews_deadline)

    @property
    def dropped(self) -> int:
        """How many steps the client dropped, oldest first, because they were iterated too slowly."""
        return self._exchange.dropped

    def __enter__(self) -> Stream[Step, T]:
        try:
            self._with_retry(self._begin)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel the request if it still runs, and end the loop. Idempotent; from any thread."""
        self._closed = True
        if self._connection is not None:
            self._connection.end(self._exchange)

    def __iter__(self) -> Iterator[Step]:
        return self

    def __next__(self) -> Step:
        if self._is_finished():
            raise StopIteration
        try:
            step: Step | None = self._with_retry(self._take)
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

    def _with_retry(self, do: Callable[[], Any]) -> Any:
        """Call a function, and call it again over a new connection if the request may be repeated."""
        try:
            return do()
        except MemdError as error:
            self._check_repeat(error)
        if self._connection is not None:
            self._connection.end(self._exchange)
            self._connection = None
        return do()

    def _begin(self) -> None:
        """Send the request if it has not been sent."""
        if self._connection is None:
            connection = self._connected()
            self._exchange = Exchange(self._timeout_s, self._request.renews_deadline)
            self._connection = connection  # before sending, so that an interrupt leads to `end`
            connection.begin(self._exchange, self._request.method, self._params)
            if self._closed:  # by another thread, meanwhile
                connection.end(self._exchange)

    def _take(self) -> Any:
        """Return the next step; None when the reply has arrived."""
        self._begin()
        assert self._connection is not None
        step = self._connection.step(self._exchange)
        if step is None:
            self._result = self._exchange.result()
        return step
