"""Lists of numbers as JSON, to pass them to and from SQL statements in one value.

A search passes hundreds of ids to about a dozen statements. One value costs far less than a hundred rows, and msgspec
is much faster at it than the standard library.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

_IDS = msgspec.json.Decoder(list[int])
_SCORES = msgspec.json.Decoder(list[float])


def pack_ids(ids: Collection[int]) -> str:
    """Return ids as JSON for `json_each`."""
    return pack_json(list(ids))


def pack_json(values: Sequence[object]) -> str:
    """Return any list as JSON for `json_each`."""
    return msgspec.json.encode(values).decode()


def unpack_ids(value: object) -> list[int]:
    """Return the ids in the result of `json_group_array`."""
    return _IDS.decode(str(value))


def unpack_scores(value: object) -> list[float]:
    """Return the scores in the result of `json_group_array`."""
    return _SCORES.decode(str(value))
