"""Where candidates stand, a column for each fact: numpy goes through some hundred in the time Python takes for ten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Facts: TypeAlias = tuple[int, int, int, int, int, int, int, int]
"""Of a candidate: its id, the number of its file, its first line and its last, where it begins and where it ends, in
characters (the same where that isn't known), its likeness, a number of its text."""

FACTS: Final = 8
ID, FILE, TEXT = 0, 1, 7


class FileNumbers:
    """Numbers for files, in the order they come up.

    Attributes:
        paths: Of the files, by number.
    """

    def __init__(self) -> None:
        self.paths: list[str] = []
        self._numbers: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"<FileNumbers of {len(self.paths)} files>"

    def give(self, path: str) -> int:
        """Return the number of a file, a new one where it has none yet."""
        number = self._numbers.setdefault(path, len(self.paths))
        if number == len(self.paths):
            self.paths.append(path)
        return number

    def find(self, path: str) -> int | None:
        """Return the number of a file, or None."""
        return self._numbers.get(path)


class Places:
    """Where candidates stand in their files, and what they are like.

    Args:
        facts: (n, 8), `Facts` of each, by id.
        file_numbers: Theirs; other files may have numbers too.

    Attributes:
        ids: (n,), ascending.
        files: (n,), the number of each one's file.
        lines: (n,), the first line of each, from 1.
        end_lines: (n,), the last one.
        starts: (n,), where each begins, in characters of its file.
        ends: (n,), where each ends, not belonging to it; its start where that isn't known.
        likeness: (n,), their numbers, as `memd.text.likeness` makes them.
        texts: (n,), a number of each one's text: copies have the same.
    """

    def __init__(self, facts: NDArray[np.int64], file_numbers: FileNumbers) -> None:
        self.ids, self.files, self.lines, self.end_lines = facts.T[:4]
        self.starts, self.ends, self.likeness, self.texts = facts.T[4:]
        self.file_numbers = file_numbers

    def __repr__(self) -> str:
        return f"<Places of {len(self)} candidates>"

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.intp]:
        """Return where candidates that are there are in the columns."""
        return np.searchsorted(self.ids, ids)

    def paths(self) -> dict[int, str]:
        """Return the paths of the candidates' files, by number."""
        paths = self.file_numbers.paths
        return {number: paths[number] for number in set(self.files.tolist())}


def pack_facts(facts: Iterable[Facts], count: int) -> NDArray[np.int64]:
    """Return the facts of so many candidates as `Places` takes them."""
    return np.fromiter(chain.from_iterable(facts), np.int64, count * FACTS).reshape(count, FACTS)
