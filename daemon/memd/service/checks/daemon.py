"""Checks of the socket, its directory, its lock and the daemon on it. They never start a daemon."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memd import __version__
from memd.service.checks.finding import OK, WARNING, WRONG, Finding
from memd.service.install.lock_holder import find_holder
from memd_client.discovery import MAX_PATH_BYTES, SOCKET_NAME
from memd_client.errors import (
    DaemonUnreachableError,
    MemdError,
    ProtocolMismatchError,
    StateDirMismatchError,
)
from memd_client.state_folder import CONFIG_VARIABLE, named_path, value_of

if TYPE_CHECKING:
    from memd_client.messages import HelloReply, StatusReply

AREA = "daemon"
RESTART = "memctl service restart"

HELLO_TIMEOUT_S = 3.0
"""Deadline of `hello`; a daemon that is starting gets as long until it listens."""

STATUS_TIMEOUT_S = 30.0
"""Deadline of a deep status, which may load a model."""

POLL_S = 0.1
LISTENING_FLAG = 0x10000
"""Flag of a listening socket in /proc/net/unix."""


@dataclass
class DaemonProbe:
    """Findings on a socket and the daemon that listens there.

    Attributes:
        findings: In the order of the checks.
        pid: The daemon that responds; 0 if none does.
        is_running: Whether a process holds the lock, responding or not.
        status: The deep status, if the daemon responds.
        report: The daemon's report on the installation; empty if it has none or is of another release.
    """

    findings: list[Finding] = field(default_factory=list)
    pid: int = 0
    is_running: bool = False
    status: StatusReply | None = None
    report: dict[str, Any] = field(default_factory=dict)

    def add(self, name: str, state: str, found: str, fix: str = "") -> None:
        """Add a finding."""
        self.findings.append(Finding(AREA, name, state, found, fix))


def probe_daemon(
    socket: str, state_dir: str = "", *, hello_s: float = HELLO_TIMEOUT_S, status_s: float = STATUS_TIMEOUT_S
) -> DaemonProbe:
    """Return the findings on a socket and its daemon, which must serve a state folder; empty: any.

    Takes at most `hello_s` and `status_s`.
    """
    probe = DaemonProbe()
    size = len(os.fsencode(socket))
    probe.add("socket", OK, f"{socket} ({size} of at most {MAX_PATH_BYTES} bytes)")
    if not _check_directory(probe, os.path.dirname(socket)):
        return probe
    try:
        holder = find_holder(socket)
    except OSError as error:  # a network file system without locks
        fix = "set MEMD_SOCKET to a path on a local disk"
        probe.add("lock", WRONG, f"cannot check the lock {socket}.lock: {error.strerror}", fix)
        return probe
    if not holder:
        _add_no_daemon(probe, socket)
        return probe
    probe.is_running = True
    hello = _greet(probe, socket, state_dir, holder, hello_s)
    if hello is None:
        return probe
    probe.pid = hello.pid
    if hello.version != __version__:
        found = f"pid {hello.pid} runs memd {hello.version}; {__version__} is installed"
        probe.add("version", WRONG, found, RESTART)
    else:
        probe.add("answers", OK, f"memd {hello.version}, pid {hello.pid}")
    _ask_status(probe, socket, state_dir, status_s)
    if probe.status is not None and hello.version == __version__:
        probe.report = probe.status.installation or {}
    return probe


def _check_directory(probe: DaemonProbe, folder: str) -> bool:
    """Add the finding on the socket's directory; return whether a daemon can be there."""
    try:
        facts = os.stat(folder)
    except FileNotFoundError:
        probe.add("directory", OK, f"{folder} will be created by the daemon")
        return False
    except OSError as error:
        probe.add(
            "directory",
            WRONG,
            f"{folder}: {error.strerror}",
            "set MEMD_SOCKET to a path in another directory",
        )
        return False
    mode = stat.S_IMODE(facts.st_mode)
    if not stat.S_ISDIR(facts.st_mode):
        probe.add("directory", WRONG, f"{folder} is not a directory", f"rm {folder}")
    elif facts.st_uid != os.geteuid():
        found = f"{folder} belongs to another user (uid {facts.st_uid})"
        probe.add("directory", WRONG, found, f"set MEMD_SOCKET to {SOCKET_NAME} in a directory that you own")
    elif mode & 0o077:
        probe.add(
            "directory", WRONG, f"other users can enter {folder} (mode {mode:04o})", f"chmod 700 {folder}"
        )
    else:
        probe.add("directory", OK, f"{folder}, accessible to you only (mode {mode:04o})")
        return True
    return False


def _add_no_daemon(probe: DaemonProbe, socket: str) -> None:
    """Add the finding that no daemon runs, with the state of its socket."""
    if not os.path.lexists(socket):
        starts = os.environ.get("MEMD_AUTOSTART") != "0"
        found = "not running" + (
            "; the next request starts it" if starts else ", and MEMD_AUTOSTART=0 prevents automatic starts"
        )
        probe.add("answers", OK if starts else WARNING, found, "" if starts else "memctl service start")
    elif _has_listener(socket):
        probe.add(
            "answers", OK, "not running; the service manager listens and starts it for the next request"
        )
    else:
        found = "not running; a killed daemon left its socket"
        probe.add("answers", WARNING, found, "no action needed: the next daemon replaces the socket")


def _has_listener(socket: str) -> bool:
    """Return whether a process listens on a socket; connecting could start a daemon."""
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as table:
            rows = [row.split(None, 7) for row in table]
    except OSError:
        return False
    return any(
        len(row) == 8 and row[7].rstrip("\n") == socket and int(row[3], 16) & LISTENING_FLAG
        for row in rows[1:]
    )


def _greet(
    probe: DaemonProbe, socket: str, state_dir: str, holder: int, timeout_s: float
) -> HelloReply | None:
    """Return the reply to `hello`; add a finding if there is none."""
    from memd_client import Client

    process, fix = f"pid {holder}", f"run `{RESTART}`, or `kill -9 {holder}`"
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            with Client(
                socket, state_dir=state_dir, timeout_s=timeout_s, connect_timeout_s=timeout_s
            ) as client:
                return client.hello()
        except DaemonUnreachableError as error:
            if time.monotonic() < deadline:  # it may be starting
                threading.Event().wait(POLL_S)
                continue
            found = f"{process} holds the lock but does not listen on its socket: {error.message}"
            probe.add("answers", WRONG, found, fix)
        except ProtocolMismatchError as error:
            probe.add("version", WRONG, f"{process} has another protocol version: {error.message}", RESTART)
        except StateDirMismatchError as error:
            probe.add("state folder", WRONG, error.message, error.hint)
        except MemdError as error:
            probe.add(
                "answers", WRONG, f"{process} holds the lock but does not respond: {error.message}", fix
            )
        return None


def _ask_status(probe: DaemonProbe, socket: str, state_dir: str, timeout_s: float) -> None:
    from memd_client import Client

    try:
        with Client(socket, state_dir=state_dir, timeout_s=timeout_s, connect_timeout_s=timeout_s) as client:
            probe.status = client.status(deep=True)
    except MemdError as error:
        fix = f"read `memctl logs`, then run `{RESTART}`"
        probe.add("status", WRONG, f"status request failed: {error.message}", fix)


def check_config_socket(socket: str, configured: str) -> list[Finding]:
    """Return whether clients and the daemon use the same socket: clients don't read `memd.toml`."""
    if configured in ("", socket):
        return []
    found = f"memd.toml makes the daemon listen on {configured}, but clients connect to {socket}"
    return [Finding(AREA, "socket path", WRONG, found, f"export MEMD_SOCKET={configured}")]


def check_config_file(environ: Mapping[str, str], home: Path, served: str) -> list[Finding]:
    """Return whether the daemon reads the settings file of this environment: it keeps that of its start."""
    named = value_of(environ, CONFIG_VARIABLE)
    path = named_path(named, environ, lambda: str(home))
    if not named or os.path.realpath(path) == os.path.realpath(served):
        return []
    found = f"the daemon reads {served}, but {CONFIG_VARIABLE} is {path}"
    return [Finding(AREA, "settings file", WARNING, found, RESTART)]
