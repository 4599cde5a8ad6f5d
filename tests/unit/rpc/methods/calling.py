"""A call for a method under test, and a loop to run it in."""

from __future__ import annotations

import time
from collections.abc import Coroutine
from typing import Any, TypeVar, cast

import trio
from trio.testing import MockClock

from memd.agents.registry import AgentRegistry
from memd.rpc.call import Call, DaemonContext
from tests.support.registry import FakeRegistry

T = TypeVar("T")


def run(handling: Coroutine[Any, Any, T]) -> T:
    """Run one handling to its end, on a clock that jumps over waits."""

    async def main() -> T:
        return await handling

    return trio.run(main, clock=MockClock(autojump_threshold=0))


def call_of(
    registry: AgentRegistry | FakeRegistry | None = None, told: list[tuple[Any, ...]] | None = None
) -> Call:
    """Return a call; progress goes to `told`."""

    def progress(stage: str, done: int, total: int, detail: str) -> None:
        if told is not None:
            told.append((stage, done, total, detail))

    daemon = DaemonContext(version="9.9", started=time.monotonic(), socket="/run/s", open_connections=3)
    return Call(
        registry=cast(AgentRegistry, registry or FakeRegistry()),
        daemon=daemon,
        progress=progress,
        cancel=lambda request_id: request_id == 5,
        notify=lambda method, params: True,
    )
