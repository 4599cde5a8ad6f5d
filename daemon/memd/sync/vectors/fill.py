"""Vectors behind the text: fills what a vector space lacks, newest files first.

Keyword search never waits for this. A failing provider is tried again with growing pauses, and never before it
may be; `health` has the reason and since when, which every reply and the status show.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial

import numpy as np
import trio
from numpy.typing import NDArray

from memd.embedding.provider import BatchLimits, EmbeddingProvider
from memd.embedding.remote.batches import PROBE_TEXT, embed_isolating_refusals, take_batch
from memd.index.cache import (
    SpaceKey,
    count_missing,
    count_missing_characters,
    count_texts,
    forget_refused,
    last_vector_id,
    missing_hashes,
    oldest_missing_ms,
)
from memd.index.connection import Database, IndexFile
from memd.sync.text.text_sync import ProgressSink, ignore_progress
from memd.sync.vectors.bulk_fill import BulkFill
from memd.sync.vectors.provider_health import FailureIsolation, Health, Pace
from memd.sync.vectors.vector_writer import CacheLimits, FillEvents, VectorWriter
from memd.system.clock import Clock
from memd.system.metrics import METER
from memd_client.errors import DimensionsChangedError, MemdError

BATCH_TEXTS = 128
"""Most texts asked for at once, however many the provider takes: so progress is seen, new text goes first soon,
and little is lost when it breaks."""

LOOK_AHEAD_BATCHES = 16
"""Batches read from the index at once: the look for missing texts walks all chunks, so it is shared by many."""

FIRST_PAUSE_S = 1.0
DOUBLINGS = 6
"""Pauses between tries while a provider fails: they double so often, to about a minute."""

LOOK_S = 5.0
"""A long pause is checked so often: it may have passed while the machine slept."""

NEWEST_TEXTS = 64
"""Texts embedded after a change while power is saved: a note and more, seconds of one core. What is older waits."""

GATHER_FROM_TEXTS = 32
GATHER_S = 0.2
GATHER_MOST_S = 2.0
"""A provider that takes many texts at once isn't asked for each file that comes in: texts are gathered until none
came for a moment, but not for longer than the second figure."""


class VectorFill:
    """Embeds what is missing in one vector space of one agent."""

    def __init__(
        self,
        agent_id: str,
        index: IndexFile,
        provider: EmbeddingProvider,
        *,
        health: Health,
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
        self._writer = VectorWriter(index, self.space, limits, live_spaces, clock, events)
        self._suspicion = FailureIsolation()
        self._round = 0  # texts embedded since there was last nothing to do
        self._renew_to_id: int | None = None
        self._came = 0
        self.embedded = 0
        self.pending = 0
        self.texts = 0
        self.oldest_ms: int | None = None
        self.pace = Pace()

    def __repr__(self) -> str:
        state = "idle" if self._idle.is_set() else f"{self.pending} pending"
        return f"<VectorFill {self.provider.id}/{self.provider.model}, {state}>"

    async def load(self) -> None:
        """Count what an earlier run, or another space's time, left undone."""
        space_id = self.space.id

        def look(db: Database) -> tuple[int, int | None, int, int]:
            missing = count_missing(db, space_id)
            if not missing:  # as at most starts: the rest reads every chunk
                return 0, None, 0, count_texts(db)
            characters = count_missing_characters(db, space_id)
            return missing, oldest_missing_ms(db, space_id), characters, count_texts(db)

        came = self._came
        pending, self.oldest_ms, self.pace.characters, self.texts = await self._index.read(look)
        if came == self._came and self._renew_to_id is None:
            self.pending = pending
        else:
            await self._count()

    def wake(self, texts: int = 0, characters: int = 0) -> None:
        """Say that texts may be missing, or that the provider may work again."""
        self._came += texts
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
        """Return about how long what is pending will take, by the texts embedded lately."""
        return self.pace.needs_s(self.pending) / self.provider.limits.concurrency

    async def settle(self, progress: ProgressSink = ignore_progress) -> None:
        """Wait until nothing is missing or the provider fails; the caller looks at `health`."""
        self._sinks.append(progress)
        try:
            self.wake()
            await self._idle.wait()
        finally:
            self._sinks.remove(progress)

    async def renew_all(self) -> None:
        """Have every text embedded again, refused ones too; the old vectors answer until each is replaced."""
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
                    await self._writer.trim()
                    self._pauses = 0
                    self._suspicion.clear()
                except MemdError as error:
                    self.health.failed(error)
                    self._suspicion.note(error)
                    await self._pause()
                    self._wake.set()
                    continue
                if not self._wake.is_set() and not self._is_waiting_for_jobs():
                    self._round = 0
                    self._idle.set()

    async def _wait_for_work(self) -> None:
        """Wait until texts may be missing, or what rested may go on."""
        while not self._wake.is_set():
            with trio.move_on_after(LOOK_S if self.rests else math.inf):
                await self._wake.wait()
            if self.rests and not self._saves_power():
                self.wake()

    async def _gather(self) -> None:
        """Wait for more text if that saves requests and no caller waits for vectors."""
        if self.provider.limits.max_texts < GATHER_FROM_TEXTS:
            return
        until = trio.current_time() + GATHER_MOST_S
        came = -1
        while came != self._came and not self._sinks and trio.current_time() < until:
            came, self._nudge = self._came, trio.Event()
            with trio.move_on_after(GATHER_S):
                await self._nudge.wait()

    def _is_waiting_for_jobs(self) -> bool:
        return self.bulk is not None and self.bulk.is_awaited

    async def _pause(self) -> None:
        """Wait until the provider may be asked again; a success elsewhere, or a user's wish, ends our own part of it.

        New text doesn't: where every try costs tokens it would make tries without end.
        """
        until = trio.current_time() + FIRST_PAUSE_S * 2 ** min(self._pauses, DOUBLINGS)
        self._pauses += 1
        while True:
            self._idle.set()  # callers of `settle` learn that vectors don't come now
            asked_s = self.provider.retry_in_s()
            left_s = asked_s if asked_s > 0 else until - trio.current_time()
            if left_s <= 0:
                return
            self._nudge = trio.Event()
            with trio.move_on_after(min(left_s, LOOK_S)):
                await self._nudge.wait()
                if self.provider.retry_in_s() <= 0 and (self._sinks or self.health.degraded is None):
                    return

    async def _count(self) -> None:
        """Count what is missing; again if text came in, or a renewal was requested, meanwhile."""
        space_id = self.space.id
        came, renew = -1, self._renew_to_id
        while (came, renew) != (self._came, self._renew_to_id):
            came, renew = self._came, self._renew_to_id
            look = partial(count_missing, space_id=space_id, renew_to_id=renew)
            count = await self._index.read(look)
        self.pending = count

    async def _fill(self) -> None:
        """Embed batch after batch until nothing is missing but what jobs bring."""
        await self._count()
        self.rests = False
        while self.pending:
            most = LOOK_AHEAD_BATCHES * self._limits().max_texts
            if self._saves_power() and not self._sinks:
                most = min(most, NEWEST_TEXTS - self._round)
                if most <= 0:
                    await self._count()  # a text reported after the count is in the sum twice
                    self.rests = self.pending > 0
                    break
            missing = await self._find_missing(most)
            if not missing:
                await self._count()  # texts may have gone
                break
            if self.bulk is not None and self.bulk.wants(self.pending):
                self.bulk.hand_over(await self._find_missing(self.pending))
                continue
            if self._suspicion.is_raised:
                await self._hunt(missing)
            else:
                await self._embed_all(missing)
            if not self.pending:  # counting walks all chunks: till then what was stored and came tells
                await self._count()
        if not self.pending:
            self._renew_to_id = None  # nothing was awaited since it was counted
            self.pace.characters = 0
            await self._events.whole()
            if not self._wake.is_set():
                self.oldest_ms = None

    async def _find_missing(self, limit: int) -> list[tuple[str, str]]:
        """Return (hash, text) of what is missing and not under way elsewhere, newest files first."""
        under_way = self.bulk.in_flight() if self.bulk is not None else ()
        space_id, renew = self.space.id, self._renew_to_id
        return await self._index.read(
            lambda db: missing_hashes(db, space_id, limit, without=under_way, renew_to_id=renew)
        )

    async def _embed_all(self, missing: list[tuple[str, str]]) -> None:
        """Embed texts, several batches at a time where the provider takes them, until newer text comes in."""
        waiting = deque(missing)
        errors: list[MemdError] = []

        async def work() -> None:
            # What is under way when another batch fails is brought home: it may have been paid for.
            while waiting and not errors and not self._wake.is_set():
                try:
                    await self._embed(take_batch(waiting, self._limits()))
                except MemdError as error:
                    errors.append(error)

        self._wake = trio.Event()  # what came before the look is in it
        async with trio.open_nursery() as nursery:
            for _ in range(self.provider.limits.concurrency):
                nursery.start_soon(work)
        if errors:
            raise errors[0]

    def _limits(self) -> BatchLimits:
        """Return what a request may carry now: the provider finds out, and the day's budget comes to its end."""
        limits = self.provider.limits
        return replace(limits, max_texts=min(limits.max_texts, BATCH_TEXTS))

    async def _hunt(self, missing: list[tuple[str, str]]) -> None:
        """Embed fewer and fewer texts at a time, until the one that the provider fails over is alone.

        That one is left to its words, if the provider takes a harmless text at that moment: else it is down, and
        no text is to blame.
        """
        await self.provider.embed_batch([PROBE_TEXT])
        self._pauses = 0
        part = missing[: self._suspicion.part(self._limits().max_texts)]
        try:
            await self._embed(part)
        except MemdError as error:
            if len(part) > 1 or not self._suspicion.is_suspicious(error):
                raise
            await self._store([], np.empty((0, 0), dtype=np.float32), {part[0][0]: error.message})
            self._suspicion.clear()

    async def _embed(self, missing: list[tuple[str, str]]) -> None:
        """Embed and store one batch of (hash, text)."""
        started = trio.current_time()
        texts = [text for _, text in missing]
        embedded = await embed_isolating_refusals(self.provider, texts)
        self.pace.note(trio.current_time() - started, len(texts), sum(len(text) for text in texts))
        at = [place for place, vector in enumerate(embedded.vectors) if vector is not None]
        rows = [vector for vector in embedded.vectors if vector is not None]
        if len({row.shape[0] for row in rows}) > 1:
            raise DimensionsChangedError(f"{self.provider.id} gave vectors of several sizes for one batch")
        matrix = np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)
        refused = {missing[place][0]: reason for place, reason in embedded.refused.items()}
        await self._store([missing[place][0] for place in at], matrix, refused)
        self.health.worked()  # only now: vectors that can't be stored are no success

    async def _store_bulk(
        self, hashes: list[str], matrix: NDArray[np.float32], refused: dict[str, str]
    ) -> None:
        """Store what a job brought."""
        try:
            await self._store(hashes, matrix, refused)
        except DimensionsChangedError as error:  # it won't fit later either
            self.health.failed(error)

    async def _store(self, hashes: list[str], matrix: NDArray[np.float32], refused: dict[str, str]) -> None:
        """Store vectors and refusals, and call `events.stored`."""
        await self._writer.store(hashes, matrix, refused, renewing=self._renew_to_id is not None)
        self.embedded += len(hashes)
        if hashes:
            METER.count("memd_texts_embedded_total", self._agent_id, by=len(hashes))
        self._round += len(hashes)
        self.pending = max(0, self.pending - len(hashes) - len(refused))
        for sink in list(self._sinks):
            sink("embedding", self._round, self._round + self.pending, "")
