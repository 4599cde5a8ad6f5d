"""Tests of batches: splitting, adaptive size, and isolation of refused texts."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from memd.embedding.provider import BatchLimits, FloatArray
from memd.embedding.remote.batches import (
    MAX_SPLIT_CALLS,
    MIN_SPLIT_CHARACTERS,
    PROBE_TEXT,
    QUICK_S,
    SLOW_S,
    AdaptiveBatchSize,
    EmbeddingResult,
    batches,
    embed_isolating_refusals,
    take_batch,
)
from memd.text.tokens import estimate_tokens
from memd_client.errors import (
    ProviderAuthError,
    ProviderFailedError,
    ProviderQuotaError,
    ProviderRateLimitedError,
    ProviderReplyError,
    ProviderUnreachableError,
    TextRefusedError,
)
from tests.support.fake_provider import FakeProvider
from tests.support.logs import capture_logs
from tests.support.provider_faults import Fault, FaultKind
from tests.support.remote_fixture import ONE_AT_A_TIME, connected

limits_of_all_sizes = st.builds(
    BatchLimits,
    max_texts=st.integers(1, 12),
    max_tokens=st.integers(1, 500),
    max_text_tokens=st.integers(1, 200),
    concurrency=st.just(1),
)


@given(costs=st.lists(st.integers(0, 600), max_size=80), limits=limits_of_all_sizes)
def test_batches_have_every_text_once_in_order_within_the_limits(
    costs: list[int], limits: BatchLimits
) -> None:
    found = batches(costs, limits)

    assert [position for batch in found for position in batch] == list(range(len(costs)))
    for batch in found:
        assert 1 <= len(batch) <= limits.max_texts
        assert len(batch) == 1 or sum(costs[position] for position in batch) <= limits.max_tokens
        assert len(batch) == 1 or all(costs[position] <= limits.max_text_tokens for position in batch)


@given(costs=st.lists(st.integers(0, 600), max_size=80), limits=limits_of_all_sizes)
def test_no_two_neighbouring_batches_fit_into_one(costs: list[int], limits: BatchLimits) -> None:
    found = batches(costs, limits)

    for one, other in pairwise(found):
        both = [costs[position] for position in (*one, other[0])]
        is_full = len(both) > limits.max_texts or sum(both) > limits.max_tokens
        assert is_full or any(cost > limits.max_text_tokens for cost in both)


def test_too_long_text_has_its_own_batch() -> None:
    limits = BatchLimits(max_texts=10, max_tokens=1000, max_text_tokens=100, concurrency=1)

    assert batches([5, 101, 5, 5], limits) == [[0], [1], [2, 3]]


def test_no_texts_give_no_batches() -> None:
    assert batches([], BatchLimits(1, 1, 1, 1)) == []


@given(lengths=st.lists(st.integers(0, 900), min_size=1, max_size=60), limits=limits_of_all_sizes)
def test_batches_taken_one_by_one_equal_those_of_all_texts(lengths: list[int], limits: BatchLimits) -> None:
    texts = [(str(number), "a" * length) for number, length in enumerate(lengths)]
    waiting = deque(texts)
    taken = []
    while waiting:
        taken.append(take_batch(waiting, limits))

    costs = [estimate_tokens(text) for _, text in texts]
    assert taken == [[texts[position] for position in batch] for batch in batches(costs, limits)]


GROWING = replace(ONE_AT_A_TIME, quick_texts=16)
TEXTS = [f"text {number}" for number in range(64)]


@pytest.fixture
def any_server_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make no reply count as slow, however busy the machine is."""
    monkeypatch.setattr("memd.embedding.remote.batches.QUICK_S", 1000.0)
    monkeypatch.setattr("memd.embedding.remote.batches.SLOW_S", 2000.0)


def grown_batch_size() -> AdaptiveBatchSize:
    """Return a batch size that has grown_batch_size to its maximum."""
    found = AdaptiveBatchSize(GROWING)
    for texts in (4, 8, 16):
        found.record_reply(texts, 0.0)
    assert found.limits.max_texts == 16
    return found


def test_quick_full_requests_grow_the_batch_size_to_its_maximum() -> None:
    found = AdaptiveBatchSize(GROWING)
    for took_s, texts, after in (
        (0.0, 3, 4),
        (QUICK_S, 4, 4),
        (0.1, 4, 8),
        (0.1, 4, 8),
        (0.1, 8, 16),
        (0.1, 16, 16),
    ):
        found.record_reply(texts, took_s)
        assert found.limits == replace(GROWING, max_texts=after)


def test_slow_requests_shrink_the_batch_size_which_may_grow_again() -> None:
    found = grown_batch_size()
    for after in (8, 4, 4):
        found.record_reply(1, SLOW_S + 0.1)
        assert found.limits.max_texts == after
    found.record_reply(4, 0.1)
    assert found.limits.max_texts == 8


def test_known_limits_do_not_grow() -> None:
    found = AdaptiveBatchSize(ONE_AT_A_TIME)
    for took_s in (0.0, 10.0):
        found.record_reply(ONE_AT_A_TIME.max_texts, took_s)
        assert found.limits is ONE_AT_A_TIME


@pytest.mark.parametrize("error", [ProviderFailedError, ProviderReplyError, TextRefusedError])
def test_size_error_of_a_grown_batch_ends_growth(error: type[ProviderFailedError]) -> None:
    found = grown_batch_size()
    assert not found.shrink_after(4, error("no"))
    assert found.limits.max_texts == 16
    assert found.shrink_after(16, error("no"))
    assert found.shrink_after(16, error("another that was under way"))
    found.record_reply(4, 0.0)
    assert found.limits.max_texts == 4


@pytest.mark.parametrize(
    "error",
    [ProviderUnreachableError, ProviderRateLimitedError, ProviderQuotaError, ProviderAuthError],
)
def test_other_errors_do_not_change_the_batch_size(error: type[ProviderFailedError]) -> None:
    found = grown_batch_size()
    assert not found.shrink_after(16, error("no"))
    assert found.limits.max_texts == 16


@pytest.mark.usefixtures("any_server_is_quick")
async def test_provider_sends_growing_batches_to_a_quick_server() -> None:
    async with connected("compatible", limits=GROWING) as world:
        provider = world.provider()
        sizes: list[int] = []
        while sum(sizes) < len(TEXTS):
            sizes.append(provider.limits.max_texts)
            await provider.embed_batch(TEXTS[: sizes[-1]])
        assert [len(texts) for texts in world.asked] == sizes == [4, 8, 16, 16, 16, 16]


@pytest.mark.usefixtures("any_server_is_quick")
@pytest.mark.parametrize("kind", ["server_error", "text_refused", "too_few"])
async def test_server_that_refuses_grown_batches_gets_the_usual_size(
    kind: FaultKind,
) -> None:
    async with connected("compatible", limits=GROWING) as world:
        provider = world.provider()
        world.server.fault = Fault(kind, from_texts=5)
        await provider.embed_batch(TEXTS[:4])
        found = await provider.embed_batch(TEXTS[:9])
        assert [row.tolist() for row in found] == [
            pytest.approx(world.server.vector(text).tolist(), abs=1e-6) for text in TEXTS[:9]
        ]
        await provider.embed_batch(TEXTS[:8])
        assert [len(texts) for texts in world.asked] == [4, 8, 4, 4, 1, 4, 4]
        assert world.pauses == []
        assert world.account.status().code == ""
        assert world.account.retry_in_s() == 0


@pytest.mark.usefixtures("any_server_is_quick")
async def test_unreachable_server_fails_with_the_usual_error() -> None:
    async with connected("compatible", limits=GROWING) as world:
        provider = world.provider()
        await provider.embed_batch(TEXTS[:4])
        world.server.fault = Fault("server_error")
        with pytest.raises(ProviderFailedError):
            await provider.embed_batch(TEXTS[:8])
        assert [len(texts) for texts in world.asked] == [4, 8, 4, 4, 4]
        assert world.account.retry_in_s() > 0


REASON = "the fake provider refuses the text"


class SelectiveProvider(FakeProvider):
    """A provider that refuses requests with certain texts."""

    def __init__(self, accepts: Callable[[str], bool]) -> None:
        super().__init__()
        self.accepts = accepts
        self.calls: list[list[str]] = []

    async def embed_batch(self, texts: Sequence[str]) -> FloatArray:
        """Return the vectors of accepted texts."""
        self.calls.append(list(texts))
        if not all(map(self.accepts, texts)):
            raise TextRefusedError(REASON)
        return await super().embed_batch(texts)

    def vector(self, text: str) -> FloatArray:
        """Return the vector of a text."""

        async def embed_query() -> FloatArray:
            return await FakeProvider().embed_query(text)

        return trio.run(embed_query)


def embed(provider: FakeProvider, texts: Sequence[str]) -> EmbeddingResult:
    return trio.run(embed_isolating_refusals, provider, texts)


@settings(max_examples=80, deadline=None)
@given(data=st.data(), count=st.integers(0, 70))
def test_refused_texts_are_isolated_and_others_keep_their_vectors(data: st.DataObject, count: int) -> None:
    refused_positions = data.draw(st.sets(st.integers(0, max(0, count - 1)), max_size=6)) if count else set()
    texts = [f"{'bad' if number in refused_positions else 'good'} text {number}" for number in range(count)]
    provider = SelectiveProvider(lambda text: "bad" not in text)

    found = embed(provider, texts)

    assert found.refused == dict.fromkeys(refused_positions, REASON)
    assert [number for number, vector in enumerate(found.vectors) if vector is None] == sorted(
        refused_positions
    )
    for number, vector in enumerate(found.vectors):
        assert vector is None or (vector == provider.vector(texts[number])).all()
    depth = math.ceil(math.log2(count)) if count > 1 else 0
    assert len(provider.calls) <= 2 + 2 * depth * len(refused_positions)
    accepted_texts = [text for text in provider.texts if text != PROBE_TEXT]
    assert len(accepted_texts) == len(set(accepted_texts)), "a text was bought twice"


def test_accepted_batch_takes_one_call() -> None:
    provider = SelectiveProvider(lambda text: True)
    embed(provider, ["one", "two", "three"])
    assert provider.calls == [["one", "two", "three"]]


def test_no_texts_need_no_call() -> None:
    provider = SelectiveProvider(lambda text: True)
    assert embed(provider, []) == EmbeddingResult([], {})
    assert provider.calls == []


def test_too_long_text_gets_the_weighted_mean_of_its_parts() -> None:
    text = "word " * 160 + "and the rest of it is a little longer than the beginning " * 16
    provider = SelectiveProvider(lambda text: len(text) <= 1000)

    found = embed(provider, [text, "short"])

    pieces = [call[0] for call in provider.calls if len(call) == 1 and call[0] in text]
    pieces = [piece for piece in pieces if len(piece) <= 1000]
    assert "".join(pieces) == text
    assert all(piece[0] == " " or piece is pieces[0] for piece in pieces), "it was cut between words"
    expected = sum(len(piece) * provider.vector(piece).astype(np.float64) for piece in pieces)
    vector = found.vectors[0]
    assert vector is not None
    assert np.allclose(vector, expected / np.linalg.norm(expected), atol=1e-6)
    assert found.refused == {}


def test_text_without_spaces_is_split_in_the_middle() -> None:
    text = "記憶" * 400
    provider = SelectiveProvider(lambda text: len(text) <= 400)

    assert embed(provider, [text]).refused == {}
    assert [call[0] for call in provider.calls if len(call[0]) == 400] == [text[:400], text[400:]]


def test_text_with_a_refused_part_has_a_reason_and_no_vector() -> None:
    text = "good " * 200 + "bad " + "good " * 200
    provider = SelectiveProvider(lambda text: "bad" not in text)

    found = embed(provider, ["before", text, "after"])

    assert found.refused == {1: REASON}
    assert [vector is None for vector in found.vectors] == [False, True, False]
    assert min(len(call[0]) for call in provider.calls if "bad" in call[0]) <= MIN_SPLIT_CHARACTERS


@settings(max_examples=40, deadline=None)
@given(
    words=st.lists(st.text(max_size=30), max_size=60).map(" ".join).filter(lambda text: text.strip() != ""),
    most=st.integers(1, 400),
)
def test_parts_cover_the_text_and_calls_are_bounded(words: str, most: int) -> None:
    provider = SelectiveProvider(lambda text: len(text) <= most or text == PROBE_TEXT)

    found = embed(provider, [words])

    assert len(provider.calls) <= 2 + MAX_SPLIT_CALLS
    if found.vectors[0] is None:
        assert found.refused == {0: REASON}
    else:
        taken = [call[0] for call in provider.calls if len(call[0]) <= most and call != [PROBE_TEXT]]
        assert "".join(taken) == words
        assert abs(float(np.linalg.norm(found.vectors[0])) - 1) < 1e-5


def test_refused_huge_text_takes_a_bounded_number_of_calls() -> None:
    provider = SelectiveProvider(lambda text: "x" not in text[-3:] and len(text) < 300)
    found = embed(provider, ["word " * 200_000 + "x"])

    assert found.refused == {0: REASON}
    assert len(provider.calls) <= 2 + MAX_SPLIT_CALLS


def test_provider_that_refuses_every_text_raises_an_error() -> None:
    provider = SelectiveProvider(lambda text: False)

    with pytest.raises(ProviderFailedError, match="refuses every text") as failure:
        embed(provider, [f"text {number}" for number in range(64)])

    assert not isinstance(failure.value, TextRefusedError)
    assert provider.calls[-1] == [PROBE_TEXT]
    assert len(provider.calls) == 1 + 6 + 1


def test_other_errors_are_raised_unchanged() -> None:
    provider = SelectiveProvider(lambda text: True)
    provider.problem = ProviderUnreachableError("nobody answers")

    with pytest.raises(ProviderUnreachableError, match="nobody answers"):
        embed(provider, ["one", "two"])


def test_refused_text_is_logged_by_length_without_its_contents() -> None:
    with capture_logs() as logs:
        embed(SelectiveProvider(lambda text: "bad" not in text), ["bad secret", "good"])

    assert [(entry["event"], entry["characters"]) for entry in logs] == [("embedding.text_refused", 10)]
    assert "secret" not in str(logs)
