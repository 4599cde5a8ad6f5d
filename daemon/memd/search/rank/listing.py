"""A ranking of which a few are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload

from memd.search.rank.fusion import Ranked


class Listed(Sequence[Ranked]):
    """Candidates in order, each made when it is looked at: of some hundred a search shows a few."""

    def __init__(self, places: Sequence[int], ids: Sequence[int], item: Callable[[int], Ranked]) -> None:
        self.ids = ids
        self._places = places
        self._item = item

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Ranked]:
        return map(self._item, self._places)

    @overload
    def __getitem__(self, at: int) -> Ranked: ...
    @overload
    def __getitem__(self, at: slice) -> list[Ranked]: ...
    def __getitem__(self, at: int | slice) -> Ranked | list[Ranked]:
        if isinstance(at, slice):
            return [self._item(place) for place in self._places[at]]
        return self._item(self._places[at])


def ids_of(ranked: Sequence[Ranked]) -> Sequence[int]:
    """Return the ids of candidates of an index, in their order."""
    return ranked.ids if isinstance(ranked, Listed) else [int(item.id) for item in ranked]
