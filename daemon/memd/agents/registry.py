"""All agents' memories together: who there are, which models they share, what is wrong with any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from types import MappingProxyType

import structlog
import trio

from memd.agents.agent import AgentMemory
from memd.agents.slot import AgentSlot
from memd.agents.status import as_problem, model_status
from memd.embedding.choose.local_choice import space_of_stored
from memd.embedding.local.downloads import Downloads
from memd.embedding.local.fit import load_memory_bytes
from memd.embedding.local.library import ModelLibrary
from memd.embedding.local.owner import ModelOwner
from memd.embedding.query_vectors import SharedQueries
from memd.embedding.remote.accounts import Accounts
from memd.index.agent_index import AgentIndexes
from memd.index.database import limit_page_caches, page_cache_bytes
from memd.index.vectors.cache import MatrixBudget, VectorCache
from memd.index.vectors.sqlite_vec import VectorExtension
from memd.settings.agents import OPENCLAW_DATABASE, AgentConfig, OpenClawHome, agent_id_of
from memd.settings.memory_budget import MB, budget_of
from memd.settings.schema import DaemonSettings, MemorySearch
from memd.sync.search_scheduler import SearchScheduler
from memd.sync.sources import Sources, limits_of
from memd.sync.text.text_sync import ProgressSink
from memd.sync.transcripts.agent_sessions import AgentSessions
from memd.sync.watch.watcher import Watcher, WatchPlan
from memd.system.clock import Clock
from memd.system.nearest_name import did_you_mean
from memd.system.power import Power
from memd.vector_search.manager import VectorSearchManager
from memd.vector_search.provider_chooser import Chooser
from memd_client.errors import AgentUnknownError, MemdError
from memd_client.messages import AccountStatus, DownloadStatus, MemoryStatus, ModelReply, ModelStatus, Problem

log = structlog.get_logger(__name__)

RELEASE_S = 30.0
"""How often it is looked for matrices nobody has searched for as long as a model is kept loaded."""


class Memory:
    """Every agent's memory."""

    def __init__(
        self,
        home: OpenClawHome,
        *,
        daemon: DaemonSettings,
        extension: Callable[[AgentConfig], VectorExtension],
        models: ModelOwner,
        models_dir: Path,
        downloads: Downloads,
        chooser: Chooser,
        accounts: Accounts,
        problems: Sequence[MemdError],
        clock: Clock,
    ) -> None:
        self._home = home
        self._daemon = daemon
        self._extension = extension
        self._models = models
        self._models_dir = models_dir
        self._downloads = downloads
        self._library = ModelLibrary(models_dir, models, downloads, self._all_settings, self.model_came)
        self._chooser = chooser
        self._accounts = accounts
        self._problems = list(problems)
        self._clock = clock
        self._budget = MatrixBudget(0)
        self._share_memory(daemon)
        self._power = Power()
        self._limits = limits_of(daemon)
        self._right_of_way = SearchScheduler()
        self._watcher = Watcher(self._hint, clock=clock, mechanism=daemon.watcher)
        self._queries = SharedQueries()
        self._indexes = AgentIndexes(
            lambda: self._home.state_dir, clock, partial(space_of_stored, models_dir)
        )
        self._slots: dict[str, AgentSlot] = {}

    def __repr__(self) -> str:
        return f"<Memory of {len(self._slots)} agents>"

    @property
    def agents(self) -> Mapping[str, AgentSlot]:
        """The agents by id, read-only."""
        return MappingProxyType(self._slots)

    @property
    def chooser(self) -> Chooser:
        """Who makes embedding providers."""
        return self._chooser

    @property
    def state_dir(self) -> Path:
        """The directory all agents live under."""
        return self._home.state_dir

    @property
    def config_path(self) -> Path:
        """The settings file they come from; may be missing."""
        return self._home.config_path

    @property
    def sqlite_vec(self) -> str:
        """The extension's version, or why it isn't used."""
        extension = self._extension(self._home.agents[self._home.default_agent])
        return extension.version or f"not loaded: {extension.error}"

    def agent(self, agent_id: str | None) -> AgentSlot:
        """Return an agent's memory."""
        wanted = self._home.default_agent if agent_id is None else agent_id_of(agent_id) or agent_id
        found = self._slots.get(wanted)
        if found is None:
            known = ", ".join(sorted(self._slots)[:20]) or "none"
            raise AgentUnknownError(
                f"there is no agent {wanted[:80]!r}{did_you_mean(wanted[:80], self._slots)}",
                hint=f"Known agents: {known}.",
                data={"agent": wanted[:80]},
            )
        return found

    def problems(self) -> list[Problem]:
        """Return what is wrong with the settings as a whole."""
        return [as_problem(error) for error in [*self._problems, *self._home.problems]]

    def models(self) -> list[ModelStatus]:
        """Return the local models and their processes."""
        return [model_status(row) for row in self._models.status()]

    def memory(self) -> MemoryStatus:
        """Return what is held in memory, and what may be."""
        budget = self._shares
        return MemoryStatus(
            vectors_bytes=self._budget.held_bytes(),
            vectors_budget=budget.vectors,
            models_bytes=sum(row.rss_bytes for row in self._models.status()),
            models_budget=budget.models,
            pages_bytes=page_cache_bytes(),
            pages_budget=budget.pages,
            total_budget=budget.total,
            on_battery=self._power.on_battery,
        )

    def downloads(self) -> list[DownloadStatus]:
        """Return the models that are being downloaded, or could not be."""
        return self._downloads.status()

    def accounts(self) -> list[AccountStatus]:
        """Return the accounts at remote providers."""
        return self._accounts.status()

    @property
    def tokens_today(self) -> int:
        """Tokens bought today (UTC)."""
        return self._accounts.tokens_today

    @property
    def token_budget(self) -> int:
        """Tokens that may be bought in a day, 0 without a limit."""
        return self._accounts.daily_budget

    def _all_settings(self) -> dict[str, MemorySearch]:
        """Return every agent's settings by its id."""
        return {config.id: config.settings for config in self._home.agents.values()}

    async def model_came(self, reference: str) -> None:
        """Let agents that waited for a model use it."""
        log.info("agent.model_came", reference=reference)
        for slot in list(self._slots.values()):
            if slot.memory is not None:
                await slot.memory.choose_again()

    async def pull_model(self, ref: str, progress: ProgressSink) -> ModelReply:
        """Make a model ready on disk, and let agents that waited for one use it."""
        return await self._library.pull(ref, progress)

    async def list_models(self) -> ModelReply:
        """Return the models on disk and the agents that use them."""
        return await self._library.list_all()

    async def remove_model(self, ref: str, force: bool, progress: ProgressSink) -> ModelReply:
        """Remove a model from disk."""
        return await self._library.remove(ref, force=force, progress=progress)

    def is_model_wanted(self, reference: str) -> bool:
        """Return whether some agent's settings name a model."""
        return self._library.is_wanted(reference)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve every agent until cancelled; ready once each is open, or known why it isn't.

        When it fails: an agent that can't be opened, or whose tasks end with an error, answers with that error; the
        others go on (`AgentSlot.run`).
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
        self, home: OpenClawHome, daemon: DaemonSettings, chooser: Chooser, problems: Sequence[MemdError]
    ) -> list[str]:
        """Put other settings in force; returns once every agent is served with them.

        Agents they change nothing for go on undisturbed. The others are opened anew while their requests wait.
        """
        everyone = _shared_by_agents(home, daemon) != _shared_by_agents(self._home, self._daemon)
        if everyone:
            self._chooser = chooser
        self._home, self._daemon, self._problems = home, daemon, list(problems)
        self._share_memory(daemon)
        self._watcher.use(daemon.watcher)
        self._limits = limits_of(daemon)
        await self._indexes.reserve(home.agents.values())
        gone = [slot for agent_id, slot in self._slots.items() if agent_id not in home.agents]
        new = [config for config in home.agents.values() if config.id not in self._slots]
        moved: list[str] = []
        async with trio.open_nursery() as nursery:
            for slot in gone:
                del self._slots[slot.agent_id]
                nursery.start_soon(self._give_up, slot)
            for agent_id, slot in self._slots.items():
                config = home.agents[agent_id]
                if everyone or _is_other(slot.config, config):
                    moved.append(agent_id)
                    nursery.start_soon(slot.replace, config)
                else:
                    slot.restate(config)
            await self._begin(new)
        return sorted([*moved, *(slot.agent_id for slot in gone), *(config.id for config in new)])

    def _share_memory(self, daemon: DaemonSettings) -> None:
        """Share the memory out as the settings say; local models' share is their owner's to keep."""
        self._shares = budget_of(daemon, load_memory_bytes())
        self._budget.limit_bytes = self._shares.vectors
        limit_page_caches(self._shares.pages)

    async def _begin(self, configs: Iterable[AgentConfig]) -> None:
        """Serve agents; returns once each is open, or known not to be."""
        slot_of = partial(AgentSlot, on_open=self._watch, on_close=self._watcher.forget)
        slots = [slot_of(config, self._open, limits=lambda: self._limits) for config in configs]
        for slot in slots:
            self._slots[slot.agent_id] = slot
            self._nursery.start_soon(slot.run)
        for slot in slots:
            await slot.wait_settled()

    async def _give_up(self, slot: AgentSlot) -> None:
        """Serve an agent no more; its index may be another's from then on."""
        await slot.give_up()
        self._indexes.release(slot.agent_id)

    async def _release_unused(self) -> None:
        """Give back the memory of matrices nobody searches any more, after the keep-alive of models."""
        while True:
            await trio.sleep(RELEASE_S)
            keep_s = self._daemon.model_keep_alive_minutes * 60
            if keep_s and (released := self._budget.drop_unused(keep_s)):
                log.info("memory.matrices_released", agents=released)

    def _hint(self, agent_id: str, kind: str) -> None:
        """Pass a watcher's hint on to whom it concerns."""
        slot = self._slots.get(agent_id)
        if slot is not None and slot.memory is not None:
            slot.memory.schedule.hint(kind)

    def _watch(self, config: AgentConfig) -> None:
        """Have an agent's folders watched, where its settings want that."""
        settings = config.settings
        if not (settings.enabled and settings.sync.watch):
            return
        folders: tuple[Path, ...] = ()
        if "sessions" in settings.sources:
            home = self._home.state_dir / "agents" / config.id
            folders = (home / "sessions", home / "agent")
        self._watcher.watch(WatchPlan(config.id, config.workspace, settings.extra_paths, folders))

    async def _open(self, config: AgentConfig) -> AgentMemory:
        """Open one agent's index and put its memory together."""
        extension = self._extension(config)
        index = await self._indexes.open(config, extension, self._slots[config.id].failures)
        warm = VectorCache(extension, self._budget)
        settings = config.settings
        sessions = None
        if "sessions" in settings.sources:
            sessions = AgentSessions(self._home.state_dir, config.id, self._limits.file_bytes)
        return AgentMemory(
            config,
            index,
            warm,
            Sources(
                config.workspace, settings.extra_paths, self._limits, sessions, self._watcher.queue(config.id)
            ),
            scheduler=self._right_of_way,
            watch_state=lambda: self._watcher.state(config.id),
            meaning=VectorSearchManager(
                config.id,
                settings,
                index,
                warm,
                self._chooser,
                openclaw_database=self._home.state_dir / "agents" / config.id / "agent" / OPENCLAW_DATABASE,
                query_timeout_s=self._daemon.query_embed_timeout_ms / 1000,
                unused_bytes=self._daemon.vector_cache_mb * MB,
                saves_power=lambda: self._power.on_battery and self._daemon.pause_on_battery,
                clock=self._clock,
                shared_queries=self._queries,
            ),
            daemon=self._daemon,
            clock=self._clock,
        )


def _shared_by_agents(home: OpenClawHome, daemon: DaemonSettings) -> tuple[object, ...]:
    """Return the settings beside its own that every agent is opened with."""
    return (
        home.state_dir,
        home.providers,
        daemon.query_embed_timeout_ms,
        daemon.vector_cache_mb,
        daemon.catch_up_ms,
        daemon.model_keep_alive_minutes,
        limits_of(daemon),
    )


def _is_other(old: AgentConfig, new: AgentConfig) -> bool:
    """Return whether an agent has to be opened anew."""
    return (old.workspace, old.index_path, old.settings) != (new.workspace, new.index_path, new.settings)
