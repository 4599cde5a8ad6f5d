"""What fits this machine: threads, lanes, context and RAM of a model."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

MAX_THREADS: Final = 8
"""Beyond this a small embedding model gains nothing, and the machine is the user's."""

CGROUP_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")

MAX_LANES: Final = 4
"""Texts side by side at most."""

LANES_BYTES: Final = 256 * 1024 * 1024
"""Scratch memory of all lanes beside the first at most; it is held only while texts come."""

CONTEXT_STEP: Final = 128
"""Contexts are multiples of this many tokens."""

HEADROOM: Final = 1.28
"""Real tokens per estimated token that still fit one window: 400 estimated -> 512."""

MIN_CONTEXT: Final = 128
MAX_CONTEXT: Final = 2048
"""Tokens. llama.cpp's virtual memory grows with the square (0.3 GB at 512, 0.7 GB at 2,048, 4.9 GB at 8,192);
a longer text is embedded in windows instead."""


FILE_SHARE: Final = 1.1
"""A model's weights in memory, in relation to its file."""

PROCESS_BYTES: Final = 80 * 1024 * 1024
TOKEN_BYTES: Final = 64 * 1024
"""The interpreter with NumPy and llama.cpp in it, and what a token of context takes: rough, and rather too much.
`minilm` (46 MB) with 512 tokens has 157 MB resident, and is taken for 169."""


def memory_need(file_bytes: int, context: int) -> int:
    """Return about how many bytes of memory a model's process takes."""
    return int(file_bytes * FILE_SHARE) + PROCESS_BYTES + context * TOKEN_BYTES


def context_tokens(chunk_tokens: int, trained_tokens: int | None) -> int:
    """Return the context to load a model with."""
    steps = -(-int(chunk_tokens * HEADROOM) // CONTEXT_STEP)
    wanted = min(max(steps * CONTEXT_STEP, MIN_CONTEXT), MAX_CONTEXT)
    return min(wanted, trained_tokens) if trained_tokens else wanted


def thread_count(configured: int, cores: int) -> int:
    """Return how many threads compute."""
    return configured if configured > 0 else max(1, min(cores, MAX_THREADS))


def lane_count(threads: int, context: int, vocabulary: int) -> int:
    """Return how many texts are embedded side by side; 1 where a further one would take too much memory."""
    beside = LANES_BYTES // max(1, 4 * context * vocabulary)
    return max(1, min(threads, MAX_LANES, 1 + beside))


def physical_cores(sibling_lists: Iterable[str], allowed: Collection[int]) -> int:
    """Return how many physical cores stand behind the logical ones a process may use."""
    groups = [parse_core_list(siblings) for siblings in sibling_lists if siblings.strip()]
    reachable = {min(group) for group in groups if not group.isdisjoint(allowed)}
    return max(1, len(reachable or allowed))


def parse_core_list(text: str) -> set[int]:
    """Return the numbers in a Linux core list: ``0-2,8`` -> {0, 1, 2, 8}."""
    numbers: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def load_physical_cores() -> int:
    """Return how many physical cores this process may use; logical ones if the system doesn't say."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    lists = []
    for path in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/thread_siblings_list"):
        try:
            lists.append(path.read_text(encoding="ascii"))
        except OSError:
            continue  # a core that is switched off
    return physical_cores(lists, allowed)


def load_memory_bytes(limit_file: Path = CGROUP_LIMIT) -> int:
    """Return the RAM of this machine in bytes, or the limit of its container if that is less."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(memory, int(limit_file.read_text(encoding="ascii")))
    except (OSError, ValueError):  # no container, or one without a limit
        return memory


def load_rss_bytes(pid: int) -> int:
    """Return the resident memory of a process in bytes; 0 if it is gone or the system doesn't say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
