"""What a method is given: the memory, the daemon's facts, and its own request's progress and cancel.

`Memory` and `AgentMemory` are said here as protocols, so that the methods know a shape and no room.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from memd.lifecycle.host import Host
from memd.lifecycle.registry import AgentLifecycle, LifecycleRegistry
from memd.rpc.admission import Admission
from memd.rpc.limits import Limits
from memd.rpc.outbox import Backlog
from memd.system.metrics import METER, Meter
from memd_client.errors import MemdError, PageUnavailableError
from memd_client.messages import (
    AccountStatus,
    AgentStatus,
    CuratedEntriesParams,
    CuratedEntriesReply,
    DownloadStatus,
    FilesParams,
    FilesReply,
    IndexedAgent,
    MemoryStatus,
    ModelReply,
    ModelStatus,
    Problem,
    ShowReply,
    VacuumedAgent,
)

ProgressSink = Callable[[str, int, int, str], None]
"""Takes stage, done, total (0: unknown) and detail. Never blocks; may be called from any thread."""


class AgentMemory(Host, Protocol):
    """One agent's memory, as the methods see it: what its life is lived with, and its index's care."""

    async def files(self, params: FilesParams) -> FilesReply:
        """List the files it consists of."""

    async def curated_entries(self, params: CuratedEntriesParams) -> CuratedEntriesReply:
        """List entries of the curated notes by their comments."""

    async def index(self, force: bool, progress: ProgressSink) -> IndexedAgent:
        """Bring the index up to date."""

    async def reset(self, vectors: bool, progress: ProgressSink) -> IndexedAgent:
        """Drop the index and build it anew; its vectors too, where wanted."""

    async def vacuum(self) -> VacuumedAgent:
        """Make the index as small as it can be."""

    async def status(self, deep: bool) -> AgentStatus:
        """Report; `deep` probes as well."""


class Memory(Protocol):
    """The memories of all agents."""

    @property
    def agents(self) -> Mapping[str, AgentMemory]:
        """Every agent by its id."""

    @property
    def sqlite_vec(self) -> str:
        """The extension's version, or why it is not in use."""

    @property
    def state_dir(self) -> Path:
        """The state directory."""

    @property
    def config_path(self) -> Path:
        """The settings file."""

    def agent(self, agent_id: str | None) -> AgentMemory:
        """Return an agent's memory, the default agent's for None; raise `AgentUnknownError`."""

    def problems(self) -> list[Problem]:
        """Return what is wrong with the daemon as a whole."""

    def models(self) -> list[ModelStatus]:
        """Return the local models and the processes that hold them."""

    def memory(self) -> MemoryStatus:
        """Return what is held in memory, and what may be."""

    def downloads(self) -> list[DownloadStatus]:
        """Return the models that are being downloaded, or could not be."""

    def accounts(self) -> list[AccountStatus]:
        """Return the accounts at remote providers."""

    @property
    def tokens_today(self) -> int:
        """Tokens bought today (UTC)."""

    @property
    def token_budget(self) -> int:
        """Tokens that may be bought in a day, 0 without a limit."""

    async def pull_model(self, ref: str, progress: ProgressSink) -> ModelReply:
        """Make a model ready on disk."""

    async def list_models(self) -> ModelReply:
        """Return the models on disk."""

    async def remove_model(self, ref: str, force: bool, progress: ProgressSink) -> ModelReply:
        """Remove a model from disk; `force` one that agents use too."""


async def no_page(agent: str | None) -> ShowReply:
    """Stand in for the page where none is served."""
    raise PageUnavailableError("this daemon serves no page")


async def no_examination() -> dict[str, Any] | None:
    """Stand in for the report on the installation if nothing makes one."""
    return None


@dataclass
class DaemonFacts:
    """The running daemon.

    started: `time.monotonic()` at its start. open_connections: kept by the server. meter: counts what it does.
    cpu_before: CPU seconds that starting took. lives: what agents do beside searching. admission: what all
    connections share; backlog: what waits to be sent to them. show: opens the page, for one agent or all.
    examine: reports on programs, settings, folders and files; None if it can't.
    """

    version: str
    started: float
    socket: str
    pid: int = field(default_factory=os.getpid)
    limits: Limits = field(default_factory=Limits)
    open_connections: int = 0
    meter: Meter = METER
    cpu_before: float = field(default_factory=time.process_time)
    lives: LifecycleRegistry = field(default_factory=LifecycleRegistry)
    show: Callable[[str | None], Awaitable[ShowReply]] = no_page
    examine: Callable[[], Awaitable[dict[str, Any] | None]] = no_examination
    admission: Admission = field(init=False)
    backlog: Backlog = field(init=False)

    def __post_init__(self) -> None:
        self.admission = Admission(self.limits)
        self.backlog = Backlog(self.limits.backlog_bytes)

    def connections(self) -> int:
        """Return how many clients are connected."""
        return self.open_connections


@dataclass(frozen=True)
class Call:
    """One request, as its method sees it.

    progress: tells the client how far the request is. cancel: stops another request of the same
    connection by its id, and says whether it was running. notify: sends a notification that carries the request's
    id, and says whether there was room for it. turn: waits until a request of that name may run for this connection,
    and holds its turn inside the `async with` block; for a part of a request that takes no turn itself.
    """

    memory: Memory
    daemon: DaemonFacts
    progress: ProgressSink
    cancel: Callable[[int], bool]
    notify: Callable[[str, Mapping[str, Any]], bool]
    turn: Callable[[str], AbstractAsyncContextManager[None]] = lambda _: nullcontext()

    def life(self, agent_id: str | None) -> AgentLifecycle:
        """Return an agent's life, the default agent's for None; raise `AgentUnknownError`."""
        return self.daemon.lives.of(self.memory, agent_id)


def problem_of(error: MemdError) -> Problem:
    """Return an error as a row of a reply, where one agent's failure must not be the whole answer's."""
    return Problem(code=error.wire_code, message=error.message, hint=error.hint)
