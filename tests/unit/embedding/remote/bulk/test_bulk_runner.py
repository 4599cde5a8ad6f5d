"""Tests of the batch job runner: splitting, submission, delivery of vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from memd.embedding.numbers import MAX_TIME_MS
from memd.embedding.remote.bulk.api import BulkResults, match_to_hashes, with_equal_dims
from memd.embedding.remote.bulk.jobs import (
    JobRecord,
    records_from_json,
    records_to_json,
    request_bytes,
    split_into_jobs,
)
from tests.support.bulk_fixture import (
    batch_api_of,
    bulk_fixture,
    hashes_of,
    items_of,
    jobs_made,
    limit_job_size,
    sent_bodies,
)
from tests.support.logs import capture_logs
from tests.support.provider_errors import DialectName
from tests.support.provider_faults import Fault, FaultKind
from tests.support.provider_server import serve_provider

DIALECTS: tuple[DialectName, ...] = ("openai", "voyage", "gemini")


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_every_text_gets_its_vector_and_all_files_are_deleted(dialect: DialectName) -> None:
    with serve_provider(dialect, dims=24) as server, capture_logs() as logs:
        items = items_of(7)

        async with bulk_fixture(server) as stage:
            limit_job_size(stage, 3)
            run = stage.run()
            await run.embed(items)
            assert run.in_flight() == set()
            assert run.status() == []
        assert stage.vectors.keys() == set(hashes_of(items))
        assert jobs_made(server) == 3
        assert stage.store.jobs == []
        assert batch_api_of(server).files == {}
        assert [log["event"] for log in logs].count("embedding.job_submitted") == 3
        assert [log["event"] for log in logs].count("embedding.job_ended") == 3
        assert not [log for log in logs if log["level"] == "warning"]
        assert server.complaints == []


async def test_job_is_recorded_as_soon_as_it_has_an_id() -> None:
    with serve_provider("openai", dims=24) as server:
        async with bulk_fixture(server) as stage:
            await stage.run().embed(items_of(2))
        assert stage.store.saves == [["batch_000001"], []]
        paths = [(call.asked.method, call.asked.path.rpartition("/v1/")[2]) for call in server.requests]
        assert paths[:3] == [("POST", "files"), ("POST", "batches"), ("GET", "batches/batch_000001")]


async def test_repeated_text_is_sent_once() -> None:
    with serve_provider("openai", dims=24) as server:
        items = items_of(3)

        async with bulk_fixture(server) as stage:
            run = stage.run()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(run.embed, [*items, *items])
                nursery.start_soon(run.embed, items[:0])
        assert jobs_made(server) == 1
        assert sent_bodies(server, "POST", "/files")[0].count(b"custom_id") == 3
        assert len(stage.vectors) == 3


async def test_concurrent_jobs_stay_within_the_limit() -> None:
    with serve_provider("openai", dims=24) as server:
        batch_api_of(server).looks_to_finish = None
        counts: list[int] = []

        async with bulk_fixture(server) as stage:
            limit_job_size(stage, 1)
            run = stage.run(concurrency=2)

            async def count() -> None:
                desk = batch_api_of(server)
                counts.append(len([job for job in desk.jobs.values() if job.state != "completed"]))
                assert len(run.status()) <= 2
                if (
                    counts[-1] == 2
                ):  # no job is done before two are under way, however slow the second submission is
                    desk.looks_to_finish = 3

            stage.on_pause = count
            await run.embed(items_of(7))
            assert len(stage.vectors) == 7
        assert max(counts) == 2


async def test_a_big_batch_is_split_by_bytes() -> None:
    with serve_provider("gemini", dims=24) as server:
        items = [(f"hash{at}", "word " * 400) for at in range(10)] + [("huge", "x" * 20_000)]

        async with bulk_fixture(server) as stage:
            stage.api.max_bytes = 9_000
            await stage.run().embed(items)
        bodies = sent_bodies(server, "POST", ":asyncBatchEmbedContent")
        assert len(bodies) == 4
        assert max(map(len, bodies)) <= 9_000
        assert stage.vectors.keys() == {digest for digest, _ in items[:-1]}


async def test_job_without_progress_is_polled_less_often() -> None:
    with serve_provider("openai", dims=24) as server:
        batch_api_of(server).looks_to_finish = 25

        async with bulk_fixture(server) as stage:
            await stage.run(poll_interval_ms=2000).embed(items_of(1))
        pauses = stage.pauses
        assert pauses[0] == 2
        assert pauses == sorted(pauses)
        assert pauses[-1] == 60


async def test_status_shows_the_progress_of_each_job() -> None:
    with serve_provider("openai", dims=24) as server:
        batch_api_of(server).looks_to_finish = None
        seen: list[tuple[str, str, int, int]] = []

        async with bulk_fixture(server) as stage:
            run = stage.run()
            looks = iter(
                [
                    lambda id_: None,
                    lambda id_: batch_api_of(server).advance(id_, 2),
                    batch_api_of(server).finish,
                ]
            )

            async def note() -> None:
                [job] = run.status()
                assert job.submitted_ms == stage.store.jobs[0].submitted_ms
                seen.append((job.id, job.state, job.texts, job.done))
                next(looks, lambda id_: None)(job.id)

            stage.on_pause = note
            await run.embed(items_of(4))
        assert seen == [
            ("batch_000001", "running", 4, 0),
            ("batch_000001", "running", 4, 0),
            ("batch_000001", "running", 4, 2),
        ]


texts = st.lists(st.tuples(st.text(min_size=1, max_size=8), st.text(max_size=200)), max_size=40)


@given(texts, st.sets(st.text(min_size=1, max_size=2)), st.integers(1, 9), st.integers(600, 3000))
def test_jobs_have_each_text_once_in_order_within_the_limits(
    items: list[tuple[str, str]], taken: set[str], max_texts: int, max_bytes: int
) -> None:
    jobs = split_into_jobs(items, in_flight=taken, max_texts=max_texts, max_bytes=max_bytes)
    for job in jobs:
        assert 0 < len(job) <= max_texts
        assert sum(request_bytes(digest, text) for digest, text in job) <= max_bytes
    firsts = {digest: text for digest, text in reversed(items) if request_bytes(digest, text) <= max_bytes}
    found = [item for job in jobs for item in job]
    assert {digest for digest, _ in found} == firsts.keys() - taken
    assert len({digest for digest, _ in found}) == len(found)
    assert [item for item in items if item in found][:1] == found[:1]


names = st.text(min_size=1, max_size=20)
times = st.integers(0, MAX_TIME_MS)


@given(st.lists(st.builds(JobRecord, names, names, names, names, st.lists(names).map(tuple), times)))
def test_records_survive_a_round_trip(records: list[JobRecord]) -> None:
    assert records_from_json(records_to_json(records)) == records


@pytest.mark.parametrize("text", ["", "{", "{}", "[5]", '[{"id": "x"}]', "null", '[{"id":"","hashes":[]}]'])
def test_invalid_records_are_skipped(text: str) -> None:
    assert records_from_json(text) == []


@given(st.lists(st.sampled_from([2, 3]), max_size=9), st.sampled_from([None, 2, 3]))
def test_returned_vectors_have_equal_size(sizes: Sequence[int], dims: int | None) -> None:
    vectors = {str(at): np.ones(size, dtype=np.float32) for at, size in enumerate(sizes)}
    results = with_equal_dims(BulkResults(vectors), dims)
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
def test_every_sent_text_has_exactly_one_result(
    good: set[str], refused: dict[str, str], failed: dict[str, str], sent_hashes: set[str]
) -> None:
    vectors = {digest: np.ones(2, dtype=np.float32) for digest in good}
    results = match_to_hashes(BulkResults(vectors, refused, failed), sorted(sent_hashes))
    parts = [set(results.vectors), set(results.refused), set(results.failed)]
    assert set.union(*parts) == sent_hashes
    assert sum(map(len, parts)) == len(sent_hashes)


@pytest.mark.parametrize(
    "kind", ["unauthorized", "forbidden", "quota", "server_error", "reset", "model_missing"]
)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_texts_that_can_not_be_submitted_are_freed(dialect: DialectName, kind: FaultKind) -> None:
    with serve_provider(dialect, dims=24) as server:
        async with bulk_fixture(server) as stage:
            limit_job_size(stage, 1)
            run = stage.run()
            server.fault = Fault(kind)
            await run.embed(items_of(4))
            assert run.in_flight() == set()
            await run.embed(items_of(4))
            assert run.has_given_up
            assert stage.got == []
            assert stage.store.saves == []


async def test_account_pause_is_no_failure_of_the_batch_api() -> None:
    with serve_provider("openai", dims=24) as server:
        async with bulk_fixture(server) as stage:
            run = stage.run()
            server.fault = Fault("rate_limited", retry_after=40)
            await run.embed(items_of(2))
            server.fault = None
            asked = len(server.requests)
            may_submit = [run.may_submit]
            await run.embed(items_of(2))
            assert len(server.requests) == asked
            stage.clock.move(60)
            assert [*may_submit, run.may_submit] == [False, True]
            await run.embed(items_of(2))
            assert len(stage.vectors) == 2
            assert not run.has_given_up


async def test_exhausted_budget_is_no_failure_of_the_batch_api() -> None:
    with serve_provider("openai", dims=24) as server:
        async with bulk_fixture(server, daily_budget=50) as stage:
            run = stage.run()
            await run.embed(items_of(40))
            await run.embed(items_of(40))
            await run.embed(items_of(40))
            assert server.requests == []
            assert not run.has_given_up
            may_submit = [run.may_submit]
            stage.clock.move(24 * 3600)
            assert [*may_submit, run.may_submit] == [False, True]


async def test_disabled_batch_api_submits_nothing() -> None:
    with serve_provider("openai", dims=24) as server:
        async with bulk_fixture(server) as stage:
            run = stage.run(enabled=False)
            await run.embed(items_of(2))
            assert not run.may_submit
        assert server.requests == []
