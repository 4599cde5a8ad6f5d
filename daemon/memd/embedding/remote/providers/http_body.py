"""The bodies of a request and of its reply, piece by piece. Loaded with `http_exchange` only."""

from __future__ import annotations

import zlib
from typing import Final, Self

import httpx

_ANY_HEADER: Final = 47
"""For zlib: gzip's header or zlib's own."""

_PIECE_BYTES: Final = 256 * 1024


class Pieces(httpx.AsyncByteStream):
    """A request's body in pieces, so that the patience for writing counts from one to the next.

    No generator: one that is left in the middle would have to be closed, and httpx doesn't.
    """

    def __init__(self, body: bytes) -> None:
        self._body = memoryview(body)
        self._at = 0

    def __aiter__(self) -> Self:
        self._at = 0
        return self

    async def __anext__(self) -> bytes:
        piece = bytes(self._body[self._at : self._at + _PIECE_BYTES])
        self._at += len(piece)
        if not piece:
            raise StopAsyncIteration
        return piece


class Body:
    """A reply's body as it comes, decompressed; a bomb is inflated to a byte more than may come, and no more."""

    def __init__(self, coding: str, max_bytes: int) -> None:
        name = coding.strip().lower()
        if name not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise zlib.error(name)
        self._engine = None if name in ("", "identity") else zlib.decompressobj(_ANY_HEADER)
        self._most = max_bytes
        self._data = bytearray()
        self._begun = self._broken = False

    def feed(self, piece: bytes) -> bool:
        """Take a piece; return whether more is wanted."""
        if not self._broken and len(self._data) <= self._most:
            self._begun = True
            try:
                self._data += self._engine.decompress(piece, self._most + 1) if self._engine else piece
            except zlib.error:
                self._broken = True
        return not self._broken and len(self._data) <= self._most

    def whole(self) -> bytes | None:
        """Return the body, None where it is more than may come."""
        if len(self._data) > self._most:
            return None
        if self._broken or (self._begun and self._engine and not self._engine.eof):
            raise zlib.error("broken")
        return bytes(self._data)
