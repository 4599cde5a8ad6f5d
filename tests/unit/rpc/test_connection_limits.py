"""One peer against the limits that are shared, or that hold for half a frame. In memory, on a `MockClock`."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from tests.unit.rpc.test_connection import code, connected


async def test_a_frame_that_stays_incomplete_ends_the_connection(autojump_clock: MockClock) -> None:
    async with connected(frame_s=30) as peer:
        await peer.greet()
        begun = trio.current_time()
        await peer.stream.send_all(b"\x00\x00\x10\x00")
        # when: bytes keep coming, one now and then
        for _ in range(5):
            await trio.sleep(5)
            await peer.stream.send_all(b"\xc0")
        # then
        reply = await peer.read()
        assert (reply[1], code(reply)) == (0, "idle_timeout")
        assert "incomplete" in reply[2]["message"]
        assert trio.current_time() - begun == pytest.approx(30)


async def test_bytes_that_make_no_message_do_not_count_as_life(autojump_clock: MockClock) -> None:
    async with connected(idle_s=30) as peer:
        await peer.greet()
        for _ in range(3):
            await trio.sleep(20)
            await peer.send(2, "from_a_newer_client", {})
        await trio.sleep(20)
        await peer.send(0, 1, "search", {"query": "x"})
        assert (await peer.read())[2] is None
        start = trio.current_time()
        reply = await peer.read()
        assert (reply[1], code(reply)) == (0, "idle_timeout")
        assert trio.current_time() - start == pytest.approx(30)


async def test_a_frame_of_too_many_values_is_refused_before_it_takes_the_memory(
    autojump_clock: MockClock,
) -> None:
    async with connected(frame_values=1000) as peer:
        await peer.greet()
        await peer.send(0, 1, "search", {"query": "x", "of_a_newer_client": [{}] * 900})
        assert (await peer.read())[2] is None
        await peer.send(0, 2, "search", {"query": "x", "of_a_newer_client": [[{}] * 500] * 2})
        reply = await peer.read()
        assert (reply[1], code(reply)) == (0, "frame_invalid")
        assert await peer.read() is None


async def test_requests_over_all_connections_are_bounded(autojump_clock: MockClock) -> None:
    async with connected(requests=2) as peer:
        await peer.greet()
        for request_id in (1, 2):
            await peer.send(0, request_id, "search", {"query": "wait"})
        await peer.send(0, 3, "search", {"query": "x"})
        reply = await peer.read()
        assert (reply[1], code(reply)) == (3, "daemon_busy")
        # when: it cancels one, then another request is accepted
        await peer.send(0, 4, "cancel", {"id": 1})
        replies = [await peer.read(), await peer.read()]
        assert {reply[1] for reply in replies} == {1, 4}
        await peer.send(0, 5, "search", {"query": "x"})
        assert (await peer.read())[2] is None


async def test_a_request_that_waits_for_a_slot_can_be_cancelled_and_keeps_its_deadline(
    autojump_clock: MockClock,
) -> None:
    async with connected(running=1, running_most=1) as peer:
        await peer.greet()
        await peer.send(0, 1, "search", {"query": "wait"})
        await peer.send(0, 2, "search", {"query": "x"})
        await peer.send(0, 3, "search", {"query": "x", "deadline_ms": 700})
        await peer.settle()
        assert peer.registry.main.searches == 1
        # when
        await peer.send(0, 4, "cancel", {"id": 2})
        replies = {reply[1]: reply for reply in [await peer.read(), await peer.read()]}
        assert code(replies[2]) == "cancelled"
        assert replies[4][3] == {"cancelled": True}
        late = await peer.read()
        # then
        assert (late[1], code(late)) == (3, "deadline_exceeded")
        assert peer.registry.main.searches == 1
        # when: the turn is free again
        await peer.send(0, 5, "cancel", {"id": 1})
        assert {(await peer.read())[1], (await peer.read())[1]} == {1, 5}
        await peer.send(0, 6, "search", {"query": "x"})
        assert (await peer.read())[2] is None


async def test_each_search_of_search_agents_takes_a_slot_and_cancel_ends_all(
    autojump_clock: MockClock,
) -> None:
    async with connected(running=3, running_most=3) as peer:
        await peer.greet()
        await peer.send(0, 1, "search_agents", {"query": "wait"})
        await peer.send(0, 2, "search_agents", {"query": "wait"})
        await peer.settle()
        assert peer.registry.main.waiting + peer.registry.other.waiting == 3  # of 4: three may run
        # when
        for request_id in (1, 2):
            await peer.send(0, 10 + request_id, "cancel", {"id": request_id})
        replies = {reply[1]: reply for reply in [await peer.read() for _ in range(4)]}
        # then
        assert [code(replies[request_id]) for request_id in (1, 2)] == ["cancelled", "cancelled"]
        assert peer.registry.main.waiting + peer.registry.other.waiting == 0
        await peer.send(0, 3, "search", {"query": "x"})
        assert (await peer.read())[2] is None


async def test_a_peer_that_does_not_read_has_no_more_run_for_it(autojump_clock: MockClock) -> None:
    async with connected(outgoing_bytes=3000, running=2) as peer:
        await peer.greet()
        hold = peer.connection._outbox._stream
        sending = trio.Event()

        class Full:
            async def send_all(self, data: bytes) -> None:
                await sending.wait()
                await hold.send_all(data)

        peer.connection._outbox._stream = Full()  # type: ignore[assignment]
        for request_id in range(1, 41):
            await peer.send(0, request_id, "search", {"query": "big 1000"})
        await peer.settle()
        # then: what fits in the outbox was made, and what was running then; the rest was not begun
        assert peer.registry.main.searches <= 3 + 2 + 1
        # when: it reads, then it gets all of them
        sending.set()
        assert {(await peer.read())[1] for _ in range(40)} == set(range(1, 41))


@pytest.mark.parametrize(("given_ms", "left_ms"), [(5_000, 3_000), (None, None)])
async def test_the_wait_for_a_slot_is_taken_off_a_requests_deadline(
    autojump_clock: MockClock, given_ms: int | None, left_ms: int | None
) -> None:
    async with connected(running=1, running_most=1) as peer:
        await peer.greet()
        await peer.send(0, 1, "search", {"query": "wait"})
        await peer.send(0, 2, "search", {"query": "x", "deadline_ms": given_ms})
        await trio.sleep(2)
        await peer.send(0, 3, "cancel", {"id": 1})
        replies = {reply[1]: reply for reply in [await peer.read() for _ in range(3)]}
        assert replies[2][2] is None
        assert peer.registry.main.asked is not None
        assert peer.registry.main.asked.deadline_ms == left_ms


@pytest.mark.parametrize("deadline", [True, 0, -1, "5", 1.5])
async def test_a_deadline_out_of_range_bounds_no_wait_and_is_refused_by_the_method(
    autojump_clock: MockClock, deadline: object
) -> None:
    async with connected(running=1, running_most=1) as peer:
        await peer.greet()
        await peer.send(0, 1, "search", {"query": "wait"})
        await peer.send(0, 2, "search", {"query": "x", "deadline_ms": deadline})
        await trio.sleep(100)
        await peer.send(0, 3, "cancel", {"id": 1})
        replies = {reply[1]: reply for reply in [await peer.read() for _ in range(3)]}
        assert code(replies[2]) == "bad_params"
