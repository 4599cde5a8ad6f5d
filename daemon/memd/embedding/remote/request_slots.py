"""Whose turn it is at a provider: some batches at once, and questions before them."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from memd.embedding.remote.providers.api import TextKind


class Turns:
    """Turns at one account.

    Questions don't wait for batches, where the provider takes more than one request at once. Where it takes one
    alone, as Ollama does, a question waits for the one under way and goes before all others.
    """

    def __init__(self, batches: int) -> None:
        self._is_single = batches <= 1
        self._free = max(1, batches)
        self._queries = trio.lowlevel.ParkingLot()
        self._documents = trio.lowlevel.ParkingLot()

    def __repr__(self) -> str:
        return f"<Turns {self._free} free, {len(self._queries)} questions and {len(self._documents)} batches wait>"

    @asynccontextmanager
    async def take(self, kind: TextKind, timeout_s: float = math.inf) -> AsyncIterator[None]:
        """Wait for a turn, and have it inside the block."""
        if kind == "query" and not self._is_single:
            await trio.lowlevel.checkpoint()
            yield
            return
        with trio.fail_after(timeout_s):
            await self._wait(self._queries if kind == "query" else self._documents)
        try:
            yield
        finally:
            self._give_back()

    async def _wait(self, line: trio.lowlevel.ParkingLot) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._free:
            self._free -= 1
            await trio.lowlevel.cancel_shielded_checkpoint()
        else:
            await line.park()  # whoever unparks hands over a turn

    def _give_back(self) -> None:
        line = self._queries if self._queries else self._documents
        if line:
            line.unpark()
        else:
            self._free += 1
