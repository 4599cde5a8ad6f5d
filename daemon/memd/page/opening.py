"""One opening of the page: links that work once, their sessions, and how long the page stays open."""

from __future__ import annotations

import hmac
import math
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import trio

from memd.page.access import PageLimits
from memd.page.answers import Assets
from memd.page.gateway import Gateway

KEY_BYTES = 32
"""256 bits: impossible to guess."""


@dataclass(frozen=True, slots=True, repr=False)
class PageSession:
    """A link, or the page it opened: its secret key, and the one agent it shows (None: all)."""

    key: str
    agent: str | None
    until: float = math.inf


class Keys:
    """The links and sessions of one opening of the page, in RAM only."""

    def __init__(self, limits: PageLimits, now: Callable[[], float]) -> None:
        self._limits = limits
        self._now = now
        self._links: list[PageSession] = []
        self._sessions: list[PageSession] = []

    def __repr__(self) -> str:
        return f"<Keys: {len(self._links)} links, {len(self._sessions)} sessions>"

    def issue(self, agent: str | None) -> str:
        """Return the key of a new link."""
        link = PageSession(secrets.token_urlsafe(KEY_BYTES), agent, self._now() + self._limits.token_s)
        self._links = [*self._alive(), link][-self._limits.tokens :]
        return link.key

    def exchange(self, key: str) -> PageSession | None:
        """Return the session of a link; None if the link was used, has expired or is unknown."""
        self._links = self._alive()
        link = _find(key, self._links)
        if link is None:
            return None
        self._links = [each for each in self._links if each is not link]
        session = PageSession(secrets.token_urlsafe(KEY_BYTES), link.agent)
        self._sessions = [*self._sessions, session][-self._limits.sessions :]
        return session

    def find(self, key: str) -> PageSession | None:
        """Return the session of a cookie; None if there is none."""
        return _find(key, self._sessions)

    def _alive(self) -> list[PageSession]:
        """Return the links that have not expired."""
        return [each for each in self._links if each.until > self._now()]


def _find(key: str, sessions: Iterable[PageSession]) -> PageSession | None:
    """Return the session with a key, in constant time."""
    sought = key.encode("utf-8", "replace")
    found = None
    for each in sessions:
        if hmac.compare_digest(sought, each.key.encode()):
            found = each
    return found


class Opening:
    """One opening of the page, from the first `show` until no browser has used it for a while."""

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
        self._used = trio.Event()

    def __repr__(self) -> str:
        return f"<Opening at port {self.port}, {self._watching} watching, {self._keys!r}>"

    @property
    def cookie(self) -> str:
        """The name of its cookie, with the port, because browsers send a host's cookies to all its ports."""
        return f"memd-{self.port}"

    def link(self, agent: str | None) -> str:
        """Return a link to the page that works once."""
        self._note_use()
        return f"http://127.0.0.1:{self.port}/?token={self._keys.issue(agent)}"

    def enter(self, token: str) -> PageSession | None:
        """Return the session of a link; None if the link is not valid any more."""
        session = self._keys.exchange(token)
        if session is not None:
            self._note_use()
        return session

    def session_of(self, key: str | None) -> PageSession | None:
        """Return the session of a cookie's value."""
        return None if key is None else self._keys.find(key)

    def cookie_header(self, session: PageSession) -> str:
        """Return the header that sets a session's cookie. Without `Max-Age` it ends with the browser."""
        return f"{self.cookie}={session.key}; Path=/; HttpOnly; SameSite=Strict"

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Count a page as in use inside the block."""
        self._watching += 1
        try:
            yield
        finally:
            self._watching -= 1
            self._note_use()

    @contextmanager
    def reserve(self, size: int) -> Iterator[bool]:
        """Reserve bytes for a reply inside the block, and yield whether they are available."""
        has_room = not self._answers_bytes or self._answers_bytes + size <= self.limits.answers_bytes
        self._answers_bytes += size if has_room else 0
        try:
            yield has_room
        finally:
            self._answers_bytes -= size if has_room else 0

    async def wait_unwatched(self) -> None:
        """Wait until no page has been in use for `unwatched_s`."""
        while (left_s := self._left_s()) > 0:
            self._used = trio.Event()
            with trio.move_on_after(left_s):
                await self._used.wait()

    def _left_s(self) -> float:
        """Return the seconds until it closes without use."""
        if self._watching:
            return math.inf
        return self._since + self.limits.unwatched_s - trio.current_time()

    def _note_use(self) -> None:
        """Record that it is in use now."""
        self._since = trio.current_time()
        self._used.set()
