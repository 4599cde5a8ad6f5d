"""The Python packages as published, and environments to install them into, away from the repository.

    build_packages(folder)                    both sdists and both wheels
    environment(folder)                       an empty virtual environment
    InstalledPrograms(folder / "bin", home)   programs of an installation, run outside of the repository

Packages come from the configured pip index; tests are skipped if it can't be reached.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.sockets import short_directory, wait_until
from tests.support.tree import ROOT

BUILD_S: Final = 120.0
INSTALL_S: Final = 600.0
RUN_S: Final = 120.0

OFFLINE: Final = re.compile(
    r"NewConnectionError|ConnectTimeout|NameResolution|Failed to fetch|dns error|timed out"
)
FOREIGN: Final = ("PYTHON", "VIRTUAL_ENV", "XDG_", "OPENCLAW_", "MEMD_", "PIPX_", "UV_TOOL")
"""Prefixes of variables that would redirect an installation."""


def build_packages(where: Path, kind: str | None = None, source: Path = ROOT) -> Path:
    """Build the client and the daemon into a folder, and return it."""
    for name in ("client", "daemon"):
        command = [sys.executable, "-m", "hatchling", "build", "-d", str(where)]
        ran = subprocess.run(
            [*command, *(["-t", kind] if kind else [])],
            cwd=source / name,
            capture_output=True,
            text=True,
            timeout=BUILD_S,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
    return where


def wheels(folder: Path) -> list[Path]:
    """Return the client's wheel and the daemon's."""
    return [next(folder.glob(f"memd_{name}-*.whl")) for name in ("client", "daemon")]


def environment(where: Path) -> Path:
    """Make an empty virtual environment and return its programs' folder."""
    venv.create(where, with_pip=True)
    return where / "bin"


def install(
    command: Sequence[str | Path], environ: Mapping[str, str] | None = None, cwd: Path = Path("/")
) -> None:
    """Run an installer; skip the test if the package index can't be reached."""
    ran = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=clean_environ() if environ is None else dict(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=INSTALL_S,
        check=False,
    )
    said = ran.stdout + ran.stderr
    if ran.returncode and OFFLINE.search(said):
        pytest.skip(f"the package index can't be reached: {said[-300:]}")
    assert ran.returncode == 0, said[-3000:]


def clean_environ() -> dict[str, str]:
    """Return this process's variables without those that redirect an installation."""
    return {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}


class InstalledPrograms:
    """An installation with its own home directory."""

    def __init__(self, programs: Path, home: Path, run_dir: Path, tools: Sequence[Path] = ()) -> None:
        self.programs = programs
        self.home = home
        path = os.pathsep.join(map(str, (programs, *tools, "/usr/bin", "/bin")))
        self.environ = {
            **clean_environ(),
            "HOME": str(home),
            "PATH": path,
            "MEMD_SOCKET": str(run_dir / "s"),
            "OPENCLAW_STATE_DIR": str(home / "state"),
        }

    def run(self, *command: str | Path, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run a program of the installation and check its exit code, unless `code` is None."""
        ran = subprocess.run(
            list(map(str, command)),
            cwd=self.home,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        assert code is None or ran.returncode == code, f"{ran.stdout[-3000:]}\n{ran.stderr[-3000:]}"
        return ran

    def memctl(self, *arguments: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run memctl."""
        return self.run(self.programs / "memctl", *arguments, code=code)

    def json(self, *arguments: str) -> Any:
        """Run memctl and return its JSON output."""
        return json.loads(self.memctl(*arguments, "--json").stdout)

    def paste(self, message: str) -> str:
        """Run the command in backticks of a message, as a shell does; return it."""
        [command] = re.findall("`([^`]+)`", message)
        install(["/bin/sh", "-c", command], self.environ)
        return str(command)

    def stop(self) -> None:
        """Stop its daemon, if one is running."""
        self.environ["MEMD_AUTOSTART"] = "0"
        ran = self.memctl("status", "--json", code=None)
        if ran.returncode == 0:
            os.kill(json.loads(ran.stdout)["pid"], signal.SIGTERM)
            wait_until(lambda: not Path(self.environ["MEMD_SOCKET"]).exists())


@contextmanager
def installation(programs: Path, home: Path, tools: Sequence[Path] = ()) -> Iterator[InstalledPrograms]:
    """Yield an installation; its daemon is stopped afterwards."""
    home.mkdir(exist_ok=True)
    with short_directory() as run_dir:
        made = InstalledPrograms(programs, home, run_dir, tools)
        try:
            yield made
        finally:
            if (programs / "memctl").exists():
                made.stop()
