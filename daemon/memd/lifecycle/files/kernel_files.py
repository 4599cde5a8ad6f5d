"""System calls that `os` lacks: exchanging two names atomically, and checking for writers of a file."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import signal
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Final

_RENAME_EXCHANGE: Final = 2
"""Flag of Linux's `renameat2`; `RENAME_SWAP` of macOS's `renameatx_np` has the same value."""

_UNSUPPORTED: Final = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)

_Rename = Callable[[int, bytes, int, bytes, int], int]


def exchange(folder: int, one: str, other: str) -> bool:
    """Exchange two names of an open folder atomically; return False if the system can't."""
    rename = _rename()
    if rename is None:
        return False
    if rename(folder, os.fsencode(one), folder, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), other)


def is_open_for_writing(handle: int) -> bool | None:
    """Return whether any process has a file open for writing; None on systems that don't report it.

    Linux grants a read lease only while no process has; the lease is released at once. A process that opens the file
    for writing in between waits for those microseconds.
    """
    if sys.platform != "linux":
        return None
    try:
        # A broken lease raises SIGIO, which ends a process by default; SIGURG is ignored by default.
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


@lru_cache(maxsize=1)
def _rename() -> _Rename | None:
    """Return the system call that exchanges names; None if there is none."""
    name = {"linux": "renameat2", "darwin": "renameatx_np"}.get(sys.platform)
    call = None if name is None else getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if call is None:
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    call.restype = ctypes.c_int
    rename: _Rename = call
    return rename
