"""Questions go before batches, no turn is lost, and never are there more than may be."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.embedding.remote.providers.api import TextKind
from memd.embedding.remote.request_slots import Turns


class Desk:
    """Somebody who takes turns and notes who is served."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.served: list[str] = []
        self.busy = 0
        self.busiest = 0
        self.go_on = trio.Event()

    async def serve(self, name: str, kind: TextKind) -> None:
        async with self.turns.take(kind):
            self.served.append(name)
            self.busy += kind == "document"
            self.busiest = max(self.busiest, self.busy)
            try:
                await self.go_on.wait()
            finally:
                self.busy -= kind == "document"


def test_a_question_does_not_wait_where_more_than_one_request_is_taken() -> None:
    async def test() -> None:
        desk = Desk(Turns(2))
        async with trio.open_nursery() as nursery:
            for number in range(5):
                nursery.start_soon(desk.serve, f"batch {number}", "document")
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(desk.serve, "question", "query")
            await trio.testing.wait_all_tasks_blocked()
            assert len(desk.served) == 3
            assert desk.served[-1] == "question"
            desk.go_on.set()
        assert desk.busiest == 2
        assert repr(desk.turns) == "<Turns 2 free, 0 questions and 0 batches wait>"

    trio.run(test)


def test_where_one_request_is_taken_alone_a_question_is_the_next() -> None:
    async def test() -> None:
        desk = Desk(Turns(1))
        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(desk.serve, f"batch {number}", "document")
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(desk.serve, "question", "query")
            await trio.testing.wait_all_tasks_blocked()
            assert len(desk.served) == 1
            desk.go_on.set()
        assert desk.served[1] == "question"
        assert desk.busiest == 1

    trio.run(test)


@pytest.mark.parametrize("kind", ["query", "document"])
def test_who_is_cancelled_in_line_takes_no_turn_along(kind: TextKind) -> None:
    async def test() -> None:
        desk = Desk(Turns(1))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(desk.serve, "first", "document")
            await trio.testing.wait_all_tasks_blocked()
            with trio.move_on_after(0):
                await desk.serve("given up", kind)
            nursery.start_soon(desk.serve, "second", "document")
            await trio.testing.wait_all_tasks_blocked()
            desk.go_on.set()
        assert desk.served == ["first", "second"]
        assert "1 free" in repr(desk.turns)

    trio.run(test)


@settings(max_examples=60, deadline=None)
@given(
    batches=st.integers(1, 3),
    lanes=st.lists(
        st.tuples(st.sampled_from(["query", "document"]), st.integers(0, 4), st.booleans()), max_size=12
    ),
)
def test_whoever_comes_and_goes_all_turns_are_there_at_the_end(
    batches: int, lanes: list[tuple[TextKind, int, bool]]
) -> None:
    turns = Turns(batches)
    busy = {"query": 0, "document": 0}

    async def lane(kind: TextKind, steps: int, is_cancelled: bool) -> None:
        with trio.CancelScope() as scope:
            async with turns.take(kind):
                busy[kind] += 1
                counted = busy["document"] + (busy["query"] if batches == 1 else 0)
                assert counted <= batches
                try:
                    for _ in range(steps):
                        await trio.lowlevel.checkpoint()
                    if is_cancelled:
                        scope.cancel()
                    await trio.lowlevel.checkpoint()
                finally:
                    busy[kind] -= 1

    async def leave_early(nursery: trio.Nursery, kind: TextKind, steps: int) -> None:
        with trio.CancelScope() as scope:
            nursery.start_soon(cancel_after, scope, steps)
            await lane(kind, steps, False)

    async def cancel_after(scope: trio.CancelScope, steps: int) -> None:
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        scope.cancel()

    async def test() -> None:
        with trio.fail_after(10):
            async with trio.open_nursery() as nursery:
                for kind, steps, is_cancelled in lanes:
                    nursery.start_soon(lane, kind, steps, is_cancelled)
                    nursery.start_soon(leave_early, nursery, kind, steps)

    trio.run(test)
    assert repr(turns) == f"<Turns {batches} free, 0 questions and 0 batches wait>"
