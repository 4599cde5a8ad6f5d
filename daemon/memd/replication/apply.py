"""Brings a workspace to a commit: each file is changed atomically, and what was written there meanwhile is merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import trio
from msgspec import Struct
from msgspec.structs import replace

from memd.lifecycle.files import writing
from memd.replication.merge.files import Sides, conflict_entry, merge_one
from memd.system.log import log
from memd_client.errors import MemdError

WRITERS: Final = 4
"""Files that are written at a time: most of the time goes to syncing the disk."""


class PendingChange(Struct, frozen=True):
    """A file that must become another one: its path, its path on this machine, and both contents' ids.

    `before` and `after` are None if there is no file. `reason` says why the change waits.
    """

    path: str
    local: str
    before: str | None
    after: str | None
    reason: str = ""


async def apply_changes(
    root: Path, changes: Sequence[PendingChange], contents: Mapping[str, bytes], sides: Sides, now_ms: int
) -> list[PendingChange]:
    """Change files of a workspace; return the changes that could not be made now, with the reason.

    Args:
        root: The workspace.
        changes: What to change.
        contents: Contents by id.
        sides: The machines, for what conflicts with a change made here meanwhile.
        now_ms: The time.
    """
    waiting: list[PendingChange] = []
    limiter = trio.CapacityLimiter(WRITERS)

    async def apply(change: PendingChange) -> None:
        try:
            await trio.to_thread.run_sync(_apply, root, change, contents, sides, now_ms, limiter=limiter)
        except MemdError as error:
            log.warning("remote.file_waits", path=change.path, code=error.code, error=error.message)
            waiting.append(replace(change, reason=error.message))

    async with trio.open_nursery() as nursery:
        for change in changes:
            nursery.start_soon(apply, change)
    return sorted(waiting, key=lambda each: each.path)


def _apply(
    root: Path, change: PendingChange, contents: Mapping[str, bytes], sides: Sides, now_ms: int
) -> None:
    """Change one file (blocking)."""
    before = None if change.before is None else contents[change.before].decode()
    if change.after is None:
        if writing.remove(root, change.local, lambda held: held == before):
            writing.remove_empty_folders(root, change.local)
        return
    after = contents[change.after].decode()
    lost: list[tuple[str, str]] = []

    def edit(held: str) -> str:
        lost.clear()
        if held in (before or "", "", after):
            return after
        merged = merge_one(change.path, before or "", held, after, sides, now_ms)
        if merged.conflicts:
            lost.append(conflict_entry(change.path, merged.conflicts, sides, ""))
        return merged.text

    if not after:
        writing.create(root, change.local, "")
    writing.change(root, change.local, edit)
    for path, text in lost:
        writing.append(root, path, lambda held, text=text: text if not held else "\n" + text)  # type: ignore[misc]
