"""The C library's heap: bounded at the start, and trimmed periodically, because glibc keeps freed memory."""

from __future__ import annotations

import ctypes
import sys
import time
from functools import cache
from typing import Any, Final

import trio

M_ARENA_MAX: Final = -8
"""From <malloc.h> of glibc."""

MAX_ARENAS: Final = 2
"""Heaps that threads share. glibc's default is eight per core, and each keeps its peak size: searches in
changing threads would hold tens of megabytes without use. Two are not slower: threads wait for Python's own lock."""

TRIM_INTERVAL_S: Final = 30.0
MIN_CPU_S: Final = 0.5
"""The heap is trimmed if the process used this CPU time since the last interval, and again after the next one, because
caches are released some seconds after their last use."""


@cache
def _libc() -> Any:
    """Return glibc; None if the system has another C library."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "malloc_trim") and hasattr(libc, "mallopt") else None


def bound_heap() -> None:
    """Limit the memory that the heap keeps without use; call it before threads start."""
    if (libc := _libc()) is not None:
        libc.mallopt(M_ARENA_MAX, MAX_ARENAS)


async def keep_heap_small() -> None:
    """Return unused memory of the heap to the system after work; runs until cancelled.

    A trim takes some milliseconds in a thread, without Python's lock.
    """
    trimmed_at, again = 0.0, False
    while (libc := _libc()) is not None:
        await trio.sleep(TRIM_INTERVAL_S)
        worked = time.process_time() - trimmed_at > MIN_CPU_S
        if worked or again:
            await trio.to_thread.run_sync(libc.malloc_trim, 0)
            trimmed_at, again = time.process_time(), worked
