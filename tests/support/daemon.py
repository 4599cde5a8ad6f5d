"""A real daemon process; all tests start daemons through this class."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from memd_client import Client
from memd_client.errors import MemdError
from memd_client.messages import StatusReply
from tests.support import fork_server
from tests.support.fork_server import ForkedProcess, can_fork
from tests.support.state_homes import StateHome

START_DEADLINE_S = 120.0
"""Timeout of a daemon's start on a busy machine."""


class DaemonProcess:
    """A daemon with its own state directory.

    Args:
        home: Its home.
        environ: Variables besides those of the home.
        fresh: Whether it starts a new Python; else it is a fork of a process that has imported everything.
    """

    def __init__(
        self, home: StateHome, environ: dict[str, str] | None = None, *, fresh: bool = False
    ) -> None:
        self.home = home
        self._fresh = fresh
        self._environ = {**os.environ, **home.environ(), **(environ or {})}
        self._log = home.root / "daemon.log"
        self._process: subprocess.Popen[bytes] | ForkedProcess | None = None

    def __enter__(self) -> DaemonProcess:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            print(self.log_tail())
        self.stop()

    @property
    def pid(self) -> int:
        """The daemon's process id."""
        assert self._process is not None
        return self._process.pid

    def start(self, *, wait: bool = True) -> DaemonProcess:
        """Start the daemon and wait until it answers."""
        with self._log.open("ab") as log, open(os.devnull, "rb") as nothing:
            if self._fresh or not can_fork(self._environ):
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "memd"],
                    env=self._environ,
                    stdin=nothing,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            else:
                streams = [nothing.fileno(), log.fileno(), log.fileno()]
                self._process = fork_server.start("memd", environ=self._environ, descriptors=streams)
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self) -> None:
        """Wait until the daemon accepts a client."""
        assert self._process is not None
        deadline = time.monotonic() + START_DEADLINE_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise AssertionError(f"daemon ended with {self._process.returncode}:\n{self.log_tail()}")
            try:
                with self.client() as client:
                    client.hello()
                return
            except MemdError:
                time.sleep(0.02)
        raise AssertionError(f"daemon not ready:\n{self.log_tail()}")

    def stop(self) -> int | None:
        """Stop the daemon and return its exit code; kill it after ten seconds."""
        process = self._process
        if process is None:
            return None
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()
        code = process.wait()
        self._process = None
        return code

    def kill(self) -> None:
        """Kill the daemon with SIGKILL."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def wait_exit(self, timeout_s: float = 120.0) -> int:
        """Return the exit code of a daemon that ends on its own."""
        assert self._process is not None
        return self._process.wait(timeout_s)

    def client(self, **options: Any) -> Client:
        """Return a client of this daemon, whose limits only a hang reaches unless options set them."""
        return Client(self.home.socket, **{"connect_timeout_s": 120.0, "timeout_s": 120.0, **options})

    def log_tail(self, lines: int = 40) -> str:
        """Return the end of the daemon's log."""
        with contextlib.suppress(FileNotFoundError):
            return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:])
        return ""

    def events(self) -> list[dict[str, Any]]:
        """Return the daemon's log as records."""
        records = []
        for line in self._log.read_text(errors="replace").splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                records.append(json.loads(line))
        return records

    def wait_for(self, check: Any, timeout_s: float = 120.0) -> StatusReply:
        """Return the first status that passes a check."""
        deadline = time.monotonic() + timeout_s
        with self.client() as client:
            while True:
                status = client.status()
                if check(status):
                    return status
                if time.monotonic() > deadline:
                    raise AssertionError(f"state not reached: {status}\n{self.log_tail()}")
                time.sleep(0.05)

    def memctl(
        self, *arguments: str, timeout_s: float = 120.0, environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run memctl against this daemon and return the finished process; `environ` is set in addition."""
        variables = {"MEMD_AUTOSTART": "0", **(environ or {})}
        if can_fork(variables):
            variables = {**self._environ, **variables}
            return fork_server.run("memctl", arguments, environ=variables, timeout_s=timeout_s)
        script = "from memd.cli.main import main; main()"
        return self.run("-c", script, *arguments, timeout_s=timeout_s, environ=variables)

    def run(
        self, *arguments: str, timeout_s: float = 120.0, environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run Python with the daemon's environment and return the finished process."""
        return subprocess.run(
            [sys.executable, *arguments],
            env={**self._environ, **(environ or {})},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            cwd=Path("/"),
        )


class ActivatedDaemon(DaemonProcess):
    """A daemon started by its socket: `systemd-socket-activate` listens and passes the socket."""

    def start(self, *, wait: bool = True) -> DaemonProcess:
        """Listen; the first client starts the daemon."""
        self.home.socket.parent.mkdir(mode=0o700)
        names = [f"--setenv={name}" for name in self._environ]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    "systemd-socket-activate",
                    f"--listen={self.home.socket}",
                    *names,
                    sys.executable,
                    "-m",
                    "memd",
                ],
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_DEADLINE_S
        while not _is_listening(self.home.socket):
            if time.monotonic() > deadline:
                raise AssertionError(f"nobody listens:\n{self.log_tail()}")
            time.sleep(0.02)
        return self


def _is_listening(path: Path) -> bool:
    """Return whether a Unix socket is bound and accepts connections, without connecting to it.

    A connection would start the daemon, and between `bind` and `listen` it would be refused.
    """
    rows = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    accepting = "00010000"  # the kernel's flag for a listening socket
    return any(row[3] == accepting and row[-1] == str(path) for row in rows)
