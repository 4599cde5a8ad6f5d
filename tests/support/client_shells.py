"""The asyncio and trio clients as blocking ones: a loop in a thread, and calls into it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import trio

from memd_client import aio
from memd_client import trio as trio_client

PATIENCE_S = 20.0
"""How long a test waits for a loop before it fails."""


class Handle:
    """Something that runs in a loop: cancelled, or waited for, from another thread."""

    def __init__(self) -> None:
        self.cancel: Callable[[], object] = lambda: None
        self.was_cancelled = False
        self._over = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None

    async def run(self, work: Callable[[], Awaitable[Any]]) -> None:
        """Do it in the loop and keep what came of it."""
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
        """Let `result` return."""
        self._over.set()

    def result(self) -> Any:
        """Wait, and return or raise what came of it."""
        assert self._over.wait(PATIENCE_S), "the loop did not answer"
        if self._error is not None:
            raise self._error
        return self._value


class LoopShell:
    """A client in a loop of its own. Methods of the client are called as if they blocked."""

    kind: Any

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.client = self.kind(*arguments, **options)
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._guarded, daemon=True)
        self._thread.start()
        assert self._ready.wait(PATIENCE_S)

    def __enter__(self) -> LoopShell:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self.client)

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self.start(name, *args, **kwargs).result()

    def start(self, name: str, *args: Any, **kwargs: Any) -> Handle:
        """Call a method of the client, and don't wait."""
        return self.submit(lambda: getattr(self.client, name)(*args, **kwargs))

    def submit(self, work: Callable[[], Awaitable[Any]]) -> Handle:
        """Do something in a task of the loop."""
        raise NotImplementedError

    def follow(self, ask: Any) -> StreamShell:
        """Return the client's stream as a blocking one."""
        return StreamShell(self, self.client.follow(ask))

    def subscribe(self, *args: Any, **kwargs: Any) -> StreamShell:
        """Return the client's stream as a blocking one."""
        return StreamShell(self, self.client.subscribe(*args, **kwargs))

    def close(self) -> None:
        """Leave the client's block and end the loop. Idempotent."""
        if self._thread.is_alive():
            self._leave()
        self._thread.join(PATIENCE_S)
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


class StreamShell:
    """A stream of an `async with` block as one of a `with` block; each step is taken in a task of its own."""

    def __init__(self, shell: LoopShell, stream: Any) -> None:
        self._shell = shell
        self.stream = stream

    def __enter__(self) -> StreamShell:
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
        """The stream's."""
        return self.stream.reply

    @property
    def dropped(self) -> int:
        """The stream's."""
        dropped: int = self.stream.dropped
        return dropped


class AsyncioShell(LoopShell):
    """The asyncio client."""

    kind = aio.Client

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

    def submit(self, work: Callable[[], Awaitable[Any]]) -> Handle:
        """Do something in a task of the loop."""
        handle = Handle()

        def begin() -> None:
            task = self._loop.create_task(handle.run(work))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(lambda _: handle.over())  # one cancelled before its first step never ran
            tasks.append(task)

        tasks: list[asyncio.Task[None]] = []
        handle.cancel = lambda: self._loop.call_soon_threadsafe(lambda: tasks[0].cancel())
        self._loop.call_soon_threadsafe(begin)
        return handle


class TrioShell(LoopShell):
    """The trio client."""

    kind = trio_client.Client

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

    def submit(self, work: Callable[[], Awaitable[Any]]) -> Handle:
        """Do something in a task of the loop."""
        handle = Handle()
        scope = trio.CancelScope()
        handle.cancel = lambda: self._token.run_sync_soon(scope.cancel)

        async def scoped() -> None:
            with scope:
                await handle.run(work)

        self._token.run_sync_soon(self._nursery.start_soon, scoped)
        return handle
