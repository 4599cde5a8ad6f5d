"""The daemon of another machine, over `ssh HOST memctl stdio` and a pair of sockets.

Only clients with a host import this module: `subprocess` takes several milliseconds to import.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import threading
from socket import AF_UNIX, SOCK_STREAM, socket, socketpair

from .errors import ConfigInvalidError, ConnectionLostError, HostUnreachableError, MemdError
from .ssh_failures import host_error

SSH_VARIABLE = "MEMD_SSH"
COMMAND_VARIABLE = "MEMD_HOST_COMMAND"

DEFAULT_SSH = "ssh"
DEFAULT_COMMAND = "memctl stdio"

USER_PROGRAMS = 'PATH="$PATH:$HOME/.local/bin:$HOME/bin"'
"""Folders of programs that pip, pipx and uv install for a user; a shell that isn't interactive often lacks them."""

SSH_CONNECT_SHARE = 0.75
"""Share of the connect timeout that ssh may use up before its login: ssh's own message says more than a timeout."""

KEEP_ALIVE_INTERVAL_S = 15
KEEP_ALIVE_COUNT = 3
"""ssh ends a connection whose host hasn't replied to so many probes, one per interval."""

EXIT_TIMEOUT_S = 2.0
"""How long ssh may take to end before it is killed."""

MAX_ERROR_BYTES = 64 * 1024
"""How much of standard error is read: what a pipe holds. ssh drops the rest."""

REFUSED_CHARACTERS = frozenset("'`\"$\\;&<>|(){}")
"""ssh refuses these too, but older releases pass them to the shell of a ProxyCommand."""


def check_host(host: str) -> str:
    """Return a host that can be an argument of ssh.

    Raises:
        ConfigInvalidError: It is empty, looks like an option, or has characters that no host has.
    """
    names = [host, *host.removeprefix("ssh://").split("@")]
    is_option = any(not name or name.startswith("-") for name in names)
    if is_option or any(char in REFUSED_CHARACTERS or char == " " or not char.isprintable() for char in host):
        raise ConfigInvalidError(
            f"not a host for ssh: {host!r}",
            hint="name the host as for ssh: server, user@server, or a name in ~/.ssh/config",
            data={"key": "host"},
        )
    return host


def ssh_program() -> list[str]:
    """Return ssh, or the command in `MEMD_SSH`, as a list of words.

    Raises:
        ConfigInvalidError: `MEMD_SSH` has an unclosed quotation mark.
    """
    try:
        return shlex.split(os.environ.get(SSH_VARIABLE, "")) or [DEFAULT_SSH]
    except ValueError as error:
        raise ConfigInvalidError(
            f"{SSH_VARIABLE} is not a command: {error}",
            hint=f"quote {SSH_VARIABLE} as in a shell",
            data={"key": SSH_VARIABLE},
        ) from None


def remote_command() -> str:
    """Return the command for the host's login shell, which may be any: sh runs the actual command."""
    command = os.environ.get(COMMAND_VARIABLE, "").strip() or DEFAULT_COMMAND
    return f"exec sh -c {shlex.quote(f'{USER_PROGRAMS}; exec {command}')}"


class SshHost:
    """A host that is reached with ssh.

    Args:
        name: As ssh takes it: `server`, `user@server`, or a name in its configuration.

    Raises:
        ConfigInvalidError: It can't be a host.
    """

    def __init__(self, name: str) -> None:
        self.name = check_host(name)

    def command(self, timeout_s: float) -> list[str]:
        """Return the command that connects to the host's daemon.

        Args:
            timeout_s: The longest time connecting and greeting may take, in seconds.
        """
        options = {
            "BatchMode": "yes",
            "ConnectTimeout": max(1, int(timeout_s * SSH_CONNECT_SHARE)),
            "ServerAliveInterval": KEEP_ALIVE_INTERVAL_S,
            "ServerAliveCountMax": KEEP_ALIVE_COUNT,
            "ClearAllForwardings": "yes",  # two connections can't both listen on a forwarded port
        }
        words = [f"-o{name}={value}" for name, value in options.items()]
        return [*ssh_program(), "-T", *words, "--", self.name, remote_command()]

    def start(self, timeout_s: float) -> SshProcess:
        """Start ssh, without waiting until it has connected.

        Raises:
            HostUnreachableError: ssh can't be run.
            ConfigInvalidError: `MEMD_SSH` is not a command.
        """
        command = self.command(timeout_s)
        ours, theirs = socketpair(AF_UNIX, SOCK_STREAM)
        errors, error_output = os.pipe()
        try:
            os.set_blocking(errors, False)
            os.set_blocking(error_output, False)  # ssh must not wait for a reader of its messages
            process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=error_output,
                start_new_session=True,  # Ctrl-C cancels a request and keeps the connection
            )
        except BaseException as error:
            ours.close()
            os.close(errors)
            if not isinstance(error, OSError):
                raise
            raise HostUnreachableError(
                f"`{command[0]}` can't be run: {error.strerror or error}",
                hint=f"install OpenSSH's client, or name another program in {SSH_VARIABLE}",
            ) from None
        finally:
            theirs.close()
            os.close(error_output)
        ours.setblocking(False)
        return SshProcess(self.name, process, ours, errors, timeout_s)


class SshProcess:
    """A running ssh. It ends when its socket is closed; `end` or `reap` must be called nevertheless.

    Args:
        host: The host's name, for messages.
        process: ssh.
        sock: The socket that is its standard input and output at the other end. Its owner closes it.
        errors: The descriptor of its standard error; this object closes it.
        timeout_s: The longest time connecting and greeting may take, in seconds.
    """

    def __init__(
        self, host: str, process: subprocess.Popen[bytes], sock: socket, errors: int, timeout_s: float
    ) -> None:
        self.sock = sock
        self._host = host
        self._process = process
        self._errors = errors
        self._timeout_s = timeout_s
        self._lock = threading.Lock()

    @property
    def pid(self) -> int:
        """The process id of ssh."""
        return self._process.pid

    def failure(self, error: MemdError) -> MemdError:
        """Return why the greeting failed, and end ssh.

        If the connection has ended, waits for the end of ssh, at most `EXIT_TIMEOUT_S`.

        Args:
            error: The error of the greeting.
        """
        try:
            if isinstance(error, ConnectionLostError):
                self._wait()
            status = self._process.poll()
            text = self._read_errors()
        finally:
            self.reap()
        return host_error(self._host, status, text, error, self._timeout_s)

    def end(self) -> None:
        """Terminate ssh without waiting: a thread reaps it. Idempotent."""
        if not self._close_errors():
            return
        if self._process.poll() is None:
            self._process.terminate()
            try:
                threading.Thread(target=self._reap, name="memd-ssh", daemon=True).start()
            except RuntimeError:  # the interpreter is ending, and the system reaps it
                return

    def reap(self) -> None:
        """Terminate ssh and wait for its end, after `EXIT_TIMEOUT_S` with SIGKILL. Idempotent."""
        if self._close_errors():
            self._process.terminate()
            self._reap()

    def abandon(self) -> None:
        """Release an ssh inherited by fork; the parent's continues."""
        if self._close_errors():
            self._process.returncode = 0  # not a child of this process, which must not wait for it

    def _reap(self) -> None:
        if not self._wait():
            self._process.kill()
            self._process.wait()

    def _wait(self) -> bool:
        """Wait for the end of ssh; return whether it has ended in time."""
        try:
            self._process.wait(EXIT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _read_errors(self) -> str:
        """Return what is in the pipe of standard error."""
        try:
            with self._lock:  # another thread may close it
                data = os.read(self._errors, MAX_ERROR_BYTES)
        except OSError:  # closed, or empty while another process has its other end open
            return ""
        return data.decode("utf-8", "replace").replace("\r\n", "\n")

    def _close_errors(self) -> bool:
        """Close the pipe of standard error; return false if it was closed before."""
        with self._lock:
            if self._errors < 0:
                return False
            os.close(self._errors)
            self._errors = -1
            return True
