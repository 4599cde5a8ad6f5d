"""An agent's vectors for searches, within a RAM budget that all agents share."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memd.index import chunks_vec
from memd.index.cache import active_space, count_vectors, find_dims, set_active_space
from memd.index.files import IndexChange
from memd.index.known_locations import LocationCache
from memd.index.vectors.choose import VectorSearchChoice, choose_search, needed_bytes
from memd.index.vectors.language_means import LanguageMeansCache
from memd.index.vectors.matrix import MatrixSearch
from memd.index.vectors.sqlite_vec import VectorExtension
from memd.index.vectors.vector_search import VectorSearch
from memd.index.vocabulary import VocabularyCache
from memd.system.sqlite import Database


class SpaceFacts(Struct, frozen=True):
    """Id of a vector space, its dimensions, and the number of its vectors in use."""

    id: str
    dims: int
    count: int


class MatrixBudget:
    """RAM budget of all agents' matrices; the least recently searched agent is evicted first."""

    def __init__(self, limit_bytes: int, now: Callable[[], float] = time.monotonic) -> None:
        self.limit_bytes = limit_bytes
        self._now = now
        self._admitted: OrderedDict[int, _Admitted] = OrderedDict()

    def __repr__(self) -> str:
        return f"<MatrixBudget {self.held_bytes()} of {self.limit_bytes} bytes, {len(self._admitted)} agents>"

    def admit(self, owner: VectorCache, size_bytes: int) -> None:
        """Reserve RAM for an agent's matrix, evicting others; one larger than the budget gets none."""
        self._admitted.pop(id(owner), None)
        if size_bytes > self.limit_bytes:
            return
        while self.held_bytes() + size_bytes > self.limit_bytes:
            self._admitted.popitem(last=False)[1].owner.drop()
        self._admitted[id(owner)] = _Admitted(owner, size_bytes, self._now())

    def release(self, owner: VectorCache) -> None:
        """Evict a matrix and its reservation."""
        self._admitted.pop(id(owner), None)
        owner.drop()

    def drop_unused(self, for_s: float) -> int:
        """Evict matrices that were not searched for some time; return how many."""
        before = self._now() - for_s
        unused = [each for each in self._admitted.values() if each.used_at <= before]
        for each in unused:
            self.release(each.owner)
        return len(unused)

    def held_bytes(self) -> int:
        """Return the RAM of all matrices, in bytes."""
        return sum(each.size_bytes for each in self._admitted.values())


class _Admitted(Struct, frozen=True):
    """Reservation of a matrix: its owner, size, and the time of its last search."""

    owner: VectorCache
    size_bytes: int
    used_at: float


class VectorCache:
    """The parts of one agent's index in RAM: vectors of the space in use, vocabulary, and known locations.

    Args:
        extension: The sqlite-vec extension, after its self-test.
        budget: The budget shared with the other agents.

    Attributes:
        count, dims: Number of vectors in use, and their dimensions.
        vocabulary: The words of the index.
        locations: Locations of the chunks that searches met.
        languages: The mean vectors of the index's languages.
    """

    def __init__(self, extension: VectorExtension, budget: MatrixBudget) -> None:
        self._extension = extension
        self._budget = budget
        self._matrix = MatrixSearch()
        self.vocabulary = VocabularyCache()
        self.locations = LocationCache()
        self.languages = LanguageMeansCache()
        self._space_id: str | None = None
        self.count = 0
        self.dims = 0

    def __repr__(self) -> str:
        return f"<VectorCache {self.count} x {self.dims}, {self._matrix!r}>"

    def use_space(self, facts: SpaceFacts) -> None:
        """Search this space from now on."""
        if facts.id != self._space_id:
            self.drop()
        self._space_id, self.dims, self.count = facts.id, facts.dims, facts.count

    def searcher(self) -> VectorSearch:
        """Return the vector search to use now."""
        self._budget.admit(self, self.needed_bytes)
        return self.choice().search

    @property
    def needed_bytes(self) -> int:
        """RAM that the matrix needs, loaded or not."""
        return needed_bytes(self.count, self.dims)

    @property
    def is_cold(self) -> bool:
        """Whether the next search has to load the vectors into RAM first."""
        return self.count > 0 and not self._matrix.is_loaded and self.choice().search is self._matrix

    def warm_up(self, db: Database) -> None:
        """Load the vectors if they are searched in RAM (blocking); renews the read transaction of `db`."""
        if self._space_id is not None and self.is_cold:
            self._matrix.load(db, self._space_id)

    def choice(self) -> VectorSearchChoice:
        """Return the vector search to use and the reason, for status."""
        return choose_search(
            self._extension,
            self._matrix,
            budget_bytes=self._budget.limit_bytes,
            needed_bytes=self.needed_bytes,
            enabled=self._extension.enabled,
        )

    def follow(self, published: IndexChange) -> None:
        """Apply a committed change of a file to the vectors in use."""
        if self._space_id is None:
            return
        gone: tuple[int, ...] = ()
        new: tuple[int, ...] = ()
        if published.space_id == self._space_id:
            gone, new = published.removed_vectors, published.added_vectors
        self._matrix.remove(self._space_id, gone)
        self.count -= len(gone)
        if new and published.added_matrix is not None:
            self._matrix.add(self._space_id, new, published.added_matrix)
            self.count += len(new)

    def replace(self, gone: Sequence[int], ids: Sequence[int], matrix: NDArray[np.float32]) -> None:
        """Add vectors that were just stored, and remove those they replaced."""
        if self._space_id is not None and gone:
            self._matrix.remove(self._space_id, gone)
            self.count -= len(gone)
        if self._space_id is not None and ids:
            self._matrix.add(self._space_id, ids, matrix)
            self.count += sum(1 for key in ids if key)
            self.dims = self.dims or int(matrix.shape[1])

    def forget(self) -> None:
        """Clear the vectors after they were deleted from the index."""
        self.drop()
        self.count = 0

    def close(self) -> None:
        """Release the RAM and its reservation in the budget."""
        self._budget.release(self)

    def drop(self) -> None:
        """Release the RAM; the next search loads the vectors again."""
        self._matrix.drop()
        self.locations.clear()


def load_facts(db: Database, space_id: str) -> SpaceFacts:
    """Return the dimensions and vector count of a space."""
    return SpaceFacts(space_id, find_dims(db, space_id) or 0, count_vectors(db, space_id))


def activate_space(db: Database, space_id: str) -> bool:
    """Make a space with vectors the active one; return whether `chunks_vec` has to be refilled."""
    dims = find_dims(db, space_id)
    active = active_space(db)
    if dims is None or (active is not None and (active.id, active.dims) == (space_id, dims)):
        return not chunks_vec.is_whole(db, space_id)
    set_active_space(db, space_id, dims)
    return True
