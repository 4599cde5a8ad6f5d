"""Contents of compressed transcripts (Zstandard)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from memd.programs.unreadable import RESTORE, unreadable
from memd.system import units
from memd_client.errors import FileUnreadableError

_STEP = 1024
"""Bytes decompressed at once. A malicious frame expands to 32,768 times its size, so at most 32 MB per step."""


def decompress(data: bytes, limit: int, path: str) -> bytes:
    """Return the contents of Zstandard frames. Only the first must be whole: a program may be adding to the last."""
    parts: list[bytes] = []
    size = 0
    for part in _unpack(data, path):
        size += len(part)
        if size > limit:
            raise unreadable(
                path,
                f"is too big: it expands to more than {units.size(limit)}",
                "too_big",
                "raise `max_file_mb` in memd.toml, or leave it: only this transcript is not indexed",
            )
        parts.append(part)
    return b"".join(parts)


def decompress_beginning(data: bytes, limit: int) -> bytes:
    """Return the beginning of the contents of Zstandard frames, which may be truncated."""
    unpacked = b""
    with contextlib.suppress(FileUnreadableError):
        for part in _unpack(data, ""):
            unpacked += part
            if len(unpacked) >= limit:
                break
    return unpacked[:limit]


def _unpack(data: bytes, path: str) -> Iterator[bytes]:
    """Yield the contents of frames in parts."""
    try:
        import zstandard
    except ImportError:
        from memd_client.installation import Installation

        raise unreadable(
            path,
            "is compressed, and the package zstandard isn't installed",
            "zstd_missing",
            f"install it: `{Installation().add('zstandard')}`",
        ) from None
    at = frames = 0
    with contextlib.suppress(zstandard.ZstdError, MemoryError):
        while at < len(data):
            unpack = zstandard.ZstdDecompressor().decompressobj()
            while at < len(data) and not unpack.eof:
                yield unpack.decompress(data[at : at + _STEP])
                at += _STEP
            if unpack.eof:
                frames += 1
                at = min(at, len(data)) - len(unpack.unused_data)
    if not frames:
        raise unreadable(path, "is damaged: it can't be decompressed", "damaged", RESTORE)
