"""A program that writes to a note as user programs do: without memd's lock, in several ways.

Run `python -m tests.support.foreign_writers NOTE SEED OPERATIONS`. It starts when a line is sent to it, and writes a
JSON report to its standard output.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memd.lifecycle.files.writing import APPEND_TIMEOUT_S

PAUSE_S: Final = 0.03
"""Longest pause between two writes; memd needs 20 ms for a replacement."""

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class WriterReport:
    """Report of the program: lines it added, and slots it filled in place.

    `rewrites` are the intervals from reading the note until its text was written back, if memd could not know of it:
    the note was not open for writing meanwhile, or for longer than memd waits.
    """

    added: list[str]
    filled: list[str]
    rewrites: list[Interval]


class ForeignWriter:
    """Writes to one note."""

    def __init__(self, note: Path, seed: int) -> None:
        self._note = note
        self._random = random.Random(seed)
        self._done = WriterReport([], [], [])

    def run(self, operations: int) -> WriterReport:
        """Write the given number of times."""
        ways: list[Callable[[int], None]] = [
            self._append,
            self._append_slowly,
            self._fill,
            self._truncate_and_rewrite,
            self._rewrite_in_place,
            self._replace,
        ]
        for number in range(operations):
            time.sleep(self._random.random() * PAUSE_S)
            self._random.choice(ways)(number)
        return self._done

    def _append(self, number: int) -> None:
        line = self._line(number)
        with self._note.open("ab") as file:
            file.write(f"{line}\n".encode())

    def _append_slowly(self, number: int) -> None:
        """Keep the file open for a while before writing."""
        line = self._line(number)
        with self._note.open("ab", buffering=0) as file:
            time.sleep(self._random.random() * PAUSE_S)
            file.write(f"{line}\n".encode())

    def _fill(self, number: int) -> None:
        with self._note.open("r+b") as file:
            at = file.read().find(f"slot {number} ....".encode())
            assert at >= 0
            file.seek(at + len(f"slot {number} "))
            file.write(b"done")
        self._done.filled.append(f"slot {number} done")

    def _truncate_and_rewrite(self, number: int) -> None:
        """Read, check for changes, then reopen and truncate the file, as many editors do."""
        line = self._line(number)
        while True:
            began = time.monotonic()
            seen, text = self._read()
            if self._state() == seen:
                with self._note.open("wb") as file:
                    file.write(text + f"{line}\n".encode())
                break
        self._done.rewrites.append((began, time.monotonic()))

    def _rewrite_in_place(self, number: int) -> None:
        """Read, truncate and write with one descriptor: memd sees that it is open for writing, and waits."""
        line = self._line(number)
        began = time.monotonic()
        with self._note.open("r+b") as file:
            text = file.read()
            file.seek(0)
            file.truncate()
            file.flush()
            time.sleep(self._random.random() * 0.002)
            file.write(text + f"{line}\n".encode())
        ended = time.monotonic()
        if ended - began >= APPEND_TIMEOUT_S:  # this process was stopped by a busy machine
            self._done.rewrites.append((began, ended))

    def _replace(self, number: int) -> None:
        """Write another file and rename it over the note, unless the note changed since it was read."""
        line = self._line(number)
        other = self._note.with_name("other-writer.tmp")
        while True:
            began = time.monotonic()
            seen, text = self._read()
            other.write_bytes(text + f"{line}\n".encode())
            if self._state() == seen:
                other.rename(self._note)
                break
        self._done.rewrites.append((began, time.monotonic()))

    def _line(self, number: int) -> str:
        self._done.added.append(f"other {number}")
        return f"other {number}"

    def _read(self) -> tuple[tuple[int, ...], bytes]:
        with self._note.open("rb") as file:
            facts = os.fstat(file.fileno())
            return (facts.st_ino, facts.st_size, facts.st_mtime_ns), file.read()

    def _state(self) -> tuple[int, ...]:
        facts = self._note.stat()
        return facts.st_ino, facts.st_size, facts.st_mtime_ns


class ForeignWriterProcess:
    """A `ForeignWriter` in its own process."""

    def __init__(self, note: Path, seed: int, operations: int) -> None:
        command = [sys.executable, "-m", __name__, str(note), str(seed), str(operations)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        )
        assert self._process.stdout
        assert self._process.stdout.readline() == "ready\n"

    def begin(self) -> None:
        """Start writing."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def finish(self) -> WriterReport:
        """Wait until everything is written, and return the report."""
        out, _ = self._process.communicate(timeout=300)
        assert self._process.returncode == 0
        done = json.loads(out)
        return WriterReport(
            done["added"], done["filled"], [(began, ended) for began, ended in done["rewrites"]]
        )


if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    result = ForeignWriter(Path(sys.argv[1]), int(sys.argv[2])).run(int(sys.argv[3]))
    print(json.dumps({"added": result.added, "filled": result.filled, "rewrites": result.rewrites}))
