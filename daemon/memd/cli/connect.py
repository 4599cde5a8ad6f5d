"""A client for a command, and what else a command works with."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memd.cli.output import Output, standard_output

if TYPE_CHECKING:
    from memd_client.messages import (
        GetReply,
        IndexReply,
        MetricsReply,
        ModelReply,
        Progress,
        ResetReply,
        SearchAgentsReply,
        SearchReply,
        StatusReply,
        VacuumReply,
    )

WATCH_TIMEOUT_S = 5.0
"""How long somebody who watches waits for an answer before the daemon counts as away."""


class MemoryClient(Protocol):
    """The part of `memd_client.Client` that commands use; its deadlines are the client's own."""

    def status(self, agent: str | None = None, *, deep: bool = False) -> StatusReply:
        """Return how the daemon and its agents are."""

    def metrics(self) -> MetricsReply:
        """Return everything the daemon counts."""

    def search(
        self,
        query: str,
        *,
        agent: str | None = None,
        max_results: int | None = None,
        min_score: float | None = None,
        sources: Sequence[str] | None = None,
        path: str | None = None,
        explain: bool = False,
    ) -> SearchReply:
        """Return hits and how they were found."""

    def search_agents(
        self,
        query: str,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        sources: Sequence[str] | None = None,
        path: str | None = None,
        explain: bool = False,
    ) -> SearchAgentsReply:
        """Return the hits of all agents, and how each agent was searched."""

    def get(
        self, path: str, *, agent: str | None = None, from_line: int = 1, lines: int | None = None
    ) -> GetReply:
        """Return lines of a file of memory."""

    def index(
        self,
        agent: str | None = None,
        *,
        force: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> IndexReply:
        """Bring the index up to date."""

    def reset(
        self,
        agent: str | None = None,
        *,
        vectors: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> ResetReply:
        """Drop the index and build it anew."""

    def vacuum(
        self, agent: str | None = None, *, on_progress: Callable[[Progress], None] | None = None
    ) -> VacuumReply:
        """Make the index small."""

    def model(
        self,
        ref: str = "",
        *,
        action: str = "pull",
        force: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> ModelReply:
        """Make a model ready on disk, list all, or remove one."""

    def close(self) -> None:
        """End the conversation."""


@dataclass(frozen=True)
class Session:
    """What one run of `memctl` works with.

    Attributes:
        open_client: Returns a client to the daemon.
        output: Where everything is printed.
        now_ms: Returns the wall time in epoch milliseconds; "5 min ago" is reckoned from it.
        open_watcher: Returns a client that never starts a daemon; `open_client` where left out.
        has_memory: Returns whether this user has set up a memory.
    """

    open_client: Callable[[], MemoryClient]
    output: Output
    now_ms: Callable[[], int]
    open_watcher: Callable[[], MemoryClient] | None = None
    has_memory: Callable[[], bool] = lambda: True

    @contextlib.contextmanager
    def client(self) -> Iterator[MemoryClient]:
        """Return a client that is closed when the block ends."""
        client = self.open_client()
        try:
            yield client
        finally:
            client.close()

    @contextlib.contextmanager
    def watcher(self) -> Iterator[MemoryClient]:
        """Return a client for asking again and again; a daemon that somebody stopped stays stopped."""
        client = (self.open_watcher or self.open_client)()
        try:
            yield client
        finally:
            client.close()


def open_client() -> MemoryClient:
    """Return a client to this user's daemon, which is started where none runs and MEMD_AUTOSTART isn't 0."""
    from memd_client import Client

    return Client(autostart=os.environ.get("MEMD_AUTOSTART") != "0")


def open_watcher() -> MemoryClient:
    """Return a client to this user's daemon, where one runs."""
    from memd_client import Client

    return Client(timeout_s=WATCH_TIMEOUT_S, connect_timeout_s=WATCH_TIMEOUT_S)


def has_memory() -> bool:
    """Return whether this user has OpenClaw, notes in memd's own place, or a `memd.toml`."""
    from pathlib import Path

    from memd.system.state_dirs import find_openclaw, own_state_dir
    from memd_client.discovery import home_directory
    from memd_client.errors import MemdError

    if any(os.environ.get(name, "").strip() for name in ("OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH")):
        return True
    try:
        home = Path(home_directory())
    except MemdError:
        return True
    if find_openclaw(home) is not None or (own_state_dir(os.environ, home) / "workspace").is_dir():
        return True
    from memd.settings.paths import daemon_config_file

    return daemon_config_file().exists()


def real_session() -> Session:
    """Return the session of this process."""
    output = standard_output(time.monotonic)
    return Session(open_client, output, lambda: time.time_ns() // 1_000_000, open_watcher, has_memory)
