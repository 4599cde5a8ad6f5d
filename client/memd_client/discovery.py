"""Where the socket is, whose it is, and how to start the daemon. Client and daemon both ask here.

Paths are strings and heavy modules are imported where they are needed: an agent pays for this import.
"""

from __future__ import annotations

import os
import stat
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from .errors import ConfigInvalidError, DaemonStartError, DaemonUnreachableError, MemdError, SocketPathError

TYPE_CHECKING = False  # typing's own costs a client 6 ms at import; type checkers know the name
if TYPE_CHECKING:
    import subprocess
    from typing import Any, TypeVar

    T = TypeVar("T")

_started: list[subprocess.Popen[bytes]] = []  # daemons of this process, to be reaped when they end

SOCKET_NAME = "memd.sock"

MAX_PATH_BYTES = 103 if sys.platform == "darwin" else 107
"""Longest socket path in bytes: `sun_path` of the system without its closing NUL."""

EXIT_ALREADY_RUNNING = 75
"""Exit status of a daemon that found another one holding the lock (EX_TEMPFAIL of sysexits.h). A client
that started it knows by this that it only has to wait."""

START_S = 15.0
"""How long a daemon started by a client may take until it answers `hello`: a cold Python on a slow disk."""

START_POLL_S = 0.02
"""Wait between tries to connect to a daemon that is starting."""

START_AGAIN_S = 1.0
"""After our daemon found the lock held and still nobody answers, another one is started this often: the
holder may have been one that was just stopping."""

MAX_LOG_BYTES = 8 * 1024 * 1024
"""A started daemon's log begins anew at this size: the runtime directory is often memory."""


def socket_path(environ: Mapping[str, str] | None = None) -> str:
    """Return the path of the daemon's socket.

    In this order: `MEMD_SOCKET`; `memd/memd.sock` in `XDG_RUNTIME_DIR`; the same in `/run/user/<uid>`, where
    that exists (a login without the variable finds the daemon of one with it); else in a directory of
    the home folder. Where the home folder's path is too long for a socket: `/tmp/memd-<uid>`.

    Args:
        environ: The environment; the process's own when left out.

    Raises:
        SocketPathError: The path is too long, or not absolute.
    """
    env = os.environ if environ is None else environ
    given = env.get("MEMD_SOCKET")
    if given:
        return check_socket_path(os.path.expanduser(given))
    runtime = env.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isabs(runtime):
        return check_socket_path(os.path.join(runtime, "memd", SOCKET_NAME))
    user_runtime = f"/run/user/{os.getuid()}"
    if sys.platform == "linux" and os.path.isdir(user_runtime):
        return check_socket_path(os.path.join(user_runtime, "memd", SOCKET_NAME))
    path = os.path.join(_home_runtime(env), SOCKET_NAME)
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        path = os.path.join(f"/tmp/memd-{os.getuid()}", SOCKET_NAME)
    return check_socket_path(path)


def home_directory(environ: Mapping[str, str] | None = None) -> str:
    """Return the user's home directory: `HOME`, or where the user database says if that is unset or empty.

    Args:
        environ: The environment; the process's own when left out.

    Raises:
        ConfigInvalidError: `HOME` is not an absolute path in UTF-8, or there is none at all.
    """
    home = (os.environ if environ is None else environ).get("HOME", "")
    if not home:
        import pwd

        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            raise _no_home("HOME is not set, and the system knows no home directory of this user") from None
    if not os.path.isabs(home):
        raise _no_home(f"HOME is not an absolute path: {home!r}")
    return require_utf8(home, "HOME")


def require_utf8(path: str, name: str) -> str:
    """Return a path whose bytes are UTF-8.

    Raises:
        ConfigInvalidError: They are not: such a path can't be sent or stored as text.
    """
    if not is_utf8(path):
        raise ConfigInvalidError(
            f"{name} is not UTF-8: {path!r}",
            hint=f"Set {name} to a path in UTF-8, such as a link to that folder.",
            data={"key": name},
        )
    return path


def is_utf8(path: str) -> bool:
    """Return whether a path's bytes are UTF-8; Python keeps others as half characters."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_home(message: str) -> ConfigInvalidError:
    return ConfigInvalidError(
        message, hint="Set HOME to the absolute path of your home directory.", data={"key": "HOME"}
    )


def _home_runtime(env: Mapping[str, str]) -> str:
    """Return the directory for the socket where the system has no runtime directory."""
    home = home_directory(env)
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", "TemporaryItems", "memd")
    state = env.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    return os.path.join(state, "memd", "run")


def check_socket_path(path: str | os.PathLike[str]) -> str:
    """Return the path as a string if a socket can have it.

    Raises:
        SocketPathError: It is too long for the system, not absolute, or holds a NUL character.
    """
    text = os.fspath(path)
    if not is_utf8(text):
        raise SocketPathError(f"the socket path is not UTF-8: {text!r}")
    size = len(os.fsencode(text))
    if size > MAX_PATH_BYTES:
        raise SocketPathError(
            f"the socket path is {size} bytes long, the system allows {MAX_PATH_BYTES}: {text}",
            data={"path": text, "bytes": size, "limit": MAX_PATH_BYTES},
        )
    if not os.path.isabs(text) or "\0" in text:
        raise SocketPathError(f"the socket path is not absolute: {text!r}", data={"path": text})
    return text


def private_directory(path: str) -> None:
    """Make sure a directory exists and is its user's alone.

    A missing one is made with mode 0700, and its parents as the umask says. An existing one is never changed.

    Raises:
        SocketPathError: It is not a directory, belongs to another user, or others may enter it; or it
            can't be made.
    """
    try:
        if not os.path.isdir(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            import contextlib

            with contextlib.suppress(FileExistsError):  # another starter was quicker; it is checked below
                os.mkdir(path, 0o700)
        facts = os.stat(path)
    except OSError as error:
        raise SocketPathError(f"can't make the socket's directory {path}: {error.strerror}") from error
    mode = stat.S_IMODE(facts.st_mode)
    if not stat.S_ISDIR(facts.st_mode):
        raise SocketPathError(f"the socket's directory is not a directory: {path}")
    if facts.st_uid != os.geteuid():
        raise SocketPathError(f"the socket's directory belongs to another user (uid {facts.st_uid}): {path}")
    if mode & 0o077:
        raise SocketPathError(
            f"others may enter the socket's directory (mode {mode:04o}): {path}",
            hint=f"Run `chmod 700 {path}`, or set MEMD_SOCKET to a path in a directory that is yours alone.",
        )


def peer_uid(sock: Any) -> int | None:
    """Return the user id of the process at the other end of a Unix socket; None where that can't be told.

    Args:
        sock: A connected socket, of the standard library or of trio.
    """
    platform: str = sys.platform  # a plain string: the type checker shall read both branches
    if platform == "linux":
        from socket import SO_PEERCRED, SOL_SOCKET

        facts = sock.getsockopt(SOL_SOCKET, SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", facts)[1])
    if platform == "darwin":
        sol_local, local_peercred, xucred_bytes = 0, 0x001, 76  # sys/un.h; socket has no names for them
        return int(struct.unpack_from("2I", sock.getsockopt(sol_local, local_peercred, xucred_bytes))[1])
    return None


def daemon_command() -> list[str]:
    """Return the command that starts the daemon: this interpreter where memd is installed, else `memd`.

    Raises:
        DaemonStartError: Neither is there.
    """
    import importlib.util

    spec = importlib.util.find_spec("memd")
    # A folder named memd in the working directory is found too, but has no origin.
    if sys.executable and spec is not None and spec.origin is not None:
        return [sys.executable, "-P", "-m", "memd"]
    import shutil

    program = shutil.which("memd")
    if program is None:
        from .installation import Installation

        raise DaemonStartError(
            "memd is neither installed for this Python nor found on PATH",
            hint=Installation().daemon_hint(),
        )
    return [program]


def log_path(socket: str) -> str:
    """Return where a daemon started by a client writes its log, beside its socket."""
    return f"{os.path.splitext(socket)[0]}.log"


def start_daemon(socket: str, command: Sequence[str] | None = None) -> subprocess.Popen[bytes]:
    """Start the daemon in a session of its own and return its process; don't wait for it.

    It listens on `socket` (told by MEMD_SOCKET), reads nothing from us, and writes to `log_path(socket)`.
    Where another daemon holds the lock it ends with `EXIT_ALREADY_RUNNING`.

    Raises:
        DaemonStartError: The command is missing or can't be run.
        SocketPathError: The socket's directory is not private or can't be made.
    """
    import subprocess

    argv = daemon_command() if command is None else list(command)
    directory = os.path.dirname(socket)
    private_directory(directory)
    env = {**os.environ, "MEMD_SOCKET": socket}
    if "PYTHONPATH" in env:  # it may be relative, and the daemon runs elsewhere
        parts = env["PYTHONPATH"].split(os.pathsep)
        env["PYTHONPATH"] = os.pathsep.join(os.path.abspath(part) for part in parts if part)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK  # a FIFO must not block
    try:
        log = os.open(log_path(socket), flags, 0o600)
        try:
            if os.fstat(log).st_size > MAX_LOG_BYTES:
                os.ftruncate(log, 0)
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=directory,  # never the agent's: the daemon would hold it
                env=env,
                start_new_session=True,  # Ctrl-C in the agent's terminal is not for the daemon
            )
        finally:
            os.close(log)
    except OSError as error:
        raise DaemonStartError(f"`{' '.join(argv)}` can't be run: {error.strerror or error}") from error


def start_and_wait(
    socket: str,
    connect: Callable[[], T],
    *,
    command: Sequence[str] | None = None,
    timeout_s: float = START_S,
) -> T:
    """Start the daemon and return what `connect` returns once it succeeds.

    Any number of clients may do this at once: one of them starts a daemon, the others wait for it, and one of those
    starts one where the first starter died. Should two be started all the same, one gets the lock and the other ends.

    Args:
        socket: The socket's path.
        connect: Connects and greets; `DaemonUnreachableError` means "not yet".
        command: The command that starts the daemon; found by `daemon_command` when left out.
        timeout_s: How long all of it may take.

    Raises:
        DaemonStartError: The daemon ended, or did not answer in time. The message ends with its log.
        MemdError: What `connect` raises otherwise.
    """
    deadline = time.monotonic() + timeout_s
    process: subprocess.Popen[bytes] | None = None
    turn = _open_turn(socket)
    started = 0.0
    try:
        while True:
            # Before connecting: who ended now can't have served.
            ended = process.poll() if process is not None else None
            try:
                connection = connect()
            except DaemonUnreachableError:
                pass
            else:
                return connection
            now = time.monotonic()
            if ended not in (None, EXIT_ALREADY_RUNNING):
                raise _start_failed(socket, f"the daemon ended with status {ended}")
            if now > deadline:
                raise _start_failed(socket, f"the daemon did not answer in {timeout_s:g} s")
            is_due = process is None or (ended == EXIT_ALREADY_RUNNING and now - started > START_AGAIN_S)
            if is_due and _take_turn(turn):
                process = start_daemon(socket, command)
                started = now
            threading.Event().wait(START_POLL_S)
    finally:
        os.close(turn)
        _keep_until_it_ends(process)


def _open_turn(socket: str) -> int:
    """Open the file whose lock says who starts the daemon; closing it gives the turn to the next one.

    Raises:
        DaemonStartError: It can't be made.
        SocketPathError: The socket's directory is not private or can't be made.
    """
    private_directory(os.path.dirname(socket))
    try:
        return os.open(f"{socket}.start", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DaemonStartError(f"{socket}.start can't be made: {error.strerror}") from error


def _take_turn(descriptor: int) -> bool:
    """Return whether it is this process's turn to start the daemon; it stays so until the file is closed."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: the daemon's own lock decides
        return True
    return True


def _keep_until_it_ends(process: subprocess.Popen[bytes] | None) -> None:
    """Hold on to a daemon, and let go of those that have ended; other threads do the same meanwhile."""
    if process is not None and process.poll() is None:
        _started.append(process)
    for each in list(_started):
        if each.poll() is not None:
            import contextlib

            with contextlib.suppress(ValueError):  # another thread was quicker
                _started.remove(each)


def _start_failed(socket: str, what: str) -> MemdError:
    """Return the error of a failed start, with the end of the daemon's log."""
    tail = log_tail(socket)
    return DaemonStartError(
        f"{what}; its log ends with: {tail}" if tail else what,
        hint=f"See {log_path(socket)}, or run `memd` in a terminal.",
    )


def log_tail(socket: str, size: int = 600) -> str:
    """Return the end of a started daemon's log, for an error message; empty where there is none."""
    try:
        log = os.open(log_path(socket), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            start = max(0, os.fstat(log).st_size - size)
            return os.pread(log, size, start).decode("utf-8", "replace").strip()
        finally:
            os.close(log)
    except OSError:
        return ""
