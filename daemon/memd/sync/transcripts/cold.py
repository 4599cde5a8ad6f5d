"""Cold history: the events of old sessions that OpenClaw moved out of its database, read back and checked."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import NamedTuple

from memd.index.openclaw.cold import ColdArchive
from memd.sync.disk.safe_open import open_unlinked
from memd.sync.transcripts.zstd import decompress
from memd_client.errors import FileUnreadableError


class ColdRecord(NamedTuple):
    """One event out of an archive: its number and its JSON.

    `numbered` says whether the archive itself has the number; else it is the line's.
    """

    number: int
    text: str
    numbered: bool


UNPACKED_TIMES = 4
"""An archive may unpack to so many times what a transcript may have: it also holds what OpenClaw searches by."""


def read_archive(folder: Path, archive: ColdArchive, max_bytes: int) -> list[ColdRecord]:
    """Return the events of an archive that is a file."""
    if not archive.name:
        raise _unreadable("cold history", "the database doesn't say where it is", "missing")
    path = f"sessions/cold/{archive.name}"
    try:
        handle = open_unlinked(folder / archive.name)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise _unreadable(path, "it is not a regular file", "kind")
            data = file.read(UNPACKED_TIMES * max_bytes + 1)
    except OSError as error:
        raise _unreadable(path, error.strerror or type(error).__name__, "os") from None
    if len(data) > UNPACKED_TIMES * max_bytes:
        raise _unreadable(path, "it is too big", "too_big")
    digest = archive.name.partition(".")[0]
    if len(digest) == 64 and hashlib.sha256(data).hexdigest() != digest:
        raise _unreadable(path, "its content is not what its name says", "damaged")
    return unpack_archive(data, path, max_bytes)


def unpack_archive(data: bytes, path: str, max_bytes: int) -> list[ColdRecord]:
    """Return the events of an archive."""
    text = decompress(data, UNPACKED_TIMES * max_bytes, path).decode("utf-8", "replace")
    return [
        record
        for number, line in enumerate(text.split("\n"), start=1)
        if (record := _record_of(number, line)) is not None
    ]


def _record_of(number: int, line: str) -> ColdRecord | None:
    """Return the event in a line of an archive, or None where the line is something else."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    if "kind" not in value:
        return ColdRecord(number, line, False)
    row = value.get("row")
    if value["kind"] != "event" or not isinstance(row, dict) or not isinstance(row.get("event_json"), str):
        return None
    seq = row.get("seq")
    return ColdRecord(seq if isinstance(seq, int) else number, row["event_json"], isinstance(seq, int))


def _unreadable(path: str, why: str, reason: str) -> FileUnreadableError:
    """Return the error for an archive that can't be read."""
    return FileUnreadableError(
        f"{path} can't be read: {why}",
        hint="Restore it from a backup; until then it is left out and everything else is searched.",
        data={"path": path, "reason": reason},
    )
