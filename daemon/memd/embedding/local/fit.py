"""What fits: threads and context of a model. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

MAX_THREADS: Final = 8
"""Beyond this a small embedding model gains nothing, and the machine is the user's."""

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
