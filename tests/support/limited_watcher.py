"""A process whose watcher meets a system limit temporarily.

Run as `python -m tests.support.limited_watcher LIMIT FOLDER`; it exits with 0 on success.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import trio

from memd.sources.watch.watcher import Watcher
from tests.support.watching import (
    STEP_S,
    HintRecorder,
    WatchedAgent,
    count_watched,
    wait_for_state,
    workspace_at,
)

USER_LIMITS = Path("/proc/sys/user")
"""Limits of this process's user namespace, which override the system's."""


class DescriptorLimit:
    """The process may open `spare` more files. `blind`: none, not even to list a folder."""

    says = "no file descriptors left"

    def __init__(self, spare: int) -> None:
        self._spare = spare
        self._held: list[int] = []
        self.blind = spare == 0
        self.stops_events = False  # inotify is already open

    def take(self) -> None:
        """Open files up to the limit, then close some."""
        try:
            while True:
                self._held.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            for _ in range(self._spare):
                os.close(self._held.pop())

    def release(self) -> None:
        """Close the files."""
        while self._held:
            os.close(self._held.pop())


class UserLimit:
    """The user may have few of a resource."""

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
        """Remove the limit."""
        self._path.write_text("1000")


LIMITS: dict[str, Callable[[], DescriptorLimit | UserLimit]] = {
    "descriptors": lambda: DescriptorLimit(0),
    "few-descriptors": lambda: DescriptorLimit(1),
    "instances": lambda: UserLimit(
        "max_inotify_instances", 0, "fs.inotify.max_user_instances", stops_events=False
    ),
    "watches": lambda: UserLimit("max_inotify_watches", 2, "fs.inotify.max_user_watches", stops_events=True),
}


class LimitedWatcher:
    """A watcher, and one note that is opened early, since the limit may prevent it later."""

    def __init__(self, workspace: Path, limit: DescriptorLimit | UserLimit) -> None:
        self.workspace = workspace
        self.limit = limit
        self.heard = HintRecorder()
        self.watcher = Watcher(
            self.heard, clock=lambda: 1, step_s=STEP_S, poll_s=0.05, retry_s=0.5, recheck_s=0.5
        )
        self.heard.follow(self.watcher, WatchedAgent("ann", workspace))
        self._note = os.open(workspace / "memory" / "note.md", os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    async def is_polled(self) -> None:
        """Check that polling took over, reports why, and finds changes in readable folders."""
        await wait_for_state(lambda: self.watcher.state("ann").mode == "polling")
        assert self.limit.says in self.watcher.state("ann").reason, self.watcher.state("ann").reason
        if not self.limit.blind:
            await self.is_followed()

    async def is_followed(self) -> None:
        """Check that a change is noticed."""
        os.write(self._note, b"more")
        await self.heard.next("ann")

    async def has_recovered(self, folders: int) -> None:
        """Check that events are back, for as many folders, after the limit is removed."""
        self.limit.release()
        await wait_for_state(
            lambda: self.watcher.state("ann").mode == "events" and count_watched(self.watcher) == folders
        )
        await self.is_followed()


async def check_recovery(workspace: Path, limit: DescriptorLimit | UserLimit) -> None:
    """Start with the limit, remove it, and set it again for a new folder."""
    scene = LimitedWatcher(workspace, limit)
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
    trio.run(check_recovery, workspace_at(Path(sys.argv[2])), LIMITS[sys.argv[1]]())
