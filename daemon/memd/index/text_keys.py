"""Numbers that stand for texts, by which columns tell which chunk has the text of a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from memd.index.database import Database
from memd.index.numbers import pack_ids

Ints: TypeAlias = NDArray[np.int64]

KEY_BYTES = 16
"""Memory of a vector: its id, and its text's key."""

READ_VECTORS = 4_096
"""Vectors of which the texts are read at once."""

_HASHES = msgspec.json.Decoder(list[tuple[int, str]])


def key_of(digest: str) -> int:
    """Return a number that stands for the hash of a text within this process.

    It is Python's own for strings: 64 bits, mixed with a secret of the process, so that nobody can write two texts with
    one number. Among a million texts two have one by chance once in 40 million times.
    """
    return hash(digest)


def find_sorted(ids: Ints, wanted: Ints) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return where some ids are among others, and which of them are there at all."""
    at = np.searchsorted(ids, wanted)
    there = at < len(ids)
    there[there] = ids[at[there]] == wanted[there]
    return at, there


class VectorKeys:
    """Of which text each vector of a space is. Nothing of it changes, as nothing of that ever does."""

    def __init__(self, space_id: str = "", ids: Ints | None = None, keys: Ints | None = None) -> None:
        self.space_id = space_id
        self._ids = ids if ids is not None else np.zeros(0, dtype=np.int64)
        self._keys = keys if keys is not None else np.zeros(0, dtype=np.int64)

    def __repr__(self) -> str:
        return f"<VectorKeys of {len(self._ids)} vectors>"

    def keys_of(self, vector_ids: Ints) -> tuple[NDArray[np.bool_], Ints]:
        """Return which of some vectors are known (n,), and the keys of the texts of those."""
        at, known = find_sorted(self._ids, vector_ids)
        return known, self._keys[at[known]]

    def with_those(self, db: Database, vector_ids: Ints) -> VectorKeys:
        """Return the same with vectors that weren't known, as far as they are there."""
        rows = db.execute(  # one row, as in `keyword.find_keyword`
            """SELECT json_group_array(json_array(e.id, e.hash)) FROM json_each(?) AS wanted
               CROSS JOIN embedding_cache AS e NOT INDEXED ON e.id = wanted.value AND e.provider_key = ?""",
            (pack_ids(np.sort(vector_ids).tolist()), self.space_id),
        ).fetchall()
        return self._with(_HASHES.decode(str(rows[0][0])))

    def with_all(self, db: Database) -> VectorKeys:
        """Return the same with all vectors of the space."""
        keys, last = self, 0
        while True:  # from the index, whose rows are short
            rows = db.execute(
                """SELECT json_group_array(json_array(id, hash)) FROM (
                   SELECT id, hash FROM embedding_cache INDEXED BY embedding_hashes
                   WHERE id > ? AND provider_key = ? ORDER BY id LIMIT ?)""",
                (last, self.space_id, READ_VECTORS),
            ).fetchall()
            found = _HASHES.decode(str(rows[0][0]))
            if not found:
                return keys
            keys, last = keys._with(found), found[-1][0]

    def _with(self, found: Sequence[tuple[int, str]]) -> VectorKeys:
        """Return the same with vectors that aren't there, by id."""
        ids = np.fromiter((key for key, _ in found), np.int64, len(found))
        keys = np.fromiter((key_of(digest) for _, digest in found), np.int64, len(found))
        at = np.searchsorted(self._ids, ids)
        return VectorKeys(self.space_id, np.insert(self._ids, at, ids), np.insert(self._keys, at, keys))
