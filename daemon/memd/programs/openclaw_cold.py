"""Reads cold archives: compressed events of old sessions that OpenClaw moved out of its database."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import NamedTuple

from memd.programs.openclaw_rows import ColdArchive
from memd.programs.packed import decompress
from memd.programs.unreadable import RESTORE, unreadable
from memd.system.safe_open import open_unlinked


class ColdRecord(NamedTuple):
    """One event of an archive: its number and its JSON.

    `numbered`: whether the number is stored in the archive; else it is the number of the line.
    """

    number: int
    text: str
    numbered: bool


ARCHIVE_SIZE_FACTOR = 4
"""Largest size of an archive as a multiple of a transcript's limit: it also contains data of OpenClaw's own search."""


def read_archive(folder: Path, archive: ColdArchive, max_bytes: int) -> list[ColdRecord]:
    """Return the events of an archive that is a file."""
    if not archive.name:
        raise unreadable(
            "cold history", "can't be read: the database has no file name for it", "missing", RESTORE
        )
    path = f"sessions/cold/{archive.name}"
    try:
        handle = open_unlinked(folder / archive.name)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise unreadable(path, "can't be read: it is not a regular file", "kind", RESTORE)
            data = file.read(ARCHIVE_SIZE_FACTOR * max_bytes + 1)
    except OSError as error:
        raise unreadable(
            path, f"can't be read: {error.strerror or type(error).__name__}", "os", RESTORE
        ) from None
    if len(data) > ARCHIVE_SIZE_FACTOR * max_bytes:
        raise unreadable(path, "can't be read: it is too big", "too_big", RESTORE)
    digest = archive.name.partition(".")[0]
    if len(digest) == 64 and hashlib.sha256(data).hexdigest() != digest:
        raise unreadable(
            path, "can't be read: its contents don't match the checksum in its name", "damaged", RESTORE
        )
    return unpack_archive(data, path, max_bytes)


def unpack_archive(data: bytes, path: str, max_bytes: int) -> list[ColdRecord]:
    """Return the events of an archive."""
    text = decompress(data, ARCHIVE_SIZE_FACTOR * max_bytes, path).decode("utf-8", "replace")
    return [
        record
        for number, line in enumerate(text.split("\n"), start=1)
        if (record := _record_of(number, line)) is not None
    ]


def _record_of(number: int, line: str) -> ColdRecord | None:
    """Return the event in a line of an archive, or None for any other line."""
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
