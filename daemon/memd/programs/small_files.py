"""Small files that programs write next to transcripts, such as titles, and the folders they are in."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

import msgspec

from memd.programs.records import decode_record
from memd.system.safe_open import open_unlinked

MAX_BYTES: Final = 1_048_576

_value = msgspec.json.Decoder(object)


def read_small_file(path: str) -> bytes | None:
    """Return the content of a small regular file (blocking); None if there is none."""
    try:
        with os.fdopen(open_unlinked(path), "rb") as opened:
            facts = os.fstat(opened.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > MAX_BYTES:
                return None
            return opened.read(MAX_BYTES)
    except (OSError, ValueError):
        return None


def read_document(path: str | os.PathLike[str]) -> object:
    """Return a small JSON document, None without one (blocking)."""
    return decode_record(read_small_file(os.fspath(path)), _value)


def paths_in(folder: Path) -> list[str]:
    """Return the paths of what is in a folder, sorted (blocking); none if it can't be listed."""
    try:
        return sorted(entry.path for entry in os.scandir(folder))
    except OSError:
        return []
