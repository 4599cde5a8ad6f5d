"""Vectors behind the text: fills what the active vector space lacks, newest files first.

Keyword search never waits for this. A failing provider is tried again with growing pauses; why and since
when stands in `degraded`, which every reply and the status show.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import numpy as np
import structlog
import trio
from numpy.typing import NDArray

from memd.clock import Clock
from memd.embedding.provider import EmbeddingProvider
from memd.index.cache import (
    SpaceKey,
    count_missing,
    forget_space,
    missing_hashes,
    oldest_missing_ms,
    store_vectors,
    trim,
)
from memd.index.connection import Database, IndexFile
from memd.sync.reconcile import ProgressSink, ignore_progress
from memd_client.errors import MemdError
from memd_client.messages import Degraded

log = structlog.get_logger(__name__)

BATCH_TEXTS = 16
"""Texts asked for at once: a local model takes them one by one, so a small batch keeps progress live and
lets agents take turns."""

LOOK_AHEAD_TEXTS = 512
"""Texts read from the index at once: the look for missing ones walks all chunks, so it is shared by many."""

TEXT_S = 0.006
"""What a text takes however short it is, about: with a small local model."""

FIRST_GUESS_S = 0.00005
"""What a character is thought to take before any was embedded."""

PACE = 0.2
"""Weight of the last batch in what a character takes: it follows within some batches, and one odd one passes."""

CHUNK_CHARACTERS = 1600
"""Length of a text that is known only to be missing: a full chunk."""

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
"""Pauses between tries while a provider fails: they double from the first to the longest."""


class VectorFill:
    """Embeds what is missing for one agent.

    Args:
        index: The agent's index.
        provider: Who embeds.
        cache_entries: Most vectors kept in all (`cache.maxEntries`); those a chunk uses are never dropped.
        clock: Wall time.
        on_stored: Called with (ids, matrix) after each committed batch.
    """

    def __init__(
        self,
        index: IndexFile,
        provider: EmbeddingProvider,
        *,
        cache_entries: int | None = None,
        clock: Clock,
        on_stored: Callable[[list[int], NDArray[np.float32]], Awaitable[None]],
    ) -> None:
        self._index = index
        self.provider = provider
        self._cache_entries = cache_entries
        self._clock = clock
        self._on_stored = on_stored
        self._wake = trio.Event()
        self._idle = trio.Event()
        self._sinks: list[ProgressSink] = []
        self._pauses = 0
        self.space = SpaceKey(provider.id, provider.model, provider.space.id)
        self.degraded: Degraded | None = None
        self._round = 0  # texts embedded since there was last nothing to do
        self.embedded = 0
        self.pending = 0
        self.oldest_ms: int | None = None
        self._characters = 0
        self._character_s = FIRST_GUESS_S

    def __repr__(self) -> str:
        state = "idle" if self._idle.is_set() else f"{self.pending} pending"
        return f"<VectorFill {self.provider.id}/{self.provider.model}, {state}>"

    async def load(self) -> None:
        """Count what an earlier run left undone."""
        space_id = self.space.id
        self.pending = await self._index.read(lambda db: count_missing(db, space_id))
        self.oldest_ms = await self._index.read(lambda db: oldest_missing_ms(db, space_id))
        self._characters = self.pending * CHUNK_CHARACTERS

    def wake(self, texts: int = 0, characters: int = 0) -> None:
        """Say that texts may be missing.

        Args:
            texts: How many are known to have come.
            characters: How long they are together.
        """
        self.pending += texts
        self._characters += characters
        if texts and self.oldest_ms is None:
            self.oldest_ms = self._clock()
        if self._idle.is_set():
            self._idle = trio.Event()
        self._wake.set()

    def needs_s(self) -> float:
        """Return about how long what is pending will take, by the texts embedded lately."""
        return self.pending * TEXT_S + self._characters * self._character_s

    async def settle(self, progress: ProgressSink = ignore_progress) -> None:
        """Wait until nothing is missing or the provider fails; the caller looks at `degraded`.

        Args:
            progress: Hears ("embedding", texts done, texts in all, "").
        """
        self._sinks.append(progress)
        try:
            self.wake()
            await self._idle.wait()
        finally:
            self._sinks.remove(progress)

    async def forget_all(self) -> None:
        """Drop the space's vectors, so that every text is embedded again."""
        space = self.space
        await self._index.write(lambda db: forget_space(db, space.id))

    async def run(self) -> None:
        """Fill until cancelled."""
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            try:
                await self._fill()
                await self._index.write(lambda db: trim(db, self._cache_entries))
                self.degraded = None
                self._pauses = 0
                if not self._wake.is_set():
                    self.oldest_ms, self._characters = None, 0
            except MemdError as error:
                self.note_failure(error)
            if not self._wake.is_set():
                self._round = 0
                self._idle.set()
            if self.degraded is not None:
                pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**self._pauses)
                self._pauses += 1
                with trio.move_on_after(pause):
                    await self._wake.wait()
                self._wake.set()

    def note_failure(self, error: MemdError) -> Degraded:
        """Remember and return why meaning is missing; the time of the first failure stays."""
        since = self.degraded.since_ms if self.degraded is not None else self._clock()
        self.degraded = Degraded(error.code, error.message, since, error.hint)
        log.warning("embedding.failed", provider=self.provider.id, code=error.code, error=error.message)
        return self.degraded

    def note_success(self) -> None:
        """Forget an earlier failure."""
        self.degraded = None

    async def _fill(self) -> None:
        """Embed batch after batch until nothing is missing."""
        space = self.space
        self.pending = await self._index.read(lambda db: count_missing(db, space.id))
        while self.pending:
            missing = await self._index.read(lambda db: missing_hashes(db, space.id, LOOK_AHEAD_TEXTS))
            if not missing:
                break
            for start in range(0, len(missing), BATCH_TEXTS):
                await self._embed(missing[start : start + BATCH_TEXTS])
                self.pending = max(0, self.pending - BATCH_TEXTS)
                for sink in list(self._sinks):
                    sink("embedding", self._round, self._round + self.pending, "")
                if self._wake.is_set():  # newer text came in: it goes first
                    break
            self.pending = await self._index.read(lambda db: count_missing(db, space.id))

    def _note_pace(self, took_s: float, texts: int, characters: int) -> None:
        """Note how long texts took, for the guess how long the next will."""
        self._characters = max(0, self._characters - characters)
        pace_s = max(0.0, took_s - texts * TEXT_S) / max(1, characters)
        self._character_s += PACE * (pace_s - self._character_s)

    async def _embed(self, missing: list[tuple[str, str]]) -> None:
        """Embed and store one batch of (hash, text)."""
        space = self.space
        hashes = [digest for digest, _ in missing]
        started = trio.current_time()
        matrix = await self.provider.embed_batch([text for _, text in missing])
        self._note_pace(trio.current_time() - started, len(missing), sum(len(text) for _, text in missing))
        now_ms = self._clock()

        def store(db: Database) -> list[int]:
            return store_vectors(db, space, hashes, matrix, now_ms)

        ids = await self._index.write(store)
        await self._on_stored(ids, matrix)
        self.embedded += len(hashes)
        self._round += len(hashes)
