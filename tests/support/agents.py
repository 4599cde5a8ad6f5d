"""Real agents over a temporary folder: index, sources, sync and search as the daemon's registry opens them."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any, Generic, Self, TypeVar, cast

import msgspec
import trio
from msgspec.structs import replace
from trio.testing import MockClock, wait_all_tasks_blocked

from memd.agents.agent import Agent, AgentState, when_open
from memd.agents.open_agent import OpenAgent
from memd.agents.registry import AgentRegistry
from memd.embedding.choose.choose import ProviderFactory
from memd.embedding.local.downloads import Downloads
from memd.embedding.local.owner import ModelOwner
from memd.embedding.remote.accounts import Accounts
from memd.index.files import count_all
from memd.settings.agents import AgentConfig, OpenClawHome
from memd.settings.lifecycle import LifecycleSettings
from memd.settings.schema import DaemonSettings, MemorySearch, Sync
from memd.settings.sources import SourceConfig
from memd.sources.capacity import SourceLimits
from memd.system.clock import Clock, wall_clock_ms
from memd_client.messages import GetParams, GetReply, SearchParams, SearchReply
from tests.support.chooser_fixture import ChooserFixture
from tests.support.indexes import EXTENSION
from tests.support.vector_fixture import FakeChooser

T = TypeVar("T")


def on_stopped_clock(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Return a blocking test that runs an asynchronous one on a clock that moves only when the test says so.

    Threads do their work in real time meanwhile: a clock that skips waits would end the waits for them.
    """

    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        trio.run(partial(test, *arguments, **named), clock=MockClock())

    return run


def write_note(workspace: Path, path: str, text: str) -> Path:
    """Write a file into a workspace."""
    location = workspace / path
    location.parent.mkdir(parents=True, exist_ok=True)
    location.write_text(text, encoding="utf-8")
    return location


def jump(seconds: float) -> None:
    """Move the clock of the test forward."""
    clock = trio.lowlevel.current_clock()
    assert isinstance(clock, MockClock)
    clock.jump(seconds)


def config_in(
    folder: Path,
    agent_id: str = "main",
    *,
    life: LifecycleSettings | None = None,
    workspace: Path | None = None,
    added: Sequence[SourceConfig] = (),
    watch: bool = False,
    **settings: Any,
) -> AgentConfig:
    """Return an agent whose workspace and index are in a folder, by default without a provider and unwatched.

    `added` are its sources of other programs; `settings` those of `MemorySearch`.
    """
    search = {"provider": "none", "sync": Sync(watch=watch), **settings}
    return AgentConfig(
        agent_id,
        workspace or folder / "workspace",
        MemorySearch(**search),
        folder / "state" / "memory" / f"{agent_id}.sqlite",
        is_default=True,
        life=life or LifecycleSettings(),
        sources=tuple(added),
    )


def registry_of(
    folder: Path,
    *configs: AgentConfig,
    daemon: DaemonSettings | None = None,
    chooser: FakeChooser | None = None,
    clock: Clock = wall_clock_ms,
) -> AgentRegistry:
    """Return the registry of some agents, none of which is open; the first one is the default."""
    models = folder / "models"
    providers = ChooserFixture(models).providers if chooser is None else cast(ProviderFactory, chooser)
    return AgentRegistry(
        OpenClawHome(
            folder / "state",
            folder / "state" / "openclaw.json",
            {config.id: config for config in configs},
            configs[0].id,
        ),
        daemon=daemon or DaemonSettings(),
        extension=lambda _: EXTENSION,
        models=ModelOwner(),
        models_dir=models,
        downloads=Downloads(),
        chooser=providers,
        accounts=Accounts(None, clock, 0),
        problems=[],
        clock=clock,
    )


class Pending(Generic[T]):
    """A request in progress."""

    def __init__(self, nursery: trio.Nursery, request: Callable[[], Awaitable[T]]) -> None:
        self._request = request
        self._over = trio.Event()
        self._answers: list[T] = []
        self._error: Exception | None = None
        nursery.start_soon(self._run)

    @property
    def is_over(self) -> bool:
        """Whether it was answered, or failed."""
        return self._over.is_set()

    async def answer(self) -> T:
        """Wait for the answer, or raise the error."""
        await self._over.wait()
        if self._error is not None:
            raise self._error
        return self._answers[0]

    async def _run(self) -> None:
        try:
            self._answers.append(await self._request())
        except Exception as error:  # noqa: BLE001 - raised by `answer`
            self._error = error
        finally:
            self._over.set()


class SpiedAgent(Agent):
    """An agent that keeps what it was asked for.

    Attributes:
        searched, read: The parameters of searches, and of requests for lines.
        syncs: How many syncs were requested after a change.
        given_limits: Limits of the indexed files, smaller than the settings allow.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.searched: list[SearchParams] = []
        self.read: list[GetParams] = []
        self.syncs = 0
        self.given_limits: SourceLimits | None = None

    @property
    def limits(self) -> SourceLimits:
        """The given limits, else those of the settings."""
        return self.given_limits or super().limits

    @when_open
    async def ask(self, opened: OpenAgent, request: Callable[[AgentConfig, OpenAgent], Awaitable[T]]) -> T:
        """Return the answer to a request that a test makes up."""
        return await request(self.config, opened)

    async def search(self, params: SearchParams) -> SearchReply:
        """Search."""
        self.searched.append(params)
        return await super().search(params)

    async def get(self, params: GetParams) -> GetReply:
        """Return lines."""
        self.read.append(params)
        return await super().get(params)

    def compaction_done(self) -> bool:
        """Request a sync."""
        requested = super().compaction_done()
        self.syncs += 1
        return requested


class AgentFixture:
    """One agent, with what a test holds of it.

    Attributes:
        agent: The agent.
        opened: What was opened, one for each successful attempt.
        tries: The time and the number of failures before each attempt to open.
        may_open: Attempts wait for this.
        errors: Raised by the next attempts instead of opening.
        used: The agent's id for each search and each start of a session.
        look: What a search without hits waits for.
        nursery: Runs tasks of the test while the agent runs.
    """

    def __init__(
        self,
        folder: Path,
        config: AgentConfig | None = None,
        *,
        daemon: DaemonSettings | None = None,
        chooser: FakeChooser | None = None,
        clock: Clock = wall_clock_ms,
    ) -> None:
        self.config = config or config_in(folder)
        self.workspace = self.config.workspace
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.registry = registry_of(folder, self.config, daemon=daemon, chooser=chooser, clock=clock)
        self.agent = SpiedAgent(
            self.config, self._open, daemon=lambda: self.registry.settings, clock=clock, on_use=self._use
        )
        self.opened: list[OpenAgent] = []
        self.tries: list[tuple[float, int]] = []
        self.may_open = trio.Event()
        self.may_open.set()
        self.errors: list[Exception] = []
        self.used: list[str] = []
        self.look: trio.Event | None = None
        self.nursery: trio.Nursery
        self._tried = trio.lowlevel.ParkingLot()

    def note(self, path: str, text: str) -> Path:
        """Write a file into the workspace."""
        return write_note(self.workspace, path, text)

    def begin(self, request: Callable[..., Awaitable[T]], *arguments: Any) -> Pending[T]:
        """Begin a request, or another call, in a task of its own."""
        return Pending(self.nursery, partial(request, *arguments))

    async def search(self, query: str, **params: Any) -> list[str]:
        """Return the paths of a search's hits."""
        return [hit.path for hit in (await self.agent.search(SearchParams(query, **params))).hits]

    async def get(self, path: str, **params: Any) -> str:
        """Return the text of a file."""
        return (await self.agent.get(GetParams(path, **params))).text

    def is_in(self, state: AgentState) -> bool:
        """Return whether the agent is in a state now."""
        return self.agent.state is state

    async def wait_open(self) -> None:
        """Wait until the agent is open."""
        while self.agent.opened is None:
            await wait_all_tasks_blocked(0.001)

    async def wait_tried(self, times: int = 1) -> None:
        """Wait until so many attempts to open the agent have begun."""
        while len(self.tries) < times:
            await self._tried.park()

    async def _open(self, config: AgentConfig, failures: int) -> OpenAgent:
        self.tries.append((trio.current_time(), failures))
        self._tried.unpark_all()
        await self.may_open.wait()
        if self.errors:
            raise self.errors.pop(0)
        self.opened.append(await self.registry._open(config, failures))
        return self.opened[-1]

    def _use(self, agent_id: str) -> trio.Event | None:
        self.used.append(agent_id)
        return self.look


class SlowRequest:
    """A request of another module that ends when the test says so, and then reads the index.

    Attributes:
        asked: The agent's settings at each attempt.
        begun: Set when the first attempt has begun.
        may_end: Each attempt waits for this.
    """

    def __init__(self, *, shield: bool = False) -> None:
        self.asked: list[AgentConfig] = []
        self.begun = trio.Event()
        self.may_end = trio.Event()
        self._shield = shield

    async def __call__(self, config: AgentConfig, opened: OpenAgent) -> str:
        """Return the name of the workspace."""
        self.asked.append(config)
        self.begun.set()
        with trio.CancelScope(shield=self._shield):
            await self.may_end.wait()
        await opened.index_file.read(count_all)
        return config.workspace.name


CAN_LIST_FILES = os.path.isdir("/proc/self/fd")
"""Whether the system tells which files a process has open."""


def open_files_below(folder: Path) -> set[str]:
    """Return the files in a folder that this process has open; none if the system can't list them."""
    found: set[str] = set()
    for descriptor in os.listdir("/proc/self/fd") if CAN_LIST_FILES else ():
        with suppress(OSError):
            found.add(os.readlink(f"/proc/self/fd/{descriptor}"))
    return {path for path in found if path.startswith(f"{folder}/")}


@asynccontextmanager
async def opening_agent(
    folder: Path, config: AgentConfig | None = None, **options: Any
) -> AsyncIterator[AgentFixture]:
    """Run an agent inside the block that is opened once the test sets `may_open`.

    The options are those of `AgentFixture`.
    """
    fixture = AgentFixture(folder, config, **options)
    fixture.may_open = trio.Event()
    async with _serving(fixture):
        await fixture.wait_tried()
        yield fixture


@asynccontextmanager
async def _serving(fixture: AgentFixture) -> AsyncIterator[None]:
    """Run an agent inside the block."""
    try:
        async with trio.open_nursery() as nursery:
            fixture.nursery = nursery
            nursery.start_soon(fixture.agent.run)
            yield
            nursery.cancel_scope.cancel()
    finally:
        fixture.registry._watcher.close()


@asynccontextmanager
async def running_agent(
    folder: Path, config: AgentConfig | None = None, **options: Any
) -> AsyncIterator[AgentFixture]:
    """Run an agent inside the block that is open or failed; the options are those of `AgentFixture`."""
    async with opening_agent(folder, config, **options) as fixture:
        fixture.may_open.set()
        await fixture.agent.wait_settled()
        yield fixture


def unopened_agent(folder: Path, config: AgentConfig | None = None) -> SpiedAgent:
    """Return an agent that is never opened: it has settings, and its requests would wait."""
    return AgentFixture(folder, config).agent


class InThread:
    """What runs in an event loop in a thread of its own, for blocking tests, inside the block."""

    def __init__(self) -> None:
        self._token: trio.lowlevel.TrioToken
        self._is_over = trio.Event()
        self._is_ready = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._run,))

    def __enter__(self) -> Self:
        self._thread.start()
        self._is_ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._token.run_sync_soon(self._is_over.set)
        self._thread.join()

    def run(self, request: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        """Return the answer to a request, made in that thread."""
        return trio.from_thread.run(request, *arguments, trio_token=self._token)

    def serving(self) -> AbstractAsyncContextManager[None]:
        """Return the block inside which it runs."""
        raise NotImplementedError

    async def _run(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        try:
            async with self.serving():
                self._is_ready.set()
                await self._is_over.wait()
        finally:
            self._is_ready.set()


class BlockingAgent(InThread):
    """A real agent for blocking tests: inside the block it is open, and has synced once.

    Args:
        folder: The folder of its workspace and its state.
        config: Its settings; `options` are those of `AgentFixture`.
    """

    def __init__(self, folder: Path, config: AgentConfig | None = None, **options: Any) -> None:
        super().__init__()
        self._fixture = AgentFixture(folder, config, **options)
        self.agent = self._fixture.agent
        self.workspace = self._fixture.workspace
        self.note = self._fixture.note

    @property
    def config(self) -> AgentConfig:
        """The agent's settings."""
        return self.agent.config

    @property
    def syncs(self) -> int:
        """How many syncs were requested after a change."""
        return self.agent.syncs

    def use(self, *, life: LifecycleSettings | None = None, **settings: Any) -> None:
        """Change settings without reopening the agent; `settings` are those of `MemorySearch`."""
        search = msgspec.structs.replace(self.config.settings, **settings)
        self.agent.config = replace(self.config, settings=search, life=life or self.config.life)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Run the agent inside the block."""
        async with _serving(self._fixture):
            await self.agent.wait_settled()
            await _sync(self.agent)
            yield


class BlockingRegistry(InThread):
    """The real registry of some agents for blocking tests: inside the block each is open or failed, and has synced."""

    def __init__(self, folder: Path, *configs: AgentConfig, **options: Any) -> None:
        super().__init__()
        self.registry = registry_of(folder, *configs, **options)
        for config in configs:
            config.workspace.mkdir(parents=True, exist_ok=True)

    @property
    def agents(self) -> Mapping[str, Agent]:
        """The agents by id."""
        return self.registry.agents

    def note(self, path: str, text: str, agent_id: str = "main") -> Path:
        """Write a file into an agent's workspace."""
        return write_note(self.agents[agent_id].config.workspace, path, text)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Run the agents inside the block."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self.registry.run)
            for agent in self.agents.values():
                await _sync(agent)
            yield
            nursery.cancel_scope.cancel()


async def _sync(agent: Agent) -> None:
    """Wait for the first sync of an agent, if it is open."""
    if agent.opened is not None and agent.config.settings.enabled:
        await agent.opened.text.sync()
