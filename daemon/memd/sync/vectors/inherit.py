"""Adopts the vectors that OpenClaw stored for the same model."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

import trio

from memd.index.adopt import StoredVectors, import_vectors, load_stored_vectors
from memd.index.cache import SpaceKey, find_dims
from memd.index.connection import IndexFile
from memd.settings.schema import Chunking
from memd.system.clock import Clock
from memd.system.log import log
from memd.system.sqlite import ForeignDatabaseError


async def inherit_vectors(
    index: IndexFile,
    files: Collection[Path],
    space: SpaceKey,
    models: Collection[str],
    chunking: Chunking,
    clock: Clock,
) -> list[str]:
    """Adopt the vectors in the first file of OpenClaw that has any, if the space has none; return problems."""
    if await index.read(lambda db: find_dims(db, space.id)) is not None:
        return []
    vectors: StoredVectors = {}
    problems: list[str] = []
    for path in files:
        try:
            vectors = await trio.to_thread.run_sync(load_stored_vectors, path, space.provider, models)
        except ForeignDatabaseError as error:
            problems.append(f"{path} can't be read: {error.reason}; its vectors are not reused")
        if vectors:
            taken = await index.write(partial(import_vectors, space, vectors, chunking, clock()))
            log.info("sync.vectors_inherited", database=str(path), vectors=taken)
            break
    return problems
