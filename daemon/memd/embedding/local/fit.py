"""Limits for this machine: threads, parallel texts and context."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

MAX_THREADS: Final = 8
"""More threads don't speed up a small embedding model, and the user's programs need them."""

CGROUP_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")

MAX_PARALLEL_TEXTS: Final = 4
"""The maximum number of texts in parallel."""

EXTRA_CONTEXTS_BYTES: Final = 256 * 1024 * 1024
"""The maximum scratch memory of all contexts but the first; they exist only while texts are embedded."""

RELEASES_LOGITS: Final = sys.platform == "linux"
"""Whether the RAM of logits that a bidirectional model never writes can be released."""

CONTEXT_STEP: Final = 128
"""Contexts are multiples of this many tokens."""

HEADROOM: Final = 1.28
"""Tokens of the context per estimated token of a chunk: 400 estimated tokens get 512."""

MIN_CONTEXT: Final = 128
MAX_CONTEXT: Final = 2048
"""Tokens. llama.cpp's virtual memory grows with the square: 0.3 GB at 512, 4.9 GB at 8,192. Longer texts are embedded
in windows."""


def context_tokens(chunk_tokens: int, trained_tokens: int | None) -> int:
    """Return the context size in tokens for chunks of a size."""
    steps = -(-int(chunk_tokens * HEADROOM) // CONTEXT_STEP)
    wanted = min(max(steps * CONTEXT_STEP, MIN_CONTEXT), MAX_CONTEXT)
    return min(wanted, trained_tokens) if trained_tokens else wanted


def thread_count(configured: int, cores: int) -> int:
    """Return the number of threads for a model; `configured` 0 is automatic."""
    return configured if configured > 0 else max(1, min(cores, MAX_THREADS))


def parallel_text_count(threads: int, context: int, kept_logits: int) -> int:
    """Return how many texts to embed in parallel, by threads and the logits of a token that stay in RAM."""
    extra = EXTRA_CONTEXTS_BYTES // max(1, 4 * context * kept_logits)
    return max(1, min(threads, MAX_PARALLEL_TEXTS, 1 + extra))


def physical_cores(sibling_lists: Iterable[str], allowed: Collection[int]) -> int:
    """Return the number of physical cores among the allowed logical cores."""
    groups = [parse_core_list(siblings) for siblings in sibling_lists if siblings.strip()]
    reachable = {min(group) for group in groups if not group.isdisjoint(allowed)}
    return max(1, len(reachable or allowed))


def parse_core_list(text: str) -> set[int]:
    """Parse a Linux core list: ``0-2,8`` -> {0, 1, 2, 8}."""
    numbers: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def load_physical_cores() -> int:
    """Return how many physical cores (else logical ones) this process may use."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    lists = []
    for path in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/thread_siblings_list"):
        try:
            lists.append(path.read_text(encoding="ascii"))
        except OSError:
            continue  # a core that is switched off
    return physical_cores(lists, allowed)


def load_memory_bytes(limit_file: Path = CGROUP_LIMIT) -> int:
    """Return the RAM of this machine in bytes, or its container's limit if lower."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(memory, int(limit_file.read_text(encoding="ascii")))
    except (OSError, ValueError):  # no container, or no limit
        return memory


def load_rss_bytes(pid: int) -> int:
    """Return the resident memory of a process in bytes; 0 if unknown."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
