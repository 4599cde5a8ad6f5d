"""Tests of releasing the pages of a mapped file without changing anything else."""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import pytest

from memd.embedding.local.llama import release_pages

PAGES = 256
CONTENT = b"".join(bytes([number]) * mmap.PAGESIZE for number in range(PAGES))

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="other systems bring pages in as they are touched"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a model with a space.gguf"
    path.write_bytes(CONTENT)
    return path


def held_bytes(file: Path) -> int:
    """Return how many bytes of a mapped file this process has in RAM."""
    held, is_it = 0, False
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
        if "-" in line.split(maxsplit=1)[0]:
            is_it = line.endswith(f" {file}")
        elif is_it and line.startswith("Rss:"):
            held += int(line.split()[1]) * 1024
    return held


def test_released_pages_return_only_when_accessed(file: Path) -> None:
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        # given a file whose pages were all accessed
        assert data[:] == CONTENT
        assert held_bytes(file) == len(CONTENT)
        # when its pages are released
        assert release_pages(str(file)) == len(CONTENT)
        # then none is in RAM, and the contents are unchanged
        assert held_bytes(file) == 0
        assert data[:] == CONTENT


def test_pages_are_released_by_a_link_to_the_file(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.gguf"
    link.symlink_to(file)
    with link.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ):
        assert release_pages(str(link)) == len(CONTENT)


def test_written_pages_are_kept(file: Path) -> None:
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY) as data:
        data[:4] = b"mine"
        assert release_pages(str(file)) == 0
        assert data[:4] == b"mine"


def test_unmapped_file_releases_nothing(file: Path) -> None:
    assert release_pages(str(file)) == 0


def test_unreadable_maps_release_nothing(file: Path, tmp_path: Path) -> None:
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ):
        assert release_pages(str(file), tmp_path / "missing") == 0
