"""The process that searches beside the daemon: it reads indexes and the vectors in them, and writes nothing.

It does what a thread of the daemon does with a question, with the same code, on a core of its own; questions that wait
together are answered in step. It ends with its input, so a daemon that is killed leaves none behind.
"""

from __future__ import annotations

import gc
import os
import select
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from memd.index.database import MAPPING_READER, Database, connect, limit_page_caches, reading
from memd.index.tracked_locations import FollowedPlaces
from memd.index.vectors.matrix import MatrixSearch
from memd.index.vectors.stored import read_rows
from memd.search.find import find_in_steps
from memd.search.lexicon import Lexicon
from memd.search.searchers import wire
from memd.search.steps import Steps, run_in_step
from memd.system.descriptors import open_missing_descriptors


@dataclass
class _Index:
    """An open index, its vectors and where its chunks stand in memory, and what is known of its words."""

    db: Database
    places: FollowedPlaces = field(default_factory=FollowedPlaces)
    matrix: MatrixSearch = field(default_factory=MatrixSearch)
    lexicon: Lexicon = field(default_factory=Lexicon)


class _SnapshotLostError(Exception):
    """What was found may be of two moments."""


class Indexes:
    """The indexes this process holds."""

    def __init__(self) -> None:
        self._open: dict[str, _Index] = {}

    def __repr__(self) -> str:
        return f"<Indexes, {len(self._open)} open>"

    def serve(self, waiting: deque[wire.Request]) -> list[wire.Reply]:
        """Take the next request, and searches that follow one, off those that wait; do them, return the replies due.

        When one fails: its index is closed, so that the next request for it begins anew; the reply says so.
        """
        searches = _take_searches(waiting)
        return self._search(searches) if searches else self._serve(waiting.popleft())

    def _search(self, requests: Sequence[wire.Search]) -> list[wire.Reply]:
        """Answer searches in step with each other, each index as it is when the first of them reads it."""
        try:
            with ExitStack() as snapshots:
                came = run_in_step([self._in_steps(request, snapshots) for request in requests])
        except Exception as error:  # noqa: BLE001 - a snapshot that can't be left
            came = [error] * len(requests)
        return [
            self._failed(request, each) if isinstance(each, Exception) else each
            for request, each in zip(requests, came, strict=True)
        ]

    def _serve(self, request: wire.Request) -> list[wire.Reply]:
        try:
            match request:
                case wire.Hold():
                    return [self._hold(request)]
                case wire.Change():
                    self._change(request)
                case wire.Forget():
                    self._forget(request.index)
        except Exception as error:  # noqa: BLE001 - the daemon answers instead, and meets the error itself
            if isinstance(request, wire.Hold):
                return [self._failed(request, error)]
            self._forget(request.index)
        return []

    def _in_steps(self, request: wire.Search, snapshots: ExitStack) -> Steps[wire.Reply]:
        index = self._at(request.index)
        if not index.db.in_transaction:
            snapshots.enter_context(reading(index.db))
        question = wire.question_of(request)
        question.lexicon, question.places = index.lexicon, index.places
        found = yield from find_in_steps(index.db, question, index.matrix)
        if not index.db.in_transaction:  # SQLite gave it up over an error of another one
            raise _SnapshotLostError
        return wire.answer_of(request.id, found)

    def _failed(self, request: wire.Search | wire.Hold, error: Exception) -> wire.Failed:
        """Close the index of a request that failed, and return the reply to it."""
        self._forget(request.index)
        return wire.Failed(request.id, type(error).__name__)

    def _hold(self, request: wire.Hold) -> wire.Held:
        index = self._at(request.index)
        with reading(index.db):
            index.matrix.load(index.db, request.space_id)
        self._renew(index)
        return wire.Held(request.id)

    def catch_up(self) -> None:
        """Read what many changes left behind, while nobody waits for an answer."""
        for path, index in list(self._open.items()):
            try:
                self._renew(index)
            except Exception:  # noqa: BLE001 - the next request for it begins anew
                self._forget(path)

    def _renew(self, index: _Index) -> None:
        """Bring the places of an index's chunks into memory, or up to date."""
        if index.matrix.space_id is not None and index.places.is_wanted:
            with reading(index.db):
                index.places.renew(index.db, index.matrix.space_id)

    def _change(self, request: wire.Change) -> None:
        index = self._open.get(request.index)
        if index is not None and request.text is not None:
            index.places.note(*request.text)
        if index is None or index.matrix.space_id != request.space_id:
            return  # what is brought into memory later holds the change
        index.matrix.remove(request.space_id, request.gone)
        if request.come:
            with reading(index.db):
                ids, rows = read_rows(index.db, np.array(request.come, dtype=np.int64))
            if ids.size:
                index.matrix.add(request.space_id, ids.tolist(), rows)

    def _at(self, path: str) -> _Index:
        """Return an index, opened where it isn't yet."""
        if path not in self._open:
            self._open[path] = _Index(connect(Path(path), MAPPING_READER))
        return self._open[path]

    def _forget(self, path: str) -> None:
        index = self._open.pop(path, None)
        if index is not None:
            index.db.close(True)


def main(arguments: Sequence[str]) -> int:
    """Serve requests from standard input until it ends."""
    open_missing_descriptors()
    limit_page_caches(int(arguments[0]))
    replies = os.dup(1)
    os.dup2(2, 1)  # whatever prints, prints no frames
    indexes = Indexes()
    gc.freeze()
    gc.disable()  # searches leave nothing to collect while they run, and are many objects to look at
    waiting = deque[wire.Request]()
    for _ in _receive(0, waiting):
        _write_all(replies, b"".join(map(wire.frame_of, indexes.serve(waiting))))
        gc.collect(0)
        if not waiting:
            indexes.catch_up()
    return 0


def _receive(number: int, waiting: deque[wire.Request]) -> Iterator[None]:
    """Yield as long as there are requests, having added all that came to those that wait."""
    buffer = bytearray()
    while True:
        while select.select([number], [], [], 0 if waiting else None)[0]:
            data = os.read(number, wire.READ_BYTES)
            if not data:
                return
            buffer += data
            waiting.extend(wire.take_requests(buffer))
        yield


def _take_searches(waiting: deque[wire.Request]) -> list[wire.Search]:
    """Take the searches that are next, as many as may be done in step; what follows another request waits for it."""
    taken = list[wire.Search]()
    while waiting and len(taken) < wire.TOGETHER:
        first = waiting[0]
        if not isinstance(first, wire.Search):
            break
        taken.append(first)
        waiting.popleft()
    return taken


def _write_all(number: int, data: bytes) -> None:
    """Write to a pipe that may take it in parts."""
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
