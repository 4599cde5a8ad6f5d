"""Blocking wrappers of the asyncio and trio clients, for tests that all clients share."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import trio

from memd_client import aio
from memd_client import trio as trio_client

LOOP_TIMEOUT_S = 120.0
"""How long a test waits for an event loop before it fails."""


class LoopTask:
    """Work in an event loop that another thread can cancel or wait for."""

    def __init__(self) -> None:
        self.cancel: Callable[[], object] = lambda: None
        self.was_cancelled = False
        self._over = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None

    async def run(self, work: Callable[[], Awaitable[Any]]) -> None:
        """Run the work in the loop and store its result or error."""
        try:
            self._value = await work()
        except (asyncio.CancelledError, trio.Cancelled):
            self.was_cancelled = True
            raise
        except BaseException as error:  # noqa: BLE001 - raised again in the test's thread
            self._error = error
        finally:
            self.over()

    def over(self) -> None:
        """Mark the work as finished."""
        self._over.set()

    def result(self) -> Any:
        """Wait for the work; return its result or raise its error."""
        assert self._over.wait(LOOP_TIMEOUT_S), "the loop did not answer"
        if self._error is not None:
            raise self._error
        return self._value


class BlockingLoopClient:
    """A client in an event loop of its own thread; its methods are called as blocking ones."""

    kind: Any

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.client = self.kind(*arguments, **options)
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._guarded, daemon=True)
        self._thread.start()
        assert self._ready.wait(LOOP_TIMEOUT_S)

    def __enter__(self) -> BlockingLoopClient:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self.client)

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self.start(name, *args, **kwargs).result()

    def start(self, name: str, *args: Any, **kwargs: Any) -> LoopTask:
        """Call a method of the client without waiting."""
        return self.submit(lambda: getattr(self.client, name)(*args, **kwargs))

    def submit(self, work: Callable[[], Awaitable[Any]]) -> LoopTask:
        """Run work in a task of the loop."""
        raise NotImplementedError

    def follow(self, ask: Any) -> BlockingStream:
        """Return the client's stream as a blocking stream."""
        return BlockingStream(self, self.client.follow(ask))

    def subscribe(self, *args: Any, **kwargs: Any) -> BlockingStream:
        """Return the client's stream as a blocking stream."""
        return BlockingStream(self, self.client.subscribe(*args, **kwargs))

    def close(self) -> None:
        """Leave the client's `async with` block and end the loop. Idempotent."""
        if self._thread.is_alive():
            self._leave()
        self._thread.join(LOOP_TIMEOUT_S)
        assert not self._thread.is_alive(), "the client's block did not end"
        if self._failure is not None:
            raise self._failure

    def _leave(self) -> None:
        raise NotImplementedError

    def _run(self) -> None:
        raise NotImplementedError

    def _guarded(self) -> None:
        try:
            self._run()
        except BaseException as error:  # noqa: BLE001 - raised again by close
            self._failure = error
        finally:
            self._ready.set()


class BlockingStream:
    """A blocking stream over an asynchronous one; each step runs in a task of its own."""

    def __init__(self, shell: BlockingLoopClient, stream: Any) -> None:
        self._shell = shell
        self.stream = stream

    def __enter__(self) -> BlockingStream:
        self._shell.submit(self.stream.__aenter__).result()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._shell.submit(lambda: self.stream.__aexit__(None, None, None)).result()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        async def take() -> tuple[bool, Any]:
            try:
                return True, await self.stream.__anext__()
            except StopAsyncIteration:
                return False, None

        has_step, step = self._shell.submit(take).result()
        if not has_step:
            raise StopIteration
        return step

    def close(self) -> None:
        """Close the stream in its loop."""

        async def close() -> None:
            self.stream.close()

        self._shell.submit(close).result()

    @property
    def reply(self) -> Any:
        """The stream's reply."""
        return self.stream.reply

    @property
    def dropped(self) -> int:
        """The stream's number of dropped events."""
        dropped: int = self.stream.dropped
        return dropped


class BlockingAsyncioClient(BlockingLoopClient):
    """The asyncio client as a blocking one."""

    kind = aio.AsyncioClient

    def _run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        async with self.client:
            self._ready.set()
            await self._stop.wait()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _leave(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)

    def submit(self, work: Callable[[], Awaitable[Any]]) -> LoopTask:
        """Run work in a task of the loop."""
        handle = LoopTask()

        def begin() -> None:
            task = self._loop.create_task(handle.run(work))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(
                lambda _: handle.over()
            )  # a task cancelled before its first step does not run
            tasks.append(task)

        tasks: list[asyncio.Task[None]] = []
        handle.cancel = lambda: self._loop.call_soon_threadsafe(lambda: tasks[0].cancel())
        self._loop.call_soon_threadsafe(begin)
        return handle


class BlockingTrioClient(BlockingLoopClient):
    """The trio client as a blocking one."""

    kind = trio_client.TrioClient

    def _run(self) -> None:
        trio.run(self._main)

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._stop = trio.Event()
        async with trio.open_nursery() as self._nursery, self.client:
            self._ready.set()
            await self._stop.wait()

    def _leave(self) -> None:
        self._token.run_sync_soon(self._stop.set)

    def submit(self, work: Callable[[], Awaitable[Any]]) -> LoopTask:
        """Run work in a task of the loop."""
        handle = LoopTask()
        scope = trio.CancelScope()
        handle.cancel = lambda: self._token.run_sync_soon(scope.cancel)

        async def scoped() -> None:
            with scope:
                await handle.run(work)

        self._token.run_sync_soon(self._nursery.start_soon, scoped)
        return handle
