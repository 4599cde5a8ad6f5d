"""Small file systems that tests fill up, and make read-only."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def remount(disk: Path, how: str) -> None:
    """Make a file system read-only (`ro`) or writable again (`rw`)."""
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True)


@contextmanager
def small_disk(at: Path, size: str = "16m") -> Iterator[None]:
    """Mount a small file system of its own; skip where that isn't allowed."""
    at.mkdir(parents=True, exist_ok=True)
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(at)], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {made.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


def fill_up(disk: Path) -> Path:
    """Leave no byte free on a disk; return what takes the room."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for step in (65_536, 4_096, 1):
            try:
                while True:
                    file.write(b"x" * step)
            except OSError:
                continue
    return ballast
