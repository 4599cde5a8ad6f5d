"""The daemon's socket: its path, its owner, and starting the daemon. Used by client and daemon.

Paths are strings and large modules are imported in functions, to keep the import of the client fast.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from .errors import ConfigInvalidError, DaemonStartError, DaemonUnreachableError, MemdError, SocketPathError
from .socket_location import MAX_PATH_BYTES as MAX_PATH_BYTES
from .socket_location import SOCKET_NAME as SOCKET_NAME
from .socket_location import peer_uid as peer_uid
from .socket_location import socket_location
from .state_folder import CONFIG_VARIABLE, STATE_VARIABLE, find_state_dir, is_same_folder, named_path

TYPE_CHECKING = False  # importing typing takes a client several milliseconds; type checkers know the name
if TYPE_CHECKING:
    import subprocess
    from typing import TypeVar

    T = TypeVar("T")

_started: list[subprocess.Popen[bytes]] = []  # daemons of this process, to be reaped when they end

EXIT_ALREADY_RUNNING = 75
"""Exit status of a daemon that found the lock taken by another daemon (EX_TEMPFAIL of sysexits.h). The client that
started it then waits for the other daemon."""

START_TIMEOUT_S = 60.0
"""Longest time until a started daemon replies to `hello`. Only a hang reaches it: a daemon that ended is noticed."""

START_POLL_INTERVAL_S = 0.02
"""Pause between attempts to connect to a daemon that is starting."""

RESTART_INTERVAL_S = 1.0
"""Pause before another daemon is started, if the first one found the lock taken and no daemon listens: the owner of
the lock may have been stopping."""

MAX_LOG_BYTES = 8 * 1024 * 1024
"""A started daemon's log is truncated at this size: the runtime directory is often in RAM."""


def socket_path(
    environ: Mapping[str, str] | None = None, state_dir: str | os.PathLike[str] | None = None
) -> str:
    """Return the path of the daemon's socket.

    In this order: `MEMD_SOCKET`; `memd/memd.sock` in `XDG_RUNTIME_DIR`; the same in `/run/user/<uid>` if that exists
    (so a login without the variable finds the daemon of a login with it); else in a directory of the home directory;
    if the home directory's path is too long for a socket, in `/tmp/memd-<uid>`. The socket of a state folder other than
    the user's default folder has a number in its name, such as `memd-5f2c1a07.sock`, because each folder has its own
    daemon.

    Args:
        environ: The environment; None: the process's own.
        state_dir: The state folder; None: found by the environment.

    Raises:
        SocketPathError: The path is too long, or not absolute.
        ConfigInvalidError: The home directory is needed and invalid.
    """
    env = os.environ if environ is None else environ
    folder = None if state_dir is None else state_folder(env, state_dir)
    return check_socket_path(socket_location(env, lambda: home_directory(env), folder))


def state_folder(
    environ: Mapping[str, str] | None = None, state_dir: str | os.PathLike[str] | None = None
) -> str:
    """Return the real path of the state folder, which may be missing.

    In this order: `state_dir`; `OPENCLAW_STATE_DIR`; `.openclaw` or `.clawdbot` in `OPENCLAW_HOME` or the home
    directory; without OpenClaw memd's own folder.

    Args:
        environ: The environment; None: the process's own.
        state_dir: The state folder, with `~` and relative paths as in `OPENCLAW_STATE_DIR`.

    Raises:
        ConfigInvalidError: The path is not UTF-8, or the home directory is needed and invalid.
    """
    env = os.environ if environ is None else environ
    if state_dir is None:
        folder = find_state_dir(env, lambda: home_directory(env))
    else:
        folder = named_path(os.fspath(state_dir), env, lambda: home_directory(env))
    return require_utf8(os.path.realpath(folder), STATE_VARIABLE)


def home_directory(environ: Mapping[str, str] | None = None) -> str:
    """Return the user's home directory: `HOME`, or that of the user database if `HOME` is unset or empty.

    Args:
        environ: The environment; None: the process's own.

    Raises:
        ConfigInvalidError: `HOME` is not an absolute path in UTF-8, or the user has no home directory.
    """
    home = (os.environ if environ is None else environ).get("HOME", "")
    if not home:
        import pwd

        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            raise _home_error(
                "HOME is not set, and the system knows no home directory of this user"
            ) from None
    if not os.path.isabs(home):
        raise _home_error(f"HOME is not an absolute path: {home!r}")
    return require_utf8(home, "HOME")


def require_utf8(path: str, name: str) -> str:
    """Return a path whose bytes are UTF-8.

    Raises:
        ConfigInvalidError: They are not, so the path can't be sent or stored as text.
    """
    if not is_utf8(path):
        raise ConfigInvalidError(
            f"{name} is not UTF-8: {path!r}",
            hint=f"set {name} to a path in UTF-8, such as a symbolic link to that folder",
            data={"key": name},
        )
    return path


def is_utf8(path: str) -> bool:
    """Return whether a path's bytes are UTF-8; Python represents other bytes as lone surrogates."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _home_error(message: str) -> ConfigInvalidError:
    return ConfigInvalidError(
        message, hint="set HOME to the absolute path of your home directory", data={"key": "HOME"}
    )


def check_socket_path(path: str | os.PathLike[str]) -> str:
    """Return the path as a string if a socket can have it.

    Raises:
        SocketPathError: It is too long for the system, not absolute, or contains a NUL character.
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


def ensure_private_directory(path: str) -> None:
    """Ensure that a directory exists and that only its user can enter it.

    A missing directory is created with mode 0700, its parents according to the umask. An existing one is not changed.

    Raises:
        SocketPathError: It can't be created, is not a directory, belongs to another user, or other users can enter it.
    """
    try:
        if not os.path.isdir(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            import contextlib

            with contextlib.suppress(
                FileExistsError
            ):  # another client created it meanwhile; it is checked below
                os.mkdir(path, 0o700)
        facts = os.stat(path)
    except OSError as error:
        raise SocketPathError(f"can't create the socket's directory {path}: {error.strerror}") from error
    mode = stat.S_IMODE(facts.st_mode)
    if not stat.S_ISDIR(facts.st_mode):
        raise SocketPathError(f"the socket's directory is not a directory: {path}")
    if facts.st_uid != os.geteuid():
        raise SocketPathError(f"the socket's directory belongs to another user (uid {facts.st_uid}): {path}")
    if mode & 0o077:
        raise SocketPathError(
            f"other users can enter the socket's directory (mode {mode:04o}): {path}",
            hint=f"run `chmod 700 {path}`, or set MEMD_SOCKET to a path in a directory that only you can enter",
        )


def daemon_command() -> list[str]:
    """Return the command that starts the daemon: this interpreter if memd is installed for it, else `memd` on PATH.

    Raises:
        DaemonStartError: memd is not found in either way.
    """
    import importlib.util

    spec = importlib.util.find_spec("memd")
    # A directory named memd in the working directory is found as well, but has no origin.
    if sys.executable and spec is not None and spec.origin is not None:
        return [sys.executable, "-P", "-m", "memd"]
    import shutil

    program = shutil.which("memd")
    if program is None:
        from .installation import Installation

        raise DaemonStartError(
            "memd is not installed for this Python and not found on PATH",
            hint=Installation().daemon_hint(),
        )
    return [program]


def log_path(socket: str) -> str:
    """Return the path of the log of a daemon started by a client, next to its socket."""
    return f"{os.path.splitext(socket)[0]}.log"


def start_daemon(
    socket: str, command: Sequence[str] | None = None, state_dir: str | None = None
) -> subprocess.Popen[bytes]:
    """Start the daemon in a process session of its own and return its process, without waiting for it.

    It listens on `socket` (passed in MEMD_SOCKET), serves `state_dir` or the state folder of this environment, has no
    standard input, and writes to `log_path(socket)`. If another daemon holds the lock, it ends with
    `EXIT_ALREADY_RUNNING`.

    Raises:
        DaemonStartError: The command is missing or can't be run.
        SocketPathError: The socket's directory is not private or can't be created.
    """
    import subprocess

    argv = daemon_command() if command is None else list(command)
    directory = os.path.dirname(socket)
    ensure_private_directory(directory)
    env = _daemon_environ(socket, state_dir)
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
                cwd=directory,  # not the agent's, which the daemon would keep in use
                env=env,
                start_new_session=True,  # Ctrl-C in the agent's terminal must not stop the daemon
            )
        finally:
            os.close(log)
    except OSError as error:
        raise DaemonStartError(f"`{' '.join(argv)}` can't be run: {error.strerror or error}") from error


def _daemon_environ(socket: str, state_dir: str | None) -> dict[str, str]:
    """Return the environment of a daemon, which runs in another directory: relative paths become absolute."""
    env = {**os.environ, "MEMD_SOCKET": socket}
    if state_dir is not None:
        if not is_same_folder(state_dir, state_folder(env)):
            env.pop(CONFIG_VARIABLE, None)  # the settings of the other folder
        env[STATE_VARIABLE] = state_dir
    for name in (STATE_VARIABLE, CONFIG_VARIABLE):
        if env.get(name, "").strip():
            env[name] = named_path(env[name].strip(), env, lambda: home_directory(env))
    if "PYTHONPATH" in env:
        parts = env["PYTHONPATH"].split(os.pathsep)
        env["PYTHONPATH"] = os.pathsep.join(os.path.abspath(part) for part in parts if part)
    return env


def start_and_wait(
    socket: str,
    connect: Callable[[], T],
    *,
    command: Sequence[str] | None = None,
    state_dir: str | None = None,
    timeout_s: float = START_TIMEOUT_S,
) -> T:
    """Start the daemon, wait until it is ready, and return the result of `connect`.

    Any number of clients may call this at once: one of them starts the daemon, the others wait for it, and one of those
    starts it if the first client dies. If two daemons are started nevertheless, the one without the lock ends.

    Args:
        socket: The socket's path.
        connect: Connects and greets; raises `DaemonUnreachableError` while the daemon is not ready.
        command: The command that starts the daemon; None: found by `daemon_command`.
        state_dir: The state folder of a started daemon; None: found by its environment.
        timeout_s: The longest time until `connect` succeeds, in seconds.

    Raises:
        DaemonStartError: The daemon ended, or did not become ready in time. The message ends with its log.
        MemdError: Any other error of `connect`.
    """
    deadline = time.monotonic() + timeout_s
    process: subprocess.Popen[bytes] | None = None
    lock = _open_start_lock(socket)
    started = 0.0
    try:
        while True:
            # Checked before connecting: a daemon that has ended by now can't have accepted the connection.
            ended = process.poll() if process is not None else None
            try:
                connection = connect()
            except DaemonUnreachableError:
                pass
            else:
                return connection
            now = time.monotonic()
            if ended not in (None, EXIT_ALREADY_RUNNING):
                raise _start_error(socket, f"the daemon ended with status {ended}")
            if now > deadline:
                raise _start_error(socket, f"the daemon was not ready in {timeout_s:g} s")
            is_due = process is None or (ended == EXIT_ALREADY_RUNNING and now - started > RESTART_INTERVAL_S)
            if is_due and _try_start_lock(lock):
                process = start_daemon(socket, command, state_dir)
                started = now
            threading.Event().wait(START_POLL_INTERVAL_S)
    finally:
        os.close(lock)
        _track_process(process)


def _open_start_lock(socket: str) -> int:
    """Open the file whose lock selects the client that starts the daemon; closing it releases the lock.

    Raises:
        DaemonStartError: It can't be created.
        SocketPathError: The socket's directory is not private or can't be created.
    """
    ensure_private_directory(os.path.dirname(socket))
    try:
        return os.open(f"{socket}.start", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DaemonStartError(f"{socket}.start can't be created: {error.strerror}") from error


def _try_start_lock(descriptor: int) -> bool:
    """Return whether this process has the start lock; it keeps the lock until the file is closed."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: the daemon's own lock decides
        return True
    return True


def _track_process(process: subprocess.Popen[bytes] | None) -> None:
    """Keep a running daemon process, and drop those that have ended; several threads may do so at once."""
    if process is not None and process.poll() is None:
        _started.append(process)
    for each in list(_started):
        if each.poll() is not None:
            import contextlib

            with contextlib.suppress(ValueError):  # another thread removed it
                _started.remove(each)


def _start_error(socket: str, what: str) -> MemdError:
    """Return the error of a failed start, with the end of the daemon's log."""
    tail = log_tail(socket)
    return DaemonStartError(
        f"{what}; its log ends with: {tail}" if tail else what,
        hint=f"see {log_path(socket)}, or run `memd` in a terminal",
    )


def log_tail(socket: str, size: int = 600) -> str:
    """Return the end of a started daemon's log, for an error message; empty if there is none."""
    try:
        log = os.open(log_path(socket), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            start = max(0, os.fstat(log).st_size - size)
            return os.pread(log, size, start).decode("utf-8", "replace").strip()
        finally:
            os.close(log)
    except OSError:
        return ""
