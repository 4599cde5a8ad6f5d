"""Texts cut into jobs, records of them, and results put in order: for whatever comes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.embedding.numbers import MAX_TIME_MS
from memd.embedding.remote.bulk.api import BulkResults, of_one_size, of_these
from memd.embedding.remote.bulk.jobs import JobRecord, pieces, records_from_json, records_to_json, weight

texts = st.lists(st.tuples(st.text(min_size=1, max_size=8), st.text(max_size=200)), max_size=40)


@given(texts, st.sets(st.text(min_size=1, max_size=2)), st.integers(1, 9), st.integers(600, 3000))
def test_pieces_hold_each_text_once_in_order_and_within_the_limits(
    items: list[tuple[str, str]], taken: set[str], max_texts: int, max_bytes: int
) -> None:
    jobs = pieces(items, taken=taken, max_texts=max_texts, max_bytes=max_bytes)
    for job in jobs:
        assert 0 < len(job) <= max_texts
        assert sum(weight(digest, text) for digest, text in job) <= max_bytes
    firsts = {digest: text for digest, text in reversed(items) if weight(digest, text) <= max_bytes}
    found = [item for job in jobs for item in job]
    assert {digest for digest, _ in found} == firsts.keys() - taken
    assert len({digest for digest, _ in found}) == len(found)
    assert [item for item in items if item in found][:1] == found[:1]


names = st.text(min_size=1, max_size=20)
times = st.integers(0, MAX_TIME_MS)


@given(st.lists(st.builds(JobRecord, names, names, names, names, st.lists(names).map(tuple), times)))
def test_records_come_back_as_they_were(records: list[JobRecord]) -> None:
    assert records_from_json(records_to_json(records)) == records


@pytest.mark.parametrize("text", ["", "{", "{}", "[5]", '[{"id": "x"}]', "null", '[{"id":"","hashes":[]}]'])
def test_what_is_no_record_is_no_job(text: str) -> None:
    assert records_from_json(text) == []


@given(st.lists(st.sampled_from([2, 3]), max_size=9), st.sampled_from([None, 2, 3]))
def test_vectors_handed_on_are_all_of_one_size(sizes: Sequence[int], dims: int | None) -> None:
    vectors = {str(at): np.ones(size, dtype=np.float32) for at, size in enumerate(sizes)}
    results = of_one_size(BulkResults(vectors), dims)
    assert len({vector.shape for vector in results.vectors.values()}) <= 1
    assert results.vectors.keys() | results.failed.keys() == vectors.keys()
    assert not results.vectors.keys() & results.failed.keys()


hashes = st.sampled_from("abcdef")


@given(
    st.sets(hashes),
    st.dictionaries(hashes, st.just("no")),
    st.dictionaries(hashes, st.just("late")),
    st.sets(hashes),
)
def test_every_text_that_was_sent_ends_as_one_thing_and_no_other_text_does(
    good: set[str], refused: dict[str, str], failed: dict[str, str], sent_hashes: set[str]
) -> None:
    vectors = {digest: np.ones(2, dtype=np.float32) for digest in good}
    results = of_these(BulkResults(vectors, refused, failed), sorted(sent_hashes))
    parts = [set(results.vectors), set(results.refused), set(results.failed)]
    assert set.union(*parts) == sent_hashes
    assert sum(map(len, parts)) == len(sent_hashes)
