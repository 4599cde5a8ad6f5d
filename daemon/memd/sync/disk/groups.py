"""Changed files in groups that are read and written together: a small file's own share is mostly what one costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memd.sync.disk.discover import Found

GROUP_FILES = 16
GROUP_BYTES = 64 * 1024
"""A group is some 15 ms of work: as long as a search that comes meanwhile may be held up, and what a kill loses."""


def grouped(files: Iterable[Found]) -> Iterator[list[Found]]:
    """Yield files in groups of at most `GROUP_FILES` and `GROUP_BYTES`, in their order."""
    group: list[Found] = []
    size_bytes = 0
    for found in files:
        if group and (len(group) == GROUP_FILES or size_bytes + found.size > GROUP_BYTES):
            yield group
            group, size_bytes = [], 0
        group.append(found)
        size_bytes += found.size
    if group:
        yield group
