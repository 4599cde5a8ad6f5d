"""Who may see the page: links that work once, and the sessions they become."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from memd.page.page_limits import PageLimits

KEY_BYTES = 32
"""256 bits: nobody guesses one."""


@dataclass(frozen=True, slots=True, repr=False)
class Session:
    """A page that was opened: what its cookie holds, and the one agent it shows (None: all)."""

    key: str
    agent: str | None


@dataclass(frozen=True, slots=True, repr=False)
class _Link:
    """A link nobody opened yet."""

    key: str
    agent: str | None
    until: float


class _Keyed(Protocol):
    @property
    def key(self) -> str:
        """What it is known by."""


Held = TypeVar("Held", bound=_Keyed)


class Keys:
    """The links and sessions of one opening of the page; they are in memory alone."""

    def __init__(self, limits: PageLimits, now: Callable[[], float]) -> None:
        self._limits = limits
        self._now = now
        self._links: list[_Link] = []
        self._sessions: list[Session] = []

    def __repr__(self) -> str:
        return f"<Keys: {len(self._links)} links, {len(self._sessions)} sessions>"

    def issue(self, agent: str | None) -> str:
        """Return the key of a new link."""
        link = _Link(secrets.token_urlsafe(KEY_BYTES), agent, self._now() + self._limits.token_s)
        self._links = [*self._alive(), link][-self._limits.tokens :]
        return link.key

    def exchange(self, key: str) -> Session | None:
        """Return the session that a link becomes; None where it was opened before, is too old, or never was."""
        self._links = self._alive()
        link = _find(key, self._links)
        if link is None:
            return None
        self._links = [each for each in self._links if each is not link]
        session = Session(secrets.token_urlsafe(KEY_BYTES), link.agent)
        self._sessions = [*self._sessions, session][-self._limits.sessions :]
        return session

    def find(self, key: str) -> Session | None:
        """Return the session of a cookie, None where there is none."""
        return _find(key, self._sessions)

    def _alive(self) -> list[_Link]:
        """Return the links that can still be opened."""
        return [each for each in self._links if each.until > self._now()]


def _find(key: str, held: Iterable[Held]) -> Held | None:
    """Return what has a key. How long it takes tells nothing about how much of the key was right."""
    sought = key.encode("utf-8", "replace")
    found = None
    for each in held:
        if hmac.compare_digest(sought, each.key.encode()):
            found = each
    return found
