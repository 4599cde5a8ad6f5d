"""The processes whose memory is compared; each does its work, says `ready`, and waits until its input ends.

    python -m benchmarks.memory_of_agents_sides bare
    python -m benchmarks.memory_of_agents_sides client SOCKET AGENT QUESTION
    python -m benchmarks.memory_of_agents_sides engine INDEX MODEL QUESTION

`engine` is what each agent's process would hold without a daemon, of memd's own parts and no more of them than a
search needs: the index open, its vectors in memory, the model loaded, one question answered, and what was needed for
that alone given back. It watches no files, has
no providers and serves nobody. Each side imports what it needs where it needs it, so that none holds another's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CONTEXT = 512
"""Tokens: all that MiniLM was trained for."""


def client(socket_path: str, agent: str, question: str) -> None:
    """Search through the daemon, and stay connected."""
    from memd_client import Client

    with Client(socket_path, agent=agent) as connected:
        reply = connected.search(question)
        wait(f"{reply.mode}, {len(reply.hits)} hits")


def engine(index_path: str, model_path: str, question: str) -> None:
    """Search in this process, and keep all that another search would need."""
    import trio

    trio.run(search_and_wait, index_path, model_path, question)


async def search_and_wait(index_path: str, model_path: str, question: str) -> None:
    """Do so, with everything opened and loaded by this process."""
    from ctypes import CDLL
    from pathlib import Path

    from memd.embedding.local.reference import space_of
    from memd.index.cache import active_space
    from memd.index.connection import IndexFile
    from memd.index.database import Database
    from memd.index.snapshot import take_snapshot
    from memd.index.vectors.cache import MatrixBudget, VectorCache, load_facts
    from memd.index.vectors.sqlite_vec import VectorExtension
    from memd.search.find import SearchResult, find
    from memd.search.query import QueryVector, SearchLimits, parse_query
    from memd.settings.schema import QuerySettings
    from memd.system.clock import wall_clock_ms

    extension = VectorExtension()
    extension.load()
    path = Path(index_path)
    index = await IndexFile.open(path, extension=extension, clock=wall_clock_ms, space_of=space_of)
    model, vector = embedded(model_path, question)
    warm = VectorCache(extension, MatrixBudget(1 << 30))

    def search(db: Database) -> SearchResult:
        space = active_space(db)
        assert space is not None
        warm.use_space(load_facts(db, space.id))
        snapshot = take_snapshot(db, warm, warm.searcher())
        query = parse_query(
            question,
            snapshot.languages(),
            settings=QuerySettings(),
            limits=SearchLimits(6),
            now_ms=wall_clock_ms(),
            vector=QueryVector(vector, space.id, "minilm"),
        )
        return find(snapshot, query)

    found = await index.read(search)
    await index.give_caches_back()
    CDLL(None).malloc_trim(0)
    wait(f"{found.mode}, {len(found.hits)} hits, {type(model).__name__} loaded")
    await index.close()


def embedded(model_path: str, question: str) -> tuple[object, Any]:
    """Return the loaded model, to be kept, and a question's vector of unit length."""
    import llama_cpp
    import numpy as np

    from memd.embedding.local.fit import load_physical_cores

    with silent():
        model = llama_cpp.Llama(
            model_path,
            embedding=True,
            n_ctx=CONTEXT,
            n_batch=CONTEXT,
            n_ubatch=CONTEXT,
            n_threads=load_physical_cores(),
            n_threads_batch=load_physical_cores(),
            flash_attn=True,
            verbose=False,
        )
    raw = np.array(model.embed(question), dtype="<f4")
    return model, (raw / np.linalg.norm(raw)).astype(np.float32)


@contextmanager
def silent() -> Iterator[None]:
    """Keep llama.cpp's account of a model off stderr."""
    kept = os.dup(2)
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def wait(said: str) -> None:
    """Say that everything is held, and hold it until the input ends."""
    sys.stdout.write(f'"{said}"\n')
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["client", socket_path, agent, question]:
            client(socket_path, agent, question)
        case ["engine", index_path, model_path, question]:
            engine(index_path, model_path, question)
        case _:
            wait("nothing")
