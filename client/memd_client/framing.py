"""Encoding and decoding of frames: a 4-byte big-endian length and one msgpack value, without I/O.

Only this module uses msgpack; it converts msgpack's exceptions to errors of `errors`.
"""

from __future__ import annotations

from typing import Any

import msgpack

from .errors import BadParamsError, FrameInvalidError, FrameTooBigError

MAX_FRAME_BYTES = 16 * 1024 * 1024
"""Longest msgpack value of a frame, in bytes: enough for 10,000 vectors of 384 floats, while a peer that announces a
wrong length causes only a bounded allocation."""

MAX_VALUES = 250_000
"""Limit of values in a frame to the daemon, including those inside lists and maps. A decoded value can take far more
RAM than its bytes: a frame of empty maps would take a gigabyte, and block the daemon for seconds."""

HEADER_BYTES = 4
"""Length of a frame's header: one unsigned 32-bit integer, big-endian."""


def encode_frame(value: Any, limit: int = MAX_FRAME_BYTES) -> bytes:
    """Return the frame of a value.

    A lone surrogate (from text decoded with `surrogateescape`) has no UTF-8 form and is sent as `?`, so that one such
    character doesn't fail the whole message.

    Args:
        value: Maps, lists, strings, bytes, numbers, booleans and None.
        limit: The longest msgpack value allowed, in bytes.

    Raises:
        FrameTooBigError: The value takes more than `limit` bytes.
        BadParamsError: msgpack can't encode the value.
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
    """Collects bytes and returns the values of complete frames.

    An announced length over the limit is rejected before any byte of the frame is kept. After an error the position of
    the next frame is unknown: the decoder stays broken, and the connection must be closed.

    Args:
        limit: The longest msgpack value accepted, in bytes.
        max_values: The limit of values in a frame; None: no limit, for a trusted peer.
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
        """Bytes of an incomplete frame."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[Any]:
        """Add received bytes and return the values they complete, oldest first.

        Args:
            data: Any number of bytes, split at any position.

        Raises:
            FrameTooBigError: A frame announces more than the limit.
            FrameInvalidError: A frame does not contain exactly one msgpack value, or the decoder is broken. Values of
                the same call before the bad frame are lost.
        """
        if self._broken:
            raise FrameInvalidError("the stream is unusable after an invalid frame")
        try:
            return self._take(data)
        except Exception:
            self._broken = True
            self._buffer.clear()
            raise

    def _take(self, data: bytes) -> list[Any]:
        """Append the bytes and remove all complete frames."""
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
        MemoryError,  # nested lists that announce more values than they contain
    ) as error:
        reason = str(error)[:80] or type(error).__name__
        raise FrameInvalidError(f"a frame of {len(body)} bytes is not one msgpack value ({reason})") from None


class _Count:
    """Counts the values of a frame during decoding: called with each complete list and map."""

    def __init__(self, left: int) -> None:
        self._left = left

    def __call__(self, values: Any) -> Any:
        self._left -= len(values)
        if self._left < 0:
            raise ValueError("too many values")
        return values
