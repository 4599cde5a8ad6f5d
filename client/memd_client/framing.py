"""Frames: a 4-byte big-endian length and one msgpack value. Bytes to values and back, without I/O.

This is the one place that knows msgpack: whatever it raises becomes an error of `errors`.
"""

from __future__ import annotations

import msgpack

from .errors import BadParamsError, FrameInvalidError, FrameTooBigError

TYPE_CHECKING = False  # typing's own costs a client 6 ms at import; type checkers know the name
if TYPE_CHECKING:
    from typing import Any

MAX_FRAME_BYTES = 16 * 1024 * 1024
"""Longest msgpack value of a frame, in bytes: room for 10,000 vectors of 384 floats, and still a bounded
allocation for a peer that announces nonsense."""

MAX_VALUES = 250_000
"""Values a frame to the daemon may hold, those inside of lists and maps counted. In memory a value takes up to
seventy times its bytes: one frame of empty maps would take a gigabyte, and seconds in which nobody is served."""

HEADER_BYTES = 4
"""Length of a frame's header: one unsigned 32-bit integer, big-endian."""


def encode_frame(value: Any, limit: int = MAX_FRAME_BYTES) -> bytes:
    """Return the frame of a value.

    A lone surrogate (half a character, from text decoded with `surrogateescape`) has no UTF-8 form: it
    travels as `?`, because one such character must not cost the whole message.

    Args:
        value: Maps, lists, strings, bytes, numbers, booleans and None.
        limit: The longest msgpack value allowed, in bytes.

    Raises:
        FrameTooBigError: The value takes more than `limit` bytes.
        BadParamsError: The value holds something msgpack can't carry.
    """
    try:
        body = msgpack.packb(value, unicode_errors="replace")
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise BadParamsError(f"a value can't be sent: {str(error)[:200]}") from error
    if len(body) > limit:
        raise FrameTooBigError(
            f"a frame of {len(body)} bytes is over the limit of {limit}",
            data={"size": len(body), "limit": limit},
        )
    return b"".join((len(body).to_bytes(HEADER_BYTES, "big"), body))


class FrameDecoder:
    """Collects bytes and gives out the values of whole frames.

    An announced length over the limit is refused before a byte of it is kept. After an error the stream
    has no known frame border any more: the decoder stays broken, and the connection has to be closed.

    Args:
        limit: The longest msgpack value accepted, in bytes.
        max_values: The most values in a frame; None leaves them uncounted, for a peer that is trusted.
    """

    def __init__(self, limit: int = MAX_FRAME_BYTES, max_values: int | None = None) -> None:
        self._limit = limit
        self._max_values = max_values
        self._buffer = bytearray()
        self._broken = False

    def __repr__(self) -> str:
        state = "broken" if self._broken else f"{len(self._buffer)} bytes waiting"
        return f"<FrameDecoder {state}>"

    @property
    def waiting_bytes(self) -> int:
        """How many bytes wait for the rest of their frame."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[Any]:
        """Take bytes as they came and return the values they completed, oldest first.

        Args:
            data: Any number of bytes, cut anywhere.

        Raises:
            FrameTooBigError: A frame announces more than the limit.
            FrameInvalidError: A frame holds no msgpack value, or more than one; or the decoder is broken.
                Values of the same call that stood before the bad frame are lost with it.
        """
        if self._broken:
            raise FrameInvalidError("the stream is unusable after a bad frame")
        try:
            return self._take(data)
        except Exception:
            self._broken = True
            self._buffer.clear()
            raise

    def _take(self, data: bytes) -> list[Any]:
        """Append the bytes and cut off every whole frame."""
        self._buffer += data
        values: list[Any] = []
        start = 0
        while len(self._buffer) - start >= HEADER_BYTES:
            size = int.from_bytes(self._buffer[start : start + HEADER_BYTES], "big")
            if size > self._limit:
                raise FrameTooBigError(
                    f"a frame of {size} bytes is announced, the limit is {self._limit}",
                    data={"size": size, "limit": self._limit},
                )
            end = start + HEADER_BYTES + size
            if len(self._buffer) < end:
                break
            values.append(_decode(bytes(self._buffer[start + HEADER_BYTES : end]), self._max_values))
            start = end
        if start:
            del self._buffer[:start]
        return values


def _decode(body: bytes, max_values: int | None) -> Any:
    """Return the one msgpack value of a frame's body."""
    try:
        if max_values is None:
            return msgpack.unpackb(body)
        count = _Count(max_values)
        longest = min(max_values, len(body))
        return msgpack.unpackb(
            body, max_array_len=longest, max_map_len=longest, list_hook=count, object_hook=count
        )
    except (
        msgpack.UnpackException,
        ValueError,
        TypeError,
        OverflowError,
        RecursionError,
        MemoryError,  # lists within lists that announce more than they hold
    ) as error:
        reason = str(error)[:80] or type(error).__name__
        raise FrameInvalidError(f"a frame of {len(body)} bytes is not one msgpack value ({reason})") from None


class _Count:
    """Counts the values of a frame while it is decoded: called with every list and map that is whole."""

    def __init__(self, left: int) -> None:
        self._left = left

    def __call__(self, values: Any) -> Any:
        self._left -= len(values)
        if self._left < 0:
            raise ValueError("too many values")
        return values
