"""Fills a vector space through a provider's batch API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import trio
from numpy.typing import NDArray

from memd.embedding.provider import EmbeddingProvider
from memd.embedding.remote.bulk.api import BulkApi, BulkResults
from memd.embedding.remote.bulk.jobs import JobRecord, records_from_json, records_to_json
from memd.embedding.remote.bulk.runner import BulkRunner
from memd.embedding.remote.remote import RemoteProvider
from memd.index.connection import IndexFile
from memd.index.meta import load_jobs, save_jobs
from memd.settings.endpoints import Batch, EndpointSettings
from memd.system.clock import Clock
from memd.system.log import log
from memd_client.errors import MemdError
from memd_client.messages import BulkJob

BULK_FROM = 1_000
"""Fewest texts for a batch job: fewer are embedded by plain requests within minutes."""

PLAIN_FIRST = 256
"""Texts of the newest files that are embedded by plain requests, so that they don't wait for a job."""

RETRY_PAUSE_S = 60.0
"""Pause before results that could not be stored are fetched again."""

Store = Callable[[list[str], NDArray[np.float32], dict[str, str]], Awaitable[None]]
"""Takes (hashes, (n, dims) vectors, reasons of refused texts by hash)."""


class IndexJobs:
    """The unfinished batch jobs of one space, stored in the agent's index, so that they survive a restart."""

    def __init__(self, index: IndexFile, space: str) -> None:
        self._index = index
        self._space = space

    async def load(self) -> list[JobRecord]:
        """Return the unfinished jobs."""
        saved = await self._index.read(lambda db: load_jobs(db, self._space))
        return records_from_json(saved) if saved is not None else []

    async def save(self, jobs: Sequence[JobRecord]) -> None:
        """Store the unfinished jobs."""
        saved = records_to_json(jobs)
        await self._index.write(lambda db: save_jobs(db, self._space, saved))


class BulkFill:
    """Fills one vector space of one agent by batch jobs."""

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
        """Set the functions that store the results of jobs, and that are called when jobs end."""
        self._store, self._wake = store, wake

    @property
    def is_awaited(self) -> bool:
        """Whether a sync has to wait for running jobs."""
        return self._settings.wait and bool(self.in_flight())

    def in_flight(self) -> set[str]:
        """Return the hashes of the texts in jobs, including those still to be submitted."""
        return {digest for digest, _ in self._items} | self._run.in_flight()

    def wants(self, pending: int) -> bool:
        """Return whether a job should be submitted for `pending` missing texts, including those in jobs."""
        return self._run.may_submit and pending - len(self.in_flight()) >= self._bulk_from

    def hand_over(self, missing: Sequence[tuple[str, str]]) -> None:
        """Submit missing texts, (hash, text), newest first; the newest are left to plain requests."""
        self._items += missing[self._plain_first :]
        self._work.set()

    def status(self) -> list[BulkJob]:
        """Return the running jobs."""
        return self._run.status()

    async def load(self) -> None:
        """Resume the jobs of an earlier run of the daemon."""
        await self._run.resume()
        if self._run.in_flight():
            self._work.set()

    async def run(self) -> None:
        """Submit jobs and collect results until cancelled; running jobs are then resumed by `load`."""
        while True:
            await self._work.wait()
            self._work = trio.Event()
            items, self._items = self._items, []
            try:
                await self._run.embed(items)
            except MemdError as error:  # the index can't be written: the results are fetched again later
                log.warning("embedding.jobs_not_stored", code=error.code, error=error.message)
                with trio.move_on_after(RETRY_PAUSE_S):
                    await self._work.wait()
                self._work.set()
            self._wake()

    async def _take(self, results: BulkResults) -> None:
        """Store the results of a job."""
        assert self._store is not None
        hashes = list(results.vectors)
        rows = list(results.vectors.values())
        matrix = np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)
        await self._store(hashes, matrix, results.refused)


def bulk_fill_of(
    provider: EmbeddingProvider, endpoint: EndpointSettings | None, index: IndexFile, clock: Clock
) -> BulkFill | None:
    """Return a fill through the provider's batch API, or None if it has none or it is disabled."""
    if not isinstance(provider, RemoteProvider) or provider.bulk is None:
        return None
    return BulkFill(
        provider.bulk,
        (endpoint or EndpointSettings()).batch,
        index,
        space=provider.space.id,
        clock=clock,
    )
