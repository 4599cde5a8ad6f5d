"""Cancellation of work in a thread: long loops check a flag, and SQLite checks it during a statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_is_cancelled: ContextVar[Callable[[], bool] | None] = ContextVar("memd_is_cancelled", default=None)


class WorkCancelledError(Exception):
    """The caller was cancelled or its deadline passed, so the result is not needed."""


@contextmanager
def cancelled_by(is_cancelled: Callable[[], bool]) -> Iterator[None]:
    """Make `check_cancelled` raise inside the `with` block once `is_cancelled` returns True."""
    token = _is_cancelled.set(is_cancelled)
    try:
        yield
    finally:
        _is_cancelled.reset(token)


def check_cancelled() -> None:
    """Raise `WorkCancelledError` if the work of this thread was cancelled; cheap enough for inner loops."""
    is_cancelled = _is_cancelled.get()
    if is_cancelled is not None and is_cancelled():
        raise WorkCancelledError
