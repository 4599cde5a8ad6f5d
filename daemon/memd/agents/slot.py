"""One agent as requests see it, whatever serves it at the moment.

What serves an agent is opened anew when its settings change or its index is lost, and tried again where it could not be
opened. Requests wait for that, or are told why there is nothing to ask.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
import trio

from memd.agents.agent import AgentMemory
from memd.agents.status import as_problem
from memd.settings.agents import AgentConfig
from memd.settings.schema import DaemonSettings
from memd.sync.disk.capacity import SourceLimits, limits_of
from memd.sync.text.text_sync import ProgressSink
from memd_client.errors import AgentReloadingError, IndexClosedError, IndexCorruptError, MemdError
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

T = TypeVar("T")

GRACE_S = 2.0
"""What requests in flight get before what serves them is closed. A search is far below it, a long sync is not."""

WAIT_S = 8.0
"""How long a request waits for its agent to be opened anew; opening takes a fraction of a second."""

FIRST_RETRY_S, LAST_RETRY_S = 1.0, 60.0
"""When an agent that could not be opened is tried again: a full disk may take long, a lock a moment."""


class AgentSlot:
    """The place of one agent.

    `failures`: how often in a row it could not be opened, or was ended by an error.
    """

    def __init__(
        self,
        config: AgentConfig,
        open_memory: Callable[[AgentConfig], Awaitable[AgentMemory]],
        *,
        on_open: Callable[[AgentConfig], None] = lambda _: None,
        on_close: Callable[[str], None] = lambda _: None,
        limits: Callable[[], SourceLimits] = lambda: limits_of(DaemonSettings()),
    ) -> None:
        self._config = config
        self._open_memory = open_memory
        self._limits = limits
        self._on_open = on_open
        self._on_close = on_close
        self.memory: AgentMemory | None = None
        self.error: MemdError | None = None
        self.failures = 0
        self._last_logged_error = ""
        self._term = trio.CancelScope()
        self._given_up = False
        self._anew = False
        self._wish = trio.Event()
        self._settled = trio.Event()
        self._using: set[trio.CancelScope] = set()
        self._quiet = trio.lowlevel.ParkingLot()

    def __repr__(self) -> str:
        state = (
            "open" if self.memory is not None else self.error.code if self.error is not None else "opening"
        )
        return f"<AgentSlot {self._config.id} {state}, {len(self._using)} in flight>"

    # --- life ---------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve the agent until `give_up` or cancelled.

        When it fails: an agent that can't be opened, or whose tasks end with an error, answers with that error, and is
        tried again by and by.
        """
        retry_s = FIRST_RETRY_S
        try:
            while not self._given_up:
                self._wish = trio.Event()
                await self._serve(self._config)
                if self._anew:
                    self._anew, retry_s = False, FIRST_RETRY_S
                elif not self._given_up:
                    self.failures += 1
                    with trio.move_on_after(retry_s):
                        await self._wish.wait()
                    retry_s = min(2 * retry_s, LAST_RETRY_S)
        finally:
            self._settle(AgentReloadingError(f"agent {self._config.id} is served no more"))

    async def wait_settled(self) -> None:
        """Wait until the agent is open, or known not to be."""
        await self._settled.wait()

    async def replace(self, config: AgentConfig) -> None:
        """Serve the agent with other settings; returns once it is open again, or known not to be.

        Requests that come meanwhile wait; those in flight may end in `GRACE_S` and are stopped then.
        """
        await self.wait_settled()
        self._config = config
        await self._end_term(anew=True)

    async def give_up(self) -> None:
        """Serve the agent no more; what is in flight ends as in `replace`."""
        await self.wait_settled()
        await self._end_term(anew=False)

    async def _end_term(self, *, anew: bool) -> None:
        """End what serves the agent now, for another to begin or for good; returns once that is done."""
        self._unsettle()
        await self._let_go()
        self._anew, self._given_up = anew, not anew
        self._wish.set()
        self._term.cancel()
        await self.wait_settled()

    async def _serve(self, config: AgentConfig) -> None:
        """Open the agent's memory and keep it; what ends it stands in its place."""
        self._term = trio.CancelScope()
        error = MemdError(f"agent {config.id} stopped by a defect; it is started again")
        try:
            with self._term:
                memory = await self._open_memory(config)
                async with trio.open_nursery() as nursery:
                    await nursery.start(memory.run)
                    self.memory, self.failures = memory, 0
                    self._on_open(config)
                    self._last_logged_error = ""
                    self._settle(None)
                    lost = await memory.index_file.wait_lost()
                    log.warning("agent.reopened", agent=config.id, code=lost.code, error=lost.message)
                    self._unsettle()
                    self._anew = True
                    nursery.cancel_scope.cancel()
            return
        except* MemdError as group:
            error = first_error(group)
            if self._last_logged_error != error.message:  # once, not at every try
                log.error(
                    "agent.closed", agent=config.id, code=error.code, error=error.message, hint=error.hint
                )
            self._last_logged_error = error.message
        except* Exception as group:
            log.error("agent.crashed", agent=config.id, exc_info=group)
        finally:
            self.memory = None
            self._on_close(config.id)
        self._settle(error)

    def _settle(self, error: MemdError | None) -> None:
        """Let requests go on: to the memory, or to why there is none."""
        self.error = error
        self._settled.set()

    def _unsettle(self) -> None:
        """Have requests wait from now on."""
        if self._settled.is_set():
            self._settled = trio.Event()

    async def _let_go(self) -> None:
        """Wait for the requests in flight, and stop those that take long."""
        for _ in range(2):
            with trio.move_on_after(GRACE_S):
                while self._using:
                    await self._quiet.park()
            for scope in self._using:
                scope.cancel()

    # --- requests -----------------------------------------------------------------------------------

    @property
    def agent_id(self) -> str:
        """Whose place this is."""
        return self._config.id

    @property
    def config(self) -> AgentConfig:
        """The settings it is served with."""
        return self._config

    @property
    def limits(self) -> SourceLimits:
        """How much of its files is indexed."""
        return self._limits()

    def restate(self, config: AgentConfig) -> None:
        """Take settings that differ in nothing but what is wrong with the file they stand in."""
        self._config = config
        if self.memory is not None:
            self.memory.config = config

    async def search(self, params: SearchParams) -> SearchReply:
        """Answer a question; see `AgentMemory.search`."""
        return await self._ask(lambda memory: memory.search(params))

    async def get(self, params: GetParams) -> GetReply:
        """Return lines of an allowed file; see `AgentMemory.get`."""
        return await self._ask(lambda memory: memory.get(params))

    async def files(self, params: FilesParams) -> FilesReply:
        """List the files its memory consists of; see `AgentMemory.files`."""
        return await self._ask(lambda memory: memory.files(params))

    async def curated_entries(self, params: CuratedEntriesParams) -> CuratedEntriesReply:
        """List entries of the curated notes; see `AgentMemory.curated_entries`."""
        return await self._ask(lambda memory: memory.curated_entries(params))

    async def index(self, force: bool, progress: ProgressSink) -> IndexedAgent:
        """Bring text and vectors up to date now; see `AgentMemory.index`."""
        return await self._ask(lambda memory: memory.index(force, progress))

    async def reset(self, vectors: bool, progress: ProgressSink) -> IndexedAgent:
        """Drop the index and build it anew from the files; see `AgentMemory.reset`.

        Cancellation: the index is built anew all the same.
        """
        await self._ask(lambda memory: memory.reset(vectors=vectors))
        self._unsettle()
        progress("reopening", 0, 0, "")
        await self.wait_settled()
        return await self.index(False, progress)

    async def vacuum(self) -> VacuumedAgent:
        """Make the index as small as it can be; see `AgentMemory.vacuum`."""
        return await self._ask(lambda memory: memory.vacuum())

    async def embed(self, params: EmbedParams) -> EmbedReply:
        """Return vectors of texts; see `AgentMemory.embed`."""
        return await self._ask(lambda memory: memory.embed(params))

    async def keep_vector(self, text: str, model: str, vector: bytes) -> bool:
        """Keep a vector somebody else made; see `AgentMemory.keep_vector`."""
        return await self._ask(lambda memory: memory.keep_vector(text, model, vector))

    def session_started(self, session_key: str) -> bool:
        """Sync for a session that starts; an agent that is just being opened syncs anyway."""
        self._require_no_error()
        return self.memory is not None and self.memory.session_started(session_key)

    def compaction_done(self) -> bool:
        """Sync after a compaction, likewise."""
        self._require_no_error()
        return self.memory is not None and self.memory.compaction_done()

    async def status(self, deep: bool) -> AgentStatus:
        """Report; an agent that isn't open reports why as its one problem."""
        try:
            return await self._ask(lambda memory: memory.status(deep))
        except MemdError as error:
            config = self._config
            return AgentStatus(
                agent=config.id,
                workspace=str(config.workspace),
                index_path=str(config.index_path),
                enabled=config.settings.enabled,
                sources=list(config.settings.sources),
                problems=[as_problem(error)],
            )

    async def _ask(self, question: Callable[[AgentMemory], Awaitable[T]]) -> T:
        """Ask what serves the agent, once it is there; again where its index was lost while it was asked."""
        for attempt in range(2):
            if not self._settled.is_set():
                with trio.move_on_after(WAIT_S):
                    await self.wait_settled()
            self._require_no_error()
            memory = self.memory
            if memory is None:
                break
            scope = trio.CancelScope()
            self._using.add(scope)
            try:
                with scope:
                    return await question(memory)
            except* (IndexClosedError, IndexCorruptError):
                if attempt or not memory.index_file.is_lost:
                    raise
                self._unsettle()
            finally:
                self._using.discard(scope)
                if not self._using:
                    self._quiet.unpark_all()
            if scope.cancelled_caught:
                break
        raise AgentReloadingError(f"agent {self._config.id} is being opened anew")

    def _require_no_error(self) -> None:
        """Raise why nothing serves the agent, anew: one object raised again and again would gather tracebacks."""
        if self.error is not None and self.memory is None:
            raise MemdError.from_wire(self.error.to_wire())


def first_error(group: BaseExceptionGroup[MemdError]) -> MemdError:
    """Return the first single error inside a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, MemdError)
    return error
