"""Descriptors and children of this process, and programs that talk on standard input and output."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from memd_client.framing import FrameDecoder, encode_frame

REPLY_TIMEOUT_S: Final = 120.0


def open_descriptors() -> int:
    """Return the number of this process's open descriptors."""
    folder = "/proc/self/fd" if Path("/proc/self/fd").is_dir() else "/dev/fd"
    return len(os.listdir(folder))


def children() -> list[str]:
    """Return the names and states of this process's children, ended ones that were not reaped included."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "ppid=,state=,comm="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(maxsplit=2) for line in listed.splitlines()]
    return [
        f"{name} ({state})" for parent, state, name in rows if int(parent) == os.getpid() and name != "ps"
    ]


class PipedProgram:
    """A program whose standard input and output are pipes with frames of the protocol; a context manager."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self._command = list(command)
        self._environ = {**os.environ, **environ}
        self._decoder = FrameDecoder()

    def __enter__(self) -> PipedProgram:
        self._process = subprocess.Popen(
            self._command,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def send(self, *messages: Any) -> None:
        """Write messages as frames."""
        assert self._process.stdin is not None
        for message in messages:
            self._process.stdin.write(encode_frame(message))

    def receive(self) -> Any:
        """Return the next message."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + REPLY_TIMEOUT_S
        while True:
            left_s = max(0.0, deadline - time.monotonic())
            assert select.select([self._process.stdout], [], [], left_s)[0], "no reply"
            data = self._process.stdout.read(65536)
            assert data, "the program closed its output"
            messages = self._decoder.feed(data)
            if messages:
                assert len(messages) == 1
                return messages[0]

    def close_input(self) -> None:
        """Close standard input."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.stdin = None

    def close_output(self) -> None:
        """Close the reading end of standard output."""
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process.stdout = None

    def wait_end(self) -> tuple[int, bytes, bytes]:
        """Return the exit code, and the rest of standard output and error."""
        out, err = self._process.communicate(timeout=REPLY_TIMEOUT_S)
        return self._process.returncode, out or b"", err
