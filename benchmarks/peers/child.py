"""Processes of other programs: each has a timeout, and its process group ends with it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

PARTING_S: Final = 10.0
"""Timeout for the end of a process whose standard input was closed."""


class ChildError(Exception):
    """A process failed or timed out."""


class ProcessRun(NamedTuple):
    """Cost of one complete process."""

    ms: float
    cpu_ms: float
    peak_mb: float
    output: str


def run_once(
    command: Sequence[str | Path], environ: Mapping[str, str], scratch: Path, deadline_s: float
) -> ProcessRun:
    """Run a command to its end."""
    out, err = scratch / "stdout", scratch / "stderr"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        started = time.perf_counter()
        process = subprocess.Popen(
            command,
            env=environ,
            cwd=scratch,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        killer = threading.Timer(deadline_s, end_group, (process.pid,))
        killer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            killer.cancel()
        took_ms = (time.perf_counter() - started) * 1000
        process.returncode = os.waitstatus_to_exitcode(status)
    end_group(process.pid)
    if process.returncode != 0:
        said = err.read_text(errors="replace")[-400:]
        raise ChildError(f"{Path(command[0]).name} ended with {process.returncode}: {said}")
    cpu_ms = (usage.ru_utime + usage.ru_stime) * 1000
    return ProcessRun(took_ms, cpu_ms, usage.ru_maxrss / 1024, out.read_text())


def end_group(pid: int) -> None:
    """Kill a process group; does nothing if it is gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def processor_ms(pid: int) -> float:
    """Return the CPU milliseconds of a running process, all its threads together."""
    # The clock id of clock_getcpuclockid, which Python offers for threads only.
    return time.clock_gettime((~pid << 3) | 2) * 1000


class Driver:
    """A long-lived process that answers lines of JSON objects.

    Resources: the process and its group, ended by `close`.
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
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.read_line(deadline_s))
        if "error" in answer:
            raise ChildError(str(answer["error"])[:400])
        return answer

    def read_line(self, deadline_s: float) -> bytes:
        """Return the next line of its output."""
        assert self._process.stdout is not None
        channel = self._process.stdout.fileno()
        until = time.monotonic() + deadline_s
        while b"\n" not in self._read:
            left_s = max(0.0, until - time.monotonic())
            ready = select.select([channel], [], [], left_s)[0]
            piece = os.read(channel, 65536) if ready else b""
            if not piece:
                said = self._log.read_text(errors="replace")[-400:]
                raise ChildError(f"{'has ended' if ready else f'silent for {deadline_s:g} s'}: {said}")
            self._read += piece
        line, _, self._read = self._read.partition(b"\n")
        return line

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
