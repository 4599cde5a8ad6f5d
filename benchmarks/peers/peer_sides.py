"""OpenClaw and memsearch as sides: a driver in each one's own language, and each one's own command."""

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
from benchmarks.peers.side import (
    INDEX_S,
    RESULTS,
    SEARCH_S,
    SHELL_S,
    START_S,
    Answer,
    Corner,
    Indexed,
    ShellAnswer,
)

DRIVERS = Path(__file__).resolve().parent


class PeerSide(ABC):
    """What both peers have in common: a driver, and a home that isn't the user's.

    Args:
        corner: Where it lives.
    """

    name: ClassVar[str]

    def __init__(self, corner: Corner) -> None:
        self._corner = corner
        self._notes = corner.root / "workspace"
        self._notes.mkdir(parents=True)
        shutil.copytree(corner.notes, self._notes / "memory")
        self._driver: Driver | None = None

    def __enter__(self) -> Self:
        self._driver = Driver(self.driver_command(), self.environ(), self._corner.root / "driver.log")
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
        """Return all variables of its processes; nothing of the user's settings is among them."""
        return {"PATH": os.defpath, "HOME": str(self._corner.root), "LANG": "C.UTF-8", "NO_COLOR": "1"}

    @abstractmethod
    def driver_command(self) -> list[str | Path]:
        """Return the command of its driver."""

    def index(self) -> Indexed:
        """Index all notes."""
        answer = self._ask({"do": "index"}, INDEX_S)
        return Indexed(answer["ms"], answer["chunks"])

    def search(self, question: str) -> Answer:
        """Search in the running process."""
        answer = self._ask({"do": "search", "question": question, "limit": RESULTS}, SEARCH_S)
        return Answer(answer["ms"], answer["paths"])

    @property
    def pid(self) -> int:
        """The process id of the driver, which searches in its own process."""
        assert self._driver is not None
        return self._driver.pid

    def processor_ms(self) -> float:
        """Return the processor time of the driver."""
        return processor_ms(self.pid)

    def rest(self) -> None:
        """End the driver."""
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def _ask(self, question: Mapping[str, Any], deadline_s: float) -> dict[str, Any]:
        assert self._driver is not None
        return self._driver.ask(question, deadline_s)


class OpenClawSide(PeerSide):
    """OpenClaw with its defaults, but for the endpoint."""

    name = "openclaw"

    def __init__(self, corner: Corner, package: OpenClawPackage) -> None:
        super().__init__(corner)
        self._package = package
        remote = {"baseUrl": corner.endpoint, "apiKey": "key"}
        search = {"provider": "openai-compatible", "model": corner.model, "remote": remote}
        settings = {
            "gateway": {"mode": "local"},
            "agents": {"defaults": {"workspace": str(self._notes)}},
            "memory": {"search": search},
        }
        (corner.root / "openclaw.json").write_text(json.dumps(settings))

    def environ(self) -> dict[str, str]:
        """Return its variables, with its own Node first on the path."""
        base = super().environ()
        state = {"OPENCLAW_STATE_DIR": base["HOME"], "OPENCLAW_CONFIG_PATH": f"{base['HOME']}/openclaw.json"}
        return {**base, **state, "PATH": f"{self._package.node.parent}:{base['PATH']}"}

    def driver_command(self) -> list[str | Path]:
        """Return the command of its driver."""
        return [self._package.node, DRIVERS / "openclaw_driver.mjs", self._package.package]

    def shell(self, question: str) -> ShellAnswer:
        """Search by `openclaw memory search`."""
        program = [self._package.node, self._package.package / "openclaw.mjs"]
        options = ["--json", "--max-results", str(RESULTS)]
        run = run_once(
            [*program, "memory", "search", question, *options], self.environ(), self._corner.root, SHELL_S
        )
        return ShellAnswer(run, [hit["path"] for hit in json.loads(run.output)["results"]])


class MemsearchSide(PeerSide):
    """memsearch with its defaults, but for the endpoint and where its database is."""

    name = "memsearch"

    def __init__(self, corner: Corner, programs: Path) -> None:
        super().__init__(corner)
        self._programs = programs
        self._database = corner.root / "milvus.db"

    def driver_command(self) -> list[str | Path]:
        """Return the command of its driver."""
        program = [self._programs / "python", DRIVERS / "memsearch_driver.py"]
        return [*program, self._database, self._notes, self._corner.endpoint, self._corner.model]

    def shell(self, question: str) -> ShellAnswer:
        """Search by `memsearch search`."""
        options = {
            "--top-k": str(RESULTS),
            "--provider": "openai",
            "--model": self._corner.model,
            "--base-url": self._corner.endpoint,
            "--api-key": "key",
            "--milvus-uri": str(self._database),
        }
        arguments = [part for option in options.items() for part in option]
        run = run_once(
            [self._programs / "memsearch", "search", question, "--json-output", *arguments],
            self.environ(),
            self._corner.root,
            SHELL_S,
        )
        return ShellAnswer(run, [hit["source"] for hit in json.loads(run.output)])
