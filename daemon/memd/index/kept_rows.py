"""Where chunks stand, kept from one search to the next for as long as nobody changes the index.

For a process that does nothing but search while many ask: a row is then read once instead of with every question that
brings it up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from memd.index.database import Database, get_int
from memd.index.files import ChunkRow, chunks_by_id, chunks_of_vectors
from memd.index.keyword import count_chunks
from memd.index.missing import last_vector_id
from memd.index.places import facts_of
from memd.ranking.places import FACTS, FileNumbers, Places

MOST: Final = 20_000
"""Rows kept of all indexes together: some 8 MB. With more the keeping begins anew."""

FIRST_ROOM: Final = 1024
"""Rows there is room for at first; it is doubled when they are more."""


class Keeper:
    """Has rows of several indexes kept, no more than so many together.

    Args:
        most: So many.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._all: WeakSet[KeptRows] = WeakSet()

    def __repr__(self) -> str:
        return f"<Keeper of {sum(map(len, self._all))} rows>"

    def keep(self) -> KeptRows:
        """Return where rows of another index are kept."""
        kept = KeptRows(self)
        self._all.add(kept)
        return kept

    def make_room(self) -> None:
        """Forget all rows where they are too many."""
        if sum(map(len, self._all)) > self._most:
            for kept in self._all:
                kept.clear()


class KeptRows:
    """Rows of one index, read through one connection.

    Args:
        keeper: Bounds how many there are.
    """

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._version = -1
        self._largest_ids = (0, 0)
        self.clear()

    def __repr__(self) -> str:
        return f"<KeptRows, {len(self)}>"

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def rows(self) -> Mapping[int, ChunkRow]:
        """All that are kept, by id, of the moment that was followed last."""
        return self._rows

    def clear(self) -> None:
        """Forget all."""
        self._rows: dict[int, ChunkRow] = {}
        self._files = FileNumbers()
        self._facts = np.zeros((FIRST_ROOM, FACTS), dtype=np.int64)
        self._at, self._of_vector = map(_Table, self._largest_ids)

    def follow(self, db: Database) -> None:
        """Forget what is kept where it is of another moment than a snapshot, or too much.

        Args:
            db: The connection, whose snapshot it is.
        """
        # Of the reader's snapshot: another one with every commit of others.
        version = get_int(db, "PRAGMA data_version")
        if version != self._version:
            self._version = version
            self._largest_ids = (count_chunks(db), last_vector_id(db))
            self.clear()
        self._keeper.make_room()

    def places_of(self, db: Database, ids: NDArray[np.int64]) -> Places:
        """Return where chunks stand, whose rows are kept then; an id that isn't there is left out.

        Args:
            db: The connection.
            ids: (n,), ascending.
        """
        self.follow(db)
        at = self._at.find(ids)
        if not at.all():
            self._add(chunks_by_id(db, ids[at == 0].tolist()))
            at = self._at.find(ids)
            at = at[at > 0]
        return Places(self._facts.take(at, axis=0), self._files)

    def of_vectors(self, db: Database, space_id: str, vector_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the chunks whose text has one of some vectors, which are those of `chunks_of_vectors`.

        Args:
            db: The connection.
            space_id: The vector space the ids belong to.
            vector_ids: (n,).

        Returns:
            (n,), the chunks' ids, 0 where there is none; their rows are kept.
        """
        self.follow(db)
        ids = self._of_vector.find(vector_ids)
        if not ids.all():
            found = chunks_of_vectors(db, space_id, vector_ids[ids == 0].tolist())
            self._add([row for _, row in found])
            self._of_vector.note([key for key, _ in found], [row.id for _, row in found])
            ids = self._of_vector.find(vector_ids)
        return ids

    def _add(self, rows: Iterable[ChunkRow]) -> None:
        fresh = {row.id: row for row in rows if row.id not in self._rows}
        first = len(self._rows) + 1  # 0 says that there is none
        end = first + len(fresh)
        if end > len(self._facts):
            self._facts = np.concatenate([self._facts, np.zeros((end, FACTS), dtype=np.int64)])
        self._facts[first:end] = facts_of(fresh.values(), self._files)
        self._at.note(list(fresh), range(first, end))
        self._rows |= fresh


class _Table:
    """Numbers by id: some hundred are found at once, and in the core's cache, which those of a dict are not.

    Of its parts without ids no memory is ever touched.

    Args:
        largest: The largest id there is.
    """

    def __init__(self, largest: int) -> None:
        self._numbers = np.zeros(largest + 1, dtype=np.int64)

    def find(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of some ids, 0 for those that have none."""
        if ids.size and int(ids.max()) >= len(self._numbers):
            ids = np.where(ids < len(self._numbers), ids, 0)
        return self._numbers[ids]

    def note(self, ids: Sequence[int], numbers: Sequence[int]) -> None:
        """Give ids their numbers."""
        self._numbers[ids] = numbers
