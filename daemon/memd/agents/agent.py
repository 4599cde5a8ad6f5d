"""One agent's memory: what the request methods talk to.

It owns the agent's index, the task that keeps its text equal to the files, the task that fills vectors
behind it, and the warm matrix. Nothing here reaches another agent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import structlog
import trio

from memd.agents.status import describe_agent
from memd.index.cache import trim
from memd.index.connection import IndexFile
from memd.index.files import count_all
from memd.index.housekeeping import (
    give_caches_back,
    heal_writing,
    keep_locations,
    keep_log_short,
    squeeze,
)
from memd.index.keyword import tidy
from memd.index.vectors.cache import VectorCache
from memd.search.service import SearchService
from memd.settings.agents import AgentConfig
from memd.settings.memory_budget import MB
from memd.settings.schema import DaemonSettings
from memd.sync.disk.read import lines_of, refusal_of
from memd.sync.empty_result import SearchedMemory, explain_empty
from memd.sync.listing import list_curated, list_memory
from memd.sync.schedule import Schedule
from memd.sync.search_scheduler import SearchScheduler
from memd.sync.sources import Sources
from memd.sync.text.file_rows import FileRows
from memd.sync.text.text_sync import ProgressSink, TextSync
from memd.sync.watch.watcher import WatchState
from memd.system.clock import Clock
from memd.vector_search.kept_vectors import embed_kept, keep_vector
from memd.vector_search.manager import VectorSearchManager
from memd_client.errors import (
    IndexClosedError,
    MemdError,
    MemoryDisabledError,
    ProviderUnavailableError,
)
from memd_client.messages import (
    AgentStatus,
    CuratedEntriesParams,
    CuratedEntriesReply,
    EmbedParams,
    EmbedReply,
    FilesParams,
    FilesReply,
    GetParams,
    GetReply,
    IndexedAgent,
    SearchParams,
    SearchReply,
    VacuumedAgent,
)

log = structlog.get_logger(__name__)

DISK_THREADS = 2
"""Reading and chunking threads of one agent: enough to keep a disk busy, few enough to leave a core free."""

GET_CHARACTERS = 4_000_000
"""Most characters one `get` returns: with four bytes a character this fills a frame."""


class AgentMemory:
    """A searchable memory of one agent."""

    def __init__(
        self,
        config: AgentConfig,
        index: IndexFile,
        warm: VectorCache,
        sources: Sources,
        *,
        scheduler: SearchScheduler,
        watch_state: Callable[[], WatchState],
        meaning: VectorSearchManager,
        daemon: DaemonSettings,
        clock: Clock,
    ) -> None:
        self.config = config
        self.index_file = index
        self.warm = warm
        self.clock = clock
        self.sources = sources
        self.watch_state = watch_state
        self.meaning = meaning
        self._disk = trio.CapacityLimiter(DISK_THREADS)
        rows = FileRows(
            config.id,
            index,
            sources,
            chunking=config.settings.chunking,
            clock=clock,
            disk=self._disk,
            on_published=meaning.on_published,
        )
        self.text = TextSync(index, sources, rows, clock=clock, disk=self._disk, scheduler=scheduler)
        self._recall = SearchService(
            config,
            index,
            meaning,
            self.text,
            daemon=daemon,
            clock=clock,
            scheduler=scheduler,
        )
        self._syncing: set[trio.CancelScope] = set()
        self._unused_bytes = daemon.vector_cache_mb * MB
        self.schedule = Schedule(self.text, config.settings.sync, clock=clock, disk=self._disk)

    def __repr__(self) -> str:
        return f"<AgentMemory {self.config.id}: {self.text!r}, {self.meaning!r}>"

    # --- life ---------------------------------------------------------------------------------------

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep the memory up to date until cancelled; ready once its rows are loaded.

        Resources: closes the index when it ends, however it ends.
        """
        try:
            await self.text.load()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.text.run)
                await nursery.start(self.meaning.run)
                task_status.started()
                nursery.start_soon(heal_writing, self.index_file, self._catch_up)
                nursery.start_soon(keep_log_short, self.index_file)
                nursery.start_soon(give_caches_back, self.index_file)
                nursery.start_soon(keep_locations, self.index_file, self.warm)
                if self.config.settings.enabled:
                    self.text.sync_nowait()
                    nursery.start_soon(self.schedule.run)
                await trio.sleep_forever()
        finally:
            for scope in list(self._syncing):
                scope.cancel()
            self.warm.close()
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(self.sources.close)
                await self.index_file.close()

    async def _catch_up(self) -> None:
        """Do what could not be written for a while."""
        await self.text.sync()
        if self.meaning.fill is not None:
            self.meaning.fill.wake()

    async def choose_again(self) -> None:
        """Choose the provider anew, where the last choice had none: a model may have been pulled since."""
        await self.meaning.choose_again()

    # --- requests -----------------------------------------------------------------------------------

    async def search(self, params: SearchParams) -> SearchReply:
        """Answer a question from what is on disk now."""
        self._require_enabled()
        reply = await self._recall.search(params)
        if reply.hits:
            return reply
        memory = SearchedMemory(self.config.id, self.workspace, self.config.settings.sources)
        return replace(reply, empty=await explain_empty(reply, params, memory, self.text))

    async def get(self, params: GetParams) -> GetReply:
        """Return lines of an allowed file."""
        self._require_enabled()

        def load() -> GetReply:
            disk = self.sources.find_notes()
            found = disk.files.get(params.path)
            if found is None:
                raise refusal_of(params.path, disk, str(self.workspace))
            file = self.sources.load(found)
            text, count, total, truncated = lines_of(
                file.text, params.from_line, params.lines, GET_CHARACTERS
            )
            return GetReply(
                self.config.id, params.path, text, max(1, params.from_line), count, total, truncated
            )

        return await trio.to_thread.run_sync(load, limiter=self._disk)

    async def files(self, params: FilesParams) -> FilesReply:
        """List the files this memory consists of, as the disk has them now."""
        self._require_enabled()
        return await list_memory(self.config.id, self.text, self.index_file, params)

    async def curated_entries(self, params: CuratedEntriesParams) -> CuratedEntriesReply:
        """List entries of the curated notes, as the disk has them now."""
        self._require_enabled()
        chunking = self.config.settings.chunking
        entries = await trio.to_thread.run_sync(
            list_curated, self.sources, chunking, params, limiter=self._disk
        )
        return CuratedEntriesReply(self.config.id, entries)

    async def index(self, force: bool, progress: ProgressSink) -> IndexedAgent:
        """Bring text and vectors up to date now."""
        with trio.CancelScope() as scope:
            self._syncing.add(scope)
            try:
                return await self._index(force, progress)
            finally:
                self._syncing.discard(scope)
        raise IndexClosedError(f"the index of agent {self.config.id} was closed meanwhile")

    async def _index(self, force: bool, progress: ProgressSink) -> IndexedAgent:
        """Bring text and vectors up to date; whoever ends the memory cancels it, since nobody would answer."""
        self._require_enabled()
        started = trio.current_time()
        await self.choose_again()
        fill = self.meaning.fill
        embedded_before = fill.embedded if fill is not None else 0
        if force:
            await self.meaning.renew()
        report = await self.text.sync(force=force, progress=progress)
        if fill is not None:
            await fill.settle(progress)
        counts = await self.index_file.read(count_all)
        embedded = fill.embedded - embedded_before if fill is not None else 0
        return IndexedAgent(
            agent=self.config.id,
            files=counts.files,
            chunks=counts.chunks,
            files_changed=report.files_changed,
            files_removed=report.files_removed,
            embedded=embedded,
            reused=max(0, self.warm.count - embedded),
            took_ms=round((trio.current_time() - started) * 1000, 1),
            degraded=self.meaning.degraded(),
            skipped=list(self.text.skipped),
        )

    async def reset(self, *, vectors: bool) -> None:
        """Give the index up, for it to be opened empty and filled anew; the caller then waits for that."""
        self.index_file.discard(vectors=vectors)

    async def vacuum(self) -> VacuumedAgent:
        """Remove vectors beyond what the settings keep, and give back what room is free."""
        started, before = trio.current_time(), self.index_file.size_bytes()
        sides = (self.meaning.primary, self.meaning.target, self.meaning.answering)
        spaces = {side.space.id for side in sides if side is not None}
        entries, unused = self.config.settings.cache.max_entries, self._unused_bytes
        removed = await self.index_file.write(
            lambda db: trim(db, entries, max_unused_bytes=unused, spaces=spaces or None)
        )
        await self.index_file.write(tidy)
        await squeeze(self.index_file)
        took_ms = round((trio.current_time() - started) * 1000, 1)
        return VacuumedAgent(self.config.id, before, self.index_file.size_bytes(), removed, took_ms)

    async def embed(self, params: EmbedParams) -> EmbedReply:
        """Return vectors of texts by this agent's provider."""
        side = self.meaning.target
        if side is None:
            problem = self.meaning.selection.problem
            if problem is not None:
                raise MemdError.from_wire(problem.to_wire())
            raise ProviderUnavailableError("embeddings are turned off for this agent")
        provider = side.provider
        if params.kind == "query":
            rows = [await provider.embed_query(text) for text in params.texts]
            packed = b"".join(row.astype("<f4").tobytes() for row in rows)
            dims = int(rows[0].shape[0]) if rows else 0
        else:
            matrix = (
                await embed_kept(self.index_file, side, params.texts, self.clock)
                if params.keep
                else await provider.embed_batch(params.texts)
            )
            packed = matrix.astype("<f4").tobytes()
            dims = int(matrix.shape[1]) if params.texts else 0
        return EmbedReply(provider.id, provider.model, len(params.texts), dims, packed)

    async def keep_vector(self, text: str, model: str, vector: bytes) -> bool:
        """Keep a vector somebody else made of a text, if this agent's provider has the same model."""
        side = self.meaning.target
        if side is None or side.provider.model != model or not vector or len(vector) % 4:
            return False
        row = np.frombuffer(vector, dtype="<f4")
        return await keep_vector(self.index_file, side, text, row, self.clock)

    def session_started(self, session_key: str) -> bool:
        """Sync for a session that starts, once for each key; return whether a sync was asked for."""
        self._require_enabled()
        return self.schedule.session_started(session_key)

    def compaction_done(self) -> bool:
        """Sync after an agent's context was compacted; return whether a sync was asked for."""
        self._require_enabled()
        self.schedule.compacted()
        return True

    async def status(self, deep: bool) -> AgentStatus:
        """Report on this memory; never raises for something that is merely wrong."""
        return await describe_agent(self, deep=deep)

    def _require_enabled(self) -> None:
        if not self.config.settings.enabled:
            raise MemoryDisabledError(f"memory search is off for agent {self.config.id}")

    @property
    def agent_id(self) -> str:
        """Whose memory this is."""
        return self.config.id

    @property
    def workspace(self) -> Path:
        """Where the agent's Markdown is."""
        return self.config.workspace
