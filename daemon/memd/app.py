"""Composition root: creates the daemon's components, starts them in order and stops them in reverse."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import trio

from memd import __version__
from memd.agents.agent import Agent
from memd.agents.registry import AgentRegistry, VectorExtensions
from memd.embedding.chat import ask_once, chat_endpoint
from memd.embedding.choose.choose import ProviderFactory
from memd.embedding.local.downloads import Downloads
from memd.embedding.local.fit import load_memory_bytes
from memd.embedding.local.owner import ModelOwner
from memd.embedding.local.process import ModelSettings
from memd.embedding.local.reference import ModelReference
from memd.embedding.remote.accounts import Accounts
from memd.embedding.remote.http import HttpClient
from memd.lifecycle.recalls.log import open_log
from memd.lifecycle.registry import LifecycleRegistry
from memd.page.server import PageServer
from memd.replication.replicas import Replicas
from memd.rpc.call import DaemonContext
from memd.rpc.dispatch import handler_of
from memd.rpc.server import serve
from memd.service.examination import Examination
from memd.service.heap import keep_heap_small
from memd.service.supervisor import (
    activated_socket,
    feed_watchdog,
    notify_ready,
    notify_reloading,
    notify_stopping,
    on_hangup,
    wait_for_stop,
)
from memd.settings.paths import ACCOUNTS_FILE
from memd.settings.ram_budget import budget_of
from memd.settings.reload import CurrentSettings, Reloader
from memd.settings.schema import DaemonSettings
from memd.system.clock import wall_clock_ms
from memd.system.log import log
from memd.text.lazy_pattern import compile_patterns

PREPARE_AFTER_S = 1.0
"""From the start until the first search is prepared: a client that started the daemon is served sooner without."""

CLOSE_TIMEOUT_S = 2.0
"""How long closing connections to providers may take."""


class Engine:
    """The agents and embedding providers: the components that settings affect."""

    def __init__(
        self,
        first: CurrentSettings,
        models: ModelOwner,
        accounts: Accounts,
        downloads: Downloads,
        *,
        models_dir: Path,
        extensions: VectorExtensions,
        on_daemon: Callable[[DaemonSettings], None],
    ) -> None:
        self._models = models
        self._accounts = accounts
        self._downloads = downloads
        self._models_dir = models_dir
        self._extensions = extensions
        self._on_daemon = on_daemon
        self._settings = first
        self._providers = self._make_providers(first)
        self.registry = AgentRegistry(
            first.home,
            daemon=first.daemon,
            extension=extensions,
            models=models,
            models_dir=models_dir,
            downloads=downloads,
            chooser=self._providers,
            accounts=accounts,
            problems=first.problems,
            clock=wall_clock_ms,
        )

    async def apply(self, settings: CurrentSettings) -> list[str]:
        """Apply new settings; return the ids of reopened agents."""
        notify_reloading()
        try:
            await self._extensions.load(settings.home.agents)
            self._settings = settings
            self._models.use_settings(*_model_settings(settings.daemon))
            self._accounts.daily_budget = settings.daemon.daily_token_budget
            self._on_daemon(settings.daemon)
            earlier, later = self._providers, self._make_providers(settings)
            moved = await self.registry.reconfigure(settings.home, settings.daemon, later, settings.problems)
            if self.registry.chooser is later:
                self._providers = later
                await _close(earlier)
            return moved
        finally:
            self.notify_ready()

    async def ask_chat(self, agent: Agent, prompt: str) -> str:
        """Return the reply of the agent's configured chat model; see `chat.ask_once`."""
        home, wanted = self._settings.home, agent.config.life.session_note.slug_model or ""
        where = partial(chat_endpoint, wanted, home.providers, agent.agent_id, home.state_dir, os.environ)
        return await ask_once(where, prompt)

    def notify_ready(self) -> None:
        """Report to the service manager that all agents are open."""
        notify_ready(f"serving {len(self.registry.agents)} agents")

    async def aclose(self) -> None:
        """Close the connections to providers."""
        await _close(self._providers)

    def _make_providers(self, settings: CurrentSettings) -> ProviderFactory:
        """Return a factory of embedding providers."""

        def start_download(reference: ModelReference, folder: Path) -> bool:
            return self._downloads.start_nowait(reference.text, folder)

        return ProviderFactory(
            models=self._models,
            models_dir=self._models_dir,
            http=HttpClient,
            accounts=lambda: self._accounts,
            entries=settings.home.providers,
            state_dir=settings.home.state_dir,
            environ=os.environ,
            daemon=settings.daemon,
            start_download=start_download,
        )


async def run(
    first: CurrentSettings,
    *,
    load: Callable[[], CurrentSettings],
    files: Sequence[Path],
    socket: Path,
    models_dir: Path,
    on_daemon: Callable[[DaemonSettings], None] = lambda _: None,
) -> None:
    """Run the daemon until SIGTERM or SIGINT.

    Resources: closes everything it opens and removes the socket file.
    """
    extensions = VectorExtensions()
    await extensions.load(first.home.agents)
    async with trio.open_nursery() as outer:
        model_settings, model_bytes = _model_settings(first.daemon)
        models = ModelOwner(model_settings, budget_bytes=model_bytes)
        await outer.start(models.run)
        accounts_file = first.home.state_dir / "memory" / ACCOUNTS_FILE
        accounts = Accounts(accounts_file, wall_clock_ms, first.daemon.daily_token_budget)
        await outer.start(accounts.run)
        async with trio.open_nursery() as inner:
            downloads = Downloads(
                on_done=lambda reference: engine.registry.on_model_downloaded(reference),
                is_wanted=lambda reference: engine.registry.library.is_wanted(reference),
            )
            await inner.start(downloads.run)
            engine = Engine(
                first,
                models,
                accounts,
                downloads,
                models_dir=models_dir,
                extensions=extensions,
                on_daemon=on_daemon,
            )
            await inner.start(engine.registry.run)
            reloader = Reloader(first, load, engine.apply, files)
            inner.start_soon(reloader.run)
            inner.start_soon(on_hangup, reloader.reload_nowait)
            engine.registry.reload = reloader.reload_nowait
            replicas = Replicas(engine.registry, wall_clock_ms)
            engine.registry.on_use = replicas.on_use
            await inner.start(replicas.run)
            await _serve_until_stopped(engine, socket, replicas)
            inner.cancel_scope.cancel()
        await engine.aclose()
        outer.cancel_scope.cancel()
    log.info("daemon.stopped")


def _model_settings(daemon: DaemonSettings) -> tuple[ModelSettings, int]:
    """Return the settings of local models, and their RAM budget in bytes."""
    settings = ModelSettings(
        keep_alive_s=daemon.model_keep_alive_minutes * 60,
        threads=daemon.model_threads,
        query_timeout_s=daemon.query_embed_timeout_ms / 1000,
    )
    return settings, budget_of(daemon, load_memory_bytes()).models


async def _close(providers: ProviderFactory) -> None:
    """Close connections to providers, or abandon them after `CLOSE_TIMEOUT_S`."""
    with trio.move_on_after(CLOSE_TIMEOUT_S):
        await providers.aclose()


async def _prepare_search() -> None:
    """Do soon after the start what would delay the first search."""

    def prepare() -> None:
        handler_of("search")
        compile_patterns()

    await trio.sleep(PREPARE_AFTER_S)
    await trio.to_thread.run_sync(prepare, abandon_on_cancel=True)


async def _serve_until_stopped(engine: Engine, socket: Path, replicas: Replicas) -> None:
    """Listen on the socket until a stop signal arrives."""
    registry, page = engine.registry, PageServer(__version__)
    daemon = DaemonContext(
        version=__version__,
        started=time.monotonic(),
        socket=str(socket),
        lifecycles=LifecycleRegistry(complete=engine.ask_chat),
        open_page=page.show,
        examine=Examination().examine,
        replicas=replicas,
        recalls=open_log(registry),
    )
    async with trio.open_nursery() as nursery:
        path = await nursery.start(serve, activated_socket() or socket, registry, daemon)
        await nursery.start(page.run, path)
        agents, state_dir = len(registry.agents), str(registry.state_dir)
        log.info("daemon.ready", socket=str(socket), agents=agents, state_dir=state_dir)
        engine.notify_ready()
        nursery.start_soon(daemon.recalls.run)
        nursery.start_soon(_prepare_search)
        nursery.start_soon(daemon.tidy_forgets, registry)
        nursery.start_soon(feed_watchdog)
        nursery.start_soon(keep_heap_small)
        await wait_for_stop()
        notify_stopping()
        log.info("daemon.stopping")
        nursery.cancel_scope.cancel()
