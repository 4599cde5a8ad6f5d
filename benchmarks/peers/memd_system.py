"""memd in the comparison: a daemon of its own, used through the client and memctl."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from benchmarks.peers.child import ChildError, processor_ms, run_once
from benchmarks.peers.system import (
    INDEX_S,
    RESULTS,
    SHELL_S,
    IndexingRun,
    ProcessSearch,
    ShellSearch,
    SystemSetup,
)
from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome


class MemdSystem:
    """memd with its defaults, except the endpoint."""

    name: ClassVar[str] = "memd"

    def __init__(self, setup: SystemSetup) -> None:
        self._setup = setup
        self._stack = ExitStack()
        self._client_s = 0.0

    def __enter__(self) -> Self:
        setup = self._setup
        setup.root.mkdir(parents=True)
        with ExitStack() as stack:
            self._home = stack.enter_context(StateHome())
            remote = {"baseUrl": setup.endpoint}
            search = {"provider": "compatible", "model": setup.model, "remote": remote}
            self._home.configure({"agents": {"defaults": {"memorySearch": search}}})
            self._daemon = stack.enter_context(DaemonProcess(self._home))
            self._client: Client = stack.enter_context(self._daemon.client(timeout_s=INDEX_S))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def index(self) -> IndexingRun:
        """Index all notes; they are moved in now, because the daemon indexes from its start on."""
        fresh = self._home.workspace() / "fresh"
        shutil.copytree(self._setup.notes, fresh)
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
        started, began_s = time.perf_counter(), time.thread_time()
        found = self._client.search(query, max_results=RESULTS)
        took_ms = (time.perf_counter() - started) * 1000
        self._client_s += time.thread_time() - began_s
        if found.mode != "hybrid":
            raise ChildError(f"search is {found.mode}: {found.degraded}")
        return ProcessSearch(took_ms, [hit.path for hit in found.hits])

    @property
    def pid(self) -> int:
        """The daemon's process id."""
        return self._daemon.pid

    def processor_ms(self) -> float:
        """Return the CPU time of the daemon, and of the client during searches."""
        return processor_ms(self.pid) + self._client_s * 1000

    def rest(self) -> None:
        """Do nothing: memctl needs the daemon."""

    def shell(self, query: str) -> ShellSearch:
        """Search with `memctl search`."""
        environ = {**os.environ, **self._home.environ(), "MEMD_AUTOSTART": "0"}
        program = [sys.executable, "-c", "from memd.cli.main import main; main()"]
        installed = Path(sys.executable).with_name("memctl")
        command = [installed] if installed.exists() else program
        options = ["--json", "--max-results", str(RESULTS)]
        run = run_once([*command, "search", *options, query], environ, self._setup.root, SHELL_S)
        return ShellSearch(run, [hit["path"] for hit in json.loads(run.output)["hits"]])
