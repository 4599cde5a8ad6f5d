"""The page while it is open: its keys, its files, its way to the daemon, and who looks at it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import trio

from memd.page.assets import Assets
from memd.page.gateway import Gateway
from memd.page.keys import Keys, Session
from memd.page.page_limits import PageLimits


class Opening:
    """One opening of the page, from the first `show` until nobody looks any more."""

    def __init__(
        self, port: int, assets: Assets, gateway: Gateway, *, version: str, limits: PageLimits
    ) -> None:
        self.port = port
        self.assets = assets
        self.gateway = gateway
        self.version = version
        self.limits = limits
        self._keys = Keys(limits, trio.current_time)
        self._watching = 0
        self._answers_bytes = 0
        self._since = trio.current_time()
        self._news = trio.Event()

    def __repr__(self) -> str:
        return f"<Opening at port {self.port}, {self._watching} watching, {self._keys!r}>"

    @property
    def cookie(self) -> str:
        """The name of its cookie: a browser sends a host's cookies to all its ports, so each port has another name."""
        return f"memd-{self.port}"

    def link(self, agent: str | None) -> str:
        """Return a link to the page that works once."""
        self._note_use()
        return f"http://127.0.0.1:{self.port}/?token={self._keys.issue(agent)}"

    def enter(self, token: str) -> Session | None:
        """Return the session that a link becomes, None where it works no more."""
        session = self._keys.exchange(token)
        if session is not None:
            self._note_use()
        return session

    def session_of(self, key: str | None) -> Session | None:
        """Return the session of a cookie's value."""
        return None if key is None else self._keys.find(key)

    def cookie_header(self, session: Session) -> str:
        """Return the header that hands a session over. Without `Max-Age` it is gone with the browser."""
        return f"{self.cookie}={session.key}; Path=/; HttpOnly; SameSite=Strict"

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Count a page that is looked at inside the block."""
        self._watching += 1
        try:
            yield
        finally:
            self._watching -= 1
            self._note_use()

    @contextmanager
    def room_for(self, size: int) -> Iterator[bool]:
        """Take room for an answer of so many bytes inside the block, and say whether there is any."""
        has_room = not self._answers_bytes or self._answers_bytes + size <= self.limits.answers_bytes
        self._answers_bytes += size if has_room else 0
        try:
            yield has_room
        finally:
            self._answers_bytes -= size if has_room else 0

    async def wait_unwatched(self) -> None:
        """Return once nobody has looked for `unwatched_s`."""
        while (left_s := self._left_s()) > 0:
            self._news = trio.Event()
            with trio.move_on_after(left_s):
                await self._news.wait()

    def _left_s(self) -> float:
        """Return how long it stays open if nobody comes."""
        if self._watching:
            return math.inf
        return self._since + self.limits.unwatched_s - trio.current_time()

    def _note_use(self) -> None:
        """Keep in mind that somebody was here just now."""
        self._since = trio.current_time()
        self._news.set()
