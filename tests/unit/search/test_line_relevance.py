"""Models read hits once more: what they may change, and that nothing is lost where they can't."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from trio.testing import MockClock

from memd.embedding.provider import EmbeddingProvider
from memd.search.line_relevance import KEPT_LINES, LOOK_S, LineRelevance, rerank
from memd.search.query import Found, LineCheck
from memd.settings.schema import Rerank
from memd_client.errors import DeadlineExceededError, ProviderFailedError
from memd_client.messages import Hit

ASKED = np.array([1.0, 0.0], dtype=np.float32)


def run(script: Callable[[], Awaitable[None]]) -> None:
    """Run a test on a clock that jumps over waiting."""

    async def main() -> None:
        await script()

    trio.run(main, clock=MockClock(autojump_threshold=0))


class Lines:
    """A provider of lines' vectors: each line is the cosine it has."""

    def __init__(self, takes_s: float = 0.0, space: str = "a", error: Exception | None = None) -> None:
        self.space = SimpleNamespace(id=space)
        self.asked: list[str] = []
        self._takes_s = takes_s
        self._error = error

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return a unit vector so near to `ASKED`."""
        self.asked.append(text)
        await trio.sleep(self._takes_s)
        if self._error is not None:
            raise self._error
        cosine = float(text.split()[0])
        return np.array([cosine, (1 - cosine**2) ** 0.5], dtype=np.float32)


async def is_relevant(
    reader: LineRelevance, lines: Sequence[str], provider: Lines, wait_s: float = 9.0, cosine: float = 0.5
) -> bool:
    """Return what a reader says of some lines."""
    look = LineCheck(tuple(lines), cosine)
    return await reader.is_relevant(look, ASKED, cast(EmbeddingProvider, provider), wait_s)


# --- lines ----------------------------------------------------------------------------------------


def test_the_first_line_that_is_near_enough_ends_the_reading() -> None:
    async def script() -> None:
        provider = Lines()
        assert await is_relevant(LineRelevance(), ["0.1", "0.5", "0.9"], provider)
        assert provider.asked == ["0.1", "0.5"]

    run(script)


def test_where_no_line_is_near_enough_nothing_is_relevant() -> None:
    async def script() -> None:
        provider = Lines()
        assert not await is_relevant(LineRelevance(), ["0.1", "0.49", "-0.9"], provider)
        assert len(provider.asked) == 3

    run(script)


def test_a_line_is_read_once_in_each_space() -> None:
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


def test_so_many_lines_are_kept_and_those_used_last() -> None:
    async def script() -> None:
        reader, provider = LineRelevance(), Lines()
        lines = [f"0.1 {number}" for number in range(KEPT_LINES)]
        await is_relevant(reader, lines, provider)
        await is_relevant(reader, lines[:1], provider)  # read again: the second is the oldest now
        await is_relevant(reader, ["0.1 new"], provider)
        provider.asked.clear()
        await is_relevant(reader, [lines[0], lines[2], "0.1 new"], provider)
        assert provider.asked == []
        await is_relevant(reader, [lines[1]], provider)
        assert provider.asked == [lines[1]]

    run(script)


@pytest.mark.parametrize(("takes_s", "wait_s"), [(LOOK_S, 9.0), (0.02, 0.03), (0.01, 0.0), (0.01, -1.0)])
def test_what_can_not_be_known_in_time_is_relevant(takes_s: float, wait_s: float) -> None:
    async def script() -> None:
        provider = Lines(takes_s)
        started = trio.current_time()
        assert await is_relevant(LineRelevance(), ["0.1", "0.2", "0.3"], provider, wait_s)
        assert trio.current_time() - started <= max(0.0, min(LOOK_S, wait_s)) + 1e-6

    run(script)


def test_lines_that_were_read_before_the_deadline_are_kept() -> None:
    async def script() -> None:
        reader, provider = LineRelevance(), Lines(takes_s=0.4 * LOOK_S)
        assert await is_relevant(reader, ["0.1", "0.2", "0.3"], provider)
        assert not await is_relevant(reader, ["0.1", "0.2", "0.3"], provider)
        assert provider.asked == ["0.1", "0.2", "0.3", "0.3"]

    run(script)


def test_a_model_that_fails_takes_nothing_away() -> None:
    async def script() -> None:
        provider = Lines(error=ProviderFailedError("no"))
        assert await is_relevant(LineRelevance(), ["0.1", "0.2"], provider)
        assert provider.asked == ["0.1"]

    run(script)


# --- the reranker ---------------------------------------------------------------------------------


class Reader:
    """A reranker that gives the scores it is told."""

    model = "reader"

    def __init__(self, scores: Sequence[float], error: Exception | None = None) -> None:
        self._scores = list(scores)
        self._error = error
        self.asked: list[tuple[str, list[str], float, bool]] = []

    async def score(
        self, question: str, texts: Sequence[str], timeout_s: float, *, partial: bool = False
    ) -> list[float]:
        """Return scores of the first texts."""
        self.asked.append((question, list(texts), timeout_s, partial))
        await trio.lowlevel.checkpoint()
        if self._error is not None:
            raise self._error
        return self._scores[: len(texts)]

    async def aclose(self) -> None:
        """Hold nothing."""


def found(count: int, held: Sequence[int] = (), *, explain: bool = False) -> Found:
    """Return hits `a`, `b`, `c` …, their scores falling."""
    hits = [
        Hit(
            path=f"{name}.md",
            start_line=1,
            end_line=1,
            score=round(1 - 0.1 * place, 1),
            vector_score=0.5,
            text_score=1.0,
            snippet=name,
            source="memory",
            citation=f"{name}.md#L1",
            explain={"because": ["it holds it"], "words": []} if explain else None,
        )
        for place, name in enumerate("abcdefghij"[:count])
    ]
    return Found(hits, "hybrid", 1, False, held=list(held) or [0] * count)


def ordered(this: Found) -> str:
    """Return the hits' snippets in their order."""
    return "".join(hit.snippet for hit in this.hits)


def reread(
    this: Found, reader: Reader, candidates: int = 20, timeout_ms: int = 300, wait_s: float = 9.0
) -> None:
    """Put hits in a reader's order."""
    settings = Rerank(enabled=True, candidates=candidates, timeout_ms=timeout_ms)

    async def script() -> None:
        await rerank(this, "the question", reader, settings, wait_s)

    run(script)


def test_hits_come_in_the_readers_order_and_scores_stay_with_the_places() -> None:
    this, reader = found(4), Reader([0.1, 0.9, 0.5, 0.7])
    reread(this, reader)
    assert ordered(this) == "bdca"
    assert [hit.score for hit in this.hits] == [1.0, 0.9, 0.8, 0.7]
    assert (this.hits[0].path, this.hits[0].vector_score, this.hits[0].text_score) == ("b.md", 0.5, 1.0)
    assert reader.asked == [("the question", ["a", "b", "c", "d"], 0.3, True)]


def test_equal_scores_leave_the_order() -> None:
    this = found(4)
    reread(this, Reader([0.5, 0.5, 0.7, 0.5]))
    assert ordered(this) == "cabd"


def test_no_hit_comes_before_one_that_holds_more_of_the_very_names() -> None:
    this = found(5, held=[2, 2, 1, 0, 0])
    reread(this, Reader([0.1, 0.2, 0.0, 0.8, 0.9]))
    assert ordered(this) == "baced"
    assert list(this.held) == [2, 2, 1, 0, 0]


def test_only_the_best_are_read_and_the_others_stay_behind_them() -> None:
    this, reader = found(6), Reader([0.1, 0.2, 0.3, 0.9, 0.9, 0.9])
    reread(this, reader, candidates=3)
    assert ordered(this) == "cbadef"
    assert reader.asked[0][1] == ["a", "b", "c"]


def test_what_there_was_no_time_for_stays_behind_what_was_read() -> None:
    this = found(5, held=[1, 1, 1, 0, 0])
    reread(this, Reader([0.2, 0.6]))
    assert ordered(this) == "bacde"
    assert list(this.held) == [1, 1, 1, 0, 0]


@pytest.mark.parametrize("count", [0, 1])
def test_one_hit_is_in_order_already(count: int) -> None:
    this, reader = found(count), Reader([0.5])
    reread(this, reader)
    assert reader.asked == []
    assert len(this.hits) == count


def test_it_takes_no_longer_than_the_search_has_left() -> None:
    reader = Reader([0.5, 0.6])
    reread(found(2), reader, timeout_ms=300, wait_s=0.125)
    assert reader.asked[0][2] == 0.125


def test_a_search_whose_time_is_over_leaves_none_and_not_less() -> None:
    reader = Reader([0.5, 0.6])
    reread(found(2), reader, wait_s=-0.5)
    assert reader.asked[0][2] == 0.0


@pytest.mark.parametrize("error", [ProviderFailedError("no"), DeadlineExceededError("late")])
def test_a_reader_that_fails_changes_nothing(error: Exception) -> None:
    this = found(4, held=[1, 0, 0, 0])
    with pytest.raises(type(error)):
        reread(this, Reader([], error))
    assert ordered(this) == "abcd"
    assert list(this.held) == [1, 0, 0, 0]


def test_an_explanation_tells_what_the_reader_says() -> None:
    this = found(3, explain=True)
    reread(this, Reader([0.1, 0.912345678]))
    assert this.hits[0].explain == {
        "because": ["it holds it", "the reranker says 0.912"],
        "words": [],
        "rerank": 0.912346,
    }
    assert this.hits[2].explain == {"because": ["it holds it"], "words": []}


@given(
    held=st.lists(st.integers(0, 4), min_size=2, max_size=10).map(
        lambda counts: sorted(counts, reverse=True)
    ),
    scores=st.lists(st.floats(0, 1), min_size=10, max_size=10),
    read=st.integers(1, 10),
    candidates=st.integers(1, 10),
)
def test_whatever_the_reader_says_nothing_is_lost_and_names_stay_first(
    held: list[int], scores: list[float], read: int, candidates: int
) -> None:
    this = found(len(held), held)
    shown = [hit.score for hit in this.hits]
    reread(this, Reader(scores[:read]), candidates)
    assert sorted(ordered(this)) == list("abcdefghij"[: len(held)])
    assert [hit.score for hit in this.hits] == shown
    assert list(this.held) == [held["abcdefghij".index(hit.snippet)] for hit in this.hits] == held
