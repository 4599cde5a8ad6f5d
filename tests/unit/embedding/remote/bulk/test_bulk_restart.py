"""Tests of batch jobs over restarts of the daemon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import trio

from memd.embedding.remote.bulk.api import BulkResults
from memd.embedding.remote.bulk.jobs import JobRecord
from memd_client.errors import IndexIOError
from tests.support.bulk_fixture import (
    SPACE,
    BulkFixture,
    JsonJobStore,
    batch_api_of,
    bulk_fixture,
    hashes_of,
    items_of,
    jobs_made,
    limit_job_size,
    override_replies,
    sent_bodies,
)
from tests.support.logs import capture_logs
from tests.support.provider_errors import DialectName, ProviderReply
from tests.support.provider_faults import Fault
from tests.support.provider_server import KEY, ProviderServer, serve_provider
from tests.support.remote_fixture import MovableClock

DIALECTS: tuple[DialectName, ...] = ("openai", "voyage", "gemini")


async def stop_when(
    server: ProviderServer, store: JsonJobStore, when: Callable[[BulkFixture], bool], count: int
) -> None:
    """Run jobs until the first pause at which a condition is true."""
    async with bulk_fixture(server, store=store) as stage:
        limit_job_size(stage, 2)
        with trio.CancelScope() as life:

            async def stop() -> None:
                if when(stage):
                    life.cancel()
                    await trio.lowlevel.checkpoint()

            stage.on_pause = stop
            await stage.run().embed(items_of(count))
        assert life.cancelled_caught


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_restart_fetches_submitted_jobs_and_submits_nothing_twice(dialect: DialectName) -> None:
    with serve_provider(dialect, dims=24) as server:
        batch_api_of(server).looks_to_finish = None
        store, items = JsonJobStore(), items_of(6)
        await stop_when(server, store, lambda stage: len(store.jobs) == 2, len(items))
        assert len(store.jobs) == 2
        batch_api_of(server).looks_to_finish = 1

        async with bulk_fixture(server, store=store) as stage:
            limit_job_size(stage, 2)
            run = stage.run()
            await run.resume()
            assert run.in_flight() == {digest for job in store.jobs for digest in job.hashes}
            await run.embed(items)
        assert stage.vectors.keys() == set(hashes_of(items))
        assert jobs_made(server) == 3
        for digest, text in items:
            kind = {"openai": "", "voyage": "document", "gemini": "RETRIEVAL_DOCUMENT"}[dialect]
            np.testing.assert_allclose(stage.vectors[digest], server.vector(text, kind), atol=1e-6)


async def test_job_that_ended_between_runs_is_fetched_completely() -> None:
    with serve_provider("openai", dims=24) as server:
        batch_api_of(server).looks_to_finish = None
        store, items, clock = JsonJobStore(), items_of(2), MovableClock()
        await stop_when(server, store, lambda stage: True, len(items))
        batch_api_of(server).finish(store.jobs[0].id)
        clock.move(20 * 3600)

        async with bulk_fixture(server, store=store, clock=clock) as stage:
            await stage.run().embed([])
        assert len(stage.vectors) == 2
        assert not sent_bodies(server, "POST", "/cancel")


async def test_stop_between_upload_and_creation_is_harmless(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serve_provider("openai", dims=24) as server:
        store, items = JsonJobStore(), items_of(2)

        async with bulk_fixture(server, store=store) as stage:
            with trio.CancelScope() as life:
                token = trio.lowlevel.current_trio_token()

                def stop(method: str, path: str) -> ProviderReply | None:
                    if path.endswith("/files"):
                        trio.from_thread.run_sync(life.cancel, trio_token=token)
                    return None

                with monkeypatch.context() as patch:
                    override_replies(server, patch, stop)
                    await stage.run().embed(items)
            assert stage.accounts.tokens_today == 0

        assert jobs_made(server) == 0
        async with bulk_fixture(server, store=store) as stage:
            await stage.run().embed(items)
        assert jobs_made(server) == 1
        assert len(stage.vectors) == 2


async def test_stop_during_creation_still_records_the_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serve_provider("openai", dims=24) as server:
        store = JsonJobStore()

        async with bulk_fixture(server, store=store) as stage:
            with trio.CancelScope() as life:
                token = trio.lowlevel.current_trio_token()

                def stop(method: str, path: str) -> ProviderReply | None:
                    if path.endswith("/batches"):
                        trio.from_thread.run_sync(life.cancel, trio_token=token)
                    return None

                with monkeypatch.context() as patch:
                    override_replies(server, patch, stop)
                    await stage.run().embed(items_of(2))
        assert [job.id for job in store.jobs] == list(batch_api_of(server).jobs)


async def test_unstored_results_are_fetched_again_after_a_restart() -> None:
    with serve_provider("openai", dims=24) as server:
        store = JsonJobStore()

        async with bulk_fixture(server, store=store) as stage:
            with trio.CancelScope() as life:

                async def stop(results: BulkResults) -> None:
                    life.cancel()
                    await trio.sleep_forever()

                run = stage.run()
                run._on_results = stop
                await run.embed(items_of(2))

        async with bulk_fixture(server, store=store) as stage:
            await stage.run().embed([])
        assert len(stage.vectors) == 2
        assert store.jobs == []


async def test_error_while_storing_results_loses_nothing() -> None:
    with serve_provider("openai", dims=24) as server:
        async with bulk_fixture(server) as stage:

            async def refuse(results: BulkResults) -> None:
                raise IndexIOError("the disk is full")

            run = stage.run()
            run._on_results = refuse
            with pytest.raises(IndexIOError):
                await run.embed(items_of(2))
            assert len(run.in_flight()) == 2
            assert len(stage.store.jobs) == 1
            run._on_results = stage.take
            await run.embed([])
            assert len(stage.vectors) == 2


async def test_jobs_of_another_space_provider_or_key_are_dropped() -> None:
    with serve_provider("openai", dims=24) as server, capture_logs() as logs:
        async with bulk_fixture(server) as stage:
            own = JobRecord("batch_1", "openai", SPACE, stage.api.owner, ("a",), 0)
            others = [
                JobRecord("batch_2", "voyage", SPACE, stage.api.owner, ("b",), 0),
                JobRecord("batch_3", "openai", "elsewhere", stage.api.owner, ("c",), 0),
                JobRecord("batch_4", "openai", SPACE, "somebody", ("d",), 0),
            ]
            await stage.store.save([*others, own])
            run = stage.run()
            await run.resume()
            assert run.in_flight() == {"a"}
            assert stage.store.jobs == [own]
            await run.resume()
        [dropped] = [log for log in logs if log["event"] == "embedding.jobs_dropped"]
        assert dropped["jobs"] == 3


async def test_logs_and_records_contain_no_key_or_text() -> None:
    with serve_provider("openai", dims=24) as server, capture_logs() as logs:
        batch_api_of(server).looks_to_finish = None
        batch_api_of(server).refused_marker = "number 1"

        async with bulk_fixture(server) as stage:
            limit_job_size(stage, 2)
            kept: list[str] = []
            run = stage.run()

            async def go_on() -> None:
                kept.append(stage.store.text)
                for job in run.status():
                    (batch_api_of(server).fail if job.id.endswith("1") else batch_api_of(server).finish)(
                        job.id
                    )

            stage.on_pause = go_on
            await run.embed(items_of(4))
            server.fault = Fault("unauthorized")
            await run.embed(items_of(4, "other"))
        shown = " ".join([*kept, repr(run), repr(stage.api), str([got.failed for got in stage.got])])
        everything = shown + str(logs)
        assert KEY not in everything
        assert "of the memory" not in everything


class StopAt(trio.abc.Instrument):
    """Cancels a scope after a number of task steps inside it."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.scope: trio.CancelScope | None = None

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Count a step."""
        if self.scope is not None:
            self.steps -= 1
            if self.steps == 0:
                self.scope.cancel()


@pytest.mark.parametrize("dialect", ["openai", "gemini"])
def test_stop_at_any_step_buys_no_text_twice(dialect: DialectName) -> None:
    with serve_provider(dialect, dims=8) as server:
        store, clock, items = JsonJobStore(), MovableClock(), items_of(4)
        vectors: dict[str, Any] = {}

        async def life(stop: StopAt) -> None:
            async with bulk_fixture(server, store=store, clock=clock) as stage:
                limit_job_size(stage, 2)
                with trio.CancelScope() as scope:
                    stop.scope = scope
                    missing = [item for item in items if item[0] not in vectors]
                    try:
                        await stage.run(concurrency=1).embed(missing)
                    finally:
                        stop.scope = None
                        vectors.update(stage.vectors)

        lives = 0
        while len(vectors) < len(items) or store.jobs:
            lives += 1
            stop = StopAt(7 * lives)
            trio.run(life, stop, instruments=[stop])
        assert lives > 3
        assert jobs_made(server) == 2
        kind = {"openai": "", "gemini": "RETRIEVAL_DOCUMENT"}[dialect]
        for digest, text in items:
            np.testing.assert_allclose(vectors[digest], server.vector(text, kind), atol=1e-6)
