"""Tests of failing batch jobs: paid results are kept, other texts are freed."""

from __future__ import annotations

import pytest
import trio

from memd.embedding.remote.bulk.api import BulkResults
from memd.embedding.remote.bulk.jobs import JobRecord
from memd.embedding.remote.bulk.runner import CANCEL_MS, BatchJob, JobPoller
from tests.support.bulk_fixture import (
    SPACE,
    batch_api_of,
    bulk_fixture,
    hashes_of,
    items_of,
    jobs_made,
    limit_job_size,
    override_replies,
)
from tests.support.logs import capture_logs
from tests.support.provider_errors import DialectName, ProviderReply, json_reply
from tests.support.provider_faults import Fault, FaultKind
from tests.support.provider_server import serve_provider

DIALECTS: tuple[DialectName, ...] = ("openai", "voyage", "gemini")
MINUTE_MS = 60_000


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_refused_missing_and_wrong_texts_are_distinguished(dialect: DialectName) -> None:
    with serve_provider(dialect, dims=24) as server:
        items = [*items_of(5), ("bad", "something forbidden")]
        batch_api_of(server).refused_marker = "forbidden"
        batch_api_of(server).lost = 1
        batch_api_of(server).spoil = "zero"

        async with bulk_fixture(server) as stage:
            run = stage.run()
            await run.embed(items)
            assert not run.has_given_up
            assert run.in_flight() == set()
        [results] = stage.got
        assert list(results.vectors) == hashes_of(items)[2:5]
        assert list(results.refused) == ["bad"]
        assert list(results.failed) == hashes_of(items)[:2]


@pytest.mark.parametrize("end", ["expire", "cancel"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_results_before_the_end_of_a_job_are_kept(dialect: DialectName, end: str) -> None:
    with serve_provider(dialect, dims=24) as server:
        batch_api_of(server).looks_to_finish = None
        items = items_of(4)

        async with bulk_fixture(server) as stage:
            run = stage.run()

            async def stop() -> None:
                [job] = run.status()
                batch_api_of(server)._end(job.id, "expired" if end == "expire" else "cancelled", 3)

            stage.on_pause = stop
            await run.embed(items)
            assert repr(run) == f"<BulkRunner {dialect} 0 jobs, 1 failures in a row>"
        assert stage.vectors.keys() == set(hashes_of(items)[:3])
        assert list(stage.got[0].failed) == hashes_of(items)[3:]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_job_that_times_out_is_cancelled_and_its_results_are_kept(dialect: DialectName) -> None:
    with serve_provider(dialect, dims=24) as server:
        batch_api_of(server).looks_to_finish = None
        items = items_of(4)

        async with bulk_fixture(server) as stage:
            run, start_ms = stage.run(timeout_minutes=30), stage.clock()

            async def get_on() -> None:
                [job] = run.status()
                batch_api_of(server).advance(job.id, 2)

            stage.on_pause = get_on
            await run.embed(items)
            assert stage.vectors.keys() == set(hashes_of(items)[:2])
            assert "1 failures" in repr(run)
            assert stage.store.jobs == []
        took_ms = stage.clock() - start_ms
        assert 30 * MINUTE_MS <= took_ms <= 31 * MINUTE_MS


async def test_cancelled_job_that_never_ends_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_provider("openai", dims=24) as server:
        batch_api_of(server).looks_to_finish = None
        stuck = {"id": "batch_000001", "status": "cancelling"}
        override_replies(
            server, monkeypatch, lambda method, path: json_reply(stuck) if method == "GET" else None
        )

        async with bulk_fixture(server) as stage:
            run, start_ms = stage.run(timeout_minutes=5), stage.clock()
            await run.embed(items_of(2))
            assert run.in_flight() == set()
        took_ms = stage.clock() - start_ms
        assert took_ms == pytest.approx(5 * MINUTE_MS + CANCEL_MS, abs=2 * MINUTE_MS)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_job_unknown_to_the_provider_frees_its_texts(dialect: DialectName) -> None:
    with serve_provider(dialect, dims=24) as server:
        async with bulk_fixture(server) as stage:
            run = stage.run()

            async def lose() -> None:
                batch_api_of(server).jobs.clear()

            stage.on_pause = lose
            await run.embed(items_of(3))
            assert run.in_flight() == set()
            assert stage.store.jobs == []
            assert stage.vectors == {}
            assert "1 failures" in repr(run)


async def test_job_with_mostly_failed_texts_counts_as_a_failure() -> None:
    with serve_provider("openai", dims=24) as server:
        batch_api_of(server).lost = 3

        async with bulk_fixture(server) as stage:
            run = stage.run()
            await run.embed(items_of(4))
            assert len(stage.vectors) == 1
            assert "1 failures" in repr(run)


async def test_job_with_only_refused_texts_has_failed() -> None:
    with serve_provider("openai", dims=24) as server:
        batch_api_of(server).refused_marker = "text"

        async with bulk_fixture(server) as stage:
            run = stage.run()
            await run.embed(items_of(4))
            [results] = stage.got
            assert results.refused == {}
            assert len(results.failed) == 4
            assert "1 failures" in repr(run)


async def test_refused_text_of_a_single_text_job_is_refused() -> None:
    with serve_provider("openai", dims=24) as server:
        batch_api_of(server).refused_marker = "text"

        async with bulk_fixture(server) as stage:
            run = stage.run()
            await run.embed(items_of(1))
            assert list(stage.got[0].refused) == hashes_of(items_of(1))
            assert "0 failures" in repr(run)


async def test_two_consecutive_failures_give_up_the_batch_api() -> None:
    with serve_provider("openai", dims=24) as server, capture_logs() as logs:
        batch_api_of(server).looks_to_finish = None

        async with bulk_fixture(server) as stage:
            limit_job_size(stage, 1)
            run = stage.run(concurrency=1)

            async def fail() -> None:
                [job] = run.status()
                batch_api_of(server).fail(job.id)

            stage.on_pause = fail
            await run.embed(items_of(5))
            assert run.has_given_up
            assert not run.may_submit
            assert run.in_flight() == set()
            asked = len(server.requests)
            await run.embed(items_of(5, "other"))
            assert len(server.requests) == asked
        assert jobs_made(server) == 2
        [given_up] = [log for log in logs if log["event"] == "embedding.jobs_given_up"]
        assert given_up["failures"] == 2


async def test_success_resets_the_count_of_failures() -> None:
    with serve_provider("openai", dims=24) as server:
        batch_api_of(server).looks_to_finish = None
        ends = ["fail", "finish", "fail", "finish", "fail"]

        async with bulk_fixture(server) as stage:
            limit_job_size(stage, 1)
            run = stage.run(concurrency=1)

            async def end() -> None:
                [job] = run.status()
                getattr(batch_api_of(server), ends.pop(0))(job.id)

            stage.on_pause = end
            await run.embed(items_of(5))
            assert not run.has_given_up
            assert len(stage.vectors) == 2


async def test_giving_up_cancels_jobs_and_keeps_their_results() -> None:
    with serve_provider("openai", dims=24) as server:
        batch_api_of(server).looks_to_finish = None
        items = items_of(9)

        async with bulk_fixture(server) as stage:
            limit_job_size(stage, 3)
            run = stage.run(concurrency=3)

            async def fail_two() -> None:
                desk = batch_api_of(server)
                if len(desk.jobs) == 3:
                    desk.advance("batch_000003", 2)
                    for job_id in ("batch_000001", "batch_000002"):
                        if desk.jobs[job_id].state != "failed":
                            desk.fail(job_id)

            stage.on_pause = fail_two
            await run.embed(items)
            assert run.has_given_up
            assert run.in_flight() == set()
            assert stage.store.jobs == []
            assert len(stage.vectors) == 2
        assert batch_api_of(server).jobs["batch_000003"].state == "cancelled"


@pytest.mark.parametrize("kind", ["server_error", "reset", "html", "cut_short", "quota"])
async def test_failed_poll_is_no_failed_job(kind: FaultKind) -> None:
    with serve_provider("openai", dims=24) as server:
        batch_api_of(server).looks_to_finish = None
        looks: list[int] = []

        async with bulk_fixture(server) as stage:
            run = stage.run()

            async def get_on() -> None:
                looks.append(len(looks))
                server.fault = Fault(kind) if len(looks) < 8 else None
                if len(looks) == 8:
                    batch_api_of(server).finish(run.status()[0].id)

            stage.on_pause = get_on
            await run.embed(items_of(3))
            assert len(stage.vectors) == 3
            assert "0 failures" in repr(run)
            assert stage.api.retry_in_s() == 0, "questions don't wait for the batch API"
        assert len(looks) == 8


async def test_provider_unreachable_until_the_deadline_frees_the_texts() -> None:
    with serve_provider("openai", dims=24) as server:
        async with bulk_fixture(server) as stage:
            run, start_ms = stage.run(timeout_minutes=10), stage.clock()

            async def die() -> None:
                server.fault = Fault("server_error")

            stage.on_pause = die
            await run.embed(items_of(3))
            assert run.in_flight() == set()
            assert "1 failures" in repr(run)
        assert (stage.clock() - start_ms) <= 10 * MINUTE_MS + CANCEL_MS + 3 * MINUTE_MS


async def test_refused_key_ends_the_job() -> None:
    with serve_provider("openai", dims=24) as server:
        async with bulk_fixture(server) as stage:
            run, start_ms = stage.run(), stage.clock()

            async def revoke() -> None:
                server.key = "another"

            stage.on_pause = revoke
            await run.embed(items_of(3))
            assert run.in_flight() == set()
            assert "1 failures" in repr(run)
        assert (stage.clock() - start_ms) < MINUTE_MS


async def test_interrupted_results_are_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_provider("openai", dims=24) as server:
        broken = [ProviderReply(500, b"{}"), ProviderReply(503, b"{}")]

        def answer(method: str, path: str) -> ProviderReply | None:
            return broken.pop() if path.endswith("/content") and broken else None

        override_replies(server, monkeypatch, answer)

        async with bulk_fixture(server) as stage:
            await stage.run().embed(items_of(3))
            assert len(stage.vectors) == 3
        assert broken == []


async def test_unavailable_results_free_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_provider("openai", dims=24) as server:
        override_replies(
            server,
            monkeypatch,
            lambda method, path: ProviderReply(500, b"{}") if path.endswith("/content") else None,
        )

        async with bulk_fixture(server) as stage:
            run = stage.run()
            await run.embed(items_of(3))
            assert run.in_flight() == set()
            assert stage.vectors == {}
            assert "1 failures" in repr(run)


async def test_cancelling_job_is_abandoned_when_the_batch_api_is_given_up() -> None:
    with serve_provider("openai", dims=24) as server:
        batch_api_of(server).looks_to_finish = None

        async with bulk_fixture(server) as stage:
            asleep, results = trio.Event(), list[BulkResults]()

            async def pause(seconds: float) -> None:
                asleep.set()
                await trio.sleep_forever()

            job_id = await stage.api.submit(items_of(1))
            record = JobRecord(job_id, "openai", SPACE, stage.api.owner, ("a",), stage.clock())
            job = BatchJob(record, stage.clock() + CANCEL_MS, CANCEL_MS, ending="it took too long")
            watch = JobPoller(stage.api, stage.clock, pause, poll_s=2)

            async def follow() -> None:
                results.append(await watch.results_of(job))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(follow)
                await asleep.wait()
                watch.give_up()
        assert results[0].failed == {"a": "the job has no result for this text"}
