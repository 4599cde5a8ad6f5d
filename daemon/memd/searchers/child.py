"""The process that searches beside the daemon: it reads indexes and the vectors in them, and writes nothing.

It does what a thread of the daemon does with a question, with the same code, on a core of its own. It ends with its
input, so a daemon that is killed leaves none behind.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from memd.index.database import MAPPING_READER, Database, connect, limit_page_caches, reading
from memd.index.vectors.matrix import MatrixSearch
from memd.index.vectors.stored import read_rows
from memd.search.candidates import find_meaning, find_words
from memd.search.find import find_hits
from memd.search.lexicon import Lexicon
from memd.searchers import wire


@dataclass
class _Index:
    """An open index, its vectors in memory, and what is known of its words."""

    db: Database
    matrix: MatrixSearch = field(default_factory=MatrixSearch)
    lexicon: Lexicon = field(default_factory=Lexicon)


class Indexes:
    """The indexes this process holds."""

    def __init__(self) -> None:
        self._open: dict[str, _Index] = {}

    def __repr__(self) -> str:
        return f"<Indexes, {len(self._open)} open>"

    def serve(self, request: wire.Request) -> wire.Reply | None:
        """Do what is asked; return the reply, where one is due.

        When it fails: the index is closed, so that the next request for it begins anew; the reply says so.
        """
        try:
            return self._serve(request)
        except Exception as error:  # noqa: BLE001 - the daemon answers instead, and meets the error itself
            self._forget(request.index)
            if isinstance(request, wire.Search | wire.Hold):
                return wire.Failed(request.id, type(error).__name__)
            return None

    def _serve(self, request: wire.Request) -> wire.Reply | None:
        match request:
            case wire.Search():
                return self._search(request)
            case wire.Hold():
                return self._hold(request)
            case wire.Change():
                self._change(request)
            case wire.Forget():
                self._forget(request.index)
        return None

    def _search(self, request: wire.Search) -> wire.Answer:
        index = self._at(request.index)
        question = wire.question_of(request)
        question.lexicon = index.lexicon
        with reading(index.db):
            words = find_words(index.db, question)
            meaning = find_meaning(index.db, question, index.matrix)
            found = find_hits(index.db, question, index.matrix, words, meaning)
        return wire.answer_of(request.id, found)

    def _hold(self, request: wire.Hold) -> wire.Held:
        index = self._at(request.index)
        with reading(index.db):
            index.matrix.load(index.db, request.space_id)
        return wire.Held(request.id)

    def _change(self, request: wire.Change) -> None:
        index = self._open.get(request.index)
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
    """Serve requests from standard input until it ends.

    Args:
        arguments: What SQLite may hold in memory, in bytes.
    """
    limit_page_caches(int(arguments[0]))
    requests = open(0, "rb")  # noqa: SIM115 - as long as the process
    replies = os.dup(1)
    os.dup2(2, 1)  # whatever prints, prints no frames
    indexes = Indexes()
    gc.freeze()
    while (data := _read_frame(requests)) is not None:
        reply = indexes.serve(wire.read_request(data))
        if reply is not None:
            _write_all(replies, wire.frame_of(reply))
    return 0


def _read_frame(requests: BinaryIO) -> bytes | None:
    """Return the next request, or None at the end of the input."""
    head = requests.read(wire.HEAD_BYTES)
    size = int.from_bytes(head, "big")
    data = requests.read(size) if len(head) == wire.HEAD_BYTES else b""
    return data if data and len(data) == size else None


def _write_all(number: int, data: bytes) -> None:
    """Write to a pipe that may take it in parts."""
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
