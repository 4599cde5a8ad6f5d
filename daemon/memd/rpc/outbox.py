"""Outgoing frames of one peer: limited in bytes, written by one task, dropped if the peer doesn't read.

`Backlog` limits the bytes of all peers together: it drops the peer with the most waiting bytes, idle peers first.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any, Final

import trio

from memd.rpc.limits import Limits
from memd_client.errors import BadParamsError
from memd_client.framing import MAX_FRAME_BYTES, encode_frame

WRITE_BYTES = 256 * 1024
"""Bytes per write. A peer that accepts one write within `stall_s` is slow, not gone."""

MIN_INTEGER: Final = -(1 << 63)
MAX_INTEGER: Final = (1 << 64) - 1


class Backlog:
    """The waiting bytes of all outboxes."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes: Counter[Outbox] = Counter()
        self.total = 0

    def __repr__(self) -> str:
        return f"<Backlog {self.total} bytes in {len(self._bytes)} outboxes>"

    def change(self, outbox: Outbox, by: int) -> None:
        """Count bytes added to an outbox, or removed from it (negative)."""
        self.total += by
        self._bytes[outbox] += by
        if not self._bytes[outbox]:
            del self._bytes[outbox]
        while self.total > self._most_bytes:
            largest = max(self._bytes, key=lambda each: (each.is_unread, self._bytes[each]))
            self.forget(largest)
            largest.drop()

    def forget(self, outbox: Outbox) -> None:
        """Stop counting an outbox."""
        self.total -= self._bytes.pop(outbox, 0)


class Outbox:
    """The outgoing frames of one connection."""

    def __init__(self, stream: trio.abc.SendStream, limits: Limits, backlog: Backlog | None = None) -> None:
        self._stream = stream
        self._limits = limits
        self._backlog = backlog or Backlog(limits.backlog_bytes)
        self._writing = trio.CancelScope()
        self._is_dropped = False
        self._frames: deque[bytes] = deque()
        self.waiting_bytes = 0
        self._read_at = 0.0
        self._putting = 0
        self._space_freed = trio.lowlevel.ParkingLot()
        self._work = trio.lowlevel.ParkingLot()
        self._empty = trio.lowlevel.ParkingLot()

    def __repr__(self) -> str:
        return f"<Outbox {len(self._frames)} frames, {self.waiting_bytes} bytes>"

    async def put(self, frame: bytes) -> None:
        """Queue a frame; wait while the queue is full. An empty queue takes a frame of any size."""
        self._putting += 1
        self._count(len(frame))
        try:
            while self.waiting_bytes and self.waiting_bytes + len(frame) > self._limits.outgoing_bytes:
                await self._space_freed.park()
        finally:
            self._putting -= 1
            self._count(-len(frame))
        self._append(frame)

    @property
    def is_unread(self) -> bool:
        """Whether the peer has read nothing for `unread_s` while replies wait."""
        return self.waiting_bytes > 0 and trio.current_time() - self._read_at > self._limits.unread_s

    @property
    def is_full(self) -> bool:
        """Whether replies wait to be queued: another one would stay in RAM as a value."""
        return self._putting > 0

    async def wait_for_space(self) -> None:
        """Wait until no reply waits to be queued."""
        while self.is_full:
            await self._space_freed.park()

    def offer(self, frame: bytes) -> bool:
        """Queue a frame that may be dropped; return whether it was queued."""
        if self.waiting_bytes + len(frame) > self._limits.progress_bytes:
            return False
        self._append(frame)
        return True

    async def flush(self) -> None:
        """Wait until the system has accepted all queued frames."""
        while self.waiting_bytes:
            await self._empty.park()

    async def write(self) -> None:
        """Send queued frames until the outbox is dropped or sending fails."""
        try:
            with self._writing:
                await self._write()
        finally:
            self._is_dropped = True
            self._frames.clear()
            self._backlog.forget(self)
        raise trio.TooSlowError

    def drop(self) -> None:
        """Drop all frames and end `write`, to free space for other peers."""
        self._is_dropped = True
        self._writing.cancel()

    async def _write(self) -> None:
        while True:
            while not self._frames:
                await self._work.park()
            view = memoryview(self._frames[0])
            for start in range(0, len(view), WRITE_BYTES):
                with trio.fail_after(self._limits.stall_s):
                    await self._stream.send_all(view[start : start + WRITE_BYTES])
                self._read_at = trio.current_time()
            sent = len(self._frames.popleft())
            self.waiting_bytes -= sent
            self._count(-sent)
            self._space_freed.unpark_all()
            if not self.waiting_bytes:
                self._empty.unpark_all()

    def _count(self, by: int) -> None:
        """Count bytes added or removed, unless the outbox was dropped."""
        if not self._is_dropped:
            self._backlog.change(self, by)

    def _send_now(self, frame: bytes) -> int:
        """Return how many bytes of a frame the system accepted without waiting: usually all."""
        if len(frame) > WRITE_BYTES or not isinstance(self._stream, trio.SocketStream):
            return 0
        try:
            return os.write(self._stream.socket.fileno(), frame)
        except OSError:
            return 0  # the socket's buffer is full, or the peer is gone, which the writer will notice

    def _append(self, frame: bytes) -> None:
        """Send a frame at once if the system accepts it; queue the rest of it and wake the writer."""
        if self._is_dropped:
            return
        if not self._frames:
            frame = frame[self._send_now(frame) :]
            if not frame:
                return
            self._read_at = trio.current_time()
        self._frames.append(frame)
        self.waiting_bytes += len(frame)
        self._count(len(frame))
        self._work.unpark()


def encode_reply(value: Any, limit: int = MAX_FRAME_BYTES) -> bytes:
    """Return the frame of a reply or notification, with integers clamped to 64 bits."""
    try:
        return encode_frame(value, limit)
    except BadParamsError as error:
        if not isinstance(error.__cause__, OverflowError):
            raise
    return encode_frame(clamp_integers(value), limit)


def clamp_integers(value: Any) -> Any:
    """Return a value of maps, lists and scalars with all integers clamped to 64 bits."""
    if isinstance(value, Mapping):
        return {clamp_integers(key): clamp_integers(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [clamp_integers(inner) for inner in value]
    if isinstance(value, int) and not MIN_INTEGER <= value <= MAX_INTEGER:
        return max(MIN_INTEGER, min(value, MAX_INTEGER))
    return value
