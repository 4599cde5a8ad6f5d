"""Zstandard frames to bytes, never to more than was allowed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from memd.system import units
from memd_client.errors import FileUnreadableError

_STEP = 1024
"""Bytes taken in at once. A frame made to harm unpacks to 32,768 times its size: 32 MB a step at most."""


def decompress(data: bytes, limit: int, path: str) -> bytes:
    """Return what one Zstandard frame holds."""
    parts: list[bytes] = []
    size = 0
    for part in _unpack(data, path):
        size += len(part)
        if size > limit:
            raise FileUnreadableError(
                f"{path} is too big: it unpacks to more than {units.size(limit)}",
                hint="Nothing to do: it is left out and everything else is searched.",
                data={"path": path, "reason": "too_big"},
            )
        parts.append(part)
    return b"".join(parts)


def decompress_beginning(data: bytes, limit: int) -> bytes:
    """Return the beginning of what a Zstandard frame holds, of which only the beginning may be there."""
    unpacked = b""
    with contextlib.suppress(FileUnreadableError):
        for part in _unpack(data, ""):
            unpacked += part
            if len(unpacked) >= limit:
                break
    return unpacked[:limit]


def _unpack(data: bytes, path: str) -> Iterator[bytes]:
    """Yield what a frame holds, part by part."""
    try:
        import zstandard
    except ImportError:
        from memd_client.installation import Installation

        raise FileUnreadableError(
            f"{path} is compressed, and the package zstandard isn't installed",
            hint=f"Install it: `{Installation().add('zstandard')}`.",
            data={"path": path, "reason": "zstd_missing"},
        ) from None
    unpack = zstandard.ZstdDecompressor().decompressobj()
    with contextlib.suppress(zstandard.ZstdError, MemoryError):
        for start in range(0, len(data), _STEP):
            yield unpack.decompress(data[start : start + _STEP])
            if unpack.eof:
                return
    raise FileUnreadableError(
        f"{path} is damaged: what is compressed in it can't be unpacked",
        hint="Restore it from a backup; until then it is left out and everything else is searched.",
        data={"path": path, "reason": "damaged"},
    )
