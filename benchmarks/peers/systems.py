"""The compared systems: each indexes notes, and searches in a running process and from the shell."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from abc import ABC, abstractmethod
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Final, NamedTuple, Self

from benchmarks.peers.install import OpenClawPackage
from benchmarks.processes import ChildError, Driver, run_once
from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

DRIVERS: Final = Path(__file__).resolve().parent

RESULTS: Final = 6
"""Hits requested, the default of memd and OpenClaw."""

START_S: Final = 180.0
INDEX_S: Final = 1800.0
SEARCH_S: Final = 120.0


class IndexingRun(NamedTuple):
    """Time and chunks of an index of all notes."""

    ms: float
    chunks: int


class ProcessSearch(NamedTuple):
    """Time of a search in a running process, and the notes it found, best first."""

    ms: float
    paths: list[str]


class SystemSetup(NamedTuple):
    """Folders, endpoint and model of a side."""

    root: Path
    notes: Path
    endpoint: str
    model: str


class ComparedSystem(ABC):
    """One compared system.

    Resources: its processes, started by `start` and ended by leaving the context.
    """

    name: ClassVar[str]

    def __init__(self, setup: SystemSetup) -> None:
        self.setup = setup
        self.stack = ExitStack()
        setup.root.mkdir(parents=True)

    def __enter__(self) -> Self:
        with self.stack:
            self.start()
            self.stack = self.stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stack.close()

    @abstractmethod
    def start(self) -> None:
        """Start its processes; return once they run."""

    @abstractmethod
    def index(self) -> IndexingRun:
        """Index all notes; always the first call."""

    @abstractmethod
    def search(self, query: str) -> ProcessSearch:
        """Search in the running process."""

    @property
    @abstractmethod
    def pid(self) -> int:
        """The process that searches."""

    @abstractmethod
    def shell_ms(self, query: str) -> float:
        """Return the milliseconds of a search with the system's own command, a complete process."""


class MemdSystem(ComparedSystem):
    """memd with its defaults, except the endpoint: a daemon of its own."""

    name = "memd"

    def start(self) -> None:
        """Start the daemon."""
        endpoint = {"baseUrl": self.setup.endpoint}
        search = {"provider": "compatible", "model": self.setup.model, "remote": endpoint}
        self._home = self.stack.enter_context(StateHome({"agents": {"defaults": {"memorySearch": search}}}))
        self._daemon = self.stack.enter_context(DaemonProcess(self._home))
        self._client: Client = self.stack.enter_context(self._daemon.client(timeout_s=INDEX_S))

    def index(self) -> IndexingRun:
        """Index all notes; they are moved in now, because the daemon indexes from its start on."""
        fresh = self._home.workspace() / "fresh"
        shutil.copytree(self.setup.notes, fresh)
        fresh.rename(self._home.workspace() / "memory")
        started = time.perf_counter()
        report = self._client.index().agents[0]
        took_ms = (time.perf_counter() - started) * 1000
        status = self._client.status().agents[0]
        if report.error or report.degraded or status.vectors != status.chunks:
            raise ChildError(
                f"{status.vectors} of {status.chunks} vectors: {report.error or report.degraded}"
            )
        return IndexingRun(took_ms, status.chunks)

    def search(self, query: str) -> ProcessSearch:
        """Search over the socket."""
        started = time.perf_counter()
        reply = self._client.search(query, max_results=RESULTS)
        took_ms = (time.perf_counter() - started) * 1000
        if reply.mode != "hybrid":
            raise ChildError(f"search is {reply.mode}: {reply.degraded}")
        return ProcessSearch(took_ms, [hit.path for hit in reply.hits])

    @property
    def pid(self) -> int:
        """The daemon's process id."""
        return self._daemon.pid

    def shell_ms(self, query: str) -> float:
        """Search with `memctl search`."""
        environ = {**os.environ, **self._home.environ(), "MEMD_AUTOSTART": "0"}
        program = [sys.executable, "-c", "from memd.cli.main import main; main()"]
        installed = Path(sys.executable).with_name("memctl")
        command = [installed] if installed.exists() else program
        options = ["--json", "--max-results", str(RESULTS)]
        return run_once([*command, "search", *options, query], environ, self.setup.root, SEARCH_S).ms


class PeerSystem(ComparedSystem):
    """Common to both peers: a driver, and a home other than the user's."""

    def __init__(self, setup: SystemSetup) -> None:
        super().__init__(setup)
        self.notes = setup.root / "workspace"
        shutil.copytree(setup.notes, self.notes / "memory")

    def start(self) -> None:
        """Start the driver."""
        log = self.setup.root / "driver.log"
        self._driver = self.stack.enter_context(Driver(self.driver_command(), self.environ(), log))
        self._driver.ask({"do": "hello"}, START_S)

    def environ(self) -> dict[str, str]:
        """Return all variables of its processes, without the user's settings."""
        return {"PATH": os.defpath, "HOME": str(self.setup.root), "LANG": "C.UTF-8", "NO_COLOR": "1"}

    @abstractmethod
    def driver_command(self) -> list[str | Path]:
        """Return the command of its driver."""

    @abstractmethod
    def shell_command(self, query: str) -> list[str | Path]:
        """Return the command that searches from the shell."""

    def index(self) -> IndexingRun:
        """Index all notes."""
        answer = self._driver.ask({"do": "index"}, INDEX_S)
        return IndexingRun(answer["ms"], answer["chunks"])

    def search(self, query: str) -> ProcessSearch:
        """Search in the running process."""
        answer = self._driver.ask({"do": "search", "query": query, "limit": RESULTS}, SEARCH_S)
        return ProcessSearch(answer["ms"], answer["paths"])

    @property
    def pid(self) -> int:
        """The process id of the driver, which searches."""
        return self._driver.pid

    def shell_ms(self, query: str) -> float:
        """Search with the program's own command, after ending the driver: memsearch's database can be open once."""
        self.stack.close()
        return run_once(self.shell_command(query), self.environ(), self.setup.root, SEARCH_S).ms


class OpenClawSystem(PeerSystem):
    """OpenClaw with its defaults, except the endpoint."""

    name = "openclaw"

    def __init__(self, setup: SystemSetup, package: OpenClawPackage) -> None:
        super().__init__(setup)
        self._package = package
        remote = {"baseUrl": setup.endpoint, "apiKey": "key"}
        search = {"provider": "openai-compatible", "model": setup.model, "remote": remote}
        settings: dict[str, Any] = {
            "gateway": {"mode": "local"},
            "agents": {"defaults": {"workspace": str(self.notes)}},
            "memory": {"search": search},
        }
        (setup.root / "openclaw.json").write_text(json.dumps(settings))

    def environ(self) -> dict[str, str]:
        """Return its variables, with its own Node first on the path."""
        base = super().environ()
        state = {"OPENCLAW_STATE_DIR": base["HOME"], "OPENCLAW_CONFIG_PATH": f"{base['HOME']}/openclaw.json"}
        return {**base, **state, "PATH": f"{self._package.node.parent}:{base['PATH']}"}

    def driver_command(self) -> list[str | Path]:
        """Return the command of its driver."""
        return [self._package.node, DRIVERS / "openclaw_driver.mjs", self._package.package]

    def shell_command(self, query: str) -> list[str | Path]:
        """Return `openclaw memory search`."""
        program = [self._package.node, self._package.package / "openclaw.mjs"]
        return [*program, "memory", "search", query, "--json", "--max-results", str(RESULTS)]


class MemsearchSystem(PeerSystem):
    """memsearch with its defaults, except the endpoint and the path of its database."""

    name = "memsearch"

    def __init__(self, setup: SystemSetup, programs: Path) -> None:
        super().__init__(setup)
        self._programs = programs
        self._database = setup.root / "milvus.db"

    def driver_command(self) -> list[str | Path]:
        """Return the command of its driver."""
        program = [self._programs / "python", DRIVERS / "memsearch_driver.py"]
        return [*program, self._database, self.notes, self.setup.endpoint, self.setup.model]

    def shell_command(self, query: str) -> list[str | Path]:
        """Return `memsearch search`."""
        options = {
            "--top-k": str(RESULTS),
            "--provider": "openai",
            "--model": self.setup.model,
            "--base-url": self.setup.endpoint,
            "--api-key": "key",
            "--milvus-uri": str(self._database),
        }
        arguments = [part for option in options.items() for part in option]
        return [self._programs / "memsearch", "search", query, "--json-output", *arguments]
