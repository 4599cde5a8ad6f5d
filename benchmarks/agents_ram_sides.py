"""Processes whose RAM is compared.

Each does its work, prints one line and waits until its input ends.

    python -m benchmarks.agents_ram_sides client SOCKET AGENT QUERY
    python -m benchmarks.agents_ram_sides engine INDEX MODEL QUERY

`engine` is an agent's process without a daemon, with the parts of memd that a search needs: the index is open, its
vectors and the model are loaded, one query is answered, and temporary memory is released. It has no watcher, no
providers and no server. Each function imports what it needs, so that no process has the imports of another.
"""

from __future__ import annotations

import sys
from typing import Any

CONTEXT = 512
"""Tokens: MiniLM's training length."""


def client(socket_path: str, agent: str, text: str) -> None:
    """Search through the daemon and stay connected."""
    from memd_client import Client

    with Client(socket_path, agent=agent) as connected:
        reply = connected.search(text)
        wait(f"{reply.mode}, {len(reply.hits)} hits")


def engine(index_path: str, model_path: str, text: str) -> None:
    """Search in this process and keep what another search would need."""
    import trio

    trio.run(search_and_wait, index_path, model_path, text)


async def search_and_wait(index_path: str, model_path: str, text: str) -> None:
    """Open and load everything in this process, search, and wait."""
    from ctypes import CDLL
    from pathlib import Path

    from memd.index.cache import active_space
    from memd.index.connection import IndexFile
    from memd.index.snapshot import take_snapshot
    from memd.index.vectors.cache import MatrixBudget, VectorCache, load_facts
    from memd.index.vectors.sqlite_vec import VectorExtension
    from memd.search.find import SearchResult, find
    from memd.search.query import QueryVector, SearchLimits, parse_query
    from memd.settings.schema import QuerySettings
    from memd.system.clock import wall_clock_ms
    from memd.system.sqlite import Database

    extension = VectorExtension()
    extension.load()
    path = Path(index_path)
    index = await IndexFile.open(path, extension=extension, clock=wall_clock_ms)
    model, vector = embedded(model_path, text)
    warm = VectorCache(extension, MatrixBudget(1 << 30))

    def search(db: Database) -> SearchResult:
        space = active_space(db)
        assert space is not None
        warm.use_space(load_facts(db, space.id))
        snapshot = take_snapshot(db, warm, warm.searcher())
        query = parse_query(
            text,
            snapshot.languages(),
            settings=QuerySettings(),
            limits=SearchLimits(6),
            now_ms=wall_clock_ms(),
            vector=QueryVector(vector, space.id, "minilm"),
        )
        return find(snapshot, query, is_current=lambda _: True)

    found = await index.read(search)
    await index.release_caches()
    CDLL(None).malloc_trim(0)
    wait(f"{found.mode}, {len(found.hits)} hits, {type(model).__name__} loaded")
    await index.close()


def embedded(model_path: str, text: str) -> tuple[object, Any]:
    """Return the loaded model, to be kept, and a query's vector of unit length."""
    import llama_cpp
    import numpy as np

    from memd.embedding.local.fit import load_physical_cores

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
    raw = np.array(model.embed(text), dtype="<f4")
    return model, (raw / np.linalg.norm(raw)).astype(np.float32)


def wait(said: str) -> None:
    """Print a line, then wait until the input ends."""
    print(f'"{said}"', flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["client", socket_path, agent, text]:
            client(socket_path, agent, text)
        case ["engine", index_path, model_path, text]:
            engine(index_path, model_path, text)
