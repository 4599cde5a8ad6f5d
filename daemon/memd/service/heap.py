"""The C library's heap, which gives nothing back by itself: bounded at the start, trimmed now and then."""

from __future__ import annotations

import ctypes
import sys
import time
from functools import cache
from typing import Any, Final

import trio

M_ARENA_MAX: Final = -8
"""From <malloc.h> of glibc."""

ARENAS: Final = 2
"""Heaps that threads share. By default it is eight a core: each keeps the most it ever held, so that a day's searches
in changing threads take tens of megabytes that nobody uses. Two are not measurably slower here: Python's own lock
is what threads wait for."""


TRIM_S: Final = 30.0
WORK_S: Final = 0.5
"""How often it is looked, and the processor time after which there is something to give back. Caches are given up some
seconds after their last use, hence a second trim at the look after."""


@cache
def _libc() -> Any:
    """Return glibc; None where the system has another C library."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "malloc_trim") and hasattr(libc, "mallopt") else None


def bound_heap() -> None:
    """Bound what the heap may hold beyond what is used; before threads are started."""
    if (libc := _libc()) is not None:
        libc.mallopt(M_ARENA_MAX, ARENAS)


async def keep_heap_small() -> None:
    """Give unused memory of the heap back to the system after work was done; runs until cancelled.

    It takes some milliseconds in a thread, without Python's lock.
    """
    trimmed_at, again = 0.0, False
    while (libc := _libc()) is not None:
        await trio.sleep(TRIM_S)
        worked = time.process_time() - trimmed_at > WORK_S
        if worked or again:
            await trio.to_thread.run_sync(libc.malloc_trim, 0)
            trimmed_at, again = time.process_time(), worked
