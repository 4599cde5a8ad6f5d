"""Clients and output for a command."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memd.cli.lines import line, stamp
from memd.cli.output import Output, standard_output

if TYPE_CHECKING:
    from memd.system.settings_change import SettingsChange
    from memd_client import Client

HOST_VARIABLE = "MEMD_HOST"
"""Variable that `memctl` reads if `--host` is not given."""

WATCH_TIMEOUT_S = 5.0
"""How long `--watch` and `top` wait for a reply before they show the last data."""


@dataclass(frozen=True)
class CliSession:
    """Clients, output and clock of one `memctl` process.

    Attributes:
        open_client: Returns a client for the daemon.
        output: Prints to standard output and standard error.
        now_ms: Returns the wall time in epoch milliseconds.
        open_passive_client: Returns a client that never starts a daemon; default: `open_client`.
        has_memory: Returns whether this user has notes or settings.
        host: The machine of the daemon; None: this one.
    """

    open_client: Callable[[], Client]
    output: Output
    now_ms: Callable[[], int]
    open_passive_client: Callable[[], Client] | None = None
    has_memory: Callable[[], bool] = lambda: True
    host: str | None = None

    @contextlib.contextmanager
    def client(self) -> Iterator[Client]:
        """Yield a client and close it afterwards."""
        client = self.open_client()
        try:
            yield client
        finally:
            client.close()

    @contextlib.contextmanager
    def passive_client(self) -> Iterator[Client]:
        """Yield a client that never starts a daemon, and close it afterwards."""
        client = (self.open_passive_client or self.open_client)()
        try:
            yield client
        finally:
            client.close()


def open_client() -> Client:
    """Return a client for this user's daemon; it starts the daemon unless MEMD_AUTOSTART is 0."""
    from memd_client import Client

    class StartingClient(Client):
        def _before_start(self) -> None:
            standard_output(time.monotonic).err.lines([line("starting memd")])

    return StartingClient(autostart=os.environ.get("MEMD_AUTOSTART") != "0", client_name="memctl")


def open_passive_client() -> Client:
    """Return a client for this user's daemon that never starts it."""
    from memd_client import Client

    return Client(timeout_s=WATCH_TIMEOUT_S, connect_timeout_s=WATCH_TIMEOUT_S, client_name="memctl")


def has_memory() -> bool:
    """Return whether this user has OpenClaw, notes in memd's own folder, or a `memd.toml`."""
    from memd_client.discovery import home_directory
    from memd_client.errors import MemdError
    from memd_client.state_folder import CONFIG_VARIABLE, find_openclaw, names_state_dir, own_state_dir

    if names_state_dir(os.environ) or os.environ.get(CONFIG_VARIABLE, "").strip():
        return True
    try:
        home = home_directory()
    except MemdError:
        return True
    if find_openclaw(home) is not None or Path(own_state_dir(os.environ, home), "workspace").is_dir():
        return True
    from memd.settings.paths import daemon_config_file

    return daemon_config_file().exists()


def offer_sample(session: CliSession) -> None:
    """Print how to start with notes, if this user has none."""
    if session.has_memory():
        return
    from memd_client.discovery import home_directory
    from memd_client.state_folder import own_state_dir

    notes = Path(own_state_dir(os.environ, home_directory()), "workspace", "memory")
    session.output.note("no OpenClaw and no notes found; run `memctl sample` to try searches on sample notes")
    session.output.note(
        f"to search your own Markdown notes, put them into {notes} or name their folder in memd.toml"
    )


def change_settings(
    session: CliSession, changes: Iterable[SettingsChange], *, dry_run: bool, unchanged: str, changed: str
) -> bool:
    """Make changes of other programs' settings, or show them as diffs; return whether anything was changed."""
    from memd.system.settings_change import carry_out

    changes = [each for each in changes if not each.is_none]
    if not changes or dry_run:
        session.output.text("".join(each.diff() for each in changes) or f"{unchanged}\n")
        return False
    backups = [carry_out(each, stamp(session.now_ms())) for each in changes]
    session.output.text(f"{changed}\n")
    for backup in backups:
        if backup is not None:
            session.output.note(f"backup: {backup}")
    return True


def real_session() -> CliSession:
    output = standard_output(time.monotonic)
    return CliSession(
        open_client, output, lambda: time.time_ns() // 1_000_000, open_passive_client, has_memory
    )
