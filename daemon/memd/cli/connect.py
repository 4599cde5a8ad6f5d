"""A client for a command, and what else a command works with."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memd.cli.output import Output, standard_output

if TYPE_CHECKING:
    from memd_client import Client

WATCH_TIMEOUT_S = 5.0
"""How long somebody who watches waits for an answer before the daemon counts as away."""


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

    open_client: Callable[[], Client]
    output: Output
    now_ms: Callable[[], int]
    open_watcher: Callable[[], Client] | None = None
    has_memory: Callable[[], bool] = lambda: True

    @contextlib.contextmanager
    def client(self) -> Iterator[Client]:
        """Return a client that is closed when the block ends."""
        client = self.open_client()
        try:
            yield client
        finally:
            client.close()

    @contextlib.contextmanager
    def watcher(self) -> Iterator[Client]:
        """Return a client for asking again and again; a daemon that somebody stopped stays stopped."""
        client = (self.open_watcher or self.open_client)()
        try:
            yield client
        finally:
            client.close()


def open_client() -> Client:
    """Return a client to this user's daemon, which is started where none runs and MEMD_AUTOSTART isn't 0."""
    from memd_client import Client

    return Client(autostart=os.environ.get("MEMD_AUTOSTART") != "0")


def open_watcher() -> Client:
    """Return a client to this user's daemon, where one runs."""
    from memd_client import Client

    return Client(timeout_s=WATCH_TIMEOUT_S, connect_timeout_s=WATCH_TIMEOUT_S)


def has_memory() -> bool:
    """Return whether this user has OpenClaw, notes in memd's own place, or a `memd.toml`."""
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


def offer_sample(session: Session) -> None:
    """Say how to get a memory, if none is set up on this machine."""
    if session.has_memory():
        return
    from memd.system.state_dirs import own_state_dir
    from memd_client.discovery import home_directory

    notes = own_state_dir(os.environ, Path(home_directory())) / "workspace" / "memory"
    session.output.note("no OpenClaw and no notes here; to try searches on a sample memory: memctl sample")
    session.output.note(f"Markdown notes of your own go into {notes}, or name their folder in memd.toml")


def real_session() -> Session:
    """Return the session of this process."""
    output = standard_output(time.monotonic)
    return Session(open_client, output, lambda: time.time_ns() // 1_000_000, open_watcher, has_memory)
