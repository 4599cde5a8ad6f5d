"""The outbox of a peer: limited, in order, and dropped if the peer does not read."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgpack
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MemorySendStream, MockClock, wait_all_tasks_blocked

from memd.rpc.limits import Limits
from memd.rpc.outbox import MAX_INTEGER, MIN_INTEGER, WRITE_BYTES, Backlog, Outbox, encode_reply
from memd_client.errors import BadParamsError, FrameTooBigError
from memd_client.framing import HEADER_BYTES, encode_frame


class Sink(trio.abc.SendStream):
    """Takes what it is sent while it is open."""

    def __init__(self) -> None:
        self.data = b""
        self.open = trio.Event()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Wait until open, then take the data."""
        await self.open.wait()
        self.data += bytes(data)

    async def wait_send_all_might_not_block(self) -> None:
        """Not used."""

    async def aclose(self) -> None:
        """Nothing to close."""


async def test_frames_leave_in_order_and_whole(autojump_clock: MockClock) -> None:
    stream = MemorySendStream()
    outbox = Outbox(stream, Limits())
    big = b"b" * (WRITE_BYTES * 2 + 1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.write)
        for frame in (b"a", big, b"c"):
            await outbox.put(frame)
        await outbox.flush()
        nursery.cancel_scope.cancel()
    assert stream.get_data_nowait() == b"a" + big + b"c"
    assert repr(outbox) == "<Outbox 0 frames, 0 bytes>"


async def test_a_peer_that_does_not_read_holds_back_replies_and_loses_progress(
    autojump_clock: MockClock,
) -> None:
    sink = Sink()
    outbox = Outbox(sink, Limits(outgoing_bytes=10, progress_bytes=5))
    done: list[bytes] = []

    async def put(frame: bytes) -> None:
        await outbox.put(frame)
        done.append(frame)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.write)
        await put(b"x" * 50)  # alone, any frame fits
        assert not outbox.offer(b"p")
        nursery.start_soon(put, b"y")
        await wait_all_tasks_blocked()
        assert len(done) == 1
        sink.open.set()
        await outbox.flush()
        await wait_all_tasks_blocked()
        assert len(done) == 2
        assert outbox.offer(b"p")
        await outbox.flush()
        nursery.cancel_scope.cancel()
    assert sink.data == b"x" * 50 + b"yp"


async def test_a_peer_that_takes_nothing_is_given_up(autojump_clock: MockClock) -> None:
    outbox = Outbox(Sink(), Limits(stall_s=30))
    await outbox.put(b"x")
    start = trio.current_time()
    with pytest.raises(trio.TooSlowError):
        await outbox.write()
    assert trio.current_time() - start == pytest.approx(30)


async def test_of_several_outboxes_the_one_with_most_bytes_is_given_up(autojump_clock: MockClock) -> None:
    backlog = Backlog(100)
    sinks = [Sink() for _ in range(3)]
    outboxes = [Outbox(sink, Limits(), backlog) for sink in sinks]
    given_up: list[int] = []

    async def write(number: int) -> None:
        try:
            await outboxes[number].write()
        except trio.TooSlowError:
            given_up.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(write, number)
        for number, size in enumerate((30, 50, 20)):
            await outboxes[number].put(b"x" * size)
        await wait_all_tasks_blocked()
        assert (given_up, backlog.total) == ([], 100)
        # when: the smallest adds what is too much
        await outboxes[2].put(b"y")
        await wait_all_tasks_blocked()
        assert (given_up, backlog.total) == ([1], 51)
        # then: the others get theirs, and nothing more waits in the one that was given up
        await outboxes[1].put(b"z" * 60)
        assert backlog.total == 51
        for sink in (sinks[0], sinks[2]):
            sink.open.set()
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert [len(sink.data) for sink in sinks] == [30, 0, 21]
    assert backlog.total == 0


async def test_peer_that_reads_nothing_is_given_up_before_one_with_more_bytes(
    autojump_clock: MockClock,
) -> None:
    backlog = Backlog(100)
    sinks = [Sink(), Sink()]
    outboxes = [Outbox(sink, Limits(unread_s=1), backlog) for sink in sinks]
    async with trio.open_nursery() as nursery:

        async def write(outbox: Outbox) -> None:
            with suppress(trio.TooSlowError):
                await outbox.write()

        for outbox in outboxes:
            nursery.start_soon(write, outbox)
        await outboxes[0].put(b"x" * 10)
        await trio.sleep(2)
        # when: the other one's reply is too much
        await outboxes[1].put(b"y" * 95)
        for sink in sinks:
            sink.open.set()
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert [len(sink.data) for sink in sinks] == [0, 95]


integers = st.integers() | st.integers(-(1 << 80), 1 << 80)
values = st.recursive(
    st.none() | st.booleans() | integers | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
)


@given(values)
def test_any_integers_can_be_sent_and_those_of_64_bits_come_as_they_are(value: Any) -> None:
    def nearest(one: Any) -> Any:
        if isinstance(one, dict):
            return {key: nearest(inner) for key, inner in one.items()}
        if isinstance(one, list):
            return [nearest(inner) for inner in one]
        is_integer = isinstance(one, int) and not isinstance(one, bool)
        return min(max(one, MIN_INTEGER), MAX_INTEGER) if is_integer else one

    assert msgpack.unpackb(encode_reply(value)[HEADER_BYTES:]) == nearest(value)


def test_reply_without_large_integers_is_the_frame_of_the_client() -> None:
    assert encode_reply({"a": [1, -2, "x", 0.5]}) == encode_frame({"a": [1, -2, "x", 0.5]})


def test_value_that_is_none_of_msgpacks_stays_an_error() -> None:
    for value in ({1, 2}, [1 << 70, object()]):
        with pytest.raises(BadParamsError):
            encode_reply(value)
    with pytest.raises(FrameTooBigError):
        encode_reply("x" * 100, 50)
