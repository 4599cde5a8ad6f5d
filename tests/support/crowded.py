"""A process in which a limit of the system is in the watcher's way, for a while.

Run as `python -m tests.support.crowded LIMIT FOLDER`; it ends with 0 when all went as promised.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import trio

from memd.sync.watch.watcher import Watcher, WatchPlan
from tests.support.watching import STEP_S, Heard, armed, reached, workspace_at

USER_LIMITS = Path("/proc/sys/user")
"""Limits of the user namespace this process runs in; they stand above those of the system."""


class Descriptors:
    """The process may open `spare` more files. `blind`: not even one, to look at a folder."""

    says = "no file descriptors left"

    def __init__(self, spare: int) -> None:
        self._spare = spare
        self._held: list[int] = []
        self.blind = spare == 0
        self.stops_events = False  # inotify is open by then

    def take(self) -> None:
        """Open files until there are no more, and give some back."""
        try:
            while True:
                self._held.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            for _ in range(self._spare):
                os.close(self._held.pop())

    def release(self) -> None:
        """Give back what was taken."""
        while self._held:
            os.close(self._held.pop())


class UserLimit:
    """The user may have few of something."""

    blind = False

    def __init__(self, name: str, few: int, says: str, *, stops_events: bool) -> None:
        self._path = USER_LIMITS / name
        self._few = few
        self.says = says
        self.stops_events = stops_events

    def take(self) -> None:
        """Set the limit."""
        self._path.write_text(str(self._few))

    def release(self) -> None:
        """Lift it."""
        self._path.write_text("1000")


LIMITS: dict[str, Callable[[], Descriptors | UserLimit]] = {
    "descriptors": lambda: Descriptors(0),
    "few-descriptors": lambda: Descriptors(1),
    "instances": lambda: UserLimit(
        "max_inotify_instances", 0, "fs.inotify.max_user_instances", stops_events=False
    ),
    "watches": lambda: UserLimit("max_inotify_watches", 2, "fs.inotify.max_user_watches", stops_events=True),
}


class Scene:
    """A watcher and one note that is open already, for there may be no way to open it later."""

    def __init__(self, workspace: Path, limit: Descriptors | UserLimit) -> None:
        self.workspace = workspace
        self.limit = limit
        self.heard = Heard()
        self.watcher = Watcher(
            self.heard, clock=lambda: 1, step_s=STEP_S, poll_s=0.05, retry_s=0.5, recheck_s=0.5
        )
        self.heard.follow(self.watcher, WatchPlan("ann", workspace))
        self._note = os.open(workspace / "memory" / "note.md", os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    async def is_polled(self) -> None:
        """Hold that polling took over, says why, and finds what it can look at."""
        await reached(lambda: self.watcher.state("ann").mode == "polling")
        assert self.limit.says in self.watcher.state("ann").reason, self.watcher.state("ann").reason
        if not self.limit.blind:
            await self.is_followed()

    async def is_followed(self) -> None:
        """Hold that a change is noticed."""
        os.write(self._note, b"more")
        await self.heard.next("ann")

    async def has_recovered(self, folders: int) -> None:
        """Hold that events are back, over as many folders, when the limit is out of the way."""
        self.limit.release()
        await reached(lambda: self.watcher.state("ann").mode == "events" and armed(self.watcher) == folders)
        await self.is_followed()


async def tell(workspace: Path, limit: Descriptors | UserLimit) -> None:
    """Start with the limit in the way; have it out of the way; have it come back for a new folder."""
    scene = Scene(workspace, limit)
    limit.take()
    async with trio.open_nursery() as nursery:
        await nursery.start(scene.watcher.run)
        await scene.is_polled()
        await scene.has_recovered(3)
        limit.take()
        (workspace / "memory" / "new").mkdir()
        if limit.stops_events:
            await scene.is_polled()
        else:
            await scene.is_followed()
        await scene.has_recovered(4)
        nursery.cancel_scope.cancel()
    scene.watcher.close()


if __name__ == "__main__":
    trio.run(tell, workspace_at(Path(sys.argv[2])), LIMITS[sys.argv[1]]())
