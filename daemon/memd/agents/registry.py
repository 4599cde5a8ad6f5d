"""All agents, their shared resources, and their settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from types import MappingProxyType

import trio

from memd.agents.agent import Agent
from memd.agents.open_agent import OpenAgent
from memd.agents.source_status import find_sources
from memd.agents.status import as_problem
from memd.embedding.choose.choose import ProviderFactory
from memd.embedding.choose.local_resolver import space_of_stored
from memd.embedding.local.downloads import Downloads
from memd.embedding.local.fit import load_memory_bytes
from memd.embedding.local.library import ModelLibrary
from memd.embedding.local.owner import ModelOwner
from memd.embedding.query_vectors import SharedQueryVectors
from memd.embedding.remote.accounts import Accounts
from memd.index.agent_index import AgentIndexes
from memd.index.database import limit_page_caches, page_cache_bytes
from memd.index.integrity.file_check import is_memd_index
from memd.index.integrity.quarantine import remove_index
from memd.index.vectors.cache import MatrixBudget, VectorCache
from memd.index.vectors.sqlite_vec import VectorExtension
from memd.programs.catalog import Places
from memd.programs.connections import ProgramConnection, find_connections
from memd.settings.agents import OPENCLAW_DATABASE, AgentConfig, OpenClawHome, agent_id_of
from memd.settings.ram_budget import MB, budget_of
from memd.settings.schema import DaemonSettings, MemorySearch
from memd.settings.search import usual_index
from memd.settings.sources import SHARED_AGENT
from memd.sources.capacity import limits_of
from memd.sources.exclusions import Exclusions
from memd.sources.forgotten import ForgottenFile
from memd.sources.open import RETAINED, open_sources
from memd.sources.projects import find_project
from memd.sources.retained import RetainedCopies, find_retained
from memd.sources.watch.watcher import Watcher
from memd.sync.search_scheduler import SearchScheduler
from memd.system.clock import Clock
from memd.system.log import log
from memd.system.nearest_name import did_you_mean
from memd.system.power import PowerMonitor
from memd.trust.allowed import TRUST_FILE, Allowed
from memd.vector_search.agent_vectors import VectorSearchManager
from memd_client.errors import AgentUnknownError, MemdError
from memd_client.messages import MemoryStatus, Problem, SourceStatus

RELEASE_INTERVAL_S = 30.0
"""How often to check for unused vector matrices."""

CREATE_TIMEOUT_S = 15.0
"""Longest wait until the settings include agents that were created."""


class AgentRegistry:
    """Every agent by id. `models`, `library`, `downloads` and `accounts` are shared by agents.

    `on_use` is called with the agent's id when a search or a session begins, and returns what is set once changes of
    other machines that are being received now have arrived; None if there is nothing to wait for. `reload` requests
    that the settings are read again, so that agents in new folders appear. `on_removed` is called after agents were
    removed from the settings.
    """

    def __init__(
        self,
        home: OpenClawHome,
        *,
        daemon: DaemonSettings,
        extension: Callable[[AgentConfig], VectorExtension],
        models: ModelOwner,
        models_dir: Path,
        downloads: Downloads,
        chooser: ProviderFactory,
        accounts: Accounts,
        problems: Sequence[MemdError],
        clock: Clock,
    ) -> None:
        self.models = models
        self.downloads = downloads
        self.accounts = accounts
        self.library = ModelLibrary(
            models_dir, models, downloads, self._all_settings, self.on_model_downloaded
        )
        self.chooser = chooser
        self.on_use: Callable[[str], trio.Event | None] = lambda _: None
        self.reload: Callable[[], None] = lambda: None
        self.on_removed: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint
        self._home = home
        self._daemon = daemon
        self._extension = extension
        self._problems = list(problems)
        self._clock = clock
        self._places = Places(Path.home(), os.environ, sys.platform)
        self.exclusions = Exclusions(daemon.exclude, self._places.home)
        self.forgotten = ForgottenFile(home.state_dir / "memory")
        self._budget = MatrixBudget(0)
        self._apply_ram_budget(daemon)
        self._power = PowerMonitor()
        self._scheduler = SearchScheduler()
        self._watcher = Watcher(self._hint, clock=clock, mechanism=daemon.watcher)
        self._queries = SharedQueryVectors()
        self._indexes = AgentIndexes(lambda: self._home.state_dir, clock)
        self._stored_space = partial(space_of_stored, models_dir)
        self._agents: dict[str, Agent] = {}
        self._added = trio.Event()

    def __repr__(self) -> str:
        return f"<AgentRegistry of {len(self._agents)} agents>"

    @property
    def agents(self) -> Mapping[str, Agent]:
        """The agents by id, read-only."""
        return MappingProxyType(self._agents)

    @property
    def state_dir(self) -> Path:
        """The state directory of all agents."""
        return self._home.state_dir

    @property
    def settings(self) -> DaemonSettings:
        """The daemon's current settings."""
        return self._daemon

    @property
    def config_path(self) -> Path:
        """The settings file; may be missing."""
        return self._home.config_path

    @property
    def sqlite_vec(self) -> str:
        """Version of sqlite-vec, or why it is not loaded."""
        extension = self._extension(self._home.agents[self._home.default_agent])
        return extension.version or f"not loaded: {extension.error}"

    def agent(self, agent_id: str | None) -> Agent:
        """Return an agent, the default agent for None; raise `AgentUnknownError`."""
        wanted = self._home.default_agent if agent_id is None else agent_id_of(agent_id) or agent_id
        found = self._agents.get(wanted)
        if found is None:
            known = ", ".join(sorted(self._agents)[:20]) or "none"
            raise AgentUnknownError(
                f"there is no agent {wanted[:80]!r}{did_you_mean(wanted[:80], self._agents)}",
                hint=f"known agents: {known}",
                data={"agent": wanted[:80]},
            )
        return found

    def recalled(self, agent_id: str | None) -> list[Agent]:
        """Return the agents whose memory answers a request: the named one; for None the default one and `shared`.

        Those whose memory is off are left out, unless no other is left.
        """
        agents = [self.agent(agent_id)]
        shared = self._agents.get(SHARED_AGENT)
        if agent_id is None and shared is not None and shared not in agents:
            agents = [agent for agent in (*agents, shared) if agent.config.settings.enabled] or agents
        return agents

    async def is_excluded(self, cwd: str) -> bool:
        """Return whether a folder, or its project, is excluded from every memory."""
        if not self.exclusions:
            return False
        return await trio.to_thread.run_sync(lambda: self.exclusions.excludes(cwd, find_project(cwd)))

    def problems(self) -> list[Problem]:
        """Return problems of the settings."""
        return [as_problem(error) for error in [*self._problems, *self._home.problems]]

    async def find_sources(self, known: Collection[str]) -> list[SourceStatus]:
        """Return the sources of other programs on this machine that no agent has, except `known` ones."""
        limit = limits_of(self._daemon).file_bytes
        return await trio.to_thread.run_sync(find_sources, self._places, known, limit)

    async def find_connections(self) -> list[ProgramConnection]:
        """Return the programs on this machine that may be given memory, by their settings."""
        return await trio.to_thread.run_sync(lambda: list(find_connections(self._places)))

    async def find_removed(self) -> dict[tuple[str, str], RetainedCopies]:
        """Return the retained copies of sources that no agent retains copies of any more, by agent and source."""
        retained = await trio.to_thread.run_sync(find_retained, self._home.state_dir / RETAINED)
        for agent in self._agents.values():
            for source in agent.config.sources:
                if source.keep:
                    retained.pop((agent.agent_id, source.name), None)
        return retained

    async def erase_deleted(self, agent_id: str) -> None:
        """Erase deleted text from an agent's index, or the whole index of an agent that the settings lack."""
        path = usual_index(agent_id, self._home.state_dir)
        if agent_id in self._agents:
            await self._agents[agent_id].erase_deleted()
        elif await trio.to_thread.run_sync(is_memd_index, path):
            await trio.to_thread.run_sync(remove_index, path)

    def memory_status(self) -> MemoryStatus:
        """Return RAM usage and budgets."""
        budget = self._shares
        return MemoryStatus(
            vectors_bytes=self._budget.held_bytes(),
            vectors_budget=budget.vectors,
            models_bytes=sum(row.rss_bytes for row in self.models.status()),
            models_budget=budget.models,
            pages_bytes=page_cache_bytes(),
            pages_budget=budget.pages,
            total_budget=budget.total,
            on_battery=self._power.on_battery,
        )

    def _all_settings(self) -> dict[str, MemorySearch]:
        """Return every agent's settings by agent id."""
        return {config.id: config.settings for config in self._home.agents.values()}

    async def on_model_downloaded(self, reference: str) -> None:
        """Use a downloaded model in agents that waited for it."""
        log.info("agent.model_available", reference=reference)
        for agent in list(self._agents.values()):
            if agent.opened is not None:
                await agent.opened.vector_search.choose_again()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve every agent until cancelled; ready once each agent is open or failed.

        When it fails: an agent that can't be opened, or whose tasks fail, answers requests with that error; other
        agents are not affected (`Agent.run`).
        """
        with closing(self._watcher):
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                nursery.start_soon(self._watcher.run)
                nursery.start_soon(self._release_unused)
                nursery.start_soon(self._power.run)
                await self._indexes.reserve(self._home.agents.values())
                await self._begin(self._home.agents.values())
                task_status.started()

    async def reconfigure(
        self,
        home: OpenClawHome,
        daemon: DaemonSettings,
        chooser: ProviderFactory,
        problems: Sequence[MemdError],
    ) -> list[str]:
        """Apply new settings; return the ids of reopened agents once every agent is open or failed.

        Agents with unchanged settings stay open. Requests to others wait while they are reopened.
        """
        all_change = _shared_by_agents(home, daemon) != _shared_by_agents(self._home, self._daemon)
        if all_change:
            self.chooser = chooser
        if daemon.exclude != self._daemon.exclude:
            self.exclusions = await trio.to_thread.run_sync(Exclusions, daemon.exclude, self._places.home)
        self._home, self._daemon, self._problems = home, daemon, list(problems)
        self._apply_ram_budget(daemon)
        self._watcher.use(daemon.watcher)
        await self._indexes.reserve(home.agents.values())
        removed = [agent for agent_id, agent in self._agents.items() if agent_id not in home.agents]
        added = [config for config in home.agents.values() if config.id not in self._agents]
        reopened: list[str] = []
        async with trio.open_nursery() as nursery:
            for agent in removed:
                del self._agents[agent.agent_id]
                nursery.start_soon(self._close, agent)
            for agent_id, agent in self._agents.items():
                config = home.agents[agent_id]
                if all_change or _must_reopen(agent.config, config):
                    reopened.append(agent_id)
                    nursery.start_soon(agent.replace, config)
                else:
                    agent.config = config  # only its problems may differ
            await self._begin(added)
        if removed:
            await self.on_removed()
        return sorted([*reopened, *(agent.agent_id for agent in removed), *(config.id for config in added)])

    async def create(self, names: Collection[str]) -> None:
        """Create agents by their folders, as OpenClaw does, and wait until the settings include them.

        Raises:
            AgentUnknownError: The settings still lack one after `CREATE_TIMEOUT_S`.
        """
        if not names:
            return
        # Agents known by their folders replace the one that is assumed without any: that one needs a folder too.
        known = {*names, *(agent_id for agent_id, agent in self._agents.items() if agent.config.is_default)}
        folders = [f"agents/{each}" for each in known] + [f"workspace-{each}" for each in names]
        for folder in folders:
            make = partial((self.state_dir / folder).mkdir, 0o700, parents=True, exist_ok=True)
            await trio.to_thread.run_sync(make)
        self.reload()
        with trio.move_on_after(CREATE_TIMEOUT_S):
            while not self._agents.keys() >= set(names):
                await self._added.wait()
        if missing := sorted(set(names) - self._agents.keys()):
            raise AgentUnknownError(f"agent {missing[0]} was created, but the settings do not include it")

    def _apply_ram_budget(self, daemon: DaemonSettings) -> None:
        """Divide the RAM budget as configured; the model owner enforces the share of local models."""
        self._shares = budget_of(daemon, load_memory_bytes())
        self._budget.limit_bytes = self._shares.vectors
        limit_page_caches(self._shares.pages)

    async def _begin(self, configs: Iterable[AgentConfig]) -> None:
        """Open agents; returns once each is open or failed."""
        agents = [
            Agent(
                each,
                self._open,
                daemon=lambda: self._daemon,
                clock=self._clock,
                on_use=lambda agent_id: self.on_use(agent_id),
                forgotten=partial(self.forgotten.of, each.id),
            )
            for each in configs
        ]
        for agent in agents:
            self._agents[agent.agent_id] = agent
            self._nursery.start_soon(agent.run)
        self._added.set()
        self._added = trio.Event()
        for agent in agents:
            await agent.wait_settled()

    async def _close(self, agent: Agent) -> None:
        """Close an agent permanently; another agent may use its index afterwards."""
        await agent.close()
        self._indexes.release(agent.agent_id)

    async def _release_unused(self) -> None:
        """Release vector matrices not searched for as long as a model stays loaded."""
        while True:
            await trio.sleep(RELEASE_INTERVAL_S)
            keep_s = self._daemon.model_keep_alive_minutes * 60
            if keep_s and (released := self._budget.drop_unused(keep_s)):
                log.info("vectors.evicted", agents=released)

    def _hint(self, agent_id: str, source: str) -> None:
        """Pass a hint of the watcher to its agent."""
        agent = self._agents.get(agent_id)
        if agent is not None and agent.opened is not None:
            agent.opened.schedule.hint(source)

    async def _open(self, config: AgentConfig, failures: int) -> OpenAgent:
        """Open one agent's index and create the parts that maintain and search it."""
        if config.id == SHARED_AGENT and config.workspace.is_relative_to(self._home.state_dir / "memory"):
            config.workspace.mkdir(parents=True, exist_ok=True)
        settings = config.settings
        sources, added = open_sources(
            config,
            self._home.state_dir,
            self._places,
            limits_of(self._daemon),
            self._clock,
            partial(self._watcher.queue, config.id),
            self.exclusions,
            partial(self.forgotten.of, config.id),
        )
        extension = self._extension(config)
        index = await self._indexes.open(config, extension, failures)
        vector_cache = VectorCache(extension, self._budget)
        vector_search = VectorSearchManager(
            config.id,
            settings,
            index,
            vector_cache,
            self.chooser,
            openclaw_files=(
                self._home.state_dir / "agents" / config.id / "agent" / OPENCLAW_DATABASE,
                config.earlier_index or config.index_path,
            ),
            stored_space=self._stored_space,
            query_timeout_s=self._daemon.query_embed_timeout_ms / 1000,
            unused_bytes=self._daemon.vector_cache_mb * MB,
            saves_power=lambda: self._power.on_battery and self._daemon.pause_on_battery,
            clock=self._clock,
            shared_queries=self._queries,
        )
        return OpenAgent(
            config,
            index,
            sources,
            added,
            vector_cache,
            vector_search,
            daemon=self._daemon,
            clock=self._clock,
            scheduler=self._scheduler,
            watcher=self._watcher,
            allowed=Allowed(self.state_dir / "memory" / TRUST_FILE, config.id),
        )


class VectorExtensions:
    """sqlite-vec, loaded once per configuration: agents with the same `store.vector` share one."""

    def __init__(self) -> None:
        self._loaded: dict[tuple[bool, str | None], VectorExtension] = {}

    def __call__(self, config: AgentConfig) -> VectorExtension:
        """Return the extension for an agent's settings; requires a previous `load`."""
        vector = config.settings.store.vector
        key = (vector.enabled, vector.extension_path)
        if key not in self._loaded:
            self._loaded[key] = VectorExtension(enabled=vector.enabled, path=vector.extension_path)
        return self._loaded[key]

    async def load(self, agents: Mapping[str, AgentConfig]) -> None:
        """Load and self-test each extension; a failure is recorded in it and affects no search result."""

        async def load(extension: VectorExtension) -> None:
            await trio.to_thread.run_sync(extension.load)

        async with trio.open_nursery() as nursery:
            for extension in set(map(self, agents.values())):
                nursery.start_soon(load, extension)


def _shared_by_agents(home: OpenClawHome, daemon: DaemonSettings) -> tuple[object, ...]:
    """Return the settings that all agents are opened with."""
    return (
        home.state_dir,
        home.providers,
        daemon.query_embed_timeout_ms,
        daemon.vector_cache_mb,
        daemon.catch_up_ms,
        daemon.model_keep_alive_minutes,
        limits_of(daemon),
        daemon.exclude,
    )


def _must_reopen(old: AgentConfig, new: AgentConfig) -> bool:
    """Return whether changed settings require reopening the agent."""
    return (old.workspace, old.index_path, old.settings, old.sources) != (
        new.workspace,
        new.index_path,
        new.settings,
        new.sources,
    )
