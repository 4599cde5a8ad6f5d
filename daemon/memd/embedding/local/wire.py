"""Frames of daemon and model process: 4-byte big-endian length, msgpack map.

Requests, one at a time: ``{"kind": "embed", "id", "texts", "background"}`` (one text on all threads, several in
parallel), and ``{"kind": "interrupt", "id"}`` (cancel that request if it is under way; it has no reply).

Replies: ``loading`` with the ``engine`` before each one is tried; ``ready`` once after loading, with ``dims``,
``window``, ``parallel_texts`` (their maximum number), ``has_gpu`` (whether the engine was built for one) and
``gpu_layers`` (how many it computes), or ``failed``; then for each text, in any order and with its ``position``, one of
``vector`` (raw float32 bytes, little-endian), ``refused`` (this text can't be embedded), ``interrupted``,
``untouched`` (cancelled before it started).
"""

from __future__ import annotations

import struct
from typing import Any, BinaryIO, Final

import msgpack

HEADER: Final = struct.Struct(">I")

MAX_FRAME_BYTES: Final = 32 * 1024 * 1024
"""Twice the frame limit of clients, so no valid text exceeds it."""

Message = dict[str, Any]


class WireError(ValueError):
    """Bytes that are not a valid frame."""


def encode(message: Message) -> bytes:
    """Return a message as one frame."""
    try:
        body: bytes = msgpack.packb(message)
    except (ValueError, TypeError, OverflowError) as error:
        raise WireError(f"a message can't be packed: {type(error).__name__}") from None
    if len(body) > MAX_FRAME_BYTES:
        raise WireError(f"a message of {len(body)} bytes is longer than {MAX_FRAME_BYTES}")
    return HEADER.pack(len(body)) + body


def _decode(body: bytes) -> Message:
    """Return the message in the body of a frame."""
    try:
        message = msgpack.unpackb(body)
    except (ValueError, msgpack.exceptions.UnpackException) as error:
        raise WireError(f"a frame can't be unpacked: {type(error).__name__}") from None
    if not isinstance(message, dict) or not isinstance(message.get("kind"), str):
        raise WireError("a frame without a kind")
    return message


def _length(header: bytes) -> int:
    """Return the length in a frame's header; raise if it exceeds the limit."""
    length: int = HEADER.unpack(header)[0]
    if length > MAX_FRAME_BYTES:
        raise WireError(f"a frame announces {length} bytes, more than {MAX_FRAME_BYTES}")
    return length


class FrameReader:
    """Decodes messages from received bytes; no I/O."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """Add received bytes; return the messages that are complete now."""
        self._buffer += data
        messages = []
        while len(self._buffer) >= HEADER.size:
            end = HEADER.size + _length(bytes(self._buffer[: HEADER.size]))
            if len(self._buffer) < end:
                break
            messages.append(_decode(bytes(self._buffer[HEADER.size : end])))
            del self._buffer[:end]
        return messages


def read_message(stream: BinaryIO) -> Message | None:
    """Read a message from a blocking stream, in the model process; None at its end."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    body = stream.read(length := _length(header))
    return _decode(body) if len(body) == length else None
