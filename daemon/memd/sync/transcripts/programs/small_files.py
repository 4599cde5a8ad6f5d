"""Small files that programs write next to transcripts, such as titles."""

from __future__ import annotations

import os
import stat
from typing import Final

from memd.sync.disk.safe_open import open_unlinked

MAX_BYTES: Final = 1_048_576


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
