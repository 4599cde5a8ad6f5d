"""Indexing yields to searches, never for long and never to one that waits for it; few searches run at a time."""

from __future__ import annotations

import math
from contextlib import ExitStack

import pytest
import trio
from trio.testing import MockClock

from memd.index.connection import READERS
from memd.sync.search_scheduler import CLIENT_LOAD, MAX_YIELD_S, SLOT_TIMEOUT_S, SearchScheduler


def test_indexing_does_not_wait_without_a_search() -> None:
    async def scene() -> float:
        started = trio.current_time()
        await SearchScheduler().yield_to_searches()
        return trio.current_time() - started

    assert trio.run(scene, clock=MockClock(autojump_threshold=0)) == 0


def test_indexing_continues_when_the_last_search_ends() -> None:
    async def scene() -> float:
        scheduler = SearchScheduler()

        async def search(seconds: float) -> None:
            with scheduler.searching():
                await trio.sleep(seconds)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(search, 0.01)
            nursery.start_soon(search, 0.02)
            await trio.testing.wait_all_tasks_blocked()
            started = trio.current_time()
            await scheduler.yield_to_searches()
            return trio.current_time() - started

    assert abs(trio.run(scene, clock=MockClock(autojump_threshold=0)) - 0.02) < 1e-6


@pytest.mark.parametrize(("cores", "others", "spare"), [(2, 0, True), (2, 1, False), (1, 0, False)])
def test_single_search_may_use_a_second_core(cores: int, others: int, spare: bool) -> None:
    scheduler = SearchScheduler(cores=cores)
    with ExitStack() as searches:
        for _ in range(1 + others):
            searches.enter_context(scheduler.searching())
        assert scheduler.has_core_to_spare is spare
    assert not scheduler.has_core_to_spare


def test_continuous_searches_delay_a_file_only_briefly() -> None:
    async def scene() -> float:
        scheduler = SearchScheduler()
        with scheduler.searching():
            started = trio.current_time()
            await scheduler.yield_to_searches()
            return trio.current_time() - started

    assert abs(trio.run(scene, clock=MockClock(autojump_threshold=0)) - MAX_YIELD_S) < 1e-6


def test_search_waiting_for_the_sync_does_not_delay_it() -> None:
    async def scene() -> float:
        scheduler = SearchScheduler()
        with scheduler.searching(), scheduler.waiting():
            started = trio.current_time()
            await scheduler.yield_to_searches()
            return trio.current_time() - started

    assert trio.run(scene, clock=MockClock(autojump_threshold=0)) == 0


# --- slots -------------------------------------------------------------------------


def starts(*seconds: float, cancelled: int | None = None, is_apart: bool = False) -> list[tuple[int, float]]:
    """Return (number, start time) of some searches that arrive one after the other, in that order."""

    async def scene() -> list[tuple[int, float]]:
        scheduler, begun, came = SearchScheduler(), [], trio.current_time()

        async def search(number: int, takes_s: float) -> None:
            with trio.move_on_after(0.001 if number == cancelled else math.inf):
                async with scheduler.slot(number if is_apart else None):
                    begun.append((number, round(trio.current_time() - came, 6)))
                    await trio.sleep(takes_s)

        async with trio.open_nursery() as nursery:
            for number, takes_s in enumerate(seconds):
                nursery.start_soon(search, number, takes_s)
                await trio.testing.wait_all_tasks_blocked()
        return sorted(begun, key=lambda each: (each[1], each[0]))

    return trio.run(scene, clock=MockClock(autojump_threshold=0))


def test_two_searches_run_concurrently_first_come_first_served() -> None:
    assert starts(0.01, 0.02, 0.02, 0.01) == [(0, 0.0), (1, 0.0), (2, 0.01), (3, 0.02)]


def test_long_searches_delay_others_by_one_slot_timeout() -> None:
    long = 100 * SLOT_TIMEOUT_S
    begun = starts(long, long, long, long, 0.01, 0.01, 0.01, is_apart=True)

    assert [number for number, _ in begun] == [0, 1, 2, 3, 4, 5, 6]
    later = 2 * SLOT_TIMEOUT_S
    assert [at for _, at in begun] == pytest.approx(
        [0, 0, SLOT_TIMEOUT_S, SLOT_TIMEOUT_S, later, later, later + 0.01]
    )


def test_long_searches_of_an_index_are_admitted_when_a_reader_is_free() -> None:
    long = 100 * SLOT_TIMEOUT_S
    begun = starts(*[long] * (READERS + 1))

    assert [at for _, at in begun] == pytest.approx([0, 0, SLOT_TIMEOUT_S, long])


def test_clients_with_a_low_load_are_admitted_first() -> None:
    begun: list[int] = []

    async def scene() -> None:
        scheduler = SearchScheduler()

        async def search(number: int, load: int) -> None:
            CLIENT_LOAD.set(lambda: load)
            await trio.sleep(number / 10_000)
            async with scheduler.slot():
                begun.append(load)
                await trio.sleep(0.01)

        async with trio.open_nursery() as nursery:
            for number, load in enumerate((64, 64, 64, 64, 64, 1, 2)):
                nursery.start_soon(search, number, load)

    trio.run(scene, clock=MockClock(autojump_threshold=0))

    assert begun == [64, 64, 1, 64, 2, 64, 64]  # the fourth was the one that waited longest


@pytest.mark.parametrize("cancelled", range(5))
def test_cancelled_search_releases_its_slot(cancelled: int) -> None:
    begun = starts(0.01, 0.01, 0.01, 0.01, 0.01, cancelled=cancelled)

    assert [number for number, _ in begun if number != cancelled] == [n for n in range(5) if n != cancelled]
    assert max(at for _, at in begun) == (0.011 if cancelled < 2 else 0.01)


def test_next_search_waits_for_timeouts_if_the_first_is_cancelled() -> None:
    long = 100 * SLOT_TIMEOUT_S
    begun = starts(long, long, 0.01, 0.01, cancelled=2)

    assert begun == [(0, 0.0), (1, 0.0), (3, SLOT_TIMEOUT_S)]


def test_search_begins_at_once_without_a_queue() -> None:
    assert starts(0.0) == [(0, 0.0)]
