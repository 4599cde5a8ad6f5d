"""Indexed corpora that outlive a run: building 100,000 passages takes a minute, and figures want it ten times."""

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
from benchmarks.indexed import only_indexed
from benchmarks.part import Options
from benchmarks.scale_corpora import start
from benchmarks.seeds import SeedsChunk, SeedsIndex
from memd.index.schema import VERSION
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

RECIPE: Final = 2
"""Counted up where the same numbers would give another corpus."""

PASSAGES_A_CHUNK: Final = 3.2
"""What 1,167 characters become, by the cutter: see `make_corpus`."""

WITH_MODEL: Final = {"provider": "local", "local": {"modelPath": "minilm"}, "sync": {"watch": False}}
"""The local model embeds questions; the notes' vectors are random ones."""


@dataclass(frozen=True)
class Built:
    """A corpus in the cache: `memory` is its folder of notes, `index` its database, with vectors."""

    memory: Path
    index: Path
    files: int
    passages: int


def build(options: Options, passages: int, files: int) -> Built:
    """Return a corpus of about so many passages, out of the cache where an earlier run built it."""
    folder = options.cache.absolute() / f"corpus-{RECIPE}-{VERSION}-{passages}-{files}"
    if not folder.exists():
        options.tell(f"building {passages:,} passages in {files:,} files")
        scratch = options.work / folder.name
        with StateHome({"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}) as home:
            make_corpus(home, round(passages / PASSAGES_A_CHUNK), files, random.Random(7))
            with DaemonProcess(home) as daemon, daemon.client(timeout_s=1200) as client:
                only_indexed(client.index(), files)
            store_random_vectors(home.state / "memory" / "main.memd.sqlite", np.random.default_rng(7))
            shutil.copytree(home.workspace() / "memory", scratch / "memory")
            shutil.copy2(home.state / "memory" / "main.memd.sqlite", scratch / "main.sqlite")
        shutil.move(scratch, folder)
    with _reading(folder / "main.sqlite") as db:
        count = db.execute("SELECT count(*) FROM chunks").fetchall()[0][0]
    return Built(folder / "memory", folder / "main.sqlite", files, int(count or 0))


@contextmanager
def home_of(built: Built) -> Iterator[StateHome]:
    """Lay a built corpus into a home of its own, vectors and all."""
    with StateHome({"agents": {"defaults": {"memorySearch": WITH_MODEL}}}) as home:
        shutil.copytree(built.memory, home.workspace() / "memory")
        target = home.state / "memory" / "main.memd.sqlite"
        target.parent.mkdir(mode=0o700)
        shutil.copy2(built.index, target)
        yield home


@contextmanager
def started(home: StateHome) -> Iterator[DaemonProcess]:
    """Run a daemon over a large index: its first start over a file it doesn't know checks the whole of it."""
    daemon = DaemonProcess(home)
    try:
        start(daemon)
        yield daemon
    finally:
        daemon.stop()


def seeds_of(built: Built, path: Path) -> SeedsIndex:
    """Build the early design's index with the same passages and vectors."""
    chunks: list[SeedsChunk] = []
    vectors: list[bytes] = []
    with _reading(built.index) as db:
        for *place, vector in db.execute(
            "SELECT c.path, c.start_line, c.end_line, c.text, e.embedding FROM chunks c"
            " JOIN embedding_cache e ON e.hash = c.hash ORDER BY c.id"
        ):
            chunks.append(SeedsChunk(*place))
            vectors.append(vector)
    matrix: NDArray[np.float32] = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1)
    index = SeedsIndex(path, matrix.shape[1])
    index.fill(chunks, matrix)
    return index


@contextmanager
def _reading(path: Path) -> Iterator[apsw.Connection]:
    # As a file that nobody writes, SQLite leaves nothing beside it.
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    db = apsw.Connection(f"{path.as_uri()}?immutable=1", flags=flags)
    try:
        yield db
    finally:
        db.close()
