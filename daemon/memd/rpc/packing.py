"""Frames of the daemon's replies. No integer in one can cost the reply: msgpack packs 64 bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memd_client.errors import BadParamsError
from memd_client.framing import MAX_FRAME_BYTES, encode_frame

MIN_INTEGER: Final = -(1 << 63)
MAX_INTEGER: Final = (1 << 64) - 1


def encode_reply(value: Any, limit: int = MAX_FRAME_BYTES) -> bytes:
    """Return the frame of a reply or notification; an integer beyond 64 bits becomes the nearest that fits."""
    try:
        return encode_frame(value, limit)
    except BadParamsError as error:
        if not isinstance(error.__cause__, OverflowError):
            raise
    return encode_frame(clamp_integers(value), limit)


def clamp_integers(value: Any) -> Any:
    """Return a value of maps, lists and scalars whose integers all fit 64 bits."""
    if isinstance(value, Mapping):
        return {clamp_integers(key): clamp_integers(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [clamp_integers(inner) for inner in value]
    if isinstance(value, int) and not MIN_INTEGER <= value <= MAX_INTEGER:
        return max(MIN_INTEGER, min(value, MAX_INTEGER))
    return value
