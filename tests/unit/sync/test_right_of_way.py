"""Indexing steps aside for searches, never for long, and never for one that waits for it."""

from __future__ import annotations

import trio
from trio.testing import MockClock

from memd.sync.right_of_way import LONGEST_STOP_S, RightOfWay


def test_nobody_waits_where_nobody_searches() -> None:
    async def scene() -> float:
        started = trio.current_time()
        await RightOfWay().step_aside()
        return trio.current_time() - started

    assert trio.run(scene, clock=MockClock(autojump_threshold=0)) == 0


def test_a_sync_goes_on_when_the_last_search_ends() -> None:
    async def scene() -> float:
        way = RightOfWay()

        async def search(seconds: float) -> None:
            with way.searching():
                await trio.sleep(seconds)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(search, 0.01)
            nursery.start_soon(search, 0.02)
            await trio.testing.wait_all_tasks_blocked()
            started = trio.current_time()
            await way.step_aside()
            return trio.current_time() - started

    assert abs(trio.run(scene, clock=MockClock(autojump_threshold=0)) - 0.02) < 1e-6


def test_searches_without_end_hold_a_file_up_for_a_moment_only() -> None:
    async def scene() -> float:
        way = RightOfWay()
        with way.searching():
            started = trio.current_time()
            await way.step_aside()
            return trio.current_time() - started

    assert abs(trio.run(scene, clock=MockClock(autojump_threshold=0)) - LONGEST_STOP_S) < 1e-6


def test_a_search_that_waits_for_the_sync_holds_nothing_up() -> None:
    async def scene() -> float:
        way = RightOfWay()
        with way.searching(), way.waiting():
            started = trio.current_time()
            await way.step_aside()
            return trio.current_time() - started

    assert trio.run(scene, clock=MockClock(autojump_threshold=0)) == 0
