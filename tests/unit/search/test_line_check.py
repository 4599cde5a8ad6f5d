"""Comparing lines with a query: relevance, caching, and timeouts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
import trio
from numpy.typing import NDArray
from trio.testing import MockClock

from memd.embedding.provider import EmbeddingProvider
from memd.search.line_check import LINE_CHECK_TIMEOUT_S, MAX_CACHED_LINES, LineCheck, LineRelevance
from memd_client.errors import ProviderFailedError

ASKED = np.array([1.0, 0.0], dtype=np.float32)


def run(script: Callable[[], Awaitable[None]]) -> None:
    """Run a test on a clock that skips waits."""

    async def main() -> None:
        await script()

    trio.run(main, clock=MockClock(autojump_threshold=0))


class Lines:
    """A provider whose vector of a line has the cosine in its text."""

    def __init__(self, takes_s: float = 0.0, space: str = "a", error: Exception | None = None) -> None:
        self.space = SimpleNamespace(id=space)
        self.asked: list[str] = []
        self._takes_s = takes_s
        self._error = error

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return a unit vector with that cosine to `ASKED`."""
        self.asked.append(text)
        await trio.sleep(self._takes_s)
        if self._error is not None:
            raise self._error
        cosine = float(text.split()[0])
        return np.array([cosine, (1 - cosine**2) ** 0.5], dtype=np.float32)


async def is_relevant(
    reader: LineRelevance, lines: Sequence[str], provider: Lines, wait_s: float = 9.0, cosine: float = 0.5
) -> bool:
    """Return whether hits with these lines are relevant."""
    look = LineCheck(tuple(lines), cosine)
    return await reader.is_relevant(look, ASKED, cast(EmbeddingProvider, provider), wait_s)


# --- lines ----------------------------------------------------------------------------------------


def test_the_first_similar_line_ends_the_comparison() -> None:
    async def script() -> None:
        provider = Lines()
        assert await is_relevant(LineRelevance(), ["0.1", "0.5", "0.9"], provider)
        assert provider.asked == ["0.1", "0.5"]

    run(script)


def test_hits_are_irrelevant_without_a_similar_line() -> None:
    async def script() -> None:
        provider = Lines()
        assert not await is_relevant(LineRelevance(), ["0.1", "0.49", "-0.9"], provider)
        assert len(provider.asked) == 3

    run(script)


def test_a_line_is_embedded_once_per_vector_space() -> None:
    async def script() -> None:
        reader, provider, other = LineRelevance(), Lines(), Lines(space="b")
        for _ in range(3):
            assert not await is_relevant(reader, ["0.1", "0.2"], provider)
        assert provider.asked == ["0.1", "0.2"]
        assert await is_relevant(reader, ["0.1", "0.2"], provider, cosine=0.15)
        assert provider.asked == ["0.1", "0.2"]
        await is_relevant(reader, ["0.1"], other)
        assert other.asked == ["0.1"]

    run(script)


def test_the_least_recently_used_line_vectors_are_evicted() -> None:
    async def script() -> None:
        reader, provider = LineRelevance(), Lines()
        lines = [f"0.1 {number}" for number in range(MAX_CACHED_LINES)]
        await is_relevant(reader, lines, provider)
        await is_relevant(reader, lines[:1], provider)  # used again: the second is now the oldest
        await is_relevant(reader, ["0.1 new"], provider)
        provider.asked.clear()
        await is_relevant(reader, [lines[0], lines[2], "0.1 new"], provider)
        assert provider.asked == []
        await is_relevant(reader, [lines[1]], provider)
        assert provider.asked == [lines[1]]

    run(script)


@pytest.mark.parametrize(
    ("takes_s", "wait_s"), [(LINE_CHECK_TIMEOUT_S, 9.0), (0.02, 0.03), (0.01, 0.0), (0.01, -1.0)]
)
def test_hits_are_relevant_if_time_runs_out(takes_s: float, wait_s: float) -> None:
    async def script() -> None:
        provider = Lines(takes_s)
        started = trio.current_time()
        assert await is_relevant(LineRelevance(), ["0.1", "0.2", "0.3"], provider, wait_s)
        assert trio.current_time() - started <= max(0.0, min(LINE_CHECK_TIMEOUT_S, wait_s)) + 1e-6

    run(script)


def test_line_vectors_embedded_before_the_deadline_are_cached() -> None:
    async def script() -> None:
        reader, provider = LineRelevance(), Lines(takes_s=0.4 * LINE_CHECK_TIMEOUT_S)
        assert await is_relevant(reader, ["0.1", "0.2", "0.3"], provider)
        assert not await is_relevant(reader, ["0.1", "0.2", "0.3"], provider)
        assert provider.asked == ["0.1", "0.2", "0.3", "0.3"]

    run(script)


def test_hits_are_relevant_if_the_provider_fails() -> None:
    async def script() -> None:
        provider = Lines(error=ProviderFailedError("no"))
        assert await is_relevant(LineRelevance(), ["0.1", "0.2"], provider)
        assert provider.asked == ["0.1"]

    run(script)
