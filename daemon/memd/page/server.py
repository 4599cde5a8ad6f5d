"""The page's server: a port of 127.0.0.1, open only while a browser uses it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from memd.page.access import Address, PageLimits, is_owned_by_user
from memd.system.log import log
from memd_client.errors import PageUnavailableError, ShuttingDownError
from memd_client.messages import OpenPageReply
from memd_client.trio import TrioClient
from memd_client.usage import PAGE_CLIENT

if (
    TYPE_CHECKING
):  # HTTP takes a megabyte of RAM, and most daemons never serve the page: it is imported on demand
    from memd.page.opening import Opening
    from memd.page.visit import Visit

HOST = "127.0.0.1"

OWNER_THREADS = 2
"""Threads that look up the owners of connections in the system's lists."""


class PageServer:
    """Serves the page on demand."""

    def __init__(
        self,
        version: str,
        *,
        folder: Path | None = None,
        limits: PageLimits | None = None,
        is_owned_by_user: Callable[[Address, Address], bool] = is_owned_by_user,
    ) -> None:
        self._version = version
        self._folder = folder
        self._limits = limits or PageLimits()
        self._may_enter = is_owned_by_user
        self._owner_threads = trio.CapacityLimiter(OWNER_THREADS)
        self._nursery: trio.Nursery | None = None
        self._socket = ""
        self._lock = trio.Lock()
        self._opening: Opening | None = None
        self._visits: dict[Visit, None] = {}

    def __repr__(self) -> str:
        return f"<PageServer {self._opening or 'closed'}, {len(self._visits)} connections>"

    async def run(
        self, socket: str, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Open the page whenever `show` requests it, until cancelled.

        *When it fails*: a failing page is closed and logged; nothing comes out of here.
        """
        self._socket = socket
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            task_status.started()
            try:
                await trio.sleep_forever()
            finally:
                self._nursery = None

    async def show(self, agent: str | None) -> OpenPageReply:
        """Open the page and return a link to it."""
        async with self._lock:
            if self._nursery is None:
                raise ShuttingDownError("the page is served while the daemon is")
            if self._opening is None:
                await self._nursery.start(self._serve)
            assert self._opening is not None
            return OpenPageReply(self._opening.link(agent), agent, int(self._limits.token_s))

    async def _serve(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve the page until no browser has used it for a while."""
        from memd.page.answers import FOLDER, load_assets
        from memd.page.gateway import Gateway
        from memd.page.opening import Opening

        try:
            assets = await trio.to_thread.run_sync(load_assets, self._folder or FOLDER)
            (listener,) = await trio.open_tcp_listeners(0, host=HOST)
        except OSError as error:
            raise PageUnavailableError(f"the page can't be opened: {error.strerror or error}") from None
        port = int(listener.socket.getsockname()[1])
        opening: Opening | None = None
        try:
            async with (
                listener,
                TrioClient(self._socket, state_dir="", client_name=PAGE_CLIENT) as client,
                trio.open_nursery() as nursery,
            ):
                opening = Opening(port, assets, Gateway(client), version=self._version, limits=self._limits)
                self._opening = opening
                nursery.start_soon(self._accept, listener, opening)
                log.info("page.opened", port=port)
                task_status.started()
                await opening.wait_unwatched()
                self._forget(opening)  # before any wait, so that `show` opens another one
                nursery.cancel_scope.cancel()
        except Exception:
            log.exception("page.crashed")
        finally:
            self._forget(opening)
            log.info("page.closed", port=port)

    def _forget(self, opening: Opening | None) -> None:
        """Issue no more links to an opening."""
        if self._opening is opening:
            self._opening = None

    async def _accept(self, listener: trio.SocketListener, opening: Opening) -> None:
        """Accept connections until cancelled."""

        async def admit(stream: trio.SocketStream) -> None:
            await self._admit(stream, opening)

        await trio.serve_listeners(admit, [listener])

    async def _admit(self, stream: trio.SocketStream, opening: Opening) -> None:
        """Serve one connection until it ends. Raises nothing but cancellation."""
        from memd.page.visit import Visit

        visit = Visit(stream, opening)
        try:
            if not self._evict_untrusted():
                await visit.refuse_busy()
                return
            self._visits[visit] = None
            try:
                if not await self._is_owners(stream):
                    log.warning("page.refused", reason="other_user")
                    return
                await visit.run()
            finally:
                del self._visits[visit]
        except Exception:
            log.exception("page.connection_crashed")
        finally:
            await trio.aclose_forcefully(stream)

    async def _is_owners(self, stream: trio.SocketStream) -> bool:
        """Return whether the connection belongs to the daemon's user."""
        try:
            ours, theirs = stream.socket.getsockname(), stream.socket.getpeername()
        except OSError:
            return False
        return await trio.to_thread.run_sync(
            self._may_enter, (ours[0], ours[1]), (theirs[0], theirs[1]), limiter=self._owner_threads
        )

    def _evict_untrusted(self) -> bool:
        """Return whether one more connection fits the limit; at the limit, close one without a session."""
        if len(self._visits) < self._limits.connections:
            return True
        eldest = next((each for each in self._visits if not (each.trusted or each.scope.cancel_called)), None)
        if eldest is None:
            return False
        eldest.scope.cancel()
        return True
