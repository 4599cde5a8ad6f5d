"""One read under way, so that it can be interrupted and nothing else is."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from memd.index.database import Database


@dataclass(eq=False, slots=True)
class Read:
    """A read that runs in a thread, on a connection of its own while it runs."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    db: Database | None = None
    stopped: bool = False

    def stop(self) -> None:
        """Interrupt its statement, and those it still has to begin."""
        self.stopped = True
        with self.lock:
            if self.db is not None:
                self.db.interrupt()

    def is_stopped(self) -> bool:
        """Answer SQLite, which asks in the midst of a statement whether to end it."""
        return self.stopped
