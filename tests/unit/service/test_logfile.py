"""Log files: bounded, private, and non-blocking."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd.service.logfile import LogStream

LINE = "x" * 99 + "\n"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """A log opened as by a client that starts the daemon: path and descriptor."""
    path = tmp_path / "memd.log"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    yield path, descriptor
    os.close(descriptor)


def test_full_file_is_rotated_and_two_are_kept(log: tuple[Path, int]) -> None:
    path, descriptor = log
    stream = LogStream(descriptor)
    assert stream.rotate_file(path, limit_bytes=1000)

    for number in range(50):
        stream.write(f"{number:099d}\n")
    assert stream.drain()

    files = [path, path.with_name("memd.log.1"), path.with_name("memd.log.2")]
    assert sorted(path.parent.iterdir()) == files
    assert [int(line) for each in reversed(files) for line in each.read_text().split()] == list(range(20, 50))


def test_log_files_are_private(log: tuple[Path, int]) -> None:
    path, descriptor = log
    stream = LogStream(descriptor)
    stream.rotate_file(path, limit_bytes=150)

    for _ in range(5):
        stream.write(LINE)
    assert stream.drain()

    assert {stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()} == {0o600}


def test_other_file_is_never_rotated(log: tuple[Path, int], tmp_path: Path) -> None:
    path, descriptor = log
    other = tmp_path / "other.log"
    other.touch()
    stream = LogStream(descriptor)

    assert not stream.rotate_file(other, limit_bytes=150)
    for _ in range(5):
        stream.write(LINE)
    assert stream.drain()

    assert path.read_text() == LINE * 5


def test_removed_log_is_created_again(log: tuple[Path, int]) -> None:
    path, descriptor = log
    stream = LogStream(descriptor)
    stream.rotate_file(path)
    stream.write("gone\n")
    assert stream.drain()

    path.unlink()
    stream.write("here\n")
    assert stream.drain()

    assert path.read_text() == "here\n"


def test_log_that_cannot_be_rotated_keeps_its_file(log: tuple[Path, int]) -> None:
    path, descriptor = log
    stream = LogStream(descriptor)
    stream.rotate_file(path, limit_bytes=150)
    path.with_name("memd.log.new").mkdir()

    for _ in range(5):
        stream.write(LINE)
    assert stream.drain()

    assert path.read_text() == LINE * 5


def test_lines_lost_on_a_full_disk_are_reported_later(tmp_path: Path) -> None:
    path = tmp_path / "memd.log"
    full = os.open("/dev/full", os.O_WRONLY)
    stream = LogStream(full, clock=lambda: 1_800_000_000_000)
    stream.write("lost\n")
    stream.write("lost too\n")
    assert stream.drain()
    with path.open("wb") as room:
        os.dup2(room.fileno(), full)

        stream.write("kept\n")
        assert stream.drain()

    os.close(full)
    kept, told = path.read_text().splitlines()
    assert kept == "kept"
    assert json.loads(told) == {
        "event": "service.log_lines_lost",
        "lines": 2,
        "level": "warning",
        "timestamp": "2027-01-15T08:00:00Z",
    }


def test_partial_line_does_not_corrupt_the_next(
    monkeypatch: pytest.MonkeyPatch, log: tuple[Path, int]
) -> None:
    path, descriptor = log
    stream = LogStream(descriptor)
    real, calls = os.write, iter((3, OSError(28, "No space left on device")))

    def write(target: int, octets: bytes) -> int:
        step = next(calls, None)
        if isinstance(step, OSError):
            raise step
        return real(target, octets if step is None else octets[:step])

    monkeypatch.setattr(os, "write", write)
    stream.write("first line\n")
    stream.write("second line\n")
    assert stream.drain()

    assert path.read_text().splitlines()[:2] == ["fir", "second line"]


TALKATIVE = """
import ctypes, os, sys
from memd.service.logfile import LogStream
from memd.system.log import configure_log, log
stream = LogStream()
assert stream.rotate_file(sys.argv[1], limit_bytes=2000)
configure_log("info", stream)
for number in range(30):
    log.info("test.line", number=number, fill="y" * 80)
stream.drain()
os.write(1, b"a word of a library\\n")
raise RuntimeError("the end")
"""


def test_tracebacks_and_library_output_go_to_the_current_file(tmp_path: Path) -> None:
    path = tmp_path / "memd.log"
    with path.open("ab") as log:
        done = subprocess.run(
            [sys.executable, "-c", TALKATIVE, str(path)], stdout=log, stderr=log, check=False, timeout=120
        )

    text = path.read_text()
    assert done.returncode == 1
    assert "a word of a library\n" in text
    assert text.endswith("RuntimeError: the end\n")
    assert json.loads(path.with_name("memd.log.1").read_text().splitlines()[0])["event"] == "test.line"
