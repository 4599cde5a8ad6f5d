"""CPU time by stage: the own time of wrapped functions, from the clocks of their threads."""

from __future__ import annotations

import functools
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from memd.system.sqlite import Database


class StageTimer:
    """Adds up the own CPU time of functions by the name of their stage."""

    def __init__(self, stages: Sequence[tuple[object, str, str]], rest: str = "all else") -> None:
        self._stages, self._rest = stages, rest
        self.spent_s: defaultdict[str, float] = defaultdict(float)
        self._inner_s: defaultdict[int, list[float]] = defaultdict(list)

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Time all stages inside the block."""
        kept = [(owner, name, getattr(owner, name)) for owner, name, _ in self._stages]
        try:
            for owner, name, stage in self._stages:
                wrap = self._committing if name == "transaction" else self._timed
                setattr(owner, name, wrap(getattr(owner, name), stage))
            yield
        finally:
            for owner, name, function in kept:
                setattr(owner, name, function)

    def _timed(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """Return the function with timing."""

        @functools.wraps(function)
        def timed(*args: Any, **named: Any) -> Any:
            with self._in(stage):
                return function(*args, **named)

        return timed

    def _committing(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """Return the context manager of a transaction; the time outside of its block counts."""

        @contextmanager
        def committing(db: Database) -> Iterator[None]:
            with self._in(stage), function(db), self._in(self._rest):
                yield

        return committing

    @contextmanager
    def _in(self, stage: str) -> Iterator[None]:
        """Add the block's own time to a stage."""
        inner = self._inner_s[threading.get_ident()]
        inner.append(0.0)
        began_s = time.thread_time()
        try:
            yield
        finally:
            whole_s = time.thread_time() - began_s
            self.spent_s[stage] += whole_s - inner.pop()
            if inner:
                inner[-1] += whole_s
