"""Jobs at a batch API over the ends of daemons: collected by the next one, and nothing submitted twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import trio
from structlog.testing import capture_logs

from memd.embedding.remote.bulk.api import BulkResults
from memd.embedding.remote.bulk.jobs import JobRecord
from memd_client.errors import IndexIOError
from tests.support.bulk import (
    SPACE,
    Bench,
    KeptJobs,
    answering,
    bench,
    desk_of,
    hashes_of,
    items_of,
    jobs_made,
    played,
    sent,
    small_jobs,
)
from tests.support.provider_errors import DialectName, Reply
from tests.support.provider_faults import Fault
from tests.support.provider_server import KEY, ProviderServer, serving
from tests.support.remotes import MovableClock

DIALECTS: tuple[DialectName, ...] = ("openai", "voyage", "gemini")


def stopped_after(server: ProviderServer, store: KeptJobs, when: Callable[[Bench], bool], count: int) -> None:
    """Live a daemon's life that is cancelled at the first pause at which a condition holds."""

    async def play(stage: Bench) -> None:
        small_jobs(stage, 2)
        with trio.CancelScope() as life:

            async def stop() -> None:
                if when(stage):
                    life.cancel()
                    await trio.lowlevel.checkpoint()

            stage.on_pause = stop
            await stage.run().embed(items_of(count))
        assert life.cancelled_caught

    played(server, play, store=store)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_restart_collects_what_was_submitted_and_submits_nothing_twice(dialect: DialectName) -> None:
    with serving(dialect, dims=24) as server:
        # given two jobs under way when the daemon ends
        desk_of(server).looks_to_finish = None
        store, items = KeptJobs(), items_of(6)
        stopped_after(server, store, lambda stage: len(store.jobs) == 2, len(items))
        assert len(store.jobs) == 2
        desk_of(server).looks_to_finish = 1

        async def next_life(stage: Bench) -> Bench:
            small_jobs(stage, 2)
            run = stage.run()
            await run.resume()
            assert run.in_flight() == {digest for job in store.jobs for digest in job.hashes}
            await run.embed(items)
            return stage

        # when the next one is given the same texts
        stage = played(server, next_life, store=store)
        # then it collects those two, and submits only what is left
        assert stage.vectors.keys() == set(hashes_of(items))
        assert jobs_made(server) == 3
        for digest, text in items:
            kind = {"openai": "", "voyage": "document", "gemini": "RETRIEVAL_DOCUMENT"}[dialect]
            np.testing.assert_allclose(stage.vectors[digest], server.vector(text, kind), atol=1e-6)


def test_a_job_that_ended_while_the_daemon_was_away_is_collected_whole_however_late() -> None:
    with serving("openai", dims=24) as server:
        desk_of(server).looks_to_finish = None
        store, items, clock = KeptJobs(), items_of(2), MovableClock()
        stopped_after(server, store, lambda stage: True, len(items))
        # given a job that was done hours ago, long after it should have been
        desk_of(server).finish(store.jobs[0].id)
        clock.move(20 * 3600)

        async def next_life(stage: Bench) -> Bench:
            await stage.run().embed([])
            return stage

        # when the daemon is back, then it is collected
        stage = played(server, next_life, store=store, clock=clock)
        assert len(stage.vectors) == 2
        assert not sent(server, "POST", "/cancel")


def test_a_daemon_that_ends_between_upload_and_job_leaves_nothing_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving("openai", dims=24) as server:
        store, items = KeptJobs(), items_of(2)

        async def first_life(stage: Bench) -> None:
            with trio.CancelScope() as life:
                token = trio.lowlevel.current_trio_token()

                def stop(method: str, path: str) -> Reply | None:
                    if path.endswith("/files"):
                        trio.from_thread.run_sync(life.cancel, trio_token=token)
                    return None

                with monkeypatch.context() as patch:
                    answering(server, patch, stop)
                    await stage.run().embed(items)
            assert stage.accounts.tokens_today == 0

        async def next_life(stage: Bench) -> Bench:
            await stage.run().embed(items)
            return stage

        # given a daemon that ended when the file was up and no job made of it
        played(server, first_life, store=store)
        assert jobs_made(server) == 0
        # when the next one starts, then it begins anew
        stage = played(server, next_life, store=store)
        assert jobs_made(server) == 1
        assert len(stage.vectors) == 2


def test_a_daemon_that_ends_while_the_job_is_made_still_puts_it_down(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving("openai", dims=24) as server:
        store = KeptJobs()

        async def first_life(stage: Bench) -> None:
            with trio.CancelScope() as life:
                token = trio.lowlevel.current_trio_token()

                def stop(method: str, path: str) -> Reply | None:
                    if path.endswith("/batches"):
                        trio.from_thread.run_sync(life.cancel, trio_token=token)
                    return None

                with monkeypatch.context() as patch:
                    answering(server, patch, stop)
                    await stage.run().embed(items_of(2))

        # when the daemon is stopped in the very call that makes the job, then the job is in the store
        played(server, first_life, store=store)
        assert [job.id for job in store.jobs] == list(desk_of(server).jobs)


def test_results_that_were_not_stored_are_fetched_again_by_the_next_daemon() -> None:
    with serving("openai", dims=24) as server:
        store = KeptJobs()

        async def first_life(stage: Bench) -> None:
            with trio.CancelScope() as life:

                async def stop(results: BulkResults) -> None:
                    life.cancel()
                    await trio.sleep_forever()

                run = stage.run()
                run._on_results = stop
                await run.embed(items_of(2))

        async def next_life(stage: Bench) -> Bench:
            await stage.run().embed([])
            return stage

        # given a daemon that ended while the index took the results
        played(server, first_life, store=store)
        # when the next one starts, then it gets them
        assert len(played(server, next_life, store=store).vectors) == 2
        assert store.jobs == []


def test_an_index_that_takes_no_results_is_an_error_and_loses_nothing() -> None:
    with serving("openai", dims=24) as server:

        async def play(stage: Bench) -> None:
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

        # when results can't be stored, then they are collected again later
        played(server, play)


def test_jobs_of_another_space_provider_or_key_are_dropped() -> None:
    with serving("openai", dims=24) as server, capture_logs() as logs:

        async def play(stage: Bench) -> None:
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

        # when the store holds jobs that can't be collected with this key, then they are dropped, and said so
        played(server, play)
        [dropped] = [log for log in logs if log["event"] == "embedding.jobs_dropped"]
        assert dropped["jobs"] == 3


def test_neither_logs_nor_records_hold_a_key_or_a_text() -> None:
    with serving("openai", dims=24) as server, capture_logs() as logs:
        desk_of(server).looks_to_finish = None
        desk_of(server).refused_marker = "number 1"

        async def play(stage: Bench) -> str:
            small_jobs(stage, 2)
            kept: list[str] = []
            run = stage.run()

            async def go_on() -> None:
                kept.append(stage.store.text)
                for job in run.status():
                    (desk_of(server).fail if job.id.endswith("1") else desk_of(server).finish)(job.id)

            stage.on_pause = go_on
            await run.embed(items_of(4))
            server.fault = Fault("unauthorized")
            await run.embed(items_of(4, "other"))
            return " ".join([*kept, repr(run), repr(stage.api), str([got.failed for got in stage.got])])

        # when jobs go well, fail, and can't be made
        shown = played(server, play)
        # then nobody finds the key or a text in what is kept and told
        everything = shown + str(logs)
        assert KEY not in everything
        assert "of the memory" not in everything


class StopAt(trio.abc.Instrument):
    """Cancels a scope when the loop has taken so many steps inside of it."""

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
def test_wherever_a_daemon_ends_no_text_is_paid_for_twice(dialect: DialectName) -> None:
    with serving(dialect, dims=8) as server:
        # given daemons that end a little later each, wherever they are then
        store, clock, items = KeptJobs(), MovableClock(), items_of(4)
        vectors: dict[str, Any] = {}

        async def life(stop: StopAt) -> None:
            async with bench(server, store=store, clock=clock) as stage:
                small_jobs(stage, 2)
                with trio.CancelScope() as scope:
                    stop.scope = scope
                    missing = [item for item in items if item[0] not in vectors]
                    try:
                        await stage.run(concurrency=1).embed(missing)
                    finally:
                        stop.scope = None
                        vectors.update(stage.vectors)

        # when one after the other is given the texts that are still missing
        lives = 0
        while len(vectors) < len(items) or store.jobs:
            lives += 1
            stop = StopAt(7 * lives)
            trio.run(life, stop, instruments=[stop])
        # then each text was in one job, and has its own vector
        assert lives > 3
        assert jobs_made(server) == 2
        kind = {"openai": "", "gemini": "RETRIEVAL_DOCUMENT"}[dialect]
        for digest, text in items:
            np.testing.assert_allclose(vectors[digest], server.vector(text, kind), atol=1e-6)
