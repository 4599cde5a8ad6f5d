"""RAM and CPU time of processes, and processes that a measurement runs: each has a timeout and ends with its group."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

MB: Final = 1_000_000

REST_S: Final = 75.0
"""From a daemon's last work until its RAM is at rest: caches are released after some seconds, the heap is trimmed
every 30 s, after work and once again."""

ROOT: Final = Path(__file__).resolve().parents[1]

READY_S: Final = 180.0
"""Timeout for the first line of a helper process."""

PARTING_S: Final = 60.0
"""Timeout for the end of a process whose standard input was closed."""


class ChildError(Exception):
    """A process failed or timed out."""


class ProcessRun(NamedTuple):
    """A complete process."""

    ms: float
    output: str


def ram_of(pids: Iterable[int]) -> float:
    """Return the PSS of some processes together in MB; they have to run at the same time."""
    total = 0
    for pid in pids:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total * 1024 / MB


def resident_mb(pid: int) -> float:
    """Return a process's RSS in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MB


def processor_s(pids: Iterable[int]) -> float:
    """Return the CPU seconds of some processes and of their ended children, in steps of 10 ms."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def idle_percent(pid: int, seconds: float) -> float:
    """Wait, and return the CPU time of a process meanwhile, as a percentage of one core."""
    before, began = processor_s([pid]), time.monotonic()
    time.sleep(seconds)
    return 100 * (processor_s([pid]) - before) / (time.monotonic() - began)


def children_of(pid: int) -> list[int]:
    """Return the running child processes."""
    pids: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        pids += map(int, (task / "children").read_text().split())
    return pids


def run_once(
    command: Sequence[str | Path], environ: Mapping[str, str], folder: Path, deadline_s: float
) -> ProcessRun:
    """Run a command in a folder to its end."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        env=environ,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    killer = threading.Timer(deadline_s, end_group, (process.pid,))
    killer.start()
    try:
        output, errors = process.communicate()
    finally:
        killer.cancel()
        end_group(process.pid)
    took_ms = (time.perf_counter() - began) * 1000
    if process.returncode != 0:
        reason = errors.decode(errors="replace")[-400:]
        raise ChildError(f"{Path(command[0]).name} ended with {process.returncode}: {reason}")
    return ProcessRun(took_ms, output.decode())


def end_group(pid: int) -> None:
    """Kill a process group; does nothing if it is gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


class Driver:
    """A long-lived process that reads and writes lines of JSON.

    Resources: the process and its group, ended by `close`. Its standard error goes to `log`, whose folder it runs in.
    """

    def __init__(self, command: Sequence[str | Path], environ: Mapping[str, str], log: Path) -> None:
        self._log = log
        self._read = b""
        with log.open("ab") as stderr:
            self._process = subprocess.Popen(
                command,
                env=environ,
                cwd=log.parent,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def ask(self, request: Mapping[str, Any], deadline_s: float) -> dict[str, Any]:
        """Return the answer to a request."""
        self.send(request)
        answer: dict[str, Any] = self.receive(deadline_s)
        if "error" in answer:
            raise ChildError(str(answer["error"])[:400])
        return answer

    def send(self, message: Any) -> None:
        """Write a line to the process."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def receive(self, deadline_s: float) -> Any:
        """Return the next line of its output."""
        assert self._process.stdout is not None
        channel = self._process.stdout.fileno()
        until = time.monotonic() + deadline_s
        while b"\n" not in self._read:
            left_s = max(0.0, until - time.monotonic())
            ready = select.select([channel], [], [], left_s)[0]
            data = os.read(channel, 65536) if ready else b""
            if not data:
                reason = self._log.read_text(errors="replace")[-400:]
                raise ChildError(f"{'has ended' if ready else f'silent for {deadline_s:g} s'}: {reason}")
            self._read += data
        line, _, self._read = self._read.partition(b"\n")
        return json.loads(line)

    def close(self) -> None:
        """Close its input, wait, then kill its process group."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PARTING_S)
        end_group(process.pid)
        process.wait()
        process.stdout.close()


def module_driver(module: str, *arguments: str, log: Path) -> Driver:
    """Start a module of this repository in a process of its own."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    return Driver([sys.executable, "-m", module, *arguments], environ, log)


@contextmanager
def workers(
    module: str, command_lines: Iterable[Iterable[str]], log: Path, *, first: Any = None
) -> Iterator[list[Driver]]:
    """Yield processes, started in turn, that have printed their first line."""
    with ExitStack() as stack:
        running = []
        for arguments in command_lines:
            worker = stack.enter_context(module_driver(module, *arguments, log=log))
            if first is not None:
                worker.send(first)
            worker.receive(READY_S)
            running.append(worker)
        yield running
