"""What waits to be sent to one peer: bounded in bytes, written by one task, given up if nobody reads."""

from __future__ import annotations

import os
from collections import deque

import trio

from memd.rpc.limits import Limits

PIECE_BYTES = 256 * 1024
"""Sent at once. A peer that takes one piece within `stall_s` is slow, not gone."""


class Outbox:
    """The outgoing frames of one connection.

    Args:
        stream: Where they go; nobody else may send on it.
        limits: `outgoing_bytes`, `progress_bytes` and `stall_s` hold here.
    """

    def __init__(self, stream: trio.abc.SendStream, limits: Limits) -> None:
        self._stream = stream
        self._limits = limits
        self._frames: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._putting = 0
        self._room = trio.lowlevel.ParkingLot()
        self._work = trio.lowlevel.ParkingLot()
        self._empty = trio.lowlevel.ParkingLot()

    def __repr__(self) -> str:
        return f"<Outbox {len(self._frames)} frames, {self._waiting_bytes} bytes>"

    async def put(self, frame: bytes) -> None:
        """Queue a frame; wait while more bytes than allowed are waiting. A lone frame always fits."""
        self._putting += 1
        try:
            while self._waiting_bytes and self._waiting_bytes + len(frame) > self._limits.outgoing_bytes:
                await self._room.park()
        finally:
            self._putting -= 1
        self._append(frame)

    @property
    def is_full(self) -> bool:
        """Whether replies wait for room already: another one would be held as a value meanwhile."""
        return self._putting > 0

    async def wait_for_room(self) -> None:
        """Wait until no reply waits for room."""
        while self.is_full:
            await self._room.park()

    def offer(self, frame: bytes) -> bool:
        """Queue a frame that may be left out; say whether it was taken."""
        if self._waiting_bytes + len(frame) > self._limits.progress_bytes:
            return False
        self._append(frame)
        return True

    async def flush(self) -> None:
        """Wait until everything queued was handed to the system."""
        while self._waiting_bytes:
            await self._empty.park()

    async def write(self) -> None:
        """Send what is queued, for ever.

        Raises:
            trio.TooSlowError: The peer took nothing for `stall_s`.
            trio.BrokenResourceError, trio.ClosedResourceError: The peer, or our side, is gone.
        """
        while True:
            while not self._frames:
                await self._work.park()
            view = memoryview(self._frames[0])
            for start in range(0, len(view), PIECE_BYTES):
                with trio.fail_after(self._limits.stall_s):
                    await self._stream.send_all(view[start : start + PIECE_BYTES])
            self._waiting_bytes -= len(self._frames.popleft())
            self._room.unpark_all()
            if not self._waiting_bytes:
                self._empty.unpark_all()

    def _send_now(self, frame: bytes) -> int:
        """Return how many bytes of a frame the system took without waiting: mostly all of them."""
        if len(frame) > PIECE_BYTES or not isinstance(self._stream, trio.SocketStream):
            return 0
        try:
            return os.write(self._stream.socket.fileno(), frame)
        except OSError:
            return 0  # no room now; or the peer is gone, as the writer will find

    def _append(self, frame: bytes) -> None:
        """Send a frame at once where the system takes it; queue what is left of it, and wake the writer."""
        if not self._frames:
            frame = frame[self._send_now(frame) :]
            if not frame:
                return
        self._frames.append(frame)
        self._waiting_bytes += len(frame)
        self._work.unpark()
