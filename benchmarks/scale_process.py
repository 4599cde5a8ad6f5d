"""What processes cost, as the kernel counts it; and helpers of a measurement that are processes of their own."""

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
"""From a daemon's last work until its memory is at rest: caches are given back after some seconds, the heap is trimmed
every 30 s, after work and once more."""

ROOT: Final = Path(__file__).resolve().parents[1]

PARTING_S: Final = 60.0
"""How long a process may take to end once its standard input is closed."""


class Memory(msgspec.Struct, frozen=True):
    """Memory of some processes in MB."""

    pss: float
    rss: float


def memory_of(pids: Iterable[int]) -> Memory:
    """Return what some processes hold together; they must be there together for PSS to mean anything."""
    held = {"Pss": 0, "Rss": 0}
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name in held:
                held[name] += int(rest.split()[0]) * 1024
    return Memory(held["Pss"] / MB, held["Rss"] / MB)


def resident_mb(pid: int) -> float:
    """Return a process's resident memory in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MB


def processor_s(pids: Iterable[int]) -> float:
    """Return the processor time some processes have used, in seconds; the kernel counts in steps of 10 ms."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def children_of(pid: int) -> list[int]:
    """Return the processes that a process started and that still run."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


class LineProcess:
    """A process with lines of JSON in and lines of JSON out; a context manager, which ends it."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        environ: Mapping[str, str] | None = None,
        folder: Path = ROOT,
        said: str = "a program",
        quiet: bool = False,
    ) -> None:
        self._said = said
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

    def tell(self, message: Any) -> None:
        """Write one line to it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def hear(self) -> Any:
        """Return its next line."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._said} ended with {self._process.wait(PARTING_S)}")
        return json.loads(line)


class Worker(LineProcess):
    """A process of a benchmark's."""

    def __init__(self, module: str, *arguments: str, environ: Mapping[str, str] | None = None) -> None:
        super().__init__([sys.executable, "-m", module, *arguments], environ=environ, said=module)


@contextmanager
def workers(
    module: str, command_lines: Iterable[Iterable[str]], *, first: Any = None
) -> Iterator[list[Worker]]:
    """Yield processes that have said they are ready, begun one after the other."""
    with ExitStack() as stack:
        running = []
        for arguments in command_lines:
            worker = stack.enter_context(Worker(module, *arguments))
            if first is not None:
                worker.tell(first)
            worker.hear()
            running.append(worker)
        yield running
