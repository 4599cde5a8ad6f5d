"""The socket, its directory, its lock, and who answers there. A daemon is never started by looking."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from memd import __version__
from memd.cli.checks.installation import OK, WARNING, WRONG, Finding
from memd.service.install.lock_holder import find_holder
from memd_client.discovery import MAX_PATH_BYTES, SOCKET_NAME
from memd_client.errors import DaemonUnreachableError, MemdError, ProtocolMismatchError

if TYPE_CHECKING:
    from memd_client.messages import HelloReply, StatusReply

T = TypeVar("T")

AREA = "daemon"
RESTART = "memctl service restart"

HELLO_S = 3.0
"""How long a greeting may take: it costs the daemon microseconds. One that starts gets as long to listen."""

STATUS_S = 30.0
"""How long a deep status may take: a cold model is loaded for it."""

POLL_S = 0.1
LISTENS = 0x10000
"""The flag of a listening socket in the system's table."""


@dataclass
class Place:
    """What is known of the place a daemon listens at.

    Attributes:
        findings: What was found.
        pid: The daemon that answers; 0 where none does.
        is_running: Whether a process holds the lock, answering or not.
        status: What the daemon says of itself, where it answers.
        report: What it says of the installation; empty if it can't or is of another release.
    """

    findings: list[Finding] = field(default_factory=list)
    pid: int = 0
    is_running: bool = False
    status: StatusReply | None = None
    report: dict[str, Any] = field(default_factory=dict)

    def say(self, name: str, state: str, found: str, fix: str = "") -> None:
        """Add a finding."""
        self.findings.append(Finding(AREA, name, state, found, fix))


def check_place(socket: str, *, hello_s: float = HELLO_S, status_s: float = STATUS_S) -> Place:
    """Return how the daemon on a socket is, whether or not one is there; ends in `hello_s` and `status_s`."""
    place = Place()
    size = len(os.fsencode(socket))
    place.say("socket", OK, f"{socket} ({size} of {MAX_PATH_BYTES} bytes a path may have)")
    if not _check_directory(place, os.path.dirname(socket)):
        return place
    try:
        holder = find_holder(socket)
    except OSError as error:  # a network file system that knows no locks
        fix = "Set MEMD_SOCKET to a path in a directory on a local disk."
        place.say("lock", WRONG, f"{socket}.lock can't be tried: {error.strerror}", fix)
        return place
    if not holder:
        _say_nobody(place, socket)
        return place
    place.is_running = True
    hello = _greet(place, socket, holder, hello_s)
    if hello is None:
        return place
    place.pid = hello.pid
    if hello.version != __version__:
        found = f"pid {hello.pid} runs memd {hello.version}, installed is {__version__}"
        place.say("version", WRONG, found, RESTART)
    else:
        place.say("answers", OK, f"memd {hello.version}, pid {hello.pid}")
    _ask_status(place, socket, status_s)
    if place.status is not None and hello.version == __version__:
        place.report = place.status.installation or {}
    return place


def _check_directory(place: Place, folder: str) -> bool:
    """Say how the socket's directory is; return whether there can be a daemon."""
    try:
        facts = os.stat(folder)
    except FileNotFoundError:
        place.say("directory", OK, f"{folder} is made by the first daemon")
        return False
    except OSError as error:
        place.say("directory", WRONG, f"{folder}: {error.strerror}", "Set MEMD_SOCKET to a path elsewhere.")
        return False
    mode = stat.S_IMODE(facts.st_mode)
    if not stat.S_ISDIR(facts.st_mode):
        place.say("directory", WRONG, f"{folder} is not a directory", f"rm {folder}")
    elif facts.st_uid != os.geteuid():
        found = f"{folder} belongs to another user (uid {facts.st_uid})"
        place.say(
            "directory", WRONG, found, f"Set MEMD_SOCKET to {SOCKET_NAME} in a directory that is yours."
        )
    elif mode & 0o077:
        place.say("directory", WRONG, f"others may enter {folder} (mode {mode:04o})", f"chmod 700 {folder}")
    else:
        place.say("directory", OK, f"{folder} is yours alone (mode {mode:04o})")
        return True
    return False


def _say_nobody(place: Place, socket: str) -> None:
    """Say that no daemon runs, and what its socket is then."""
    if not os.path.lexists(socket):
        starts = os.environ.get("MEMD_AUTOSTART") != "0"
        found = "none runs" + (
            ": the next request starts one" if starts else ", and MEMD_AUTOSTART=0 forbids to start one"
        )
        place.say(
            "answers", OK if starts else WARNING, found, "" if starts else "memctl service start, or `memd`"
        )
    elif _is_listened_at(socket):
        place.say(
            "answers", OK, "none runs: the service manager listens and starts one with the next request"
        )
    else:
        found = "none runs; a dead socket is left of one that was killed"
        place.say("answers", WARNING, found, "Nothing to do: the next daemon replaces it.")


def _is_listened_at(socket: str) -> bool:
    """Return whether a process listens on a socket, without connecting: that would start a daemon."""
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as table:
            rows = [row.split(None, 7) for row in table]
    except OSError:
        return False
    return any(
        len(row) == 8 and row[7].rstrip("\n") == socket and int(row[3], 16) & LISTENS for row in rows[1:]
    )


def _greet(place: Place, socket: str, holder: int, timeout_s: float) -> HelloReply | None:
    """Return the daemon's answer to a greeting; say what is wrong where none comes."""
    from memd_client import Client

    who, end_it = f"pid {holder}", f"{RESTART}, or `kill -9 {holder}`"
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            with Client(socket, timeout_s=timeout_s, connect_timeout_s=timeout_s) as client:
                return client.hello()
        except DaemonUnreachableError as error:
            if time.monotonic() < deadline:  # it may be starting
                threading.Event().wait(POLL_S)
                continue
            found = f"{who} holds the lock and doesn't listen on its socket: {error.message}"
            place.say("answers", WRONG, found, end_it)
        except ProtocolMismatchError as error:
            place.say("version", WRONG, f"{who} speaks another protocol: {error.message}", RESTART)
        except MemdError as error:
            place.say("answers", WRONG, f"{who} holds the lock and hangs: {error.message}", end_it)
        return None


def _ask_status(place: Place, socket: str, timeout_s: float) -> None:
    from memd_client import Client

    try:
        with Client(socket, timeout_s=timeout_s, connect_timeout_s=timeout_s) as client:
            place.status = client.status(deep=True)
    except MemdError as error:
        fix = f"Look at `memctl logs`; {RESTART}"
        place.say("status", WRONG, f"it doesn't tell how it is: {error.message}", fix)


def check_config_socket(socket: str, configured: str, environ_names_one: bool) -> list[Finding]:
    """Return whether clients and the daemon look at the same place: clients don't read `memd.toml`."""
    if not configured or environ_names_one or configured == socket:
        return []
    found = f"memd.toml has the daemon listen at {configured}, clients look at {socket}"
    return [Finding(AREA, "place", WRONG, found, f"export MEMD_SOCKET={configured}")]


def within(seconds: float, look: Callable[[], T], otherwise: Callable[[], T]) -> T:
    """Return what a look finds, or something else where it hangs; the thread it hangs in is left behind."""
    outcome: list[T | BaseException] = []

    def run() -> None:
        try:
            outcome.append(look())
        except BaseException as error:  # noqa: BLE001 - raised again where the result is wanted
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    result = outcome[0] if outcome else otherwise()
    if isinstance(result, BaseException):
        raise result
    return result
