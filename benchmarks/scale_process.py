"""RAM and CPU time of processes; helper processes of measurements."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec

MB: Final = 1_000_000

REST_S: Final = 75.0
"""From a daemon's last work until its RAM is at rest: caches are released after some seconds, the heap is trimmed
every 30 s, after work and once again."""

ROOT: Final = Path(__file__).resolve().parents[1]

PARTING_S: Final = 60.0
"""Timeout for the end of a process whose standard input was closed."""


class RamUse(msgspec.Struct, frozen=True):
    """RAM of some processes in MB."""

    pss: float
    rss: float


def ram_of(pids: Iterable[int]) -> RamUse:
    """Return the RAM of some processes together; for PSS they have to run at the same time."""
    held = {"Pss": 0, "Rss": 0}
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name in held:
                held[name] += int(rest.split()[0]) * 1024
    return RamUse(held["Pss"] / MB, held["Rss"] / MB)


def resident_mb(pid: int) -> float:
    """Return a process's RSS in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MB


def processor_s(pids: Iterable[int]) -> float:
    """Return the CPU seconds of some processes, in steps of 10 ms."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def children_of(pid: int) -> list[int]:
    """Return the running child processes."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


class LineProcess:
    """A process that reads and writes lines of JSON; a context manager that ends it."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        environ: Mapping[str, str] | None = None,
        folder: Path = ROOT,
        label: str = "a program",
        quiet: bool = False,
    ) -> None:
        self._label = label
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else None,
            text=True,
            cwd=folder,
            env={**os.environ, **(environ or {})},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._process.kill()
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(PARTING_S)
            except subprocess.TimeoutExpired:
                process.kill()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def send(self, message: Any) -> None:
        """Write a line to the process."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def receive(self) -> Any:
        """Return its next line."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._label} ended with {self._process.wait(PARTING_S)}")
        return json.loads(line)


class Worker(LineProcess):
    """A helper process of a benchmark."""

    def __init__(self, module: str, *arguments: str, environ: Mapping[str, str] | None = None) -> None:
        super().__init__([sys.executable, "-m", module, *arguments], environ=environ, label=module)


@contextmanager
def workers(
    module: str, command_lines: Iterable[Iterable[str]], *, first: Any = None
) -> Iterator[list[Worker]]:
    """Yield processes, started in turn, that have printed their first line."""
    with ExitStack() as stack:
        running = []
        for arguments in command_lines:
            worker = stack.enter_context(Worker(module, *arguments))
            if first is not None:
                worker.send(first)
            worker.receive()
            running.append(worker)
        yield running
