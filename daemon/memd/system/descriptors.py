"""The three standard descriptors of a process, opened on /dev/null when it was started without them."""

from __future__ import annotations

import os
import sys
from typing import TextIO

STANDARD_DESCRIPTORS = (0, 1, 2)


def open_missing_descriptors() -> None:
    """Open /dev/null on each of the descriptors 0 to 2 that is closed; call before any other file is opened.

    The next file that a process opens gets the lowest free number. With descriptor 2 closed that file is a socket or
    an index, and everything written to standard error goes into it.
    """
    for descriptor in STANDARD_DESCRIPTORS:
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            os.set_inheritable(descriptor, True)
    sys.stdin = sys.stdin or _text_stream(0, "r")
    sys.stdout = sys.stdout or _text_stream(1, "w")
    sys.stderr = sys.stderr or _text_stream(2, "w")


def _text_stream(descriptor: int, mode: str) -> TextIO:
    """Return what Python makes for a standard descriptor that is open at its start."""
    return open(descriptor, mode, encoding="utf-8", errors="backslashreplace", closefd=False)  # type: ignore[return-value]
