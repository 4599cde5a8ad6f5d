"""Tests on a clock that skips waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import Any

import trio
from trio.testing import MockClock


def autojump(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Return a blocking test that runs an asynchronous one without waiting for time to pass."""

    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        trio.run(partial(test, *arguments, **named), clock=MockClock(autojump_threshold=0))

    return run
