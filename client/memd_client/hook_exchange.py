"""One `hook` request to the daemon with a deadline, without the packages that the full client loads.

It writes and reads the few kinds of msgpack values that these frames have.
"""

from __future__ import annotations

import os
import select
import time
from _socket import AF_UNIX, SOCK_STREAM, socket

from .socket_location import peer_uid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

HELLO_ID, HOOK_ID = 1, 2

READ_BYTES = 64 * 1024

MAX_REPLY_BYTES = 1024 * 1024
"""Of all frames up to the reply; a text is a few thousand bytes long."""

BUSY_RETRY_INTERVAL_MS = 3
"""Pause between attempts while the daemon's accept backlog is full."""

BACKLOG_FULL = frozenset({11, 35})
"""EAGAIN of Linux and of macOS."""


class ExchangeFailedError(Exception):
    """No usable reply: the daemon is away, slow, or of another version."""


def ask_daemon(
    path: str, state_dir: str, params: Mapping[str, str | None], timeout_s: float
) -> dict[str, Any]:
    """Return the reply to a `hook` request.

    Args:
        path: The daemon's socket.
        state_dir: The state folder that the daemon must serve; empty: any.
        params: The parameters of the request.
        timeout_s: The longest time for all of it, in seconds.

    Raises:
        ExchangeFailedError, OSError: There is no reply.
    """
    deadline = time.monotonic() + timeout_s
    sock = _connected(path, deadline)
    try:
        if peer_uid(sock) not in (None, 0, os.geteuid()):
            raise ExchangeFailedError("the daemon belongs to another user")
        hello: dict[str, str | int | None] = {
            "protocol": 1,
            "client": "memd-hook",
            "version": "",
            "state_dir": state_dir,
        }
        # Both at once: the daemon serves a connection's frames in order, and this saves the wait for the first reply.
        sock.settimeout(_seconds_left(deadline))
        sock.sendall(request_frame(HELLO_ID, "hello", hello) + request_frame(HOOK_ID, "hook", params))
        return _reply(sock, deadline)
    finally:
        sock.close()


def request_frame(number: int, method: str, params: Mapping[str, str | int | None]) -> bytes:
    """Return the frame of a request."""
    parts = [b"\x94\x00", bytes((number,)), _packed(method), b"\xde", len(params).to_bytes(2, "big")]
    for name, value in params.items():
        parts += [_packed(name), _packed(value)]
    body = b"".join(parts)
    return len(body).to_bytes(4, "big") + body


def _packed(value: str | int | None) -> bytes:
    """Return a text, None or a number below 128 in msgpack. A lone surrogate becomes `?`."""
    if value is None:
        return b"\xc0"
    if isinstance(value, int):
        return bytes((value,))
    text = value.encode("utf-8", "replace")
    return b"\xdb" + len(text).to_bytes(4, "big") + text


def _connected(path: str, deadline: float) -> socket:
    """Return a connected socket."""
    while True:
        sock = socket(AF_UNIX, SOCK_STREAM)
        sock.settimeout(_seconds_left(deadline))
        try:
            sock.connect(path)
        except OSError as error:
            sock.close()
            if error.errno not in BACKLOG_FULL:
                raise
        except BaseException:
            sock.close()
            raise
        else:
            return sock
        select.poll().poll(BUSY_RETRY_INTERVAL_MS)


def _seconds_left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise ExchangeFailedError("no reply within the deadline")
    return left


def _reply(sock: socket, deadline: float) -> dict[str, Any]:
    """Read frames until the reply to the `hook` request, and return it."""
    data = b""
    while True:
        while len(data) >= 4 and len(data) >= (end := 4 + int.from_bytes(data[:4], "big")):
            message, data = unpacked(data[4:end]), data[end:]
            if not isinstance(message, list) or message[:1] != [1]:
                continue  # a notification
            _, number, error, result = message
            if error is not None:
                raise ExchangeFailedError(f"the daemon refused: {error!r}"[:200])
            if number == HOOK_ID and isinstance(result, dict):
                return result
        if len(data) > MAX_REPLY_BYTES:
            raise ExchangeFailedError("the reply is too long")
        sock.settimeout(_seconds_left(deadline))
        read = sock.recv(READ_BYTES)
        if not read:
            raise ExchangeFailedError("the daemon closed the connection")
        data += read


def unpacked(body: bytes) -> Any:
    """Return the msgpack value in a frame.

    Raises:
        ExchangeFailedError: It is not one value of the kinds that replies have.
    """
    try:
        value, end = _value(body, 0)
    except (IndexError, UnicodeDecodeError, RecursionError, TypeError) as error:
        raise ExchangeFailedError("a frame is not msgpack") from error
    if end != len(body):
        raise ExchangeFailedError("a frame has more or less than one value")
    return value


CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}

SIZED = {
    **{0xC4 + at: (bytes, 1 << at) for at in range(3)},
    **{0xD9 + at: (str, 1 << at) for at in range(3)},
    **{0xDC + at: (list, 2 << at) for at in range(2)},
    **{0xDE + at: (dict, 2 << at) for at in range(2)},
}
"""Kinds whose first byte is followed by a length of so many bytes."""

FIXED_BYTES = {0xCA: 4, 0xCB: 8, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
"""Floats and extension values, which no field of the reply has: they are skipped."""


def _value(body: bytes, at: int) -> tuple[Any, int]:
    """Return the value at a position, and the position behind it."""
    first = body[at]
    at += 1
    if first < 0x80 or first >= 0xE0:
        return (first if first < 0x80 else first - 256), at
    if first < 0x90:
        return _map(body, at, first & 0x0F)
    if first < 0xA0:
        return _list(body, at, first & 0x0F)
    if first < 0xC0:
        return _text(body, at, first & 0x1F)
    if first in CONSTANTS:
        return CONSTANTS[first], at
    if first in FIXED_BYTES:
        return None, at + FIXED_BYTES[first]
    if 0xCC <= first <= 0xD3:
        size = 1 << (first & 3)
        return int.from_bytes(body[at : at + size], "big", signed=first >= 0xD0), at + size
    kind, width = SIZED.get(first, (None, 0))
    size = int.from_bytes(body[at : at + width], "big")
    at += width
    if kind is str:
        return _text(body, at, size)
    if kind is bytes:
        return body[at : at + size], at + size
    if kind is list:
        return _list(body, at, size)
    if kind is dict:
        return _map(body, at, size)
    raise ExchangeFailedError(f"a frame has a value of an unknown kind: {first:#x}")


def _text(body: bytes, at: int, size: int) -> tuple[str, int]:
    return body[at : at + size].decode(), at + size


def _list(body: bytes, at: int, size: int) -> tuple[list[Any], int]:
    found = []
    for _ in range(size):
        value, at = _value(body, at)
        found.append(value)
    return found, at


def _map(body: bytes, at: int, size: int) -> tuple[dict[Any, Any], int]:
    found = {}
    for _ in range(size):
        key, at = _value(body, at)
        found[key], at = _value(body, at)
    return found, at
