"""A real sshd on loopback that runs as this user, with keys and settings in a temporary folder.

    with SshServer() as server:
        server.use(home.environ())         # what `memctl` on the host has in its environment
        Client(host=server.host)           # with `server.environ` in the environment of this process

No file of the system is changed. sshd is the system's, or that of Debian's package in the cache of tests; without
either, tests are skipped with the reason.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.support.node import DONE, cache_folder, locked

HOST: Final = "memd-test-host"
"""The host's name in the configuration of the client."""

PACKAGES: Final = ("openssh-server", "libwrap0")
"""Debian's package of sshd, and its library that a system without it lacks."""

START_TIMEOUT_S: Final = 120.0
DOWNLOAD_TIMEOUT_S: Final = 120.0
START_ATTEMPTS: Final = 5
"""How often sshd is started: another process may take the free port meanwhile."""

PRIVATE_RUN: Final = (
    "mount -t tmpfs tmpfs /run && mkdir /run/sshd && cp /etc/passwd /run/passwd"
    " && { grep -q ^sshd: /run/passwd || echo sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin >> /run/passwd; }"
    ' && mount --bind /run/passwd /etc/passwd && exec "$@"'
)
"""sshd of root needs an empty folder in /run and a user, which it gets in a mount namespace of its own."""


@functools.cache
def sshd_program() -> tuple[Path, Path | None]:
    """Return sshd and the root of its unpacked package; None for the system's. Skip the test without sshd."""
    for name in ("ssh", "ssh-keygen"):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")
    found = shutil.which("sshd", path=f"/usr/sbin:{os.environ.get('PATH', '')}")
    if found is not None:
        return Path(found), None
    root = unpacked_sshd()
    return root / "usr" / "sbin" / "sshd", root


def unpacked_sshd() -> Path:
    """Return the folder with Debian's sshd, downloaded into the cache of tests if necessary."""
    apt, dpkg = shutil.which("apt-get"), shutil.which("dpkg-deb")
    if apt is None or dpkg is None:
        pytest.skip("sshd is not installed, and there is no apt-get to get it")
    root = cache_folder("sshd") / "openssh-server"
    with locked(root):
        if not (root / DONE).exists():
            shutil.rmtree(root, ignore_errors=True)
            root.mkdir(parents=True)
            _run_or_skip([apt, "download", *PACKAGES], root)
            for package in root.glob("*.deb"):
                _run_or_skip([dpkg, "-x", str(package), str(root)], root)
            (root / DONE).touch()
    return root


def _run_or_skip(command: list[str], folder: Path) -> None:
    """Run a command in a folder; skip the test if it fails."""
    try:
        subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT_S, check=True
        )
    except subprocess.CalledProcessError as error:
        pytest.skip(f"sshd is not installed, and `{shlex.join(command)}` fails: {error.stderr.strip()}")
    except subprocess.TimeoutExpired:
        pytest.skip(f"sshd is not installed, and `{shlex.join(command)}` takes too long")


class SshServer:
    """An sshd on a port of 127.0.0.1; a context manager.

    Attributes:
        host: The host's name for `ssh_command`.
        port: The port; `start` after `stop` uses the same.
        ssh_command: ssh with the client's configuration.
        environ: Variables for a process that connects to the host.
        memctl: The program `memctl` on the host. Tests may replace or remove it; `use` writes it again.
        config: The client's configuration. Tests may change it; `reset_config` writes it again.
    """

    host: Final = HOST

    def __init__(self) -> None:
        self._program, self._package = sshd_program()
        self.root = Path(tempfile.mkdtemp(prefix="memd-sshd-", dir="/tmp"))
        self.port = 0
        self.config = self.root / "client_config"
        self.memctl = self.root / "bin" / "memctl"
        self.ssh_command = ["ssh", "-F", str(self.config)]
        self.environ = {"MEMD_SSH": shlex.join(self.ssh_command)}
        self._log = self.root / "sshd.log"
        self._process: subprocess.Popen[bytes] | None = None
        for folder in ("bin", "home"):
            (self.root / folder).mkdir()
        for name in ("host_key", "client_key", "other_key"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.root / name)], check=True
            )
        shutil.copy(self.root / "client_key.pub", self.root / "authorized_keys")
        self.use({})

    def __enter__(self) -> SshServer:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()
        shutil.rmtree(self.root, ignore_errors=True)

    def use(self, environ: Mapping[str, str]) -> None:
        """Write the host's `memctl`, with these variables in its environment."""
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environ.items())
        code = shlex.quote("from memd.cli.main import main; main()")
        self.memctl.write_text(f'#!/bin/sh\n{exports}exec {shlex.quote(sys.executable)} -c {code} "$@"\n')
        self.memctl.chmod(0o755)

    def start(self) -> None:
        """Start sshd and wait until it accepts connections."""
        for _ in range(START_ATTEMPTS):
            self.port = self.port or _free_port()
            self.reset_config()
            self._write_server_config()
            if self._try_start():
                return
            if "in use" not in self._log_text():
                break
            self.port = 0
        pytest.skip(f"sshd does not start here: {self._log_text()[-500:]}")

    def stop(self) -> None:
        """Kill sshd and its connections. Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            sessions = self._sessions(process.pid)
            process.kill()
            process.wait()
            for pid in sessions:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def reset_config(self, *, name: str = HOST, **options: object) -> None:
        """Write the client's configuration for a name of the host; options are added or replace its own."""
        (self.root / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {self._key('host_key')}")
        own = {
            "HostName": "127.0.0.1",
            "Port": self.port,
            "IdentityFile": self.root / "client_key",
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "UserKnownHostsFile": self.root / "known_hosts",
            "GlobalKnownHostsFile": "none",
            "StrictHostKeyChecking": "ask",
        }
        lines = [f"  {name} {value}\n" for name, value in {**own, **options}.items()]
        self.config.write_text(f"Host {name}\n{''.join(lines)}")

    def trust_other_key(self) -> None:
        """Let the client know another key of the host than the one it has."""
        (self.root / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {self._key('other_key')}")

    def logins(self) -> int:
        """Return how many connections logged in since sshd was started."""
        return self._log_text().count("Accepted publickey")

    def connections(self) -> int:
        """Return how many processes of sshd serve connections."""
        return 0 if self._process is None else len(self._sessions(self._process.pid))

    def _key(self, name: str) -> str:
        return (self.root / f"{name}.pub").read_text()

    def _write_server_config(self) -> None:
        """Write the configuration of sshd."""
        options = {
            "Port": self.port,
            "ListenAddress": "127.0.0.1",
            "HostKey": self.root / "host_key",
            "AuthorizedKeysFile": self.root / "authorized_keys",
            "PidFile": "none",
            "PermitRootLogin": "prohibit-password",
            "StrictModes": "no",
            "UsePAM": "no",
            "PasswordAuthentication": "no",
            "KbdInteractiveAuthentication": "no",
            "PrintMotd": "no",
            "SetEnv": f"PATH={self.root}/bin:/usr/bin:/bin HOME={self.root}/home",
        }
        if self._package is not None:
            libraries = self._package / "usr" / "lib" / "openssh"
            for option, name in (("SshdSessionPath", "sshd-session"), ("SshdAuthPath", "sshd-auth")):
                if (libraries / name).exists():
                    options[option] = libraries / name
        text = "".join(f"{name} {value}\n" for name, value in options.items())
        (self.root / "sshd_config").write_text(text)

    def _try_start(self) -> bool:
        """Start sshd; return whether it accepts connections."""
        command = [str(self._program), "-D", "-e", "-f", str(self.root / "sshd_config")]
        if os.geteuid() == 0 and not Path("/run/sshd").is_dir():
            command = ["unshare", "--mount", "sh", "-c", PRIVATE_RUN, "sh", *command]
        environ = dict(os.environ)
        if self._package is not None:
            folders = {str(path.parent) for path in self._package.rglob("*.so*")}
            environ["LD_LIBRARY_PATH"] = ":".join(sorted(folders))
        with self._log.open("wb") as log:
            try:
                process = subprocess.Popen(
                    command,
                    env=environ,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            except OSError as error:
                log.write(f"{command[0]}: {error}".encode())
                return False
        deadline = time.monotonic() + START_TIMEOUT_S
        while process.poll() is None and time.monotonic() < deadline:
            if "Server listening" in self._log_text():
                self._process = process
                return True
            time.sleep(0.01)
        process.kill()
        process.wait()
        return False

    def _log_text(self) -> str:
        return self._log.read_text(errors="replace")

    @staticmethod
    def _sessions(parent: int) -> list[int]:
        """Return the sshd processes below a process, each of which serves a connection."""
        listed = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid=,comm="], capture_output=True, text=True, check=True
        ).stdout
        rows = [line.split(maxsplit=2) for line in listed.splitlines()]
        return list(_below(parent, [(int(pid), int(above), name) for pid, above, name in rows]))


def _below(parent: int, rows: list[tuple[int, int, str]]) -> Iterator[int]:
    """Yield the sshd processes below a process."""
    for pid, above, name in rows:
        if above == parent and "sshd" in name:
            yield pid
            yield from _below(pid, rows)


def _free_port() -> int:
    """Return a port of 127.0.0.1 that no process uses now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
