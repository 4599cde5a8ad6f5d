"""memd as a side: a daemon of its own, asked by the client and by memctl."""

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
from benchmarks.peers.side import INDEX_S, RESULTS, SHELL_S, Answer, Corner, Indexed, ShellAnswer
from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome


class MemdSide:
    """memd with its defaults, but for the endpoint."""

    name: ClassVar[str] = "memd"

    def __init__(self, corner: Corner) -> None:
        self._corner = corner
        self._stack = ExitStack()
        self._client_s = 0.0

    def __enter__(self) -> Self:
        corner = self._corner
        corner.root.mkdir(parents=True)
        with ExitStack() as stack:
            self._home = stack.enter_context(StateHome())
            remote = {"baseUrl": corner.endpoint}
            search = {"provider": "compatible", "model": corner.model, "remote": remote}
            self._home.configure({"agents": {"defaults": {"memorySearch": search}}})
            self._daemon = stack.enter_context(DaemonProcess(self._home))
            self._client: Client = stack.enter_context(self._daemon.client(timeout_s=INDEX_S))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def index(self) -> Indexed:
        """Index all notes; they appear only now, for the daemon looks by itself from its start on."""
        fresh = self._home.workspace() / "fresh"
        shutil.copytree(self._corner.notes, fresh)
        fresh.rename(self._home.workspace() / "memory")
        started = time.perf_counter()
        report = self._client.index().agents[0]
        took_ms = (time.perf_counter() - started) * 1000
        status = self._client.status().agents[0]
        if report.error or report.degraded or status.vectors != status.chunks:
            raise ChildError(
                f"{status.vectors} of {status.chunks} vectors: {report.error or report.degraded}"
            )
        return Indexed(took_ms, status.chunks)

    def search(self, question: str) -> Answer:
        """Search over the socket."""
        started, began_s = time.perf_counter(), time.thread_time()
        found = self._client.search(question, max_results=RESULTS)
        took_ms = (time.perf_counter() - started) * 1000
        self._client_s += time.thread_time() - began_s
        if found.mode != "hybrid":
            raise ChildError(f"search is {found.mode}: {found.degraded}")
        return Answer(took_ms, [hit.path for hit in found.hits])

    @property
    def pid(self) -> int:
        """The daemon's process id."""
        return self._daemon.pid

    def processor_ms(self) -> float:
        """Return the processor time of the daemon, and of the client while it searched."""
        return processor_ms(self.pid) + self._client_s * 1000

    def rest(self) -> None:
        """Do nothing: memctl asks the daemon, which goes on."""

    def shell(self, question: str) -> ShellAnswer:
        """Search by `memctl search`."""
        environ = {**os.environ, **self._home.environ(), "MEMD_AUTOSTART": "0"}
        program = [sys.executable, "-c", "from memd.cli.main import main; main()"]
        installed = Path(sys.executable).with_name("memctl")
        command = [installed] if installed.exists() else program
        options = ["--json", "--max-results", str(RESULTS)]
        run = run_once([*command, "search", *options, question], environ, self._corner.root, SHELL_S)
        return ShellAnswer(run, [hit["path"] for hit in json.loads(run.output)["hits"]])
