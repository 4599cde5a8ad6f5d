"""One home directory with two state folders of OpenClaw: the default one, and that of `--profile work`."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final

from memd.service.install.lock_holder import find_holder, stop_holder
from memd_client.discovery import socket_path
from tests.support.state_homes import KEYWORD_ONLY, StateHome

FOLDERS: Final = {"home": ".openclaw", "work": ".openclaw-work"}
"""The profiles and their state folders."""

NOTES: Final = {
    "home": "The staging gateway listens on port 4711.",
    "work": "The staging gateway listens on port 8443.",
}
"""The only note of each profile at first."""

QUERY: Final = "which port does the staging gateway use"
"""Finds the note of both profiles."""

MEMCTL: Final = ("-c", "from memd.cli.main import main; main()")


class Profiles:
    """A home with two profiles; daemons that clients start are stopped at the end of the block."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="memd-", dir="/tmp"))
        for name, folder in FOLDERS.items():
            state = self.root / folder
            (state / "workspace").mkdir(parents=True)
            (state / "openclaw.json").write_text(json.dumps(KEYWORD_ONLY))
            (state / "workspace" / "MEMORY.md").write_text(f"# Gateway\n\n{NOTES[name]}\n")

    def __enter__(self) -> Profiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sockets = {path.removesuffix(".lock") for path in map(str, (self.root / "run").rglob("*.lock"))}
        for socket in sockets | {socket_path(self.environ(name)) for name in FOLDERS}:
            if pid := find_holder(socket):
                stop_holder(socket, pid)
        shutil.rmtree(self.root, ignore_errors=True)

    def state(self, name: str) -> Path:
        """Return a profile's state folder."""
        return self.root / FOLDERS[name]

    def environ(self, name: str) -> dict[str, str]:
        """Return the environment of a profile, as OpenClaw sets it; the default profile has no variable."""
        environ = {
            "HOME": str(self.root),
            "XDG_RUNTIME_DIR": str(self.root / "run"),
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "XDG_CACHE_HOME": str(self.root / "cache"),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
        }
        if name != "home":
            state = self.state(name)
            environ["OPENCLAW_STATE_DIR"] = str(state)
            environ["OPENCLAW_CONFIG_PATH"] = str(state / "openclaw.json")
        return environ

    def socket(self, name: str) -> str:
        """Return the socket of a profile's daemon."""
        return socket_path(self.environ(name))

    def run(
        self, name: str, *arguments: str, stdin: str = "", **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run Python in a profile, with an input and more variables, and return the finished process."""
        return subprocess.run(
            [sys.executable, *arguments],
            env={**self.environ(name), **more},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd="/",
            input=stdin,
        )

    def memctl(self, name: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run `memctl` in a profile, which starts its daemon, and return the finished process."""
        return self.run(name, *MEMCTL, *arguments, **more)

    def text(self, name: str) -> str:
        """Return the text of all files of a profile's workspace."""
        files = [path for path in (self.state(name) / "workspace").rglob("*") if path.is_file()]
        return "\n".join(path.read_text() for path in files)


class ProfileHome(StateHome):
    """One of the profiles, whose folder OpenClaw finds by its own option `--profile`."""

    def __init__(self, profiles: Profiles, name: str) -> None:
        self._profiles = profiles
        self.root = profiles.root
        self.state = profiles.state(name)
        self.socket = Path(profiles.socket(name))

    def environ(self) -> dict[str, str]:
        """Return the environment of the user's shell."""
        return self._profiles.environ("home")


def other(name: str) -> str:
    """Return the other profile."""
    return next(each for each in FOLDERS if each != name)


@contextlib.contextmanager
def variables(environ: dict[str, str]) -> Iterator[None]:
    """Make this process have only these variables inside the block."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
