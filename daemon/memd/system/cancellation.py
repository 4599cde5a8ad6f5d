"""Ends work of a thread whose caller is gone: loops over texts ask, as SQLite asks in the midst of a statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_is_cancelled: ContextVar[Callable[[], bool] | None] = ContextVar("memd_is_cancelled", default=None)


class WorkCancelledError(Exception):
    """The caller of this work is gone, its deadline over; nothing reads the result."""


@contextmanager
def cancelled_by(is_cancelled: Callable[[], bool]) -> Iterator[None]:
    """Let `check_cancelled` raise inside the `with` block once a function returns True."""
    token = _is_cancelled.set(is_cancelled)
    try:
        yield
    finally:
        _is_cancelled.reset(token)


def check_cancelled() -> None:
    """Raise `WorkCancelledError` if the work of this thread was cancelled; costs a tenth of a microsecond."""
    is_cancelled = _is_cancelled.get()
    if is_cancelled is not None and is_cancelled():
        raise WorkCancelledError
