"""`stream.Stream` for event loops: what a request tells while it runs, as an asynchronous iterator."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from .ask import Ask, Running, Step, T
from .errors import MemdError, RequestCancelledError
from .traffic import Traffic, Waiting

TYPE_CHECKING = False  # typing's own costs a client 6 ms at import; type checkers know the name
if TYPE_CHECKING:
    from typing import Any


class AsyncStream(Running[Step, T]):
    """A request under way: an asynchronous iterator over its steps, and an asynchronous context manager.

    It is sent when the block begins, or with the first step taken. Leaving the block, or `close` from any task,
    cancels it if it still runs; the loop ends then. One task iterates. A loop that is left without a block around it
    leaves the request running.

    Args:
        connected: Returns a connection that isn't known to be broken.
        until: Returns the moment, on the loop's clock, that is so many seconds away; None for None.
        news: Waits for news of a request until such a moment.
        ask: The request.
        agent: The client's own agent.
        timeout_s: The client's own patience, in seconds.

    Iterating raises what the daemon answered, `DeadlineExceededError` and `ConnectionLostError`.

    *Cancellation*: the daemon is told to stop the request; the connection goes on.
    """

    def __init__(
        self,
        connected: Callable[[], Awaitable[Traffic]],
        until: Callable[[float | None], float | None],
        news: Callable[[Traffic, Waiting, float | None], Awaitable[None]],
        ask: Ask[T],
        agent: str | None,
        timeout_s: float | None,
    ) -> None:
        super().__init__(ask, agent, timeout_s)
        self._connected = connected
        self._until = until
        self._news = news
        self._traffic: Traffic | None = None
        self._waiting = Waiting()
        self._deadline: float | None = None

    @property
    def dropped(self) -> int:
        """How many steps were dropped on this side, the oldest first, since they were taken too slowly."""
        return self._waiting.dropped

    async def __aenter__(self) -> AsyncStream[Step, T]:
        try:
            await self._repeating(self._begin)
        except BaseException:
            self.close()
            raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel the request if it still runs, and end the loop. Idempotent; it doesn't wait."""
        self._closed = True
        if self._traffic is not None:
            self._traffic.end(self._waiting)

    def __aiter__(self) -> AsyncIterator[Step]:
        return self

    async def __anext__(self) -> Step:
        if self._is_over():
            raise StopAsyncIteration
        try:
            step: Step | None = await self._repeating(self._take)
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

    async def _repeating(self, do: Callable[[], Awaitable[Any]]) -> Any:
        """Do it, and once more over a new connection where that may be."""
        try:
            return await do()
        except MemdError as error:
            self._repeat_or_raise(error)
        if self._traffic is not None:
            self._traffic.end(self._waiting)
            self._traffic = None
        return await do()

    async def _begin(self) -> None:
        """Send the request, unless it was."""
        if self._traffic is not None:
            return
        traffic = await self._connected()
        if self._closed:  # by another task, meanwhile
            raise RequestCancelledError("the request was given up before it was sent")
        self._waiting = Waiting()
        self._traffic = traffic
        traffic.begin(self._waiting, self._ask.method, self._params)
        self._deadline = self._until(self._wait_s)

    async def _take(self) -> Any:
        """Return the next step, or None when the reply is there."""
        await self._begin()
        assert self._traffic is not None
        if self._ask.renew:
            self._deadline = self._until(self._wait_s)
        await self._news(self._traffic, self._waiting, self._deadline)
        step = self._waiting.next_step()
        if step is None:
            self._result = self._waiting.result()
        return step
