"""What waits for one peer: bounded, in order, and given up when nobody reads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import MemorySendStream, MockClock, wait_all_tasks_blocked

from memd.rpc.limits import Limits
from memd.rpc.outbox import PIECE_BYTES, Outbox


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


def run(script: Callable[[], Awaitable[None]]) -> None:
    trio.run(script, clock=MockClock(autojump_threshold=0))


def test_frames_leave_in_order_and_whole() -> None:
    async def script() -> None:
        stream = MemorySendStream()
        outbox = Outbox(stream, Limits())
        big = b"b" * (PIECE_BYTES * 2 + 1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(outbox.write)
            for frame in (b"a", big, b"c"):
                await outbox.put(frame)
            await outbox.flush()
            nursery.cancel_scope.cancel()
        assert stream.get_data_nowait() == b"a" + big + b"c"
        assert repr(outbox) == "<Outbox 0 frames, 0 bytes>"

    run(script)


def test_a_peer_that_does_not_read_holds_back_replies_and_loses_progress() -> None:
    async def script() -> None:
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

    run(script)


def test_a_peer_that_takes_nothing_is_given_up() -> None:
    async def script() -> None:
        outbox = Outbox(Sink(), Limits(stall_s=30))
        await outbox.put(b"x")
        start = trio.current_time()
        with pytest.raises(trio.TooSlowError):
            await outbox.write()
        assert trio.current_time() - start == pytest.approx(30)

    run(script)
