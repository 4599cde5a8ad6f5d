"""One request of a link: what has arrived for it, until when it waits, and the thread that does."""

from __future__ import annotations

import threading
import time

from .inbox import Inbox
from .unix_socket import seconds_left


class Exchange(Inbox):
    """One request of a link. One thread waits for it; any thread may end it.

    Args:
        timeout_s: How long to wait, in seconds; None waits as long as the connection lives.
        renew: Every step starts the time anew.
    """

    __slots__ = ("asleep", "id", "news", "renew", "since", "timeout_s")

    def __init__(self, timeout_s: float | None, renew: bool = False) -> None:
        super().__init__()
        self.timeout_s = timeout_s
        self.renew = renew
        self.since = time.monotonic()
        self.id = 0
        self.news: threading.Condition | None = None
        self.asleep = False

    def deadline(self) -> float | None:
        """Return the moment (monotonic) its time is up."""
        return None if self.timeout_s is None else self.since + self.timeout_s

    def wake(self) -> None:
        """Wake the thread that waits for it. The link's lock is held."""
        if self.news is not None:
            self.news.notify()

    def sleep(self) -> None:
        """Wait for news or for the reading. The link's lock is held.

        Raises:
            DeadlineExceededError: Its time is up.
        """
        if self.news is not None:
            self.asleep = True
            try:
                self.news.wait(seconds_left(self.deadline()))
            finally:
                self.asleep = False
