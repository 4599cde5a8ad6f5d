"""Embeds the texts that a vector space lacks, those of the newest files first.

Keyword search never waits for this. A failing provider is retried with growing pauses, and never before its own
back-off ends; `health` has the reason and the time of the failure, which every reply and the status show.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from functools import partial

import numpy as np
import trio
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from memd.embedding.provider import BatchLimits, EmbeddingProvider
from memd.embedding.remote.batches import PROBE_TEXT, embed_isolating_refusals, take_batch
from memd.index.cache import (
    SpaceKey,
    count_missing,
    count_missing_characters,
    count_texts,
    forget_refused,
    forget_space,
    last_vector_id,
    missing_hashes,
    oldest_missing_ms,
    refuse_texts,
    replace_vectors,
    store_vectors,
    trim,
)
from memd.index.connection import Database, IndexFile
from memd.sync.text.text_sync import ProgressSink, ignore_progress
from memd.sync.vectors.bulk_fill import BulkFill
from memd.sync.vectors.provider_health import EmbeddingSpeed, FailureIsolation, ProviderHealth
from memd.system.back_off import back_off_s
from memd.system.clock import Clock, has_passed
from memd.system.log import log
from memd.system.metrics import METER
from memd_client.errors import DimensionsChangedError, MemdError

TRIM_EVERY_MS = 60_000
"""Interval at which the cache is trimmed, because that scans all vectors."""

BATCH_TEXTS = 128
"""Most texts in one request, even if the provider accepts more: progress is visible, new text is embedded soon, and a
failure loses little work."""

LOOK_AHEAD_BATCHES = 16
"""Batches read from the index at once, because finding missing texts scans all chunks."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 64.0
"""Pauses between attempts while a provider fails: the first one, which doubles up to the longest."""

CHECK_INTERVAL_S = 5.0
"""Interval at which a long pause is checked, because it may have passed while the machine slept."""

NEWEST_TEXTS = 64
"""Texts embedded after a change while power is saved: a note and more, seconds of one core. Older texts wait."""

GATHER_FROM_TEXTS = 32
GATHER_S = 0.2
GATHER_MOST_S = 2.0
"""For a provider that accepts many texts per request, texts are collected until none arrived for the first time, at
most for the second."""


class CacheLimits(Struct, frozen=True):
    """Most vectors in the cache, and most bytes of unused ones; None for no limit."""

    entries: int | None
    unused_bytes: int | None


class FillEvents(Struct, frozen=True):
    """Callbacks of a fill.

    `stored` is called with (ids, matrix, ids of replaced vectors) directly after each commit; `forgotten` after all
    vectors of the space were deleted; `whole` whenever nothing is missing.
    """

    stored: Callable[[list[int], NDArray[np.float32], list[int]], Awaitable[None]]
    forgotten: Callable[[], None]
    whole: Callable[[], Awaitable[None]]


class VectorFill:
    """Embeds the missing texts of one vector space of one agent."""

    def __init__(
        self,
        agent_id: str,
        index: IndexFile,
        provider: EmbeddingProvider,
        *,
        health: ProviderHealth,
        limits: CacheLimits,
        live_spaces: Callable[[], Collection[str]],
        clock: Clock,
        events: FillEvents,
        bulk: BulkFill | None = None,
        saves_power: Callable[[], bool] = lambda: False,
    ) -> None:
        self._agent_id = agent_id
        self._index = index
        self.provider = provider
        self.health = health
        self._clock = clock
        self._events = events
        self._saves_power = saves_power
        self.rests = False
        self.bulk = bulk
        if bulk is not None:
            bulk.attach(self._store_bulk, self.wake)
        self._wake = trio.Event()
        self._nudge = trio.Event()
        self._idle = trio.Event()
        self._sinks: list[ProgressSink] = []
        self._pauses = 0
        self.space = SpaceKey(provider.id, provider.model, provider.space.id)
        self._limits = limits
        self._live_spaces = live_spaces
        self._trimmed_ms = 0
        self._isolation = FailureIsolation()
        self._round = 0  # texts embedded since nothing was missing
        self._renew_to_id: int | None = None
        self._arrived = 0
        self.embedded = 0
        self.pending = 0
        self.texts = 0
        self.oldest_ms: int | None = None
        self.pace = EmbeddingSpeed()

    def __repr__(self) -> str:
        state = "idle" if self._idle.is_set() else f"{self.pending} pending"
        return f"<VectorFill {self.provider.id}/{self.provider.model}, {state}>"

    async def load(self) -> None:
        """Count the missing texts of the index."""
        space_id = self.space.id

        def count(db: Database) -> tuple[int, int | None, int, int]:
            missing = count_missing(db, space_id)
            if not missing:  # as at most starts; the rest would read every chunk
                return 0, None, 0, count_texts(db)
            characters = count_missing_characters(db, space_id)
            return missing, oldest_missing_ms(db, space_id), characters, count_texts(db)

        arrived = self._arrived
        pending, self.oldest_ms, self.pace.characters, self.texts = await self._index.read(count)
        if arrived == self._arrived and self._renew_to_id is None:
            self.pending = pending
        else:
            await self._count()

    def wake(self, texts: int = 0, characters: int = 0) -> None:
        """Report that texts may be missing, or that the provider may work again."""
        self._arrived += texts
        self.pending += texts
        self.texts += texts
        self.pace.characters += characters
        if texts and self.oldest_ms is None:
            self.oldest_ms = self._clock()
        if self._idle.is_set():
            self._idle = trio.Event()
        self._wake.set()
        self._nudge.set()

    def needs_s(self) -> float:
        """Return the estimated time to embed the pending texts, from the recent speed."""
        return self.pace.needs_s(self.pending) / self.provider.limits.concurrency

    async def settle(self, progress: ProgressSink = ignore_progress) -> None:
        """Wait until nothing is missing or the provider fails; the caller checks `health`."""
        self._sinks.append(progress)
        try:
            self.wake()
            await self._idle.wait()
        finally:
            self._sinks.remove(progress)

    async def renew_all(self) -> None:
        """Embed every text again, including refused ones; old vectors are used until they are replaced."""
        space_id = self.space.id
        await self._index.write(lambda db: forget_refused(db, space_id))
        self._renew_to_id = await self._index.read(last_vector_id)
        await self._count()
        self.wake()

    async def run(self) -> None:
        """Fill until cancelled."""
        async with trio.open_nursery() as nursery:
            if self.bulk is not None:
                await self.bulk.load()
                nursery.start_soon(self.bulk.run)
            while True:
                await self._wait_for_work()
                await self._gather()
                self._wake = trio.Event()
                try:
                    await self._fill()
                    await self._trim()
                    self._pauses = 0
                    self._isolation.clear()
                except MemdError as error:
                    self.health.failed(error)
                    self._isolation.record(error)
                    await self._pause()
                    self._wake.set()
                    continue
                if not self._wake.is_set() and not (self.bulk is not None and self.bulk.is_awaited):
                    self._round = 0
                    self._idle.set()

    async def _wait_for_work(self) -> None:
        """Wait until texts may be missing, or power saving ends."""
        while not self._wake.is_set():
            with trio.move_on_after(CHECK_INTERVAL_S if self.rests else math.inf):
                await self._wake.wait()
            if self.rests and not self._saves_power():
                self.wake()

    async def _gather(self) -> None:
        """Wait for more texts if that saves requests and no caller waits for vectors."""
        if self.provider.limits.max_texts < GATHER_FROM_TEXTS:
            return
        until = trio.current_time() + GATHER_MOST_S
        arrived = -1
        while arrived != self._arrived and not self._sinks and trio.current_time() < until:
            arrived, self._nudge = self._arrived, trio.Event()
            with trio.move_on_after(GATHER_S):
                await self._nudge.wait()

    async def _pause(self) -> None:
        """Wait until the provider may be tried again.

        A success of another agent, or a caller of `settle`, ends this fill's own pause early; new text doesn't, because
        each attempt may cost tokens.
        """
        self._pauses += 1
        until = trio.current_time() + back_off_s(self._pauses, FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while True:
            self._idle.set()  # callers of `settle` stop waiting
            backoff_s = self.provider.retry_in_s()
            left_s = backoff_s if backoff_s > 0 else until - trio.current_time()
            if left_s <= 0:
                return
            self._nudge = trio.Event()
            with trio.move_on_after(min(left_s, CHECK_INTERVAL_S)):
                await self._nudge.wait()
                if self.provider.retry_in_s() <= 0 and (self._sinks or self.health.degraded is None):
                    return

    async def _count(self) -> None:
        """Count the missing texts; repeat if texts arrived, or a renewal was requested, meanwhile."""
        space_id = self.space.id
        arrived, renew = -1, self._renew_to_id
        while (arrived, renew) != (self._arrived, self._renew_to_id):
            arrived, renew = self._arrived, self._renew_to_id
            count = await self._index.read(partial(count_missing, space_id=space_id, renew_to_id=renew))
        self.pending = count

    async def _fill(self) -> None:
        """Embed batch after batch until nothing is missing except texts in batch jobs."""
        await self._count()
        self.rests = False
        while self.pending:
            most = LOOK_AHEAD_BATCHES * self._request_limits().max_texts
            if self._saves_power() and not self._sinks:
                most = min(most, NEWEST_TEXTS - self._round)
                if most <= 0:
                    await self._count()  # a text reported after the last count was counted twice
                    self.rests = self.pending > 0
                    break
            missing = await self._find_missing(most)
            if not missing:
                await self._count()  # texts may have been deleted
                break
            if self.bulk is not None and self.bulk.wants(self.pending):
                self.bulk.hand_over(await self._find_missing(self.pending))
                continue
            if self._isolation.is_raised:
                await self._isolate_failure(missing)
            else:
                await self._embed_all(missing)
            if not self.pending:  # counting scans all chunks, so `pending` is estimated until then
                await self._count()
        if not self.pending:
            self._renew_to_id = None  # safe: nothing was awaited since the count
            self.pace.characters = 0
            await self._events.whole()
            if not self._wake.is_set():
                self.oldest_ms = None

    async def _find_missing(self, limit: int) -> list[tuple[str, str]]:
        """Return (hash, text) of texts that are missing and not in batch jobs, newest files first."""
        in_jobs = self.bulk.in_flight() if self.bulk is not None else ()
        space_id, renew = self.space.id, self._renew_to_id
        return await self._index.read(
            lambda db: missing_hashes(db, space_id, limit, without=in_jobs, renew_to_id=renew)
        )

    async def _embed_all(self, missing: list[tuple[str, str]]) -> None:
        """Embed texts, several batches at a time if the provider allows, until newer text arrives."""
        waiting = deque(missing)
        errors: list[MemdError] = []

        async def work() -> None:
            # Running batches are completed when another fails, because they may have been paid for.
            while waiting and not errors and not self._wake.is_set():
                try:
                    await self._embed(take_batch(waiting, self._request_limits()))
                except MemdError as error:
                    errors.append(error)

        self._wake = trio.Event()  # earlier texts are in `missing`
        async with trio.open_nursery() as nursery:
            for _ in range(self.provider.limits.concurrency):
                nursery.start_soon(work)
        if errors:
            raise errors[0]

    def _request_limits(self) -> BatchLimits:
        """Return the current limits of a request, which depend on the provider's replies and the token budget."""
        limits = self.provider.limits
        return replace(limits, max_texts=min(limits.max_texts, BATCH_TEXTS))

    async def _isolate_failure(self, missing: list[tuple[str, str]]) -> None:
        """Embed fewer and fewer texts at a time, until the one that makes the provider fail is isolated.

        That text is recorded as refused, and remains searchable by keyword. A harmless text is embedded first: if that
        fails, the provider is down and no text is the cause.
        """
        await self.provider.embed_batch([PROBE_TEXT])
        self._pauses = 0
        part = missing[: self._isolation.part(self._request_limits().max_texts)]
        try:
            await self._embed(part)
        except MemdError as error:
            if len(part) > 1 or not self._isolation.is_suspicious(error):
                raise
            await self._store([], np.empty((0, 0), dtype=np.float32), {part[0][0]: error.message})
            self._isolation.clear()

    async def _embed(self, missing: list[tuple[str, str]]) -> None:
        """Embed and store one batch of (hash, text)."""
        started = trio.current_time()
        texts = [text for _, text in missing]
        embedded = await embed_isolating_refusals(self.provider, texts)
        self.pace.note(trio.current_time() - started, len(texts), sum(len(text) for text in texts))
        at = [number for number, vector in enumerate(embedded.vectors) if vector is not None]
        rows = [vector for vector in embedded.vectors if vector is not None]
        if len({row.shape[0] for row in rows}) > 1:
            raise DimensionsChangedError(
                f"{self.provider.id} returned vectors of different dimensions for one batch"
            )
        matrix = np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)
        refused = {missing[number][0]: reason for number, reason in embedded.refused.items()}
        await self._store([missing[number][0] for number in at], matrix, refused)
        self.health.worked()  # only once the vectors are stored

    async def _store_bulk(
        self, hashes: list[str], matrix: NDArray[np.float32], refused: dict[str, str]
    ) -> None:
        """Store the results of a batch job."""
        try:
            await self._store(hashes, matrix, refused)
        except DimensionsChangedError as error:  # retrying would fail the same way
            self.health.failed(error)

    async def _store(self, hashes: list[str], matrix: NDArray[np.float32], refused: dict[str, str]) -> None:
        """Store vectors and refusals in one transaction, call `events.stored`, and report the progress."""
        is_renewing = self._renew_to_id is not None
        space, now_ms = self.space, self._clock()

        def write(db: Database) -> tuple[list[int], list[int]]:
            if refused:
                refuse_texts(db, space.id, refused, now_ms)
            if not hashes:
                return [], []
            if is_renewing:
                return replace_vectors(db, space, hashes, matrix, now_ms)
            return store_vectors(db, space, hashes, matrix, now_ms), []

        try:
            ids, gone = await self._index.write(write)
        except DimensionsChangedError:
            if not is_renewing:
                raise
            # During a renewal the model may have new dimensions: then the old vectors can't be kept.
            await self._index.write(lambda db: forget_space(db, space.id))
            self._events.forgotten()
            ids, gone = await self._index.write(write)
        await self._events.stored(ids, matrix, gone)
        if refused:
            log.warning("embedding.texts_refused", provider=space.provider, texts=len(refused))
        self.embedded += len(hashes)
        if hashes:
            METER.count("memd_texts_embedded_total", self._agent_id, by=len(hashes))
        self._round += len(hashes)
        self.pending = max(0, self.pending - len(hashes) - len(refused))
        for sink in list(self._sinks):
            sink("embedding", self._round, self._round + self.pending, "")

    async def _trim(self) -> None:
        """Trim the cache to its limits, at most once per `TRIM_EVERY_MS`."""
        now_ms = self._clock()
        if not has_passed(TRIM_EVERY_MS, self._trimmed_ms, now_ms):
            return
        self._trimmed_ms = now_ms
        limits, spaces = self._limits, {self.space.id, *self._live_spaces()}
        await self._index.write(
            lambda db: trim(db, limits.entries, max_unused_bytes=limits.unused_bytes, spaces=spaces)
        )
