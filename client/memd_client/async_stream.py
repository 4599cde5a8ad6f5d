"""An asynchronous iterator over a running request: `stream.Stream` for event loops."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from .async_connection import AsyncConnection, AsyncExchange
from .errors import MemdError, RequestCancelledError
from .prepared_request import PreparedRequest, Step, StreamState, T


class AsyncStream(StreamState[Step, T]):
    """A running request: an asynchronous iterator over its steps, and an asynchronous context manager.

    It is sent when the block begins, or with the first step. Leaving the block, or `close` from any task, cancels it if
    it still runs; the loop ends then. Only one task may iterate. Leaving a loop without a block around it leaves the
    request running.

    Args:
        connected: Returns a connection that isn't known to be broken.
        until: Converts seconds from now to a time on the loop's clock; None to None.
        wait_for_step: Waits for a step or the outcome of a request, until such a time.
        request: The request.
        agent: The client's own agent.
        timeout_s: The client's `timeout_s`.

    Iterating raises the daemon's error, `DeadlineExceededError` and `ConnectionLostError`.

    *Cancellation*: the request is cancelled at the daemon; the connection stays open.
    """

    def __init__(
        self,
        connected: Callable[[], Awaitable[AsyncConnection]],
        until: Callable[[float | None], float | None],
        wait_for_step: Callable[[AsyncConnection, AsyncExchange, float | None], Awaitable[None]],
        request: PreparedRequest[T],
        agent: str | None,
        timeout_s: float | None,
    ) -> None:
        super().__init__(request, agent, timeout_s)
        self._connected = connected
        self._until = until
        self._wait_for_step = wait_for_step
        self._connection: AsyncConnection | None = None
        self._waiting = AsyncExchange()
        self._deadline: float | None = None

    @property
    def dropped(self) -> int:
        """How many steps the client dropped, oldest first, because they were iterated too slowly."""
        return self._waiting.dropped

    async def __aenter__(self) -> AsyncStream[Step, T]:
        try:
            await self._with_retry(self._begin)
        except BaseException:
            self.close()
            raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel the request if it still runs, and end the loop. Idempotent; it doesn't wait."""
        self._closed = True
        if self._connection is not None:
            self._connection.end(self._waiting)

    def __aiter__(self) -> AsyncIterator[Step]:
        return self

    async def __anext__(self) -> Step:
        if self._is_finished():
            raise StopAsyncIteration
        try:
            step: Step | None = await self._with_retry(self._take)
        except BaseException as error:
            was_closed = self._closed
            self.close()
            if was_closed and isinstance(error, RequestCancelledError):
                raise StopAsyncIteration from None
            raise
        if step is None or self._closed:
            self.close()
            raise StopAsyncIteration
        return step

    async def _with_retry(self, do: Callable[[], Awaitable[Any]]) -> Any:
        """Call a function, and call it again over a new connection if the request may be repeated."""
        try:
            return await do()
        except MemdError as error:
            self._check_repeat(error)
        if self._connection is not None:
            self._connection.end(self._waiting)
            self._connection = None
        return await do()

    async def _begin(self) -> None:
        """Send the request if it has not been sent."""
        if self._connection is not None:
            return
        connection = await self._connected()
        if self._closed:  # by another task, meanwhile
            raise RequestCancelledError("the request was cancelled before it was sent")
        self._waiting = AsyncExchange()
        self._connection = connection
        connection.begin(self._waiting, self._request.method, self._params)
        self._deadline = self._until(self._timeout_s)

    async def _take(self) -> Any:
        """Return the next step; None when the reply has arrived."""
        await self._begin()
        assert self._connection is not None
        if self._request.renews_deadline:
            self._deadline = self._until(self._timeout_s)
        await self._wait_for_step(self._connection, self._waiting, self._deadline)
        step = self._waiting.pop_step()
        if step is None:
            self._result = self._waiting.result()
        return step
