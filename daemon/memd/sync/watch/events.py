"""File events of many folders: one armed instance of watchfiles, what ends it, and what its events mean.

watchfiles can't take further folders, follows links it is given, and ends with one file name that is not
UTF-8; its owner arms another then.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from watchfiles import Change
from watchfiles._rust_notify import RustNotify

from memd.sync.disk.discover import NO_DESCRIPTOR
from memd.sync.disk.rules import is_walked
from memd.sync.watch.folders import Hint, Layout

STEP_MS = 250
"""How often watchfiles looks at what the kernel reported. It bounds how long a stop takes and sets what an
idle watcher costs."""

OWN_POLL_MS = 2000
"""For kernels without inotify, where watchfiles polls by itself."""

WATCH_DESCRIPTORS = 3
"""What an armed watch holds: an inotify instance, and two to wait for it and to be woken."""

INOTIFY_LIMITS = Path("/proc/sys/fs/inotify")

RawChange = tuple[int, str]
"""A `watchfiles.Change` and a path."""


class EventsFailed(Exception):
    """File events can't be had.

    `is_limit`: not before somebody lets go of something or raises a limit. `is_race`: a folder went while it
    was being armed.
    """

    def __init__(self, reason: str, *, is_limit: bool = False, is_race: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_limit = is_limit
        self.is_race = is_race


class EventSource(Protocol):
    """An armed watch: every change since it was made is told."""

    def wait(self) -> set[RawChange] | None:
        """Return the next changes (blocking), or None after `stop`; then it is closed.

        Raises:
            EventsFailed: There will be no more, and it is closed.
        """

    def stop(self) -> None:
        """End `wait`, soon; from any thread."""

    def close(self) -> None:
        """Give back what the watch holds; nobody may be in `wait`. A second time does nothing."""


class FileEvents:
    """watchfiles over folders, without those below them.

    Resources: `WATCH_DESCRIPTORS` and a thread, however many folders and files, until `close`.
    """

    def __init__(self, folders: Sequence[str], step_ms: int = STEP_MS) -> None:
        self._step_ms = step_ms
        self._stop = threading.Event()
        self._count = len(folders)
        try:
            self._notify = RustNotify(
                list(folders),
                debug=False,
                force_polling=False,  # its own guess polls everything on WSL, local disks too
                poll_delay_ms=OWN_POLL_MS,
                recursive=False,
                ignore_permission_denied=False,  # True hides every error, a used-up limit too
            )
        except (RuntimeError, OSError, ValueError) as error:
            raise explain(error) from error

    def __repr__(self) -> str:
        return f"<FileEvents of {self._count} folders{', stopped' if self._stop.is_set() else ''}>"

    def wait(self) -> set[RawChange] | None:
        """Return the next changes; they are told within three steps."""
        try:
            changes = self._notify.watch(self._step_ms, self._step_ms, 0, self._stop)
        except (RuntimeError, OSError, ValueError) as error:
            self.close()
            raise explain(error) from error
        if isinstance(changes, str):
            self.close()
            return None
        return changes

    def stop(self) -> None:
        """End `wait` within a step."""
        self._stop.set()

    def close(self) -> None:
        """Give back the descriptors."""
        self._notify.close()


def explain(error: Exception) -> EventsFailed:
    """Return what an error of watchfiles means to a person, with the way out where there is one."""
    text = str(error)
    if "watch limit reached" in text or "os error 28" in text:
        return EventsFailed(
            "the system's limit of watched folders is used up"
            f"{_limit('max_user_watches')}; raise it, e.g. `sysctl fs.inotify.max_user_watches=524288`",
            is_limit=True,
        )
    if "os error 24" in text:
        if _has_descriptors():
            return EventsFailed(
                "the user's limit of inotify instances is used up"
                f"{_limit('max_user_instances')}; raise it, e.g. `sysctl fs.inotify.max_user_instances=512`",
                is_limit=True,
            )
        return out_of_descriptors()
    if "os error 23" in text:
        return EventsFailed(
            "the system has no file descriptors left; raise its limit, e.g. `sysctl fs.file-max=1000000`",
            is_limit=True,
        )
    if "decode path" in text:
        return EventsFailed(f"file events can't carry a name that is not UTF-8; rename it: {text}")
    return EventsFailed(f"watchfiles failed: {text}", is_race=isinstance(error, FileNotFoundError))


def out_of_descriptors() -> EventsFailed:
    """Return the failure of a process that can open nothing more."""
    return EventsFailed(
        f"the daemon has no file descriptors left (it may open {os.sysconf('SC_OPEN_MAX')}); raise the limit: "
        "`LimitNOFILE=` of the service, or `ulimit -n`",
        is_limit=True,
    )


def _has_descriptors() -> bool:
    """Return whether this process may open as many files as a watch needs."""
    opened: list[int] = []
    try:
        for _ in range(WATCH_DESCRIPTORS):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno not in NO_DESCRIPTOR
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return True


def _limit(name: str) -> str:
    """Return a limit's value in words, or nothing where it can't be read."""
    try:
        return f" (fs.inotify.{name} is {(INOTIFY_LIMITS / name).read_text().strip()})"
    except OSError:
        return ""


@dataclass(slots=True)
class Seen:
    """What a batch of changes means.

    Whom it concerns; `replan`, whom a folder to watch may have come or gone for; `rearm`, whether a watch
    ended with its folder, so that even the same folders must be armed anew.
    """

    hints: set[Hint] = field(default_factory=set)
    replan: set[Hint] = field(default_factory=set)
    rearm: bool = False


def read_changes(layout: Layout, changes: Iterable[RawChange]) -> Seen:
    """Return what changes mean (blocking: asks what some names are)."""
    seen = Seen()
    for change, path in changes:
        own = layout.folders.get(path)
        if own is not None:
            seen.replan |= {interest.hint for interest in own.interests}
            if change != Change.modified:
                seen.rearm = True
                seen.hints |= {interest.hint for interest in own.interests}
        above, name = os.path.split(path)
        folder = layout.folders.get(above)
        if folder is None:
            continue
        for interest in folder.interests:
            if interest.wants(name):
                if _is_empty_log(path):
                    continue
                seen.hints.add(interest.hint)
                if change == Change.added and os.path.isdir(path):
                    seen.replan.add(interest.hint)
            elif interest.is_tree and is_walked(name):
                if change == Change.deleted and ".sqlite" not in name:
                    # Perhaps a folder that came and went before the folders were looked at again. (A workspace
                    # may hold indexes: what SQLite deletes beside them is nobody's folder.)
                    seen.hints.add(interest.hint)
                elif change == Change.added and _is_folder(path):
                    seen.hints.add(interest.hint)
                    seen.replan.add(interest.hint)
    return seen


def _is_folder(path: str) -> bool:
    """Return whether a path is a folder and no link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _is_empty_log(path: str) -> bool:
    """Return whether a path is a database's log that holds nothing: one comes and goes with every reader."""
    try:
        return path.endswith("-wal") and os.lstat(path).st_size == 0
    except OSError:
        return True
