"""Scheduling: the first request of each connection runs at once, the rest fairly; no slot is lost."""

from __future__ import annotations

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from memd.rpc.admission import Admission, FairSemaphore
from memd.rpc.limits import Limits
from memd_client.errors import DaemonBusyError


class Work:
    """Requests that take one second each, and the order they began in."""

    def __init__(self, slots: FairSemaphore) -> None:
        self.slots = slots
        self.began: list[str] = []
        self.at: list[float] = []

    async def request(self, client: str) -> None:
        """Wait for a turn and work."""
        await self.slots.acquire(client)
        self.began.append(client)
        self.at.append(trio.current_time())
        try:
            await trio.sleep(1)
        finally:
            self.slots.release(client)


async def test_a_connections_first_request_never_waits_for_anothers_many(autojump_clock: MockClock) -> None:
    # given: one client whose requests take all slots, and many more that wait
    work = Work(FairSemaphore(at_once=2, most=10))
    async with trio.open_nursery() as nursery:
        for _ in range(9):
            nursery.start_soon(work.request, "greedy")
        await wait_all_tasks_blocked()
        assert work.began == ["greedy", "greedy"]
        # when: another asks; then: it begins at once
        nursery.start_soon(work.request, "polite")
        await wait_all_tasks_blocked(0)
        assert work.began[2:] == ["polite"]
        assert work.at[2] == work.at[0]


async def test_what_waits_goes_round_between_connections(autojump_clock: MockClock) -> None:
    work = Work(FairSemaphore(at_once=1, most=1))
    async with trio.open_nursery() as nursery:
        for client in "aaaabbc":
            nursery.start_soon(work.request, client)
            await wait_all_tasks_blocked(0)
    assert "".join(work.began) in ("aabcaba", "abcabaa")
    assert work.at == sorted(work.at)
    assert len(set(work.at)) == len(work.at)


async def test_lowest_load_goes_first_and_every_fourth_slot_to_the_longest_wait(
    autojump_clock: MockClock,
) -> None:
    loads = {"running": 0, "unread": 1_000, "many": 64, "polite": 1}
    work = Work(FairSemaphore(1, 1, lambda client: loads[str(client)]))
    async with trio.open_nursery() as nursery:
        for client in ("running", "unread", "many", "unread", "many", "polite", "polite", "polite"):
            nursery.start_soon(work.request, client)
            await wait_all_tasks_blocked(0)
    assert work.began == ["running", "polite", "polite", "polite", "unread", "many", "many", "unread"]


async def test_connections_with_nothing_running_are_bounded_too(autojump_clock: MockClock) -> None:
    slots = FairSemaphore(at_once=1, most=3)
    work = Work(slots)
    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(work.request, str(number))
        await wait_all_tasks_blocked()
        assert len(work.began) == 3
        assert slots.waiting == 7
        assert repr(slots) == "<FairSemaphore 3 running, 7 waiting>"
    assert sorted(work.began) == sorted(map(str, range(10)))


@given(
    wishes=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 20), st.integers(1, 30)), max_size=30),
    at_once=st.integers(1, 3),
    more=st.integers(0, 2),
)
def test_no_slot_is_lost_or_granted_twice_under_cancellation(
    wishes: list[tuple[str, int, int]], at_once: int, more: int
) -> None:
    async def script() -> None:
        slots = FairSemaphore(at_once, at_once + more)
        running = 0

        async def request(client: str, begins: int, patience: int) -> None:
            nonlocal running
            await trio.sleep(begins)
            with trio.move_on_after(patience):
                await slots.acquire(client)
                running += 1
                assert running <= at_once + more
                try:
                    await trio.sleep(3)
                finally:
                    running -= 1
                    slots.release(client)

        async with trio.open_nursery() as nursery:
            for wish in wishes:
                nursery.start_soon(request, *wish)
        assert repr(slots) == "<FairSemaphore 0 running, 0 waiting>"
        # then: the slots are all there again
        for _ in range(at_once):
            with trio.fail_after(120):
                await slots.acquire("d")

    trio.run(script, clock=MockClock(autojump_threshold=0))


def test_a_request_too_many_over_all_connections_is_refused_unless_it_is_the_only_one() -> None:
    admission = Admission(Limits(requests=3))
    for _ in range(3):
        admission.enter("greedy", "index")
    with pytest.raises(DaemonBusyError, match="3 requests"):
        admission.enter("greedy", "search")
    admission.enter("polite", "search")
    with pytest.raises(DaemonBusyError):
        admission.enter("polite", "search")
    admission.enter("greedy", "cancel")
    for client in ("greedy", "greedy", "greedy", "polite", "greedy"):
        admission.leave(client)
    assert admission.total == 0
    admission.enter("greedy", "search")


def test_kinds_of_requests_do_not_wait_for_each_other() -> None:
    admission = Admission(Limits())
    assert admission.slots_of("search") is admission.slots_of("conversation_search")
    assert admission.slots_of("search") is not admission.slots_of("get")
    assert admission.slots_of("search") is not admission.slots_of("embed")
    assert admission.slots_of("status") is not admission.slots_of("search")
    assert admission.slots_of("cancel") is None
    assert admission.slots_of("hello") is None
    assert admission.waiting == 0


def test_unfinished_frames_of_all_clients_are_bounded_together() -> None:
    admission = Admission(Limits(unfinished_bytes=100))
    admission.keep("a", 60)
    admission.keep("b", 40)
    with pytest.raises(DaemonBusyError):
        admission.keep("b", 50)
    admission.keep("b", 0)
    admission.keep("a", 90)
    admission.keep("a", 0)
    admission.keep("c", 100)
