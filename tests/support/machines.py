"""Several machines with the same memory: a daemon each, and a bare repository between them."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memd_client.messages import RemoteReply, RemoteStatus
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome

DEADLINE_S = 120.0


class MemoryMachine:
    """One machine: its state directory and its daemon."""

    def __init__(self, environ: dict[str, str] | None = None) -> None:
        self.home = StateHome(KEYWORD_ONLY)
        self.daemon = DaemonProcess(self.home, environ)
        self.workspace = self.home.workspace()

    def close(self) -> None:
        """Stop the daemon and delete everything."""
        self.daemon.stop()
        self.home.__exit__(None, None, None)

    def remote(self, action: str, **params: Any) -> RemoteReply:
        """Send the request `remote`."""
        with self.daemon.client() as client:
            return client.remote(action, **params)

    def status(self) -> RemoteStatus:
        """Return the status of the only remote."""
        [found] = self.remote("status").remotes
        return found

    def note(self, path: str, text: str) -> Path:
        """Write a note."""
        return self.home.note(path, text)

    def append(self, path: str, text: str) -> None:
        """Append to a note in one write."""
        location = self.workspace / path
        location.parent.mkdir(parents=True, exist_ok=True)
        with location.open("a", encoding="utf-8") as file:
            file.write(text)

    def text(self, path: str) -> str:
        """Return the text of a note."""
        return (self.workspace / path).read_text(encoding="utf-8")

    def files(self) -> dict[str, bytes]:
        """Return the Markdown of the workspace by path."""
        return {
            str(path.relative_to(self.workspace)): path.read_bytes()
            for path in sorted(self.workspace.rglob("*.md"))
        }

    def hits(self, query: str) -> list[str]:
        """Return the paths of hits."""
        with self.daemon.client() as client:
            return [hit.path for hit in client.search(query).hits]

    def repository(self, agent: str = "main") -> Path:
        """Return memd's git directory of an agent."""
        return self.home.state / "memory" / "remotes" / f"{agent}.git"


class BareRepository:
    """A bare repository on the server."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "hub.git"
        subprocess.run(["git", "init", "--quiet", "--bare", str(self.path)], check=True)

    @property
    def url(self) -> str:
        """Its address."""
        return str(self.path)

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        """Return the output of a git command in the repository."""
        return git_in(self.path, *arguments, stdin=stdin)


def git_in(directory: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Return the output of a git command in a git directory."""
    made = subprocess.run(
        ["git", "--git-dir", str(directory), *arguments], input=stdin, capture_output=True, check=False
    )
    assert made.returncode == 0, made.stderr.decode()
    return made.stdout.decode("utf-8", "replace").strip()


@contextlib.contextmanager
def machines(
    count: int, environ: dict[str, str] | None = None
) -> Iterator[tuple[list[MemoryMachine], BareRepository]]:
    """Yield running machines without notes, and an empty repository."""
    with tempfile.TemporaryDirectory(prefix="memd-hub-", dir="/tmp") as folder:
        made = [MemoryMachine(environ) for _ in range(count)]
        try:
            for each in made:
                each.workspace.mkdir()
                each.daemon.start()
            yield made, BareRepository(Path(folder))
        finally:
            for each in made:
                each.close()


def connect(made: list[MemoryMachine], url: str) -> None:
    """Connect the machines to a repository; the first one sends its notes."""
    made[0].remote("add", url=url)
    for each in made[1:]:
        each.remote("clone", url=url)


def settle(made: list[MemoryMachine]) -> None:
    """Sync until all machines have the same files."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        for each in made:
            each.remote("sync")
        states = [each.files() for each in made]
        if all(state == states[0] for state in states):
            return
        assert time.monotonic() < deadline, [sorted(state) for state in states]


def wait_until(condition: Callable[[], object], timeout_s: float = DEADLINE_S) -> None:
    """Wait until a function returns something true."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not become true"
        time.sleep(0.05)
