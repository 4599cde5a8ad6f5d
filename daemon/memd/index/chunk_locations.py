"""Locations of chunks in their files, as numpy columns, so that hundreds of them are compared at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Facts: TypeAlias = tuple[int, int, int, int, int, int, int, int]
"""Fields of a chunk: its id, the numbers of its file and of its source, its first and last line, its first character
and the one after its last (equal if unknown), and the simhash of its text."""

FACTS: Final = 8


class Numbers:
    """Numbers names in the order of their first use; `names` has them by number."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"<Numbers of {len(self.names)} names>"

    def give(self, name: str) -> int:
        """Return the number of a name, assigning one if it has none."""
        number = self._numbers.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number

    def find(self, name: str) -> int | None:
        """Return the number of a name, or None."""
        return self._numbers.get(name)


class ChunkLocations:
    """Locations of some chunks in their files, in columns.

    Args:
        facts: (n, 8), `Facts` of each chunk, by id.
        paths, sources: The numbers of their files and sources; others may have numbers too.

    Attributes:
        ids: (n,), ascending.
        files, sources: (n,), the numbers of each chunk's file and source.
        lines, end_lines: (n,), the first and the last line of each, from 1.
        starts, ends: (n,), the first character of each and the one after its last; equal if unknown.
        likeness: (n,), see `memd.text.cut.simhash`.
    """

    def __init__(self, facts: NDArray[np.int64], paths: Numbers, sources: Numbers) -> None:
        columns = np.ascontiguousarray(facts.T)
        self.ids, self.files, self.sources, self.lines, self.end_lines = columns[:5]
        self.starts, self.ends, self.likeness = columns[5:]
        self._paths = paths
        self._sources = sources

    def __repr__(self) -> str:
        return f"<ChunkLocations of {len(self)} chunks>"

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the positions of some chunks in the columns; all must be present."""
        return np.searchsorted(self.ids, ids)

    def path(self, file: int) -> str:
        """Return the path of a file by its number."""
        return self._paths.names[file]

    def find_file(self, path: str) -> int | None:
        """Return the number of a file, or None."""
        return self._paths.find(path)

    def paths(self) -> dict[int, str]:
        """Return the paths of the chunks' files, by number."""
        return {number: self.path(number) for number in set(self.files.tolist())}

    def from_sources(self, sources: Collection[str]) -> list[int]:
        """Return the ids of the chunks from some sources."""
        numbers = [number for number, name in enumerate(self._sources.names) if name in sources]
        ids: list[int] = self.ids[np.isin(self.sources, numbers)].tolist()
        return ids


def pack_facts(facts: Iterable[Facts], count: int) -> NDArray[np.int64]:
    """Return the facts of chunks as `ChunkLocations` takes them."""
    return np.fromiter(chain.from_iterable(facts), np.int64, count * FACTS).reshape(count, FACTS)
