"""Vectors that OpenClaw bought already: taken over before anything is embedded."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import structlog
import trio

from memd.index.cache import SpaceKey, find_dims
from memd.index.connection import Database, IndexFile
from memd.index.meta import set_adopted_cut
from memd.index.openclaw.adopt import CachedVector, import_cache, read_openclaw_agent_cache
from memd.settings.schema import Chunking
from memd.system.clock import Clock

log = structlog.get_logger(__name__)


async def inherit_vectors(
    index: IndexFile, database: Path, space: SpaceKey, models: Iterable[str], chunking: Chunking, clock: Clock
) -> list[str]:
    """Take over the embedding cache in OpenClaw's own database, once: while the space holds no vector."""
    if await index.read(lambda db: find_dims(db, space.id)) is not None:
        return []
    problems: list[str] = []

    def load() -> list[CachedVector]:
        return [
            row
            for model in dict.fromkeys(models)
            for row in read_openclaw_agent_cache(database, model, problems)
            if row[0] == space.provider
        ]

    rows = await trio.to_thread.run_sync(load, limiter=trio.CapacityLimiter(1))
    if rows:

        def take(db: Database) -> int:
            set_adopted_cut(db, chunking.tokens, chunking.overlap)
            return import_cache(db, rows, lambda provider, model: space.id, clock())

        taken = await index.write(take)
        log.info("sync.vectors_inherited", database=str(database), vectors=taken)
    return list(dict.fromkeys(problems))
