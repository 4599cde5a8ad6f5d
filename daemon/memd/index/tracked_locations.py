"""Where all chunks of an index stand, kept in memory and equal to what is committed, beside the vectors.

A search is of one moment. It is given the places of that very moment, or none where they aren't in memory, or are to be
had only by reading much: it then reads from the index what it needs.
"""

from __future__ import annotations

import threading
from typing import Final

import numpy as np

from memd.index.chunk_columns import FileNumbers, pack_facts
from memd.index.chunk_locations import AllPlaces, place_all
from memd.index.database import Database
from memd.index.files import chunks_after, chunks_of_files
from memd.index.meta import generation
from memd.index.row_locations import facts_of
from memd.index.text_keys import Ints, VectorKeys

READ_CHUNKS: Final = 2_048
"""Chunks read at once: some milliseconds, after which another thread may have Python's lock."""

SOON: Final = 16
"""Changed files that a search reads anew itself, in about a millisecond; more are for `renew`."""

MOST_TOLD: Final = 1_024
"""Changes kept until they are read; after more than that all is read anew."""


class FollowedPlaces:
    """Where all chunks of an index stand; safe to use from several threads.

    It holds nothing before `renew` and after `drop`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._loading: object | None = None
        self._places: AllPlaces | None = None
        self._vectors = VectorKeys()
        self._changes: list[tuple[int, str]] = []

    def __repr__(self) -> str:
        return f"<FollowedPlaces {self._places!r}, {len(self._changes)} changes>"

    @property
    def is_wanted(self) -> bool:
        """Whether `renew` has something to read."""
        return self._loading is None and (self._places is None or len(self._changes) > SOON)

    def renew(self, db: Database, space_id: str) -> None:
        """Read what isn't in memory: all, or what many changes left behind (blocking)."""
        with self._reading:
            if self._places is None:
                self._load(db, space_id)
            else:
                self._follow(db, generation(db), MOST_TOLD)

    def _load(self, db: Database, space_id: str) -> None:
        """Read all. What is committed meanwhile is told after the reader's transaction began, and kept."""
        loading = object()
        with self._lock:
            self._loading, self._changes = loading, []
        places = None
        try:
            vectors, places = VectorKeys(space_id).with_all(db), _read_places(db)
        finally:
            with self._lock:
                if self._loading is loading:  # not dropped meanwhile
                    self._loading = None
                    if places is not None:
                        self._vectors = vectors
                        self._keep(places)

    def drop(self) -> None:
        """Give the memory back."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        self._loading = self._places = None
        self._vectors, self._changes = VectorKeys(), []

    def note(self, now: int, path: str) -> None:
        """Take over that a commit changed the chunks of a file; never waits for a disk."""
        with self._lock:
            if self._places is None and self._loading is None:
                return
            told = self._changes[-1][0] if self._changes else None
            last = told or (self._places.generation if self._places is not None else now - 1)
            if now <= last:
                return
            self._changes.append((now, path))
            if now > last + 1 or len(self._changes) > MOST_TOLD:
                self._drop()

    def at(self, db: Database, now: int) -> AllPlaces | None:
        """Return where all chunks stand at the moment of a snapshot, None where that would take long to find out."""
        places = self._places
        if places is None or places.generation == now:
            return places
        if not self._reading.acquire(blocking=False):
            return None  # another thread is at it
        try:
            return self._follow(db, now, SOON)
        finally:
            self._reading.release()

    def _follow(self, db: Database, now: int, most: int) -> AllPlaces | None:
        """Bring the places to the moment of a snapshot, where so many files at most are to be read for it."""
        with self._lock:
            places = self._places
            if places is None or places.generation >= now:
                return places if places is not None and places.generation == now else None
            changed = [path for at, path in self._changes if at <= now]
        paths = sorted(set(changed))
        if len(changed) < now - places.generation or len(paths) > most:
            return None  # committed and not told of yet, or too much
        new = places.with_files(now, paths, chunks_of_files(db, paths))
        with self._lock:
            if self._places is places:  # not dropped meanwhile
                self._keep(new)
        return new

    def _keep(self, places: AllPlaces) -> None:
        """Have these places from now on; the lock is held."""
        self._places = places
        self._changes = [change for change in self._changes if change[0] > places.generation]

    def chunks_of(self, db: Database, places: AllPlaces, space_id: str, vector_ids: Ints) -> Ints:
        """Return the chunks whose text has one of some vectors, which are those of `files.chunks_of_vectors`."""
        vectors = self._vectors if self._vectors.space_id == space_id else VectorKeys(space_id)
        known, keys = vectors.keys_of(vector_ids)
        if not known.all():  # stored since: of which text a vector is never changes
            vectors = self._vectors = vectors.with_those(db, vector_ids[~known])
            known, keys = vectors.keys_of(vector_ids)
        chunks = np.zeros(len(vector_ids), dtype=np.int64)
        chunks[known] = places.firsts_of(keys)
        return chunks


def _read_places(db: Database) -> AllPlaces:
    """Read where all chunks stand."""
    files, last = FileNumbers(), 0
    facts = [pack_facts((), 0)]
    while rows := chunks_after(db, last, READ_CHUNKS):
        facts.append(facts_of(rows, files))
        last = rows[-1].id
    return place_all(generation(db), np.concatenate(facts), files)
