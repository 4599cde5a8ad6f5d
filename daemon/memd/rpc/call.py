"""The context of a request: the agents, the running daemon, and its own connection."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import trio

from memd.agents.registry import AgentRegistry
from memd.lifecycle.recalls.log import RecallLog
from memd.lifecycle.registry import AgentLifecycle, LifecycleRegistry
from memd.replication.replicas import Replicas
from memd.rpc.admission import Admission
from memd.rpc.limits import Limits
from memd.rpc.outbox import Backlog
from memd.system.metrics import METER, Meter
from memd_client.errors import PageUnavailableError
from memd_client.messages import OpenPageReply

if TYPE_CHECKING:
    from memd.forget.service import ForgetService
    from memd.lifecycle.hooks.service import HookService
    from memd.replication.service import ReplicationService

TIDY_INTERVAL_S = 3600.0

ProgressSink = Callable[[str, int, int, str], None]
"""Takes stage, done, total (0: unknown) and detail. Doesn't block; may be called from any thread."""


async def no_page(agent: str | None) -> OpenPageReply:
    """Raise the error of a daemon without a page."""
    raise PageUnavailableError("this daemon serves no page")


async def no_examination() -> dict[str, Any] | None:
    """Return None instead of a report on the installation."""
    return None


@dataclass
class DaemonContext:
    """The running daemon, shared by all connections.

    started: `time.monotonic()` at its start. open_connections: updated by the server. cpu_before: CPU seconds used by
    the start. show: opens the page, for one agent or all. examine: returns a report on programs, settings and files, or
    None. replicas: agents' remotes. recalls: the log of recalls.
    """

    version: str
    started: float
    socket: str
    pid: int = field(default_factory=os.getpid)
    limits: Limits = field(default_factory=Limits)
    open_connections: int = 0
    meter: Meter = METER
    cpu_before: float = field(default_factory=time.process_time)
    lifecycles: LifecycleRegistry = field(default_factory=LifecycleRegistry)
    open_page: Callable[[str | None], Awaitable[OpenPageReply]] = no_page
    examine: Callable[[], Awaitable[dict[str, Any] | None]] = no_examination
    replicas: Replicas | None = None
    recalls: RecallLog = field(default_factory=RecallLog)
    admission: Admission = field(init=False)
    backlog: Backlog = field(init=False)
    _forgets: ForgetService | None = None

    def __post_init__(self) -> None:
        self.admission = Admission(self.limits)
        self.backlog = Backlog(self.limits.backlog_bytes)

    @cached_property
    def hooks(self) -> HookService:
        """The decisions about injections."""
        from memd.lifecycle.hooks.service import HookService  # not at the start: 7 ms
        from memd.lifecycle.work.advice import find_advice

        return HookService(recalls=self.recalls, find_advice=find_advice)

    @cached_property
    def replication(self) -> ReplicationService | None:
        """The requests on remotes; None if this daemon serves none."""
        if self.replicas is None:
            return None
        from memd.replication.service import ReplicationService  # not at the start: 11 ms

        return ReplicationService(self.replicas)

    def forgets(self, registry: AgentRegistry) -> ForgetService:
        """Return the requests that forget; always the same object."""
        if self._forgets is None:
            from memd.forget.service import (
                ForgetService,
            )  # not at the start: it imports what finds statements

            self._forgets = ForgetService(
                registry, self.recalls, self.replicas.running if self.replicas else {}
            )
        return self._forgets

    async def tidy_forgets(self, registry: AgentRegistry) -> None:
        """Finish interrupted forgets at the start, and empty their trash each hour, until cancelled."""
        if self.replicas is not None:
            self.replicas.forget = lambda tombstones: self.forgets(registry).learn(tombstones)
        while True:
            if registry.forgotten.forgets:
                await self.forgets(registry).tidy()
                if self.replicas is not None:
                    await self.replicas.wait_opened()
                await self.forgets(registry).share()
            await trio.sleep(TIDY_INTERVAL_S)

    @property
    def uptime_ms(self) -> int:
        """How long it has been running."""
        return int((time.monotonic() - self.started) * 1000)


@dataclass(frozen=True)
class Call:
    """The context that a request's method is called with.

    progress: sends a progress to the client. cancel: cancels another request of the same connection by its id, and
    returns whether it was running. notify: sends a notification with the request's id, and returns False if the queue
    was full. slot: waits for a slot of a request of that name, and keeps it inside the `async with` block; for parts of
    a request that takes no slot itself. client: the name that the client gave in `hello`.
    """

    registry: AgentRegistry
    daemon: DaemonContext
    progress: ProgressSink
    cancel: Callable[[int], bool]
    notify: Callable[[str, Mapping[str, Any]], bool]
    slot: Callable[[str], AbstractAsyncContextManager[None]] = lambda _: nullcontext()
    client: str = ""

    def lifecycle(self, agent_id: str | None) -> AgentLifecycle:
        """Return an agent's lifecycle, the default agent's for None; raise `AgentUnknownError`."""
        return self.daemon.lifecycles.of(self.registry, agent_id)


def single_error(error: BaseException) -> BaseException:
    """Return the error inside groups of one."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
