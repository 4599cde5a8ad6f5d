"""What the kernel offers for files beyond Python's `os`: exchange two names at once; is a file open for writing?"""

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
"""Of Linux's `renameat2` and, as `RENAME_SWAP`, of macOS's `renameatx_np`: the same number by chance."""

_UNSUPPORTED: Final = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)

_Rename = Callable[[int, bytes, int, bytes, int], int]


def exchange(folder: int, one: str, other: str) -> bool:
    """Exchange the files behind two names of an open folder in one step."""
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
    """Return whether any process has a file open for writing right now.

    Linux grants a read lease only while none has; the lease is given back at once. A process that opens the file for
    writing in between waits for those microseconds.
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
    """Return the system's call that exchanges names, None when it has none."""
    name = {"linux": "renameat2", "darwin": "renameatx_np"}.get(sys.platform)
    call = None if name is None else getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if call is None:
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    call.restype = ctypes.c_int
    rename: _Rename = call
    return rename
