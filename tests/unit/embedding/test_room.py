"""Who may be loaded beside whom: nobody leaves in vain, idle models go first, and nobody waits for ever."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from memd.embedding.local import fit
from memd.embedding.local.jobs import Kind
from memd.embedding.local.machine import load_memory_bytes
from memd.embedding.local.model_memory import (
    QUERY_STAY_SECONDS,
    QUIET_SECONDS,
    TURN_SECONDS,
    ModelMemoryManager,
    Residency,
    Verdict,
    Work,
    judge,
)

NOW = 1000.0
LONG_AGO = NOW - 100


def idle(size: int, last_used: float = LONG_AGO) -> Residency:
    return Residency(size, LONG_AGO, last_used, "nothing")


def busy(work: Work, since: float = LONG_AGO, size: int = 50) -> Residency:
    return Residency(size, since, NOW, work)


def test_what_fits_enters_and_a_model_too_large_enters_an_empty_room() -> None:
    assert judge(50, 100, [idle(50)], "text", NOW).enters
    assert judge(500, 100, [], "text", NOW).enters
    assert not judge(500, 100, [busy("query", size=1)], "query", NOW).enters


def test_the_least_recently_used_idle_model_leaves_first_and_no_more_than_needed() -> None:
    stays = [idle(40, NOW - 5), idle(40, NOW - 50), busy("text", NOW, 20)]
    assert judge(30, 100, stays, "text", NOW) == Verdict(leave=(1,))
    assert judge(80, 100, stays, "text", NOW).leave == (1, 0)


def test_nobody_leaves_in_vain() -> None:
    assert judge(90, 100, [idle(40), busy("query", size=60)], "query", NOW).leave == ()


def test_one_that_is_leaving_already_is_counted_as_gone_but_waited_for() -> None:
    leaving = Residency(60, LONG_AGO, NOW, "text", is_leaving=True)
    assert judge(50, 100, [leaving, idle(40)], "query", NOW) == Verdict(look_again_s=math.inf)


@pytest.mark.parametrize(
    ("stay", "kind", "wait_s"),
    [
        (idle(90, NOW), "query", None),
        (idle(90, NOW), "text", QUIET_SECONDS),
        (busy("text", NOW, 90), "query", QUERY_STAY_SECONDS),
        (busy("text", NOW, 90), "text", TURN_SECONDS),
        (busy("text", NOW - TURN_SECONDS, 90), "text", None),
        (busy("query", LONG_AGO, 90), "query", math.inf),
        (busy("loading", LONG_AGO, 90), "query", math.inf),
    ],
)
def test_how_long_a_model_keeps_its_place(stay: Residency, kind: Kind, wait_s: float | None) -> None:
    verdict = judge(50, 100, [stay], kind, NOW)
    assert verdict == (Verdict(leave=(0,)) if wait_s is None else Verdict(look_again_s=wait_s))


works = st.sampled_from(["nothing", "text", "query", "loading"])
stays = st.builds(Residency, st.integers(1, 100), st.floats(0, NOW), st.floats(0, NOW), works, st.booleans())


@given(st.integers(1, 200), st.lists(stays, max_size=6), st.sampled_from(["query", "text"]))
def test_a_verdict_never_exceeds_the_budget_and_is_never_a_dead_end(
    need: int, rows: list[Residency], kind: Kind
) -> None:
    verdict = judge(need, 100, rows, kind, NOW)
    taken = sum(row.bytes for row in rows)
    if verdict.enters:
        assert not rows or need + taken <= 100
        return
    gone = {place for place, row in enumerate(rows) if row.is_leaving} | set(verdict.leave)
    left = [row for place, row in enumerate(rows) if place not in gone]
    if verdict.leave:
        assert not left or need + sum(row.bytes for row in left) <= 100
        assert all(rows[place].work in ("nothing", "text") for place in verdict.leave)
    elif math.isinf(verdict.look_again_s):
        assert gone or any(row.work in ("query", "loading") for row in left)  # whose end is told
    else:
        assert verdict.look_again_s > 0


class Model:
    """A guest that does as it is told."""

    def __init__(self, kind: Kind | None = "text") -> None:
        self.kind = kind
        self.asked = False
        self.work: Work = "nothing"
        self.used = 0.0

    def stay(self, need: int) -> Residency:
        return Residency(need, 0.0, self.used, self.work, self.asked)

    def waits_for(self) -> Kind | None:
        return self.kind

    def make_room(self) -> None:
        self.asked = True


def run(test: object) -> None:
    trio.run(test, clock=trio.testing.MockClock(autojump_threshold=0))  # type: ignore[arg-type]


def test_a_query_overtakes_texts_in_the_line() -> None:
    async def body() -> None:
        room, inside, order = ModelMemoryManager(100), Model(), list[str]()
        inside.work = "query"
        assert await room.enter(inside, 100)

        async def wait(name: str, model: Model) -> None:
            assert await room.enter(model, 100)
            order.append(name)
            room.leave(model)

        async with trio.open_nursery() as nursery:
            for name, kind in (("first text", "text"), ("second text", "text"), ("query", "query")):
                nursery.start_soon(wait, name, Model(kind))  # type: ignore[arg-type]
                await trio.testing.wait_all_tasks_blocked()
            assert "3 waiting" in repr(room)
            room.leave(inside)
        assert order == ["query", "first text", "second text"]

    run(body)


def test_a_model_nobody_needs_any_more_leaves_the_line() -> None:
    async def body() -> None:
        room, inside, waiting = ModelMemoryManager(100), Model(), Model()
        inside.work = "query"
        await room.enter(inside, 100)

        async def give_up() -> None:
            await trio.testing.wait_all_tasks_blocked()
            waiting.kind = None
            room.changed()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(give_up)
            assert not await room.enter(waiting, 100)
        assert "0 waiting" in repr(room)

    run(body)


def test_an_idle_model_is_asked_once_it_was_idle_for_a_moment() -> None:
    async def body() -> None:
        room, inside, waiting = ModelMemoryManager(100), Model(), Model()
        inside.used = trio.current_time()
        await room.enter(inside, 100)
        started = trio.current_time()

        async def leave_when_asked() -> None:
            while not inside.asked:  # noqa: ASYNC110 - the model is told, not awaited
                await trio.sleep(0.05)
            room.leave(inside)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(leave_when_asked)
            assert await room.enter(waiting, 100)
        assert trio.current_time() - started >= QUIET_SECONDS

    run(body)


@given(st.integers(0, 10**12), st.integers(1, 4096))
def test_a_model_is_expected_to_take_more_than_its_file(size: int, context: int) -> None:
    assert fit.memory_need(size, context) > size


def test_the_machines_memory_is_that_of_the_container(tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    limit.write_text("1048576\n")
    assert load_memory_bytes(limit) == 1048576
    limit.write_text("max\n")
    assert load_memory_bytes(limit) == load_memory_bytes(tmp_path / "missing") > 1048576
