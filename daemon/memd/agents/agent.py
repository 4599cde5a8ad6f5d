"""One agent: its state (opening, open, reopening, failed, closed) and its requests."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Coroutine
from enum import Enum
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import trio
from msgspec.structs import replace

from memd.agents import conversations
from memd.agents.embedding import embed_texts, keep_vector
from memd.agents.empty_result import SearchedSources, explain_empty
from memd.agents.listing import list_memory, read_note
from memd.agents.open_agent import OpenAgent
from memd.agents.origins import with_origins
from memd.agents.status import as_problem, describe_agent
from memd.index.cache import trim
from memd.index.files import count_all
from memd.index.housekeeping import compact
from memd.index.transcripts import find_other_projects
from memd.settings.agents import AgentConfig
from memd.settings.ram_budget import MB
from memd.settings.schema import DaemonSettings
from memd.sources.capacity import SourceLimits, limits_of
from memd.sources.notes import WorkspaceNotes
from memd.sources.retained import RetainedConversations
from memd.sources.source import MEMORY, Listing
from memd.sync.text.text_sync import ProgressSink
from memd.system.back_off import back_off_s
from memd.system.clock import Clock
from memd.system.log import log
from memd.system.sqlite import Database
from memd.text.forgotten import NOTHING_FORGOTTEN, Forgotten
from memd_client.errors import (
    AgentReloadingError,
    IndexClosedError,
    IndexCorruptError,
    MemdError,
    MemoryDisabledError,
)
from memd_client.messages import (
    AgentStatus,
    ConversationReadParams,
    ConversationReadReply,
    ConversationSearchParams,
    ConversationSearchReply,
    EmbedParams,
    EmbedReply,
    FilesParams,
    FilesReply,
    GetParams,
    GetReply,
    IndexedAgent,
    SearchParams,
    SearchReply,
    SourceStatus,
    VacuumedAgent,
)

P = ParamSpec("P")
T = TypeVar("T")
AgentT = TypeVar("AgentT", bound="Agent")

REQUEST_GRACE_S = 2.0
"""How long requests in progress may continue before their agent is closed."""

LOOK_TIMEOUT_S = 0.3
"""How long a search without hits waits for changes of other machines."""

OPEN_TIMEOUT_S = 8.0
"""How long a request waits for its agent to be reopened."""

MAX_TRIES = 4
"""How often a request is begun whose index is lost each time, as by several resets in a row."""

MIN_RETRY_S, MAX_RETRY_S = 1.0, 60.0
"""Back-off between attempts to open a failed agent: doubles from the first to the second value."""


class AgentState(Enum):
    """The states of an agent; requests wait in the first two."""

    OPENING = "opening"
    REOPENING = "reopening"
    OPEN = "open"
    FAILED = "failed"
    CLOSED = "closed"


def when_open(
    method: Callable[Concatenate[AgentT, OpenAgent, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[AgentT, P], Coroutine[Any, Any, T]]:
    """Return a request that waits until its agent is open, and is repeated if the index is lost meanwhile."""

    @wraps(method)
    async def request(self: AgentT, /, *args: P.args, **kwargs: P.kwargs) -> T:
        for tries_left in reversed(range(MAX_TRIES)):
            opened = await self._wait_open()
            lost_by: MemdError | None = None
            scope = trio.CancelScope()
            self._in_flight.add(scope)
            try:
                with scope:
                    return await method(self, opened, *args, **kwargs)
            except* (IndexClosedError, IndexCorruptError) as group:
                lost_by = first_error(group)
            finally:
                self._in_flight.discard(scope)
                if not self._in_flight:
                    self._quiet.unpark_all()
            if lost_by is not None and not (tries_left and opened.index_file.is_lost):
                raise lost_by  # here, because `except*` would raise a group
            if not opened.index_file.is_lost:
                break
            if self.opened is opened:
                self._enter(AgentState.REOPENING)
        raise self._reloading()

    return request


class Agent:
    """One agent and its requests.

    `opened` is set only in state OPEN, `error` only in FAILED and CLOSED. `failures` counts consecutive failures to
    open or run. `forgotten` returns what was forgotten for it.
    """

    def __init__(
        self,
        config: AgentConfig,
        open_agent: Callable[[AgentConfig, int], Awaitable[OpenAgent]],
        *,
        daemon: Callable[[], DaemonSettings],
        clock: Clock,
        on_use: Callable[[str], trio.Event | None] = lambda _: None,
        forgotten: Callable[[], Forgotten] = lambda: NOTHING_FORGOTTEN,
    ) -> None:
        self.config, self.forgotten = config, forgotten
        self.state = AgentState.OPENING
        self.opened: OpenAgent | None = None
        self.error: MemdError | None = None
        self.failures = 0
        self._open_agent = open_agent
        self._daemon = daemon
        self._clock = clock
        self._on_use = on_use
        self._last_logged_error = ""
        self._is_closing = False
        self._serving = trio.CancelScope()
        self._restart, self._settled = trio.Event(), trio.Event()
        self._in_flight: set[trio.CancelScope] = set()
        self._quiet = trio.lowlevel.ParkingLot()

    def __repr__(self) -> str:
        return f"<Agent {self.config.id} {self.state.value}, {len(self._in_flight)} in flight>"

    @property
    def agent_id(self) -> str:
        """The agent's id."""
        return self.config.id

    @property
    def limits(self) -> SourceLimits:
        """Limits of the indexed files."""
        return limits_of(self._daemon())

    # --- opening and closing ------------------------------------------------------------------------

    async def run(self) -> None:
        """Keep the agent open until `close` or cancelled.

        When it fails: an agent that can't be opened, or whose tasks fail, answers requests with that error and is
        opened again after a back-off.
        """
        failures = 0
        try:
            while not self._is_closing:
                self._restart = trio.Event()
                error = await self._serve()
                if error is None:
                    failures = 0
                    continue
                self.failures += 1
                failures += 1
                self._enter(AgentState.FAILED, error=error)
                with trio.move_on_after(back_off_s(failures, MIN_RETRY_S, MAX_RETRY_S)):
                    await self._restart.wait()
        finally:
            closed = AgentReloadingError(f"agent {self.config.id} is closed")
            self._enter(AgentState.CLOSED, error=closed)

    async def wait_settled(self) -> None:
        """Wait until the agent is open, failed or closed."""
        while not self._settled.is_set():
            await self._settled.wait()

    async def replace(self, config: AgentConfig) -> None:
        """Reopen the agent with new settings; returns once it is open or failed.

        New requests wait; those in progress are cancelled after `REQUEST_GRACE_S`.
        """
        await self.wait_settled()
        self.config = config
        await self._end_serving()

    async def close(self) -> None:
        """Close the agent permanently; requests in progress end as in `replace`."""
        await self.wait_settled()
        self._is_closing = True
        await self._end_serving()

    async def _end_serving(self) -> None:
        """End requests and tasks; returns once the run loop has settled again."""
        serving = self._serving
        self._enter(AgentState.REOPENING)
        for _ in range(2):
            with trio.move_on_after(REQUEST_GRACE_S):
                while self._in_flight:
                    await self._quiet.park()
            self._cancel_requests()
        self._restart.set()
        serving.cancel()
        await self.wait_settled()

    async def _serve(self) -> MemdError | None:
        """Open the agent and keep it open; return the error that ended it, None to reopen it."""
        error: MemdError | None = None
        self._serving = trio.CancelScope()
        try:
            with self._serving:
                opened = await self._open_agent(self.config, self.failures)
                async with trio.open_nursery() as nursery:
                    await nursery.start(opened.run)
                    self.failures, self._last_logged_error = 0, ""
                    self._enter(AgentState.OPEN, opened=opened)
                    lost = await opened.index_file.wait_lost()
                    log.warning("agent.reopened", agent=self.agent_id, code=lost.code, error=lost.message)
                    self._enter(AgentState.REOPENING)
                    nursery.cancel_scope.cancel()
        except* MemdError as group:
            error = first_error(group)
            if self._last_logged_error != error.message:  # not at every attempt
                log.error(
                    "agent.closed", agent=self.agent_id, code=error.code, error=error.message, hint=error.hint
                )
            self._last_logged_error = error.message
        except* Exception as group:
            log.error("agent.crashed", agent=self.agent_id, exc_info=group)
            error = MemdError(f"agent {self.agent_id} stopped because of an internal error; restarting it")
        finally:
            self._cancel_requests()  # they may wait for an ended task
        return error

    def _enter(
        self, state: AgentState, *, opened: OpenAgent | None = None, error: MemdError | None = None
    ) -> None:
        """Change the state; waiting requests continue in a settled state."""
        self.state, self.opened, self.error = state, opened, error
        if state not in (AgentState.OPENING, AgentState.REOPENING):
            self._settled.set()
        elif self._settled.is_set():
            self._settled = trio.Event()

    def _cancel_requests(self) -> None:
        for scope in self._in_flight:
            scope.cancel()

    async def _wait_open(self) -> OpenAgent:
        """Return the open agent once it is open, or raise its error."""
        with trio.move_on_after(OPEN_TIMEOUT_S):
            await self.wait_settled()
        self._require_no_error()
        if self.opened is None:
            raise self._reloading()
        return self.opened

    def _reloading(self) -> AgentReloadingError:
        return AgentReloadingError(f"agent {self.config.id} is being reopened")

    def _require_no_error(self) -> None:
        """Raise a copy of a failed agent's error: raising one object repeatedly would collect tracebacks."""
        if self.error is not None:
            raise MemdError.from_wire(self.error.to_wire())

    def _require_enabled(self) -> None:
        if not self.config.settings.enabled:
            raise MemoryDisabledError(f"memory search is off for agent {self.config.id}")

    # --- requests -----------------------------------------------------------------------------------

    @when_open
    async def search(self, opened: OpenAgent, params: SearchParams) -> SearchReply:
        """Return hits from what is on disk now."""
        self._require_enabled()
        look = self._on_use(self.config.id)
        reply = await opened.search.search(params)
        if not reply.hits and look is not None:
            with trio.move_on_after(LOOK_TIMEOUT_S):
                await look.wait()
            if look.is_set():
                reply, look = await opened.search.search(params), None
        if reply.hits:
            return reply
        sources: dict[str, str] = dict.fromkeys(self.config.settings.sources, "notes")
        sources |= {each.name: each.kind for each in self.config.sources}
        projects = None
        if params.project is not None:
            projects = await opened.index_file.read(partial(find_other_projects, project=params.project))
        memory = SearchedSources(
            self.config.id, self.config.workspace, sources, is_looking=look is not None, projects=projects
        )
        return replace(reply, empty=await explain_empty(reply, params, memory, opened.text))

    @when_open
    async def search_conversations(
        self, opened: OpenAgent, params: ConversationSearchParams
    ) -> ConversationSearchReply:
        """Return sessions from what is on disk now."""
        self._require_enabled()
        return await conversations.search_conversations(self.config, opened, params)

    @when_open
    async def read_conversation(
        self, opened: OpenAgent, params: ConversationReadParams
    ) -> ConversationReadReply:
        """Return messages of a session as it is on disk now."""
        self._require_enabled()
        return await conversations.read_conversation(self.config, opened, params)

    @when_open
    async def perform(self, opened: OpenAgent, request: Callable[[OpenAgent], Awaitable[T]]) -> T:
        """Return the result of a request that is a function of the open agent."""
        self._require_enabled()
        return await request(opened)

    @when_open
    async def read_index(self, opened: OpenAgent, read: Callable[[Database], T]) -> T:
        """Return what a function reads in the index."""
        self._require_enabled()
        return await opened.index_file.read(read)

    @when_open
    async def list_sources(self, opened: OpenAgent) -> list[SourceStatus]:
        """Return the status of the agent's sources of other programs."""
        self._require_enabled()
        return await conversations.list_sources(self.config, opened)

    @when_open
    async def retained_copies(self, opened: OpenAgent, source: str) -> RetainedConversations | None:
        """Return the retained copies of a source after a scan of it; None if it retains none."""
        self._require_enabled()
        return await conversations.retained_copies(opened, source)

    @when_open
    async def erase_deleted(self, opened: OpenAgent) -> None:
        """Make the index equal to the files, and erase deleted text from it and with quarantined indexes."""
        self._require_enabled()
        await conversations.erase_deleted(opened)

    @when_open
    async def get(self, opened: OpenAgent, params: GetParams) -> GetReply:
        """Return lines of an allowed file, or of a conversation if the caller may read them."""
        self._require_enabled()
        if params.include_conversations and conversations.is_conversation(params.path, self.config):
            read = partial(conversations.read_lines, self.config, opened, params)
            return await with_origins(opened, *await opened.index_file.read(read))
        reply = await trio.to_thread.run_sync(read_note, self.config, opened, params, limiter=opened.disk)
        return await with_origins(opened, reply, reply.from_line)

    @when_open
    async def files(self, opened: OpenAgent, params: FilesParams) -> FilesReply:
        """List the agent's memory files as they are on disk now."""
        self._require_enabled()
        return await list_memory(self.config.id, opened.text, opened.index_file, params)

    @when_open
    async def index(self, opened: OpenAgent, force: bool, progress: ProgressSink) -> IndexedAgent:
        """Bring text and vectors up to date."""
        self._require_enabled()
        started, vectors = trio.current_time(), opened.vector_search
        await vectors.choose_again()
        fill = vectors.fill
        embedded_before = fill.embedded if fill is not None else 0
        if force:
            await vectors.renew()
        report = await opened.text.sync(force=force, progress=progress)
        if fill is not None:
            await fill.settle(progress)
        counts = await opened.index_file.read(count_all)
        embedded = fill.embedded - embedded_before if fill is not None else 0
        return IndexedAgent(
            agent=self.config.id,
            files=counts.files,
            chunks=counts.chunks,
            files_changed=report.files_changed,
            files_removed=report.files_removed,
            embedded=embedded,
            reused=max(0, opened.vector_cache.count - embedded),
            took_ms=round((trio.current_time() - started) * 1000, 1),
            degraded=vectors.degraded(),
            skipped=list(opened.text.skipped),
        )

    async def reset(self, vectors: bool, progress: ProgressSink) -> IndexedAgent:
        """Delete the index, with its vectors if `vectors`, and rebuild it from the files.

        Cancellation: the rebuild continues.
        """
        opened = await self._wait_open()
        self._require_enabled()
        opened.index_file.discard(vectors=vectors)
        self._enter(AgentState.REOPENING)
        progress("reopening", 0, 0, "")
        await self.wait_settled()
        return await self.index(False, progress)

    @when_open
    async def vacuum(self, opened: OpenAgent) -> VacuumedAgent:
        """Remove vectors beyond the configured limits and return free space to the file system."""
        index, vectors = opened.index_file, opened.vector_search
        started, before = trio.current_time(), index.size_bytes()
        spaces = vectors.spaces_in_use
        entries, unused_bytes = self.config.settings.cache.max_entries, self._daemon().vector_cache_mb * MB
        removed = await index.write(
            lambda db: trim(db, entries, max_unused_bytes=unused_bytes, spaces=spaces or None)
        )
        await compact(index)
        took_ms = round((trio.current_time() - started) * 1000, 1)
        return VacuumedAgent(self.config.id, before, index.size_bytes(), removed, took_ms)

    @when_open
    async def embed(self, opened: OpenAgent, params: EmbedParams, timeout_s: float = math.inf) -> EmbedReply:
        """Return vectors of texts from this agent's provider, waiting `timeout_s` at most."""
        return await embed_texts(opened, params, self._clock, timeout_s)

    @when_open
    async def keep_vector(self, opened: OpenAgent, text: str, model: str, vector: bytes) -> bool:
        """Keep a vector that a client computed, if this agent's provider has the same model."""
        return await keep_vector(opened, text, model, vector, self._clock)

    def session_started(self, session_key: str) -> bool:
        """Request a sync for a starting session, once per key; return whether one was requested.

        An agent that is opening syncs anyway.
        """
        self._require_no_error()
        if self.opened is None:
            return False
        self._require_enabled()
        self._on_use(self.config.id)
        return self.opened.schedule.session_started(session_key)

    def compaction_done(self) -> bool:
        """Request a sync after a compaction; return whether one was requested."""
        self._require_no_error()
        if self.opened is None:
            return False
        self._require_enabled()
        self.opened.schedule.compacted()
        return True

    def find_memory(self) -> Listing:
        """Return the memory files as they are on disk now, also while the agent is not open (blocking)."""
        opened, config = self.opened, self.config
        if opened is None:
            return WorkspaceNotes(config.workspace, config.settings.extra_paths).find()
        return opened.sources.by_name[MEMORY].find()

    async def status(self, deep: bool) -> AgentStatus:
        """Return the status; for an agent that is not open, its error as the only problem."""
        try:
            return await self._describe(deep)
        except MemdError as error:
            config = self.config
            return AgentStatus(
                agent=config.id,
                workspace=str(config.workspace),
                index_path=str(config.index_path),
                enabled=config.settings.enabled,
                sources=list(config.settings.sources),
                problems=[as_problem(error)],
            )

    @when_open
    async def _describe(self, opened: OpenAgent, deep: bool) -> AgentStatus:
        return await describe_agent(self.config, opened, self._clock(), deep=deep)


def first_error(group: BaseExceptionGroup[MemdError]) -> MemdError:
    """Return the first single error in a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, MemdError)
    return error
