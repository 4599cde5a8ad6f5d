"""Processes answer as a thread does, follow the index, and cost nobody an answer when they go. Real ones."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import numpy as np
import pytest
import trio
from trio.testing import MockClock

from memd.index.database import Database
from memd.index.vectors.cache import MatrixBudget
from memd.index.vectors.scan import ScanSearch
from memd.search.find import find_hits
from memd.search.query import Question
from memd.search.searchers import searcher as searcher_module
from memd.search.searchers.copies import Copies, Seat
from memd.search.searchers.pool import BACK_OFF_S, KEEP_S, Searchers
from memd.search.searchers.searcher import DEPTH, Searcher, SearcherGoneError
from tests.support.indexes import SPACE, new_index, publish, publish_lines, question, store, unit
from tests.support.models import is_running

LINES = ["the cat sleeps on the sofa", "the dog runs in the garden", "quarterly figures of the bakery"]
ROWS = unit([[0.6, 0.8, 0], [0.9, 0.1, 0], [0, 0, 1]])

PATIENCE_S = 30.0
SIZE_BYTES = 1_000
BUDGET_BYTES = 10_000


@pytest.fixture
def db(tmp_path: Path) -> Database:
    """The writer of an index of three notes with vectors."""
    db = new_index(tmp_path / "main.sqlite")
    publish_lines(db, LINES, ROWS)
    return db


@pytest.fixture
def path(tmp_path: Path, db: Database) -> Path:
    """Its file."""
    return tmp_path / "main.sqlite"


def in_scene(scene: Callable[[], Awaitable[None]]) -> None:
    """Run a scene on a clock that goes as the real one does, and can be put forward."""

    async def bounded() -> None:
        with trio.fail_after(PATIENCE_S * 10):
            await scene()

    trio.run(bounded, clock=MockClock(rate=1.0))


@asynccontextmanager
async def serving(
    path: Path, most: int = 1, budget_bytes: int = BUDGET_BYTES
) -> AsyncIterator[tuple[Searchers, Copies]]:
    """Have processes called for, and an index they may hold."""
    pool = Searchers(most, MatrixBudget(budget_bytes), 32 << 20, cores=2)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.run)
        pool.call()
        yield pool, pool.copies_of(path)
        nursery.cancel_scope.cancel()


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    with trio.fail_after(PATIENCE_S):
        while not is_so():  # noqa: ASYNC110 - a process changes it, which raises no event here
            await trio.sleep(0.01)


async def seat_in(copies: Copies) -> Seat:
    """Return a place in a process, once there is one."""
    seat = Seat(copies, SPACE.id, SIZE_BYTES)
    await until(seat.take)
    return seat


@contextmanager
def left(seat: Seat) -> Iterator[None]:
    """Leave a place at the end of the block."""
    try:
        yield
    finally:
        seat.leave()


async def found_paths(copies: Copies, asked: Question) -> list[str] | None:
    """Return what a process finds; None where it can't."""
    seat = await seat_in(copies)
    with left(seat):
        found = await seat.find(asked)
    return None if found is None else [hit.path for hit in found.hits]


async def the_one(pool: Searchers, copies: Copies) -> Searcher:
    """Return the one process, once it can be asked."""
    with left(await seat_in(copies)):
        [running] = pool.running
        return running


@asynccontextmanager
async def held_up(running: Searcher) -> AsyncIterator[trio.Nursery]:
    """Hold a process up inside the block, and wait after it for the tasks that were started there."""
    assert running.pid is not None
    os.kill(running.pid, signal.SIGSTOP)
    async with trio.open_nursery() as nursery:
        try:
            yield nursery
        finally:
            os.kill(running.pid, signal.SIGCONT)


def test_a_process_finds_what_a_thread_finds(db: Database, path: Path) -> None:
    asked = [
        question("cat", vector=[1.0, 0, 0]),
        question("which dog", vector=[0, 0, 1.0], explain=True),
        question("bakery", vector=[0.5, 0.5, 0], max_results=1, min_score=0.1),
        question("zebra quagga okapi", vector=[-1.0, 0, 0]),
    ]
    threads = [find_hits(db, each, ScanSearch()) for each in asked]

    async def scene() -> None:
        async with serving(path, most=2) as (_, copies):
            for each, by_thread in zip(asked, threads, strict=True):
                seat = await seat_in(copies)
                with left(seat):
                    found = await seat.find(each)
                assert found is not None
                assert found.hits == by_thread.hits
                assert (found.mode, found.generation, found.abstained) == (
                    by_thread.mode,
                    by_thread.generation,
                    by_thread.abstained,
                )
                assert (found.closer_look, list(found.held)) == (by_thread.closer_look, list(by_thread.held))

    in_scene(scene)


def test_questions_that_wait_together_are_each_answered_as_alone(
    db: Database, path: Path, tmp_path: Path
) -> None:
    words = ["cat", "dog", "garden", "bakery", "figures", "sofa"]
    asked = [question(word, vector=[1.0, 0, 0], explain=word == "dog") for word in words]
    alone = [find_hits(db, each, ScanSearch()).hits for each in asked]

    async def scene() -> None:
        async with serving(path) as (pool, copies):
            running = await the_one(pool, copies)
            came = dict[int, object]()

            async def ask(place: int, index: str) -> None:
                try:
                    came[place] = (await running.find(index, asked[place])).hits
                except SearcherGoneError:
                    came[place] = "gone"

            # given a process that is held up, so that they wait together, one of an index that is not there among them
            async with held_up(running) as nursery:
                for place in range(len(asked)):
                    missing = str(tmp_path / "missing" / "main.sqlite")
                    nursery.start_soon(ask, place, missing if place == 2 else str(path))
                    await trio.testing.wait_all_tasks_blocked()
            # then each has its own answer
            assert came == dict(enumerate(alone)) | {2: "gone"}
            assert await found_paths(copies, asked[0])

    in_scene(scene)


def test_a_change_among_questions_is_known_to_those_after_it(db: Database, path: Path) -> None:
    async def scene() -> None:
        asked = question("", vector=[0, 1.0, 0])
        async with serving(path) as (pool, copies):
            running = await the_one(pool, copies)
            paths = dict[str, list[str]]()

            async def ask(name: str) -> None:
                paths[name] = [hit.path for hit in (await running.find(str(path), asked)).hits]

            async with held_up(running) as nursery:
                nursery.start_soon(ask, "before")
                await trio.testing.wait_all_tasks_blocked()
                publish(db, "memory/new.md", ["something else"])
                copies.changed(SPACE.id, [], store(db, ["something else"], unit([[0, 1.0, 0]])))
                nursery.start_soon(ask, "after")
                await trio.testing.wait_all_tasks_blocked()
            assert "memory/new.md" not in paths["before"]
            assert paths["after"][0] == "memory/new.md"

    in_scene(scene)


def test_a_process_counts_only_once_it_is_there(path: Path) -> None:
    async def scene() -> None:
        async with serving(path, most=2) as (pool, _):
            # given processes that were called for, whose start takes its time
            # then as soon as there are any, it is known what they take
            with trio.fail_after(PATIENCE_S):
                while not pool.is_running:
                    await trio.lowlevel.checkpoint()  # a wait could end after the moment that is looked for
            assert pool.rss_bytes() > 0

    in_scene(scene)


def test_a_process_follows_what_is_committed(db: Database, path: Path) -> None:
    async def scene() -> None:
        asked = question("", vector=[0, 1.0, 0])
        async with serving(path) as (_, copies):
            # given a process that holds the index
            before = await found_paths(copies, asked)
            # when a note comes whose vector is nearer than all, and another one goes
            publish(db, "memory/new.md", ["something else"])
            come = store(db, ["something else"], unit([[0, 1.0, 0]]))
            copies.changed(SPACE.id, [], come)
            gone = publish(db, "memory/0.md", [])
            copies.changed(SPACE.id, gone.removed_vectors, gone.added_vectors)
            # then the next answer knows both
            after = await found_paths(copies, asked)
        assert before is not None
        assert after is not None
        assert "memory/new.md" not in before
        assert after[0] == "memory/new.md"
        assert "memory/0.md" not in after

    in_scene(scene)


def test_a_place_for_a_few_searches_only(path: Path) -> None:
    async def scene() -> None:
        async with serving(path) as (_, copies):
            taken = [await seat_in(copies) for _ in range(DEPTH)]
            late = Seat(copies, SPACE.id, SIZE_BYTES)
            assert not late.take()
            assert late.comes_up()
            with left(taken[0]):
                pass
            assert late.take()

    in_scene(scene)


def test_a_killed_process_is_left_alone_for_a_while(path: Path) -> None:
    async def scene() -> None:
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, MockClock)
        async with serving(path) as (pool, copies):
            first = await the_one(pool, copies)
            seat = await seat_in(copies)
            assert first.pid is not None
            # when it is killed under a search
            os.kill(first.pid, signal.SIGSTOP)
            async with trio.open_nursery() as nursery:

                async def ask() -> None:
                    with left(seat):
                        assert await seat.find(question("cat", vector=[1.0, 0, 0])) is None

                nursery.start_soon(ask)
                await trio.testing.wait_all_tasks_blocked()
                os.kill(first.pid, signal.SIGKILL)
            # then the search is told, and no other process comes at once
            await until(lambda: not pool.running)
            pool.call()
            clock.jump(BACK_OFF_S / 2)
            await trio.testing.wait_all_tasks_blocked()
            assert not Seat(copies, SPACE.id, SIZE_BYTES).take()
            # but later one does
            clock.jump(BACK_OFF_S)
            pool.call()
            await until(lambda: pool.is_running)
            assert await found_paths(copies, question("cat", vector=[1.0, 0, 0]))

    in_scene(scene)


def test_a_hung_process_is_ended(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searcher_module, "SEARCH_S", 0.2)

    async def scene() -> None:
        async with serving(path) as (pool, copies):
            running = await the_one(pool, copies)
            assert running.pid is not None
            os.kill(running.pid, signal.SIGSTOP)
            assert await found_paths(copies, question("cat", vector=[1.0, 0, 0])) is None
            pid = running.pid
            await until(lambda: not is_running(pid))

    in_scene(scene)


def test_processes_end_when_nobody_needs_them(path: Path) -> None:
    async def scene() -> None:
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, MockClock)
        async with serving(path, most=2) as (pool, copies):
            await found_paths(copies, question("cat", vector=[1.0, 0, 0]))
            pids = [running.pid for running in pool.running]
            assert pool.rss_bytes() > 0
            clock.jump(KEEP_S * 2)
            await until(lambda: not pool.running)
            assert pool.budget.held_bytes() == 0
        assert not any(is_running(pid) for pid in pids if pid is not None)

    in_scene(scene)


def test_without_room_in_the_budget_no_process_is_asked(path: Path) -> None:
    async def scene() -> None:
        async with serving(path, budget_bytes=SIZE_BYTES - 1) as (pool, copies):
            seat = Seat(copies, SPACE.id, SIZE_BYTES)
            await until(lambda: pool.is_running)
            assert not seat.take()
            await trio.testing.wait_all_tasks_blocked()
            assert not seat.take()
            assert pool.budget.held_bytes() == 0

    in_scene(scene)


def test_an_agent_that_needs_the_room_gets_it_from_a_copy(path: Path) -> None:
    class Agent:
        dropped = 0

        def drop(self) -> None:
            """Count."""
            self.dropped += 1

    async def scene() -> None:
        async with serving(path, budget_bytes=2 * SIZE_BYTES) as (pool, copies):
            first, second = Agent(), Agent()
            pool.budget.admit(first, SIZE_BYTES)
            await seat_in(copies)
            pool.budget.admit(second, SIZE_BYTES)
            assert (first.dropped, pool.budget.held_bytes()) == (0, 2 * SIZE_BYTES)
            assert not Seat(copies, SPACE.id, SIZE_BYTES).take()

    in_scene(scene)


def test_an_index_that_can_not_be_read_is_answered_by_threads(tmp_path: Path) -> None:
    missing = tmp_path / "missing.sqlite"

    async def scene() -> None:
        async with serving(missing) as (pool, copies):
            await until(lambda: pool.is_running)
            seat = Seat(copies, SPACE.id, SIZE_BYTES)
            assert not seat.take()
            await until(lambda: pool.budget.held_bytes() > 0)
            await until(lambda: pool.budget.held_bytes() == 0)
            assert not seat.take()
            assert pool.is_running

    in_scene(scene)


def test_another_vector_space_is_brought_in_anew(db: Database, path: Path) -> None:
    async def scene() -> None:
        async with serving(path) as (_, copies):
            await seat_in(copies)
            another = Seat(copies, "another", SIZE_BYTES)
            assert not another.take()
            assert not another.comes_up()
            copies.drop()
            assert not Seat(copies, SPACE.id, SIZE_BYTES).take()
            assert await found_paths(copies, question("cat", vector=np.array([1.0, 0, 0])))

    in_scene(scene)


def test_none_are_started_where_the_settings_say_so(path: Path) -> None:
    async def scene() -> None:
        async with serving(path, most=0) as (pool, copies):
            await trio.testing.wait_all_tasks_blocked()
            pool.call()
            await trio.testing.wait_all_tasks_blocked()
            assert not pool.is_running
            assert not Seat(copies, SPACE.id, SIZE_BYTES).take()

    in_scene(scene)
