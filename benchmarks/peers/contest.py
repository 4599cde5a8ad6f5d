"""The sides of a comparison: a peer that fails drops out and is named."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Self, TypeVar

from benchmarks.peers.child import ChildError
from benchmarks.peers.memd_system import MemdSystem
from benchmarks.peers.system import ComparedSystem

T = TypeVar("T")


class Contest:
    """Sides over the same notes.

    Resources: the sides' processes, ended by leaving the context.
    """

    def __init__(self, sides: list[ComparedSystem], chance: random.Random) -> None:
        self.failures: list[str] = []
        self._waiting = sides
        self._sides: list[ComparedSystem] = []
        self._chance = chance
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for side in self._waiting:
                try:
                    self._sides.append(stack.enter_context(side))
                except ChildError as error:
                    self._drop(side, error)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def each(self, action: Callable[[ComparedSystem], T]) -> dict[str, T]:
        """Run an action for every side in random order; return the results by name."""
        results = {}
        for side in self._chance.sample(self._sides, len(self._sides)):
            try:
                results[side.name] = action(side)
            except ChildError as error:
                self._drop(side, error)
                self._sides.remove(side)
        return results

    def _drop(self, side: ComparedSystem, error: ChildError) -> None:
        if side.name == MemdSystem.name:
            raise error
        self.failures.append(f"{side.name} dropped out: {error}")
