"""Locations of chunks in their files, as numpy columns, so that hundreds of them are compared at once.

`TrackedLocations` keeps the locations of all chunks in RAM, up to date with the commits. A snapshot uses those of its
generation, or none if they are not in RAM or slow to read; a search then reads the rows it needs.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from memd.index.files import ChunkRow, chunks_after, chunks_of_files
from memd.index.meta import generation
from memd.index.numbers import pack_ids
from memd.system.sqlite import Database

Ints: TypeAlias = NDArray[np.int64]

Facts: TypeAlias = tuple[int, int, int, int, int, int, int, int]
"""Fields of a chunk: its id, the number of its file, its first and last line, its first character and the one after
its last (equal if unknown), the simhash of its text, and the key of its text."""

FACTS: Final = 8
ID, FILE, TEXT = 0, 1, 7

LOCATION_BYTES: Final = 8 * (FACTS + 3)
"""RAM of a chunk: its fields, its id again, and the key of its text with the chunk's id."""

KEY_BYTES: Final = 16
"""RAM of a vector: its id and the key of its text."""

READ_VECTORS: Final = 4_096
"""Vectors whose text hashes are read at once."""

READ_CHUNKS: Final = 2_048
"""Chunks read at once: a few milliseconds, after which another thread can take the GIL."""

MAX_FILES_IN_SEARCH: Final = 16
"""Changed files that a search reads itself, in about a millisecond; more are left to `refresh`."""

MAX_CHANGES: Final = 1_024
"""Unread changes that are kept; beyond that all locations are read again."""

_HASHES = msgspec.json.Decoder(list[tuple[int, str]])


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
        facts: (n, 8), `Facts` of each chunk, by id.
        file_numbers: Numbers of their files; other files may have numbers too.

    Attributes:
        ids: (n,), ascending.
        files: (n,), the number of each chunk's file.
        lines, end_lines: (n,), the first and the last line of each, from 1.
        starts, ends: (n,), the first character of each and the one after its last; equal if unknown.
        likeness: (n,), see `memd.text.cut.simhash`.
        texts: (n,), the key of each chunk's text: copies have the same.
    """

    def __init__(self, facts: NDArray[np.int64], file_numbers: FileNumbers) -> None:
        self.ids, self.files, self.lines, self.end_lines = facts.T[:4]
        self.starts, self.ends, self.likeness, self.texts = facts.T[4:]
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


def facts_of(rows: Collection[ChunkRow], numbers: FileNumbers) -> NDArray[np.int64]:
    """Return the facts of chunks, (n, 8)."""
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
            key_of(row.hash),
        )
        for row in rows
    )
    return pack_facts(facts, len(rows))


def locations_of(rows: Collection[ChunkRow]) -> ChunkLocations:
    """Return the locations of chunks."""
    numbers = FileNumbers()
    return ChunkLocations(facts_of(rows, numbers), numbers)


@dataclass(frozen=True, slots=True)
class AllLocations:
    """The locations of all chunks of an index at one generation, and the chunks of each text.

    Attributes:
        generation: Of the index.
        facts: (n, 8), `Facts` of each chunk, by id.
        ids: (n,), their ids, ascending.
        keys: (n,), keys of their texts (`key_of`), ascending.
        holders: (n,), the id of a chunk for each key.
        files: Numbers of their files; other files may have numbers too.
    """

    generation: int
    facts: Ints
    ids: Ints
    keys: Ints
    holders: Ints
    files: FileNumbers

    def __repr__(self) -> str:
        return f"<AllLocations of {len(self)} chunks, generation {self.generation}>"

    def __len__(self) -> int:
        return len(self.ids)

    def select(self, ids: Ints) -> ChunkLocations:
        """Return the locations of some chunks; unknown ids are left out."""
        at, there = find_sorted(self.ids, ids)
        return ChunkLocations(self.facts.take(at[there], axis=0), self.files)

    def firsts_of(self, keys: Ints) -> Ints:
        """Return for each text the lowest id of the chunks that have it, 0 if there are none."""
        begin, end = np.searchsorted(self.keys, keys), np.searchsorted(self.keys, keys, side="right")
        firsts = np.zeros(len(keys), dtype=np.int64)
        there = end > begin
        firsts[there] = self.holders[begin[there]]
        for at in np.flatnonzero(end > begin + 1):  # copies
            firsts[at] = self.holders[begin[at] : end[at]].min()
        return firsts

    def with_files(self, generation: int, paths: Collection[str], rows: Sequence[ChunkRow]) -> AllLocations:
        """Return the locations after some files changed; `rows` are all current chunks of those files."""
        gone = np.isin(self.facts[:, FILE], [self.files.give(path) for path in paths])
        fresh = facts_of(rows, self.files)
        facts = np.concatenate([self.facts[~gone], fresh])
        facts = facts[np.argsort(facts[:, ID], kind="stable")]
        # Inserted in order, because sorting all keys again would take longest.
        left = ~np.isin(self.holders, self.ids[gone])
        keys, holders = self.keys[left], self.holders[left]
        new_keys, new_holders = _by_text(fresh)
        at = np.searchsorted(keys, new_keys)
        keys, holders = np.insert(keys, at, new_keys), np.insert(holders, at, new_holders)
        return AllLocations(generation, facts, _ids_of(facts), keys, holders, self.files)


def all_locations(generation: int, facts: Ints, files: FileNumbers) -> AllLocations:
    """Return the locations of all chunks of an index."""
    return AllLocations(generation, facts, _ids_of(facts), *_by_text(facts), files)


def _ids_of(facts: Ints) -> Ints:
    return np.ascontiguousarray(facts[:, ID])


def _by_text(facts: Ints) -> tuple[Ints, Ints]:
    """Return the keys of the chunks' texts, ascending, and the id of the chunk for each."""
    order = np.argsort(facts[:, TEXT], kind="stable")
    return facts[order, TEXT], facts[order, ID]


def key_of(digest: str) -> int:
    """Return the key of a text, a 64-bit number that is valid in this process.

    It is Python's hash of the text's digest, salted per process, so that collisions can't be constructed. Among a
    million texts the probability of a collision is 1 in 40 million.
    """
    return hash(digest)


def find_sorted(ids: Ints, wanted: Ints) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the positions of some ids among sorted ones, and which of them are present."""
    at = np.searchsorted(ids, wanted)
    there = at < len(ids)
    there[there] = ids[at[there]] == wanted[there]
    return at, there


class VectorKeys:
    """The key of each vector's text. Immutable: the text of a vector never changes."""

    def __init__(self, space_id: str = "", ids: Ints | None = None, keys: Ints | None = None) -> None:
        self.space_id = space_id
        self._ids = ids if ids is not None else np.zeros(0, dtype=np.int64)
        self._keys = keys if keys is not None else np.zeros(0, dtype=np.int64)

    def __repr__(self) -> str:
        return f"<VectorKeys of {len(self._ids)} vectors>"

    def keys_of(self, vector_ids: Ints) -> tuple[NDArray[np.bool_], Ints]:
        """Return which of some vectors are known, (n,), and the keys of the known ones' texts."""
        at, known = find_sorted(self._ids, vector_ids)
        return known, self._keys[at[known]]

    def with_those(self, db: Database, vector_ids: Ints) -> VectorKeys:
        """Return the keys extended by some unknown vectors, as far as the index has them."""
        rows = db.execute(  # one row, as in `keyword.find_keyword`
            """SELECT json_group_array(json_array(e.id, e.hash)) FROM json_each(?) AS wanted
               CROSS JOIN embedding_cache AS e NOT INDEXED ON e.id = wanted.value AND e.provider_key = ?""",
            (pack_ids(np.sort(vector_ids).tolist()), self.space_id),
        ).fetchall()
        return self._with(_HASHES.decode(str(rows[0][0])))

    def with_all(self, db: Database) -> VectorKeys:
        """Return the keys of all vectors of the space."""
        keys, last = self, 0
        while True:  # from the SQL index, whose rows are short
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
        """Return the keys extended by further vectors, sorted by id."""
        ids = np.fromiter((key for key, _ in found), np.int64, len(found))
        keys = np.fromiter((key_of(digest) for _, digest in found), np.int64, len(found))
        at = np.searchsorted(self._ids, ids)
        return VectorKeys(self.space_id, np.insert(self._ids, at, ids), np.insert(self._keys, at, keys))


class TrackedLocations:
    """The locations of all chunks of an index, updated with its commits. Thread-safe.

    Empty before `refresh` and after `drop`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._loading: object | None = None
        self._locations: AllLocations | None = None
        self._vectors = VectorKeys()
        self._changes: list[tuple[int, str]] = []

    def __repr__(self) -> str:
        return f"<TrackedLocations {self._locations!r}, {len(self._changes)} changes>"

    @property
    def is_wanted(self) -> bool:
        """Whether `refresh` is needed."""
        return self._loading is None and (self._locations is None or len(self._changes) > MAX_FILES_IN_SEARCH)

    def refresh(self, db: Database, space_id: str) -> None:
        """Read the locations that are not in RAM: all, or those of many changed files (blocking)."""
        with self._reading:
            if self._locations is None:
                self._load(db, space_id)
            else:
                self._advance(db, generation(db), MAX_CHANGES)

    def _load(self, db: Database, space_id: str) -> None:
        """Read all locations; `follow` records the commits that arrive meanwhile."""
        loading = object()
        with self._lock:
            self._loading, self._changes = loading, []
        locations = None
        try:
            vectors, locations = VectorKeys(space_id).with_all(db), _read_locations(db)
        finally:
            with self._lock:
                if self._loading is loading:  # not dropped meanwhile
                    self._loading = None
                    if locations is not None:
                        self._vectors = vectors
                        self._keep(locations)

    def drop(self) -> None:
        """Release the RAM."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        self._loading = self._locations = None
        self._vectors, self._changes = VectorKeys(), []

    def follow(self, now: int, path: str) -> None:
        """Record that a commit, which made generation `now`, changed a file's chunks. Never blocks on I/O."""
        with self._lock:
            if self._locations is None and self._loading is None:
                return
            recorded = self._changes[-1][0] if self._changes else None
            last = recorded or (self._locations.generation if self._locations is not None else now - 1)
            if now <= last:
                return
            self._changes.append((now, path))
            if now > last + 1 or len(self._changes) > MAX_CHANGES:
                self._drop()

    def at(self, db: Database, now: int) -> AllLocations | None:
        """Return the locations at a snapshot's generation, or None if reading them would take too long."""
        locations = self._locations
        if locations is None or locations.generation == now:
            return locations
        if not self._reading.acquire(blocking=False):
            return None  # another thread reads
        try:
            return self._advance(db, now, MAX_FILES_IN_SEARCH)
        finally:
            self._reading.release()

    def _advance(self, db: Database, now: int, most: int) -> AllLocations | None:
        """Advance the locations to a generation, if at most `most` files have to be read."""
        with self._lock:
            locations = self._locations
            if locations is None or locations.generation >= now:
                return locations if locations is not None and locations.generation == now else None
            changed = [path for at, path in self._changes if at <= now]
        paths = sorted(set(changed))
        if len(changed) < now - locations.generation or len(paths) > most:
            return None  # a commit was not passed to `follow` yet, or too many files changed
        new = locations.with_files(now, paths, chunks_of_files(db, paths))
        with self._lock:
            if self._locations is locations:  # not dropped meanwhile
                self._keep(new)
        return new

    def _keep(self, locations: AllLocations) -> None:
        """Replace the locations; call with the lock held."""
        self._locations = locations
        self._changes = [change for change in self._changes if change[0] > locations.generation]

    def chunks_of(self, db: Database, locations: AllLocations, space_id: str, vector_ids: Ints) -> Ints:
        """Return a chunk for each vector, as `files.chunks_of_vectors` does; 0 if no chunk has its text."""
        vectors = self._vectors if self._vectors.space_id == space_id else VectorKeys(space_id)
        known, keys = vectors.keys_of(vector_ids)
        if not known.all():  # stored since the keys were read
            vectors = self._vectors = vectors.with_those(db, vector_ids[~known])
            known, keys = vectors.keys_of(vector_ids)
        chunks = np.zeros(len(vector_ids), dtype=np.int64)
        chunks[known] = locations.firsts_of(keys)
        return chunks


def _read_locations(db: Database) -> AllLocations:
    """Read the locations of all chunks."""
    files, last = FileNumbers(), 0
    facts = [pack_facts((), 0)]
    while rows := chunks_after(db, last, READ_CHUNKS):
        facts.append(facts_of(rows, files))
        last = rows[-1].id
    return all_locations(generation(db), np.concatenate(facts), files)
