"""Where chunks stand, kept from one search to the next for as long as nobody changes the index.

For a process that does nothing but search while many ask: a row is then read once instead of with every question that
brings it up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final
from weakref import WeakSet

from memd.index.database import Database, get_int
from memd.index.files import ChunkRow, chunks_by_id, chunks_of_vectors

MOST: Final = 20_000
"""Rows kept of all indexes together: some 8 MB. With more the keeping begins anew."""


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
        self._rows: dict[int, ChunkRow] = {}
        self._of_vector: dict[int, int] = {}

    def __repr__(self) -> str:
        return f"<KeptRows, {len(self)}>"

    def __len__(self) -> int:
        return len(self._rows)

    def clear(self) -> None:
        """Forget all."""
        self._rows, self._of_vector = {}, {}

    def of_ids(self, db: Database, ids: Sequence[int]) -> dict[int, ChunkRow]:
        """Return chunks by id; an id that isn't there is left out.

        Args:
            db: The connection.
            ids: Their ids.
        """
        self._follow(db)
        missing = [key for key in ids if key not in self._rows]
        if missing:
            self._add(chunks_by_id(db, missing))
        rows = self._rows
        return {key: rows[key] for key in ids if key in rows}

    def of_vectors(
        self, db: Database, space_id: str, vector_ids: Sequence[int]
    ) -> list[tuple[int, ChunkRow]]:
        """Return the chunks whose text has one of some vectors, as `chunks_of_vectors` does.

        Args:
            db: The connection.
            space_id: The vector space the ids belong to.
            vector_ids: Their ids.
        """
        self._follow(db)
        missing = [key for key in vector_ids if key not in self._of_vector]
        if missing:
            found = chunks_of_vectors(db, space_id, missing)
            self._add(row for _, row in found)
            self._of_vector |= {key: row.id for key, row in found}
        rows, of_vector = self._rows, self._of_vector
        return [(key, rows[of_vector[key]]) for key in vector_ids if key in of_vector]

    def _add(self, rows: Iterable[ChunkRow]) -> None:
        self._rows.update((row.id, row) for row in rows)

    def _follow(self, db: Database) -> None:
        """Forget what is kept where it is of another moment, or too much."""
        # Of the reader's snapshot: another one with every commit of others.
        version = get_int(db, "PRAGMA data_version")
        if version != self._version:
            self._version = version
            self.clear()
        self._keeper.make_room()
