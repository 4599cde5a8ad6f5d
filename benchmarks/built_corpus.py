"""Indexed corpora, cached between runs: building 100,000 chunks takes a minute."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import apsw
import numpy as np
from numpy.typing import NDArray

from benchmarks.corpus import make_corpus, store_random_vectors
from benchmarks.part import Options
from benchmarks.reference_index import ReferenceChunk, ReferenceIndex
from benchmarks.scale_corpora import start
from benchmarks.sync_checks import check_one_indexed
from memd.index.schema import VERSION
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

RECIPE: Final = 2
"""Increase it if the same numbers would give another corpus."""

CHUNKS_PER_BLOCK: Final = 3.2
"""Chunks of one block of `make_corpus`."""

WITH_MODEL: Final = {"provider": "local", "local": {"modelPath": "minilm"}, "sync": {"watch": False}}
"""The local model embeds queries; the notes' vectors are random."""


@dataclass(frozen=True)
class BuiltCorpus:
    """A cached corpus: `memory` is its folder of notes, `index` its database with vectors."""

    memory: Path
    index: Path
    files: int
    chunks: int


def build(options: Options, chunks: int, files: int) -> BuiltCorpus:
    """Return a corpus of about so many chunks, from the cache if it is there."""
    folder = options.cache.absolute() / f"corpus-{RECIPE}-{VERSION}-{chunks}-{files}"
    if not folder.exists():
        options.show_progress(f"building {chunks:,} chunks in {files:,} files")
        scratch = options.work / folder.name
        with StateHome({"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}) as home:
            make_corpus(home, round(chunks / CHUNKS_PER_BLOCK), files, random.Random(7))
            with DaemonProcess(home) as daemon, daemon.client(timeout_s=1200) as client:
                check_one_indexed(client.index(), files)
            store_random_vectors(home.state / "memory" / "main.memd.sqlite", np.random.default_rng(7))
            shutil.copytree(home.workspace() / "memory", scratch / "memory")
            shutil.copy2(home.state / "memory" / "main.memd.sqlite", scratch / "main.sqlite")
        shutil.move(scratch, folder)
    with _reading(folder / "main.sqlite") as db:
        count = db.execute("SELECT count(*) FROM chunks").fetchall()[0][0]
    return BuiltCorpus(folder / "memory", folder / "main.sqlite", files, int(count or 0))


@contextmanager
def home_of(built: BuiltCorpus) -> Iterator[StateHome]:
    """Copy a corpus with its index into a new home."""
    with StateHome({"agents": {"defaults": {"memorySearch": WITH_MODEL}}}) as home:
        shutil.copytree(built.memory, home.workspace() / "memory")
        target = home.state / "memory" / "main.memd.sqlite"
        target.parent.mkdir(mode=0o700)
        shutil.copy2(built.index, target)
        yield home


@contextmanager
def started(home: StateHome) -> Iterator[DaemonProcess]:
    """Run a daemon over a large index; its first start checks the complete file."""
    daemon = DaemonProcess(home)
    try:
        start(daemon)
        yield daemon
    finally:
        daemon.stop()


def reference_of(built: BuiltCorpus, path: Path) -> ReferenceIndex:
    """Build the index of the reference design with the same chunks and vectors."""
    chunks: list[ReferenceChunk] = []
    vectors: list[bytes] = []
    with _reading(built.index) as db:
        for *place, vector in db.execute(
            "SELECT c.path, c.start_line, c.end_line, c.text, e.embedding FROM chunks c"
            " JOIN embedding_cache e ON e.hash = c.hash ORDER BY c.id"
        ):
            chunks.append(ReferenceChunk(*place))
            vectors.append(vector)
    matrix: NDArray[np.float32] = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1)
    index = ReferenceIndex(path, matrix.shape[1])
    index.fill(chunks, matrix)
    return index


@contextmanager
def _reading(path: Path) -> Iterator[apsw.Connection]:
    # Opened as immutable, so that SQLite creates no -wal and -shm files in the cache.
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    db = apsw.Connection(f"{path.as_uri()}?immutable=1", flags=flags)
    try:
        yield db
    finally:
        db.close()
