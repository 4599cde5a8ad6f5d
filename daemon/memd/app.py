"""The composition root: builds the parts, starts them top to bottom, stops them in reverse by nesting."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import structlog
import trio

from memd import __version__
from memd.clock import wall_clock_ms
from memd.config import DaemonSettings
from memd.embedding.accounts import Accounts
from memd.embedding.choose import Providers
from memd.embedding.model.downloads import Downloads
from memd.embedding.model.owner import ModelOwner
from memd.embedding.model.policy import RunnerSettings
from memd.embedding.model.reference import ModelReference
from memd.embedding.providers.http import Http
from memd.index.vectors.sqlite_vec import VectorExtension
from memd.memory import MB, Memory
from memd.openclaw import AgentConfig, OpenClawHome
from memd.paths import ACCOUNTS_FILE
from memd.rpc.call import DaemonFacts
from memd.rpc.server import serve
from memd.service.notify import activated_socket, notify_ready, notify_stopping
from memd_client.errors import MemdError

log = structlog.get_logger(__name__)


CLOSE_S = 2.0
"""How long connections to providers may take to close."""


class Extensions:
    """sqlite-vec per setting: agents with the same `store.vector` share one."""

    def __init__(self) -> None:
        self._loaded: dict[tuple[bool, str | None], VectorExtension] = {}

    def __call__(self, config: AgentConfig) -> VectorExtension:
        """Return the extension of an agent's settings; `load` has been awaited at start."""
        vector = config.settings.store.vector
        key = (vector.enabled, vector.extension_path)
        if key not in self._loaded:
            self._loaded[key] = VectorExtension(enabled=vector.enabled, path=vector.extension_path)
        return self._loaded[key]

    async def load(self, agents: Mapping[str, AgentConfig]) -> None:
        """Load and self-test each; a failure is remembered in it and costs no result."""
        for config in agents.values():
            await trio.to_thread.run_sync(self(config).load)


async def run(
    home: OpenClawHome,
    daemon: DaemonSettings,
    problems: list[MemdError],
    *,
    socket: Path,
    models_dir: Path,
) -> None:
    """Run the daemon until SIGTERM or SIGINT.

    Args:
        home: The state directory, resolved.
        daemon: The daemon's own settings.
        problems: What was wrong with them.
        socket: Where to listen.
        models_dir: Where pulled models are.

    Resources: everything opened here is closed when it returns, the socket file removed.
    """
    extensions = Extensions()
    await extensions.load(home.agents)
    async with trio.open_nursery() as outer:
        models = _model_owner(daemon)
        await outer.start(models.run)
        accounts = Accounts(
            home.state_dir / "memory" / ACCOUNTS_FILE, wall_clock_ms, daemon.daily_token_budget
        )
        await outer.start(accounts.run)
        async with trio.open_nursery() as engine:
            downloads = Downloads(
                on_done=lambda reference: memory.model_came(reference),
                is_wanted=lambda reference: memory.is_model_wanted(reference),
            )
            await engine.start(downloads.run)
            providers = _providers(home, daemon, models, models_dir, accounts, downloads)
            memory = Memory(
                home,
                daemon=daemon,
                extension=extensions,
                models=models,
                models_dir=models_dir,
                downloads=downloads,
                chooser=providers,
                accounts=accounts,
                problems=problems,
                clock=wall_clock_ms,
            )
            await engine.start(memory.run)
            await _serve_until_stopped(memory, socket, home.state_dir)
            engine.cancel_scope.cancel()
        with trio.move_on_after(CLOSE_S):
            await providers.aclose()
        outer.cancel_scope.cancel()
    log.info("daemon.stopped")


def _model_owner(daemon: DaemonSettings) -> ModelOwner:
    """Return the owner of local models."""
    manners = RunnerSettings(
        keep_alive_s=daemon.model_keep_alive_minutes * 60,
        threads=daemon.model_threads,
        query_timeout_s=daemon.query_embed_timeout_ms / 1000,
    )
    return ModelOwner(manners, budget_bytes=daemon.model_memory_mb * MB)


def _providers(
    home: OpenClawHome,
    daemon: DaemonSettings,
    models: ModelOwner,
    models_dir: Path,
    accounts: Accounts,
    downloads: Downloads,
) -> Providers:
    """Return who makes embedding providers."""

    def start_download(reference: ModelReference, folder: Path) -> bool:
        return downloads.start_nowait(reference.text, folder)

    return Providers(
        models=models,
        models_dir=models_dir,
        http=Http,
        accounts=lambda: accounts,
        entries=home.providers,
        state_dir=home.state_dir,
        environ=os.environ,
        daemon=daemon,
        start_download=start_download,
    )


async def _serve_until_stopped(memory: Memory, socket: Path, state_dir: Path) -> None:
    """Open the door, and close it when the daemon is told to stop."""
    facts = DaemonFacts(version=__version__, started=time.monotonic(), socket=str(socket))
    async with trio.open_nursery() as door:
        await door.start(serve, activated_socket() or socket, memory, facts)
        log.info("daemon.ready", socket=str(socket), agents=len(memory.agents), state_dir=str(state_dir))
        notify_ready(f"serving {len(memory.agents)} agents")
        await _wait_for_stop()
        notify_stopping()
        log.info("daemon.stopping")
        door.cancel_scope.cancel()


async def _wait_for_stop() -> None:
    """Return at the first SIGTERM or SIGINT."""
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            log.info("daemon.signal", signal=signal.Signals(number).name)
            return
