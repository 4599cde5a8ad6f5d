"""The parts of an agent that exist while it is open: index, vectors, and the tasks that keep both current."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import trio

from memd.index.connection import IndexFile
from memd.index.files import forget_excluded
from memd.index.housekeeping import keep_log_short, recover_writing, release_caches
from memd.index.meta import EXCLUSIONS, find_meta
from memd.index.vectors.cache import VectorCache
from memd.index.work import choose_work, find_work_sources
from memd.programs.catalog import OPENCLAW_SOURCE
from memd.search.service import SearchService
from memd.settings.agents import AgentConfig
from memd.settings.schema import DaemonSettings
from memd.sources.agent_sources import AgentSources
from memd.sources.open import OpenedSource
from memd.sources.watch.watcher import Listings, Watcher
from memd.sync.schedule import Schedule
from memd.sync.search_scheduler import SearchScheduler
from memd.sync.text.file_rows import FileRows
from memd.sync.text.text_sync import TextSync
from memd.system.clock import Clock
from memd.system.log import log
from memd.trust.allowed import Allowed
from memd.vector_search.agent_vectors import VectorSearchManager

MAX_DISK_THREADS = 2
"""Threads that read and chunk files of one agent: enough for a disk, few enough to leave a core free."""


class OpenAgent:
    """The parts of an open agent."""

    def __init__(
        self,
        config: AgentConfig,
        index: IndexFile,
        sources: AgentSources,
        added: Mapping[str, OpenedSource],
        vector_cache: VectorCache,
        vector_search: VectorSearchManager,
        *,
        daemon: DaemonSettings,
        clock: Clock,
        scheduler: SearchScheduler,
        watcher: Watcher,
        allowed: Allowed,
    ) -> None:
        self.agent_id = config.id
        self.index_file = index
        self.sources = sources
        self.added = added
        self.vector_search = vector_search
        self.vector_cache = vector_cache
        self.watcher = watcher
        self.allowed = allowed
        self.disk = trio.CapacityLimiter(MAX_DISK_THREADS)
        self.rows = rows = FileRows(
            config.id,
            index,
            sources,
            chunking=config.settings.chunking,
            clock=clock,
            disk=self.disk,
            release=allowed.with_releases,
            on_published=vector_search.on_published,
        )
        self.text = text = TextSync(index, sources, rows, clock=clock, disk=self.disk, scheduler=scheduler)
        self.search = SearchService(
            config, index, vector_search, text, daemon=daemon, clock=clock, scheduler=scheduler
        )
        self.schedule = Schedule(text, sources, config.settings.sync, clock=clock, disk=self.disk)
        self._sources_with_work = {source.name for source in config.sources if source.work}
        if config.settings.work:
            self._sources_with_work.add(OPENCLAW_SOURCE)
        self._is_enabled = config.settings.enabled
        self._is_watched = config.settings.enabled and config.settings.sync.watch

    def __repr__(self) -> str:
        return f"<OpenAgent {self.agent_id}: {self.text!r}, {self.vector_search!r}>"

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep the index equal to the files until cancelled; ready once its rows are loaded.

        Resources: closes the index when it ends.
        """
        try:
            await self._apply_exclusions()
            await self._choose_work()
            await self.text.load()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.text.run)
                await nursery.start(self.vector_search.run)
                if self._is_watched:
                    self.watcher.watch(self.agent_id, self._list)
                task_status.started()
                nursery.start_soon(recover_writing, self.index_file, self._catch_up)
                nursery.start_soon(keep_log_short, self.index_file)
                nursery.start_soon(release_caches, self.index_file)
                if self._is_enabled:
                    self.text.sync_nowait()
                    nursery.start_soon(self.schedule.run)
                await trio.sleep_forever()
        finally:
            self.watcher.forget(self.agent_id)
            self.vector_cache.close()
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(self.sources.close)
                await self.index_file.close()

    async def _apply_exclusions(self) -> None:
        """Delete what is excluded from the index, if the exclusions changed since it was last open."""
        exclusions = self.sources.exclusions
        fingerprint = exclusions.fingerprint if exclusions else ""
        if await self.index_file.read(lambda db: find_meta(db, EXCLUSIONS) or "") == fingerprint:
            return
        deleted = await self.index_file.write(
            lambda db: forget_excluded(db, fingerprint, exclusions.excludes)
        )
        log.info("agent.exclusions_applied", agent=self.agent_id, conversations=deleted)

    async def _choose_work(self) -> None:
        """Delete or read the work of sources whose setting changed since the index was last open."""
        sources = sorted(self._sources_with_work)
        if await self.index_file.read(find_work_sources) != sources:
            await self.index_file.write(partial(choose_work, sources=sources))

    def _list(self) -> Listings:
        """Return what is on disk now, by source (blocking)."""
        self.sources.find()
        return self.sources.listings.copy()

    async def _catch_up(self) -> None:
        """Index and embed what could not be written for a while."""
        await self.text.sync()
        if self.vector_search.fill is not None:
            self.vector_search.fill.wake()
