"""The real page over the real door and a fake memory, in a thread of its own, on a clock that a test moves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import trio
from trio.testing import MockClock

from memd.page.owner import Address
from memd.page.page_limits import PageLimits
from memd.page.server import PageServer
from memd.rpc.server import serve
from memd_client import Client
from tests.support.page_visitor import Visitor
from tests.support.sockets import PATIENCE_S, ServerThread, wait_until


class PageThread(ServerThread):
    """A server that shows the page as well."""

    def __init__(
        self,
        path: Path,
        *,
        folder: Path | None = None,
        page_limits: PageLimits | None = None,
        may_enter: Callable[[Address, Address], bool] = lambda ours, theirs: True,
    ) -> None:
        super().__init__(path)
        self.clock = MockClock()
        self.page = PageServer(
            "9.9", folder=folder or path.parent / "static", limits=page_limits, may_enter=may_enter
        )
        self.facts.show = self.page.show

    def __enter__(self) -> PageThread:
        super().__enter__()
        return self

    def _run(self) -> None:
        try:
            trio.run(self._main, clock=self.clock)
        except BaseException as error:  # noqa: BLE001 - raised again in the test's thread
            self._failure = error
        finally:
            self._ready.set()

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        with self._scope:
            async with trio.open_nursery() as nursery:
                await nursery.start(
                    self.page.run, await nursery.start(serve, self.path, self.memory, self.facts)
                )
                self._ready.set()

    def link(self, agent: str | None = None) -> str:
        """Return the address of the page."""
        with Client(self.path) as client:
            return client.show(agent).url

    def visitor(self, agent: str | None = None) -> Visitor:
        """Return somebody who has opened the page."""
        return Visitor(self.link(agent)).enter()

    def pass_time(self, seconds: float) -> None:
        """Let so many seconds pass at once, when everything that could be done was."""
        passed = threading.Event()

        async def jump() -> None:
            await trio.testing.wait_all_tasks_blocked(0.01)
            self.clock.jump(seconds)
            await trio.testing.wait_all_tasks_blocked(0.01)
            passed.set()

        self._token.run_sync_soon(trio.lowlevel.spawn_system_task, jump)
        assert passed.wait(PATIENCE_S)

    def wait_closed(self) -> None:
        """Wait until nobody can connect any more."""
        wait_until(lambda: "closed" in repr(self.page))
