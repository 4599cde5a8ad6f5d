"""OpenClaw and memsearch in the comparison."""

from __future__ import annotations

import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from benchmarks.peers.child import Driver, processor_ms, run_once
from benchmarks.peers.install import OpenClawPackage
from benchmarks.peers.system import (
    INDEX_S,
    RESULTS,
    SEARCH_S,
    SHELL_S,
    START_S,
    IndexingRun,
    ProcessSearch,
    ShellSearch,
    SystemSetup,
)

DRIVERS = Path(__file__).resolve().parent


class PeerSystem(ABC):
    """Common to both peers: a driver, and a home other than the user's."""

    name: ClassVar[str]

    def __init__(self, setup: SystemSetup) -> None:
        self._setup = setup
        self._notes = setup.root / "workspace"
        self._notes.mkdir(parents=True)
        shutil.copytree(setup.notes, self._notes / "memory")
        self._driver: Driver | None = None

    def __enter__(self) -> Self:
        self._driver = Driver(self.driver_command(), self.environ(), self._setup.root / "driver.log")
        try:
            self._ask({"do": "hello"}, START_S)
        except BaseException:
            self.rest()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.rest()

    def environ(self) -> dict[str, str]:
        """Return all variables of its processes, without the user's settings."""
        return {"PATH": os.defpath, "HOME": str(self._setup.root), "LANG": "C.UTF-8", "NO_COLOR": "1"}

    @abstractmethod
    def driver_command(self) -> list[str | Path]:
        """Return the command of its driver."""

    def index(self) -> IndexingRun:
        """Index all notes."""
        answer = self._ask({"do": "index"}, INDEX_S)
        return IndexingRun(answer["ms"], answer["chunks"])

    def search(self, query: str) -> ProcessSearch:
        """Search in the running process."""
        answer = self._ask({"do": "search", "query": query, "limit": RESULTS}, SEARCH_S)
        return ProcessSearch(answer["ms"], answer["paths"])

    @property
    def pid(self) -> int:
        """The process id of the driver, which searches."""
        assert self._driver is not None
        return self._driver.pid

    def processor_ms(self) -> float:
        """Return the CPU time of the driver."""
        return processor_ms(self.pid)

    def rest(self) -> None:
        """End the driver."""
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def _ask(self, query: Mapping[str, Any], deadline_s: float) -> dict[str, Any]:
        assert self._driver is not None
        return self._driver.ask(query, deadline_s)


class OpenClawSystem(PeerSystem):
    """OpenClaw with its defaults, except the endpoint."""

    name = "openclaw"

    def __init__(self, setup: SystemSetup, package: OpenClawPackage) -> None:
        super().__init__(setup)
        self._package = package
        remote = {"baseUrl": setup.endpoint, "apiKey": "key"}
        search = {"provider": "openai-compatible", "model": setup.model, "remote": remote}
        settings = {
            "gateway": {"mode": "local"},
            "agents": {"defaults": {"workspace": str(self._notes)}},
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

    def shell(self, query: str) -> ShellSearch:
        """Search with `openclaw memory search`."""
        program = [self._package.node, self._package.package / "openclaw.mjs"]
        options = ["--json", "--max-results", str(RESULTS)]
        run = run_once(
            [*program, "memory", "search", query, *options], self.environ(), self._setup.root, SHELL_S
        )
        return ShellSearch(run, [hit["path"] for hit in json.loads(run.output)["results"]])


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
        return [*program, self._database, self._notes, self._setup.endpoint, self._setup.model]

    def shell(self, query: str) -> ShellSearch:
        """Search with `memsearch search`."""
        options = {
            "--top-k": str(RESULTS),
            "--provider": "openai",
            "--model": self._setup.model,
            "--base-url": self._setup.endpoint,
            "--api-key": "key",
            "--milvus-uri": str(self._database),
        }
        arguments = [part for option in options.items() for part in option]
        run = run_once(
            [self._programs / "memsearch", "search", query, "--json-output", *arguments],
            self.environ(),
            self._setup.root,
            SHELL_S,
        )
        return ShellSearch(run, [hit["source"] for hit in json.loads(run.output)])
