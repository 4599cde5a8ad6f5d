"""One request of a threaded connection: its inbox, its deadline and the waiting thread."""

from __future__ import annotations

import threading
import time

from .inbox import Inbox
from .unix_socket import seconds_left


class Exchange(Inbox):
    """One request of a connection. One thread waits for it; any thread may end it.

    Args:
        timeout_s: The longest wait, in seconds; None: until the connection breaks.
        renews_deadline: Each step restarts the timeout.
    """

    __slots__ = ("asleep", "id", "news", "renews_deadline", "since", "timeout_s")

    def __init__(self, timeout_s: float | None, renews_deadline: bool = False) -> None:
        super().__init__()
        self.timeout_s = timeout_s
        self.renews_deadline = renews_deadline
        self.since = time.monotonic()
        self.id = 0
        self.news: threading.Condition | None = None
        self.asleep = False

    def deadline(self) -> float | None:
        """Return the monotonic time of the deadline; None without one."""
        return None if self.timeout_s is None else self.since + self.timeout_s

    def wake(self) -> None:
        """Wake the waiting thread. The caller holds the connection's lock."""
        if self.news is not None:
            self.news.notify()

    def sleep(self) -> None:
        """Wait for a step, the outcome, or the reading role. The caller holds the connection's lock.

        Raises:
            DeadlineExceededError: The deadline has passed.
        """
        if self.news is not None:
            self.asleep = True
            try:
                self.news.wait(seconds_left(self.deadline()))
            finally:
                self.asleep = False
