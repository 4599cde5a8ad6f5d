"""Where all chunks of an index stand at one moment, in columns, where numpy finds some hundred at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from memd.index.chunk_columns import FACTS, FILE, ID, TEXT, FileNumbers, Places
from memd.index.files import ChunkRow
from memd.index.row_locations import facts_of
from memd.index.text_keys import Ints, find_sorted

PLACE_BYTES: Final = 8 * (FACTS + 3)
"""Memory of a chunk: its facts, its id once more, its text's key and the id beside that."""


@dataclass(frozen=True, slots=True)
class AllPlaces:
    """Where all chunks of an index stand, and which of them have a text.

    Attributes:
        generation: Of the index.
        facts: (n, 8), `memd.ranking.places.Facts` of each chunk, by id.
        ids: (n,), theirs, ascending.
        keys: (n,), keys of their texts (`text_keys.key_of`), ascending.
        holders: (n,), the chunk of each key.
        files: Numbers of their files; other files may have numbers too.
    """

    generation: int
    facts: Ints
    ids: Ints
    keys: Ints
    holders: Ints
    files: FileNumbers

    def __repr__(self) -> str:
        return f"<AllPlaces of {len(self)} chunks, generation {self.generation}>"

    def __len__(self) -> int:
        return len(self.ids)

    def places_of(self, ids: Ints) -> Places:
        """Return where chunks stand; an id that isn't there is left out."""
        at, there = find_sorted(self.ids, ids)
        return Places(self.facts.take(at[there], axis=0), self.files)

    def firsts_of(self, keys: Ints) -> Ints:
        """Return for each of some texts the chunk with the lowest id that has it, 0 where none does."""
        begin, end = np.searchsorted(self.keys, keys), np.searchsorted(self.keys, keys, side="right")
        firsts = np.zeros(len(keys), dtype=np.int64)
        there = end > begin
        firsts[there] = self.holders[begin[there]]
        for at in np.flatnonzero(end > begin + 1):  # copies
            firsts[at] = self.holders[begin[at] : end[at]].min()
        return firsts

    def with_files(self, generation: int, paths: Collection[str], rows: Sequence[ChunkRow]) -> AllPlaces:
        """Return the same with other chunks of some files."""
        gone = np.isin(self.facts[:, FILE], [self.files.give(path) for path in paths])
        fresh = facts_of(rows, self.files)
        facts = np.concatenate([self.facts[~gone], fresh])
        facts = facts[np.argsort(facts[:, ID], kind="stable")]
        # Put in where they belong: to sort all keys anew takes longer than all the rest.
        left = ~np.isin(self.holders, self.ids[gone])
        keys, holders = self.keys[left], self.holders[left]
        new_keys, new_holders = _by_text(fresh)
        at = np.searchsorted(keys, new_keys)
        keys, holders = np.insert(keys, at, new_keys), np.insert(holders, at, new_holders)
        return AllPlaces(generation, facts, _ids_of(facts), keys, holders, self.files)


def place_all(generation: int, facts: Ints, files: FileNumbers) -> AllPlaces:
    """Return where all chunks of an index stand."""
    return AllPlaces(generation, facts, _ids_of(facts), *_by_text(facts), files)


def _ids_of(facts: Ints) -> Ints:
    return np.ascontiguousarray(facts[:, ID])


def _by_text(facts: Ints) -> tuple[Ints, Ints]:
    """Return the keys of chunks' texts, ascending, and the chunk of each."""
    order = np.argsort(facts[:, TEXT], kind="stable")
    return facts[order, TEXT], facts[order, ID]
