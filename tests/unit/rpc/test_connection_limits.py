"""One peer against the limits that are shared, or that hold for half a frame. In memory, on a `MockClock`."""

from __future__ import annotations

import pytest
import trio

from tests.unit.rpc.test_connection import Peer, code, converse


def test_begun_and_never_whole_a_frame_ends_the_connection() -> None:
    async def script(peer: Peer) -> None:
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
        assert "not whole" in reply[2]["message"]
        assert trio.current_time() - begun == pytest.approx(30)

    converse(script, frame_s=30)


def test_bytes_that_make_no_message_do_not_count_as_life() -> None:
    async def script(peer: Peer) -> None:
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

    converse(script, idle_s=30)


def test_a_frame_of_too_many_values_is_refused_before_it_takes_the_memory() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.send(0, 1, "search", {"query": "x", "of_a_newer_client": [{}] * 900})
        assert (await peer.read())[2] is None
        await peer.send(0, 2, "search", {"query": "x", "of_a_newer_client": [[{}] * 500] * 2})
        reply = await peer.read()
        assert (reply[1], code(reply)) == (0, "frame_invalid")
        assert await peer.read() is None

    converse(script, frame_values=1000)


def test_requests_over_all_connections_are_bounded() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        for request_id in (1, 2):
            await peer.send(0, request_id, "search", {"query": "wait"})
        await peer.send(0, 3, "search", {"query": "x"})
        reply = await peer.read()
        assert (reply[1], code(reply)) == (3, "daemon_busy")
        # when: it takes one back, then there is room again
        await peer.send(0, 4, "cancel", {"id": 1})
        replies = [await peer.read(), await peer.read()]
        assert {reply[1] for reply in replies} == {1, 4}
        await peer.send(0, 5, "search", {"query": "x"})
        assert (await peer.read())[2] is None

    converse(script, requests=2)


def test_a_request_that_waits_for_its_turn_can_be_cancelled_and_keeps_its_deadline() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.send(0, 1, "search", {"query": "wait"})
        await peer.send(0, 2, "search", {"query": "x"})
        await peer.send(0, 3, "search", {"query": "x", "deadline_ms": 700})
        await peer.settle()
        assert peer.memory.main.searches == 1
        # when
        await peer.send(0, 4, "cancel", {"id": 2})
        replies = {reply[1]: reply for reply in [await peer.read(), await peer.read()]}
        assert code(replies[2]) == "cancelled"
        assert replies[4][3] == {"cancelled": True}
        late = await peer.read()
        # then
        assert (late[1], code(late)) == (3, "deadline_exceeded")
        assert peer.memory.main.searches == 1
        # when: the turn is free again
        await peer.send(0, 5, "cancel", {"id": 1})
        assert {(await peer.read())[1], (await peer.read())[1]} == {1, 5}
        await peer.send(0, 6, "search", {"query": "x"})
        assert (await peer.read())[2] is None

    converse(script, running=1, running_most=1)


def test_each_agents_part_of_a_search_over_agents_takes_a_turn_and_cancel_ends_all_of_them() -> None:
    async def script(peer: Peer) -> None:
        await peer.greet()
        await peer.send(0, 1, "search_agents", {"query": "wait"})
        await peer.send(0, 2, "search_agents", {"query": "wait"})
        await peer.settle()
        assert peer.memory.main.waiting + peer.memory.other.waiting == 3  # of 4: three may run
        # when
        for request_id in (1, 2):
            await peer.send(0, 10 + request_id, "cancel", {"id": request_id})
        replies = {reply[1]: reply for reply in [await peer.read() for _ in range(4)]}
        # then
        assert [code(replies[request_id]) for request_id in (1, 2)] == ["cancelled", "cancelled"]
        assert peer.memory.main.waiting + peer.memory.other.waiting == 0
        await peer.send(0, 3, "search", {"query": "x"})
        assert (await peer.read())[2] is None

    converse(script, running=3, running_most=3)


def test_a_peer_that_does_not_read_has_no_more_run_for_it() -> None:
    async def script(peer: Peer) -> None:
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
        assert peer.memory.main.searches <= 3 + 2 + 1
        # when: it reads, then it gets all of them
        sending.set()
        assert {(await peer.read())[1] for _ in range(40)} == set(range(1, 41))

    converse(script, outgoing_bytes=3000, running=2)
