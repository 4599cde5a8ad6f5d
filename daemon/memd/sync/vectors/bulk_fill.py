"""Bulk work by a provider's batch API: who gets which texts, and what is under way there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import structlog
import trio
from numpy.typing import NDArray

from memd.embedding.provider import EmbeddingProvider
from memd.embedding.remote.bulk.api import BulkApi, BulkResults
from memd.embedding.remote.bulk.jobs import JobRecord, records_from_json, records_to_json
from memd.embedding.remote.bulk.runner import BulkRunner
from memd.embedding.remote.remote import RemoteProvider
from memd.index.connection import IndexFile
from memd.index.meta import load_jobs, save_jobs
from memd.settings.schema import Batch, Remote
from memd.system.clock import Clock
from memd_client.errors import MemdError
from memd_client.messages import BulkJob

log = structlog.get_logger(__name__)

BULK_FROM = 1_000
"""Texts from which on a job is worth its wait: fewer are embedded by plain requests within minutes."""

PLAIN_FIRST = 256
"""Texts of the newest files that are embedded by plain requests meanwhile, so that they needn't wait for a job."""

AGAIN_S = 60.0
"""Pause before results that could not be stored are fetched again."""

Store = Callable[[list[str], NDArray[np.float32], dict[str, str]], Awaitable[None]]
"""Takes (hashes, (n, dims) vectors, reasons of refused texts by hash)."""


class IndexJobs:
    """The jobs that fill one space of one agent, kept in its index, so that a restart finds them."""

    def __init__(self, index: IndexFile, space: str) -> None:
        self._index = index
        self._space = space

    async def load(self) -> list[JobRecord]:
        """Return the jobs that were not finished."""
        saved = await self._index.read(lambda db: load_jobs(db, self._space))
        return records_from_json(saved) if saved is not None else []

    async def save(self, jobs: Sequence[JobRecord]) -> None:
        """Write down the jobs that are not finished."""
        saved = records_to_json(jobs)
        await self._index.write(lambda db: save_jobs(db, self._space, saved))


class BulkFill:
    """The jobs that fill one vector space of one agent."""

    def __init__(
        self,
        api: BulkApi,
        settings: Batch,
        index: IndexFile,
        *,
        space: str,
        clock: Clock,
        bulk_from: int = BULK_FROM,
    ) -> None:
        self._settings = settings
        self._bulk_from = bulk_from
        self._plain_first = min(PLAIN_FIRST, bulk_from // 4)
        self._items: list[tuple[str, str]] = []
        self._work = trio.Event()
        self._store: Store | None = None
        self._wake: Callable[[], None] = lambda: None
        self._run = BulkRunner(
            api,
            settings,
            IndexJobs(index, space),
            space=space,
            clock=clock,
            on_results=self._take,
            on_freed=lambda: self._wake(),
        )

    def __repr__(self) -> str:
        return f"<BulkFill {self._run!r}, {len(self._items)} to submit>"

    def attach(self, store: Store, wake: Callable[[], None]) -> None:
        """Set what stores the results of jobs, and what is called when they ended."""
        self._store, self._wake = store, wake

    @property
    def is_awaited(self) -> bool:
        """Whether jobs are under way that a sync waits for."""
        return self._settings.wait and bool(self.in_flight())

    def in_flight(self) -> set[str]:
        """Return the hashes of the texts that jobs will bring."""
        return {digest for digest, _ in self._items} | self._run.in_flight()

    def wants(self, pending: int) -> bool:
        """Return whether so many missing texts, those under way included, are worth a job."""
        return self._run.may_submit and pending - len(self.in_flight()) >= self._bulk_from

    def hand_over(self, missing: Sequence[tuple[str, str]]) -> None:
        """Take (hash, text) of what is missing, newest first; the newest are left to plain requests."""
        self._items += missing[self._plain_first :]
        self._work.set()

    def status(self) -> list[BulkJob]:
        """Return the jobs under way."""
        return self._run.status()

    async def load(self) -> None:
        """Find the jobs an earlier run left."""
        await self._run.resume()
        if self._run.in_flight():
            self._work.set()

    async def run(self) -> None:
        """Submit and collect until cancelled; jobs under way then are found again by `load`."""
        while True:
            await self._work.wait()
            self._work = trio.Event()
            items, self._items = self._items, []
            try:
                await self._run.embed(items)
            except MemdError as error:  # the index can't be written: what jobs brought is fetched again later
                log.warning("embedding.jobs_not_stored", code=error.code, error=error.message)
                with trio.move_on_after(AGAIN_S):
                    await self._work.wait()
                self._work.set()
            self._wake()

    async def _take(self, results: BulkResults) -> None:
        """Store what a job brought."""
        assert self._store is not None
        hashes = list(results.vectors)
        rows = list(results.vectors.values())
        matrix = np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)
        await self._store(hashes, matrix, results.refused)


def bulk_fill_of(
    provider: EmbeddingProvider, remote: Remote | None, index: IndexFile, clock: Clock
) -> BulkFill | None:
    """Return the batch API of a provider at work for an agent, or None where there is none or it may not be used."""
    if not isinstance(provider, RemoteProvider) or provider.bulk is None:
        return None
    return BulkFill(
        provider.bulk,
        (remote or Remote()).batch,
        index,
        space=provider.space.id,
        clock=clock,
    )
