"""Standard descriptors of a process, opened on /dev/null if it was started without them."""

from __future__ import annotations

import os
import sys
from typing import TextIO

STANDARD_DESCRIPTORS = (0, 1, 2)


def open_missing_descriptors() -> None:
    """Open /dev/null on each closed descriptor from 0 to 2; call before any other file is opened.

    The next file that a process opens gets the lowest free number. If descriptor 2 is closed, that file may be a
    socket or an index, and everything written to standard error would go into it.
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
    """Return a text stream such as Python opens for a standard descriptor at startup."""
    return open(descriptor, mode, encoding="utf-8", errors="backslashreplace", closefd=False)  # type: ignore[return-value]
