"""Locations of chunks in their files, as numpy columns, so that hundreds of them are compared at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memd.index.files import ChunkRow

Facts: TypeAlias = tuple[int, int, int, int, int, int, int]
"""Fields of a chunk: its id, the number of its file, its first and last line, its first character and the one after
its last (equal if unknown), and the simhash of its text."""

FACTS: Final = 7


class FileNumbers:
    """Numbers files in the order of their first use; `paths` has their paths by number."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self._numbers: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"<FileNumbers of {len(self.paths)} files>"

    def give(self, path: str) -> int:
        """Return the number of a file, assigning one if it has none."""
        number = self._numbers.setdefault(path, len(self.paths))
        if number == len(self.paths):
            self.paths.append(path)
        return number

    def find(self, path: str) -> int | None:
        """Return the number of a file, or None."""
        return self._numbers.get(path)


class ChunkLocations:
    """Locations of some chunks in their files, in columns.

    Args:
        facts: (n, 7), `Facts` of each chunk, by id.
        file_numbers: Numbers of their files; other files may have numbers too.

    Attributes:
        ids: (n,), ascending.
        files: (n,), the number of each chunk's file.
        lines, end_lines: (n,), the first and the last line of each, from 1.
        starts, ends: (n,), the first character of each and the one after its last; equal if unknown.
        likeness: (n,), see `memd.text.cut.simhash`.
    """

    def __init__(self, facts: NDArray[np.int64], file_numbers: FileNumbers) -> None:
        self.ids, self.files, self.lines, self.end_lines = facts.T[:4]
        self.starts, self.ends, self.likeness = facts.T[4:]
        self.file_numbers = file_numbers

    def __repr__(self) -> str:
        return f"<ChunkLocations of {len(self)} chunks>"

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the positions of some chunks in the columns; all must be present."""
        return np.searchsorted(self.ids, ids)

    def paths(self) -> dict[int, str]:
        """Return the paths of the chunks' files, by number."""
        paths = self.file_numbers.paths
        return {number: paths[number] for number in set(self.files.tolist())}


def pack_facts(facts: Iterable[Facts], count: int) -> NDArray[np.int64]:
    """Return the facts of chunks as `ChunkLocations` takes them."""
    return np.fromiter(chain.from_iterable(facts), np.int64, count * FACTS).reshape(count, FACTS)


def locations_of(rows: Collection[ChunkRow]) -> ChunkLocations:
    """Return the locations of chunks, which are in the order of their ids."""
    numbers = FileNumbers()
    give = numbers.give
    facts = (
        (
            row.id,
            give(row.path),
            row.start_line,
            row.end_line,
            row.start_char,
            row.end_char,
            row.likeness,
        )
        for row in rows
    )
    return ChunkLocations(pack_facts(facts, len(rows)), numbers)
