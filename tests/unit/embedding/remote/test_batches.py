"""Texts are put into few requests, larger ones while a server is quick, and a refused text is isolated."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from memd.embedding.provider import BatchLimits, FloatArray
from memd.embedding.remote.batches import (
    HARMLESS,
    LEAST_CHARACTERS,
    MOST_PIECE_CALLS,
    QUICK_S,
    SLOW_S,
    AdaptiveBatchSize,
    Embedded,
    batches,
    embed_around,
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
def test_every_text_is_in_one_batch_in_its_order_and_no_batch_is_too_much(
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


def test_a_text_that_may_be_refused_stands_alone() -> None:
    limits = BatchLimits(max_texts=10, max_tokens=1000, max_text_tokens=100, concurrency=1)

    assert batches([5, 101, 5, 5], limits) == [[0], [1], [2, 3]]


def test_no_texts_are_no_batches() -> None:
    assert batches([], BatchLimits(1, 1, 1, 1)) == []


@given(lengths=st.lists(st.integers(0, 900), min_size=1, max_size=60), limits=limits_of_all_sizes)
def test_batches_taken_one_by_one_are_those_made_at_once(lengths: list[int], limits: BatchLimits) -> None:
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
    """Have no reply be slow, however busy the machine is."""
    monkeypatch.setattr("memd.embedding.remote.batches.QUICK_S", 1000.0)
    monkeypatch.setattr("memd.embedding.remote.batches.SLOW_S", 2000.0)


def grown() -> AdaptiveBatchSize:
    """Return portions that have reached their most."""
    found = AdaptiveBatchSize(GROWING)
    for texts in (4, 8, 16):
        found.answered(texts, 0.0)
    assert found.limits.max_texts == 16
    return found


def test_full_requests_that_are_answered_quickly_grow_to_the_most() -> None:
    found = AdaptiveBatchSize(GROWING)
    for took_s, texts, after in (
        (0.0, 3, 4),
        (QUICK_S, 4, 4),
        (0.1, 4, 8),
        (0.1, 4, 8),
        (0.1, 8, 16),
        (0.1, 16, 16),
    ):
        found.answered(texts, took_s)
        assert found.limits == replace(GROWING, max_texts=after)


def test_slow_ones_shrink_to_the_usual_and_may_grow_again() -> None:
    found = grown()
    for after in (8, 4, 4):
        found.answered(1, SLOW_S + 0.1)
        assert found.limits.max_texts == after
    found.answered(4, 0.1)
    assert found.limits.max_texts == 8


def test_a_provider_with_limits_of_its_own_keeps_them() -> None:
    found = AdaptiveBatchSize(ONE_AT_A_TIME)
    for took_s in (0.0, 10.0):
        found.answered(ONE_AT_A_TIME.max_texts, took_s)
        assert found.limits is ONE_AT_A_TIME


@pytest.mark.parametrize("error", [ProviderFailedError, ProviderReplyError, TextRefusedError])
def test_what_fails_with_more_than_usual_ends_the_growth_for_good(error: type[ProviderFailedError]) -> None:
    found = grown()
    assert not found.shrink_after(4, error("no"))
    assert found.limits.max_texts == 16
    assert found.shrink_after(16, error("no"))
    assert found.shrink_after(16, error("another that was under way"))
    found.answered(4, 0.0)
    assert found.limits.max_texts == 4


@pytest.mark.parametrize(
    "error",
    [ProviderUnreachableError, ProviderRateLimitedError, ProviderQuotaError, ProviderAuthError],
)
def test_failures_of_other_causes_are_what_they_are(error: type[ProviderFailedError]) -> None:
    found = grown()
    assert not found.shrink_after(16, error("no"))
    assert found.limits.max_texts == 16


@pytest.mark.usefixtures("any_server_is_quick")
async def test_a_provider_asks_a_quick_server_for_more_and_more() -> None:
    async with connected("compatible", limits=GROWING) as world:
        provider = world.provider()
        sizes: list[int] = []
        while sum(sizes) < len(TEXTS):
            sizes.append(provider.limits.max_texts)
            await provider.embed_batch(TEXTS[: sizes[-1]])
        assert [len(texts) for texts in world.asked] == sizes == [4, 8, 16, 16, 16, 16]


@pytest.mark.usefixtures("any_server_is_quick")
@pytest.mark.parametrize("kind", ["server_error", "text_refused", "too_few"])
async def test_a_server_that_takes_no_more_than_usual_gets_that_and_no_failure_counts(
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
async def test_a_server_that_is_down_fails_with_the_usual_number_as_it_always_did() -> None:
    async with connected("compatible", limits=GROWING) as world:
        provider = world.provider()
        await provider.embed_batch(TEXTS[:4])
        world.server.fault = Fault("server_error")
        with pytest.raises(ProviderFailedError):
            await provider.embed_batch(TEXTS[:8])
        assert [len(texts) for texts in world.asked] == [4, 8, 4, 4, 4]
        assert world.account.retry_in_s() > 0


REASON = "the fake provider refuses the text"


class Choosy(FakeProvider):
    """Refuses a request with a text it doesn't like."""

    def __init__(self, likes: Callable[[str], bool]) -> None:
        super().__init__()
        self.likes = likes
        self.calls: list[list[str]] = []

    async def embed_batch(self, texts: Sequence[str]) -> FloatArray:
        """Return the vectors of texts it likes."""
        self.calls.append(list(texts))
        if not all(map(self.likes, texts)):
            raise TextRefusedError(REASON)
        return await super().embed_batch(texts)

    def vector(self, text: str) -> FloatArray:
        """Return what it gives for a text."""

        async def ask() -> FloatArray:
            return await FakeProvider().embed_query(text)

        return trio.run(ask)


def embed(provider: FakeProvider, texts: Sequence[str]) -> Embedded:
    return trio.run(embed_around, provider, texts)


@settings(max_examples=80, deadline=None)
@given(data=st.data(), count=st.integers(0, 70))
def test_the_culprits_are_found_exactly_and_everything_else_keeps_its_vector(
    data: st.DataObject, count: int
) -> None:
    culprits = data.draw(st.sets(st.integers(0, max(0, count - 1)), max_size=6)) if count else set()
    texts = [f"{'bad' if number in culprits else 'good'} text {number}" for number in range(count)]
    provider = Choosy(lambda text: "bad" not in text)

    found = embed(provider, texts)

    assert found.refused == dict.fromkeys(culprits, REASON)
    assert [number for number, vector in enumerate(found.vectors) if vector is None] == sorted(culprits)
    for number, vector in enumerate(found.vectors):
        assert vector is None or (vector == provider.vector(texts[number])).all()
    depth = math.ceil(math.log2(count)) if count > 1 else 0
    assert len(provider.calls) <= 2 + 2 * depth * len(culprits)
    asked_well = [text for text in provider.texts if text != HARMLESS]
    assert len(asked_well) == len(set(asked_well)), "a text was bought twice"


def test_a_list_that_is_liked_takes_one_call() -> None:
    provider = Choosy(lambda text: True)
    embed(provider, ["one", "two", "three"])
    assert provider.calls == [["one", "two", "three"]]


def test_no_texts_take_no_call() -> None:
    provider = Choosy(lambda text: True)
    assert embed(provider, []) == Embedded([], {})
    assert provider.calls == []


def test_a_text_that_is_too_long_gets_the_mean_of_its_pieces_by_their_length() -> None:
    text = "word " * 160 + "and the rest of it is a little longer than the beginning " * 16
    provider = Choosy(lambda text: len(text) <= 1000)

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


def test_text_without_spaces_is_cut_in_the_middle() -> None:
    text = "記憶" * 400
    provider = Choosy(lambda text: len(text) <= 400)

    assert embed(provider, [text]).refused == {}
    assert [call[0] for call in provider.calls if len(call[0]) == 400] == [text[:400], text[400:]]


def test_a_text_with_one_bad_spot_has_no_vector_and_a_reason() -> None:
    text = "good " * 200 + "bad " + "good " * 200
    provider = Choosy(lambda text: "bad" not in text)

    found = embed(provider, ["before", text, "after"])

    assert found.refused == {1: REASON}
    assert [vector is None for vector in found.vectors] == [False, True, False]
    assert min(len(call[0]) for call in provider.calls if "bad" in call[0]) <= LEAST_CHARACTERS


@settings(max_examples=40, deadline=None)
@given(
    words=st.lists(st.text(max_size=30), max_size=60).map(" ".join).filter(lambda text: text.strip() != ""),
    most=st.integers(1, 400),
)
def test_pieces_are_the_whole_text_and_calls_are_bounded_whatever_it_is(words: str, most: int) -> None:
    provider = Choosy(lambda text: len(text) <= most or text == HARMLESS)

    found = embed(provider, [words])

    assert len(provider.calls) <= 2 + MOST_PIECE_CALLS
    if found.vectors[0] is None:
        assert found.refused == {0: REASON}
    else:
        taken = [call[0] for call in provider.calls if len(call[0]) <= most and call != [HARMLESS]]
        assert "".join(taken) == words
        assert abs(float(np.linalg.norm(found.vectors[0])) - 1) < 1e-5


def test_a_huge_text_that_is_never_liked_costs_a_bounded_number_of_calls() -> None:
    provider = Choosy(lambda text: "x" not in text[-3:] and len(text) < 300)
    found = embed(provider, ["word " * 200_000 + "x"])

    assert found.refused == {0: REASON}
    assert len(provider.calls) <= 2 + MOST_PIECE_CALLS


def test_a_provider_that_refuses_everything_is_to_blame_and_not_the_texts() -> None:
    provider = Choosy(lambda text: False)

    with pytest.raises(ProviderFailedError, match="refuses every text") as failure:
        embed(provider, [f"text {number}" for number in range(64)])

    assert not isinstance(failure.value, TextRefusedError)
    assert provider.calls[-1] == [HARMLESS]
    assert len(provider.calls) == 1 + 6 + 1


def test_another_failure_ends_it_as_it_is() -> None:
    provider = Choosy(lambda text: True)
    provider.problem = ProviderUnreachableError("nobody answers")

    with pytest.raises(ProviderUnreachableError, match="nobody answers"):
        embed(provider, ["one", "two"])


def test_what_is_left_out_is_logged_by_its_length_and_never_by_its_words() -> None:
    with capture_logs() as logs:
        embed(Choosy(lambda text: "bad" not in text), ["bad secret", "good"])

    assert [(entry["event"], entry["characters"]) for entry in logs] == [("embedding.text_refused", 10)]
    assert "secret" not in str(logs)
