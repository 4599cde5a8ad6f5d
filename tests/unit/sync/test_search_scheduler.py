"""Indexing steps aside for searches, never for long, and never for one that waits for it."""

from __future__ import annotations

import math
from contextlib import ExitStack

import pytest
import trio
from trio.testing import MockClock

from memd.sync.search_scheduler import CROWD_S, LONG_WAIT_S, LONGEST_STOP_S, TURN_S, SearchScheduler


def test_nobody_waits_where_nobody_searches() -> None:
    async def scene() -> float:
        started = trio.current_time()
        await SearchScheduler().yield_to_searches()
        return trio.current_time() - started

    assert trio.run(scene, clock=MockClock(autojump_threshold=0)) == 0


def test_a_sync_goes_on_when_the_last_search_ends() -> None:
    async def scene() -> float:
        way = SearchScheduler()

        async def search(seconds: float) -> None:
            with way.searching():
                await trio.sleep(seconds)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(search, 0.01)
            nursery.start_soon(search, 0.02)
            await trio.testing.wait_all_tasks_blocked()
            started = trio.current_time()
            await way.yield_to_searches()
            return trio.current_time() - started

    assert abs(trio.run(scene, clock=MockClock(autojump_threshold=0)) - 0.02) < 1e-6


@pytest.mark.parametrize(("cores", "others", "spare"), [(2, 0, True), (2, 1, False), (1, 0, False)])
def test_a_search_has_a_second_core_where_there_is_one_and_nobody_else_searches(
    cores: int, others: int, spare: bool
) -> None:
    way = SearchScheduler(cores=cores)
    with ExitStack() as searches:
        for _ in range(1 + others):
            searches.enter_context(way.searching())
        assert way.has_core_to_spare is spare
    assert not way.has_core_to_spare


def test_searches_without_end_hold_a_file_up_for_a_moment_only() -> None:
    async def scene() -> float:
        way = SearchScheduler()
        with way.searching():
            started = trio.current_time()
            await way.yield_to_searches()
            return trio.current_time() - started

    assert abs(trio.run(scene, clock=MockClock(autojump_threshold=0)) - LONGEST_STOP_S) < 1e-6


def test_a_search_that_waits_for_the_sync_holds_nothing_up() -> None:
    async def scene() -> float:
        way = SearchScheduler()
        with way.searching(), way.waiting():
            started = trio.current_time()
            await way.yield_to_searches()
            return trio.current_time() - started

    assert trio.run(scene, clock=MockClock(autojump_threshold=0)) == 0


# --- turns among searches -------------------------------------------------------------------------


def turns(*seconds: float, cancelled: int | None = None) -> list[tuple[int, float]]:
    """Return (number, when it begins) of some searches that come one after the other, in that order."""

    async def scene() -> list[tuple[int, float]]:
        way, begun, came = SearchScheduler(), [], trio.current_time()

        async def search(number: int, takes_s: float) -> None:
            with trio.move_on_after(0.001 if number == cancelled else math.inf):
                async with way.turn():
                    begun.append((number, round(trio.current_time() - came, 6)))
                    await trio.sleep(takes_s)

        async with trio.open_nursery() as nursery:
            for number, takes_s in enumerate(seconds):
                nursery.start_soon(search, number, takes_s)
                await trio.testing.wait_all_tasks_blocked()
        return sorted(begun, key=lambda each: (each[1], each[0]))

    return trio.run(scene, clock=MockClock(autojump_threshold=0))


def test_two_searches_at_a_time_first_come_first_served() -> None:
    assert turns(0.01, 0.02, 0.02, 0.01) == [(0, 0.0), (1, 0.0), (2, 0.01), (3, 0.02)]


def test_those_that_take_long_hold_the_others_up_for_a_turn_only() -> None:
    long = 100 * TURN_S
    begun = turns(long, long, long, long, 0.01, 0.01, 0.01)

    assert [number for number, _ in begun] == [0, 1, 2, 3, 4, 5, 6]
    later = 2 * TURN_S
    assert [at for _, at in begun] == pytest.approx([0, 0, TURN_S, TURN_S, later, later, later + 0.01])


@pytest.mark.parametrize("cancelled", range(5))
def test_one_that_is_given_up_leaves_its_place(cancelled: int) -> None:
    begun = turns(0.01, 0.01, 0.01, 0.01, 0.01, cancelled=cancelled)

    assert [number for number, _ in begun if number != cancelled] == [n for n in range(5) if n != cancelled]
    assert max(at for _, at in begun) == (0.011 if cancelled < 2 else 0.01)


def test_where_the_first_in_line_is_given_up_the_next_one_watches_the_clock() -> None:
    long = 100 * TURN_S
    begun = turns(long, long, 0.01, 0.01, cancelled=2)

    assert begun == [(0, 0.0), (1, 0.0), (3, TURN_S)]


def test_the_next_one_begins_at_once_where_nobody_is_in_line() -> None:
    assert turns(0.0) == [(0, 0.0)]


# --- elsewhere ------------------------------------------------------------------------------------


class Processes:
    """Somewhere else, with so many free places."""

    def __init__(self, places: int = 0) -> None:
        self.places = places
        self.is_running = places > 0
        self.called_at: list[float] = []

    @property
    def has_room(self) -> bool:
        """Whether any place is free."""
        return self.places > 0

    def call(self) -> None:
        """Note when."""
        self.called_at.append(trio.current_time())


class PlaceThere:
    """A place for one search there, if it wants to go there at all."""

    def __init__(self, elsewhere: Processes, *, wants_to_go: bool = True) -> None:
        self._elsewhere = elsewhere
        self._wants_to_go = wants_to_go
        self.is_taken = False

    def take(self) -> bool:
        """Take it, where one is free."""
        self.is_taken = self._wants_to_go and self._elsewhere.places > 0
        self._elsewhere.places -= self.is_taken
        return self.is_taken

    def comes_up(self) -> bool:
        """Return whether it waits for one."""
        return self._wants_to_go and self._elsewhere.is_running

    def leave(self) -> None:
        """Leave it."""
        self._elsewhere.places += self.is_taken


def crowd(searches: int, takes_s: float, rounds: int) -> list[float]:
    """Return when others are called for, where so many ask again as soon as they have their answer."""

    async def scene() -> list[float]:
        elsewhere = Processes()
        way, began = SearchScheduler(elsewhere), trio.current_time()

        async def ask() -> None:
            for _ in range(rounds):
                async with way.turn():
                    await trio.sleep(takes_s)

        async with trio.open_nursery() as nursery:
            for _ in range(searches):
                nursery.start_soon(ask)
        return [at - began for at in elsewhere.called_at]

    return trio.run(scene, clock=MockClock(autojump_threshold=0))


def test_others_are_called_for_where_searches_wait_for_each_other_on_and_on() -> None:
    called = crowd(50, 0.01, 20)
    assert called
    assert CROWD_S <= called[0] <= 2 * CROWD_S


@pytest.mark.parametrize(("searches", "rounds"), [(50, 1), (2, 500), (4, 200)])
def test_a_burst_and_a_few_at_a_time_call_for_nobody(searches: int, rounds: int) -> None:
    assert crowd(searches, 0.01, rounds) == []


def shared_out(
    *searches: tuple[str, bool], places: int = 2, together: bool = True
) -> list[tuple[str, float]]:
    """Return where some searches of 20 ms are done, and when they are."""

    async def scene() -> list[tuple[str, float]]:
        elsewhere = Processes(places=places)
        way, began = SearchScheduler(elsewhere), trio.current_time()
        done: list[tuple[str, float]] = []

        async def ask(name: str, wants_to_go: bool) -> None:
            place = PlaceThere(elsewhere, wants_to_go=wants_to_go)
            async with way.turn(place):
                await trio.sleep(0.02)
                where = "there" if place.is_taken else "here"
                done.append((f"{name} {where}", round(trio.current_time() - began, 6)))

        async with trio.open_nursery() as nursery:
            for name, wants_to_go in searches:
                nursery.start_soon(ask, name, wants_to_go)
                if not together:
                    await trio.sleep(0.03)
                await trio.testing.wait_all_tasks_blocked()
        return sorted(done, key=lambda each: (each[1], each[0]))

    return trio.run(scene, clock=MockClock(autojump_threshold=0))


def test_who_can_go_elsewhere_leaves_the_line_and_one_turn_is_left_here() -> None:
    searches = [("a", True), ("b", False), ("c", True), ("d", True), ("e", True)]
    assert shared_out(*searches) == [
        ("a here", 0.02),
        ("c there", 0.02),
        ("d there", 0.02),
        ("b here", 0.04),
        ("e there", 0.04),
    ]


def test_in_a_crowd_this_process_does_what_can_be_done_nowhere_else() -> None:
    searches = [("a", False), *((name, True) for name in "bcdef"), ("g", False)]
    assert shared_out(*searches) == [
        ("a here", 0.02),
        ("b there", 0.02),
        ("c there", 0.02),
        ("d there", 0.04),
        ("e there", 0.04),
        ("g here", 0.04),
        ("f there", 0.06),
    ]


def test_where_nothing_comes_back_from_elsewhere_searches_are_done_here_after_a_while() -> None:
    async def scene() -> list[float]:
        elsewhere = Processes(places=2)
        way, began = SearchScheduler(elsewhere), trio.current_time()
        done: list[float] = []

        async def ask(takes_s: float) -> None:
            async with way.turn(PlaceThere(elsewhere)):
                await trio.sleep(takes_s)
                done.append(round(trio.current_time() - began, 6))

        async with trio.open_nursery() as nursery:
            # given one search here, two places taken for good, and others that wait for them
            for takes_s in (0.02, math.inf, math.inf, 0.02, 0.02):
                nursery.start_soon(ask, takes_s)
                await trio.testing.wait_all_tasks_blocked()
            await trio.sleep(2 * LONG_WAIT_S)
            nursery.cancel_scope.cancel()
        return done

    first, *others = trio.run(scene, clock=MockClock(autojump_threshold=0))
    assert first == 0.02
    assert all(LONG_WAIT_S < at < LONG_WAIT_S + 4 * TURN_S for at in others)


def test_a_search_alone_is_done_here() -> None:
    done = shared_out(*((name, True) for name in "abc"), together=False)
    assert [where for where, _ in done] == ["a here", "b here", "c here"]
