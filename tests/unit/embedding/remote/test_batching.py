"""Texts are put into as few requests as their order allows, and none is lost."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memd.embedding.provider import BatchLimits
from memd.embedding.remote.batching import batches, take_batch
from memd.text.tokens import estimate_tokens

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
