"""Pages of a mapped file: which of them a process holds.

llama.cpp maps a model's file and has every page of it brought in at once. Half of a small model are rows of words that
no text here has. Once a process lets go of all pages, those it uses come back from the system's cache of files as they
are touched; the others stay there until the system has better use for their memory.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

MADV_DONTNEED: Final = 4
"""From <linux/mman.h>. Of a file that is only read nothing is lost by it."""

READ_ONLY: Final = "r--"


def let_go(file: str, maps: Path = Path("/proc/self/maps")) -> int:
    """Have this process hold no page of a file; a page comes back when it is touched."""
    if sys.platform != "linux":
        return 0
    advise = ctypes.CDLL(None, use_errno=True).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    try:
        listed = maps.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return 0
    spans = list(_spans(listed, os.path.realpath(file)))
    return sum(size for start, size in spans if advise(start, size, MADV_DONTNEED) == 0)


def _spans(listed: str, path: str) -> Iterator[tuple[int, int]]:
    """Yield (address, bytes) of where a file is mapped to be read only."""
    for line in listed.splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5] == path and fields[1].startswith(READ_ONLY):
            start, end = (int(address, 16) for address in fields[0].split("-"))
            yield start, end - start
