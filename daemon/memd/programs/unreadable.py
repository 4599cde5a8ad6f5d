"""Errors of conversations that can't be read."""

from __future__ import annotations

from memd.system.units import size
from memd_client.errors import FileUnreadableError

RESTORE = "restore it from a backup; until then it is not indexed"
"""Hint for a damaged transcript."""


def unreadable(path: str, cause: str, reason: str, hint: str | None = None) -> FileUnreadableError:
    """Return the error for a transcript that can't be read."""
    return FileUnreadableError(f"{path} {cause}", hint=hint, data={"path": path, "reason": reason})


def being_written(path: str) -> FileUnreadableError:
    """Return the error for a transcript that changes while it is read."""
    return unreadable(
        path,
        "is being written to",
        "moving",
        "search again in a moment: the next search or sync reads it",
    )


def describe_size(size_bytes: int, limit_bytes: int) -> str:
    """Return the reason for skipping a transcript that is too big."""
    return f"too big: {size(size_bytes)}, the limit is {size(limit_bytes)}"
