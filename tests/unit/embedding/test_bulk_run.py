"""Jobs at a batch API while all goes well: each text is sent once, and its vector handed on."""

from __future__ import annotations

import pytest
import trio
from structlog.testing import capture_logs

from tests.support.bulk import (
    Bench,
    desk_of,
    hashes_of,
    items_of,
    jobs_made,
    played,
    sent,
    small_jobs,
)
from tests.support.provider_errors import DialectName
from tests.support.provider_server import serving

DIALECTS: tuple[DialectName, ...] = ("openai", "voyage", "gemini")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_text_gets_its_vector_and_nothing_is_left_behind(dialect: DialectName) -> None:
    with serving(dialect, dims=24) as server, capture_logs() as logs:
        items = items_of(7)

        async def play(stage: Bench) -> Bench:
            small_jobs(stage, 3)
            run = stage.run()
            await run.embed(items)
            assert run.in_flight() == set()
            assert run.status() == []
            return stage

        # when texts for three jobs are embedded
        stage = played(server, play)
        # then all have their vectors, and neither store nor provider holds anything
        assert stage.vectors.keys() == set(hashes_of(items))
        assert jobs_made(server) == 3
        assert stage.store.jobs == []
        assert desk_of(server).files == {}
        assert [log["event"] for log in logs].count("embedding.job_submitted") == 3
        assert [log["event"] for log in logs].count("embedding.job_ended") == 3
        assert not [log for log in logs if log["log_level"] == "warning"]
        assert server.complaints == []


def test_a_job_is_put_down_as_soon_as_it_has_an_id() -> None:
    with serving("openai", dims=24) as server:

        async def play(stage: Bench) -> Bench:
            await stage.run().embed(items_of(2))
            return stage

        # when a job is made and collected
        stage = played(server, play)
        # then it is in the store before anything else, and out of it after its results were handed on
        assert stage.store.saves == [["batch_000001"], []]
        paths = [(call.asked.method, call.asked.path.rpartition("/v1/")[2]) for call in server.requests]
        assert paths[:3] == [("POST", "files"), ("POST", "batches"), ("GET", "batches/batch_000001")]


def test_a_text_is_sent_once_however_often_it_is_asked_for() -> None:
    with serving("openai", dims=24) as server:
        items = items_of(3)

        async def play(stage: Bench) -> Bench:
            run = stage.run()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(run.embed, [*items, *items])
                nursery.start_soon(run.embed, items[:0])
            return stage

        # when texts are given twice
        stage = played(server, play)
        # then one job holds each once
        assert jobs_made(server) == 1
        assert sent(server, "POST", "/files")[0].count(b"custom_id") == 3
        assert len(stage.vectors) == 3


def test_no_more_jobs_than_allowed_are_under_way() -> None:
    with serving("openai", dims=24) as server:
        desk_of(server).looks_to_finish = None
        counts: list[int] = []

        async def play(stage: Bench) -> None:
            small_jobs(stage, 1)
            run = stage.run(concurrency=2)

            async def count() -> None:
                desk = desk_of(server)
                counts.append(len([job for job in desk.jobs.values() if job.state != "completed"]))
                assert len(run.status()) <= 2
                if counts[-1] == 2:  # none is done before two are under way, however slow the second's way is
                    desk.looks_to_finish = 3

            stage.on_pause = count
            await run.embed(items_of(7))
            assert len(stage.vectors) == 7

        # when seven jobs are to be done two at a time, then two were under way and never three
        played(server, play)
        assert max(counts) == 2


def test_a_big_batch_is_split_by_bytes() -> None:
    with serving("gemini", dims=24) as server:
        items = [(f"hash{at}", "word " * 400) for at in range(10)] + [("huge", "x" * 20_000)]

        async def play(stage: Bench) -> Bench:
            stage.api.max_bytes = 9_000  # type: ignore[misc]
            await stage.run().embed(items)
            return stage

        # when texts of 2 kB go into jobs of 9 kB
        stage = played(server, play)
        # then no call is longer than that, and a text too big for any is left to plain requests
        bodies = sent(server, "POST", ":asyncBatchEmbedContent")
        assert len(bodies) == 4
        assert max(map(len, bodies)) <= 9_000
        assert stage.vectors.keys() == {digest for digest, _ in items[:-1]}


def test_a_job_that_does_not_move_is_looked_at_less_and_less_often() -> None:
    with serving("openai", dims=24) as server:
        desk_of(server).looks_to_finish = 25

        async def play(stage: Bench) -> list[float]:
            await stage.run(poll_interval_ms=2000).embed(items_of(1))
            return stage.pauses

        # when a job takes its time
        pauses = played(server, play)
        # then the pauses grow from the interval in the settings to a minute
        assert pauses[0] == 2
        assert pauses == sorted(pauses)
        assert pauses[-1] == 60


def test_status_tells_how_far_each_job_is() -> None:
    with serving("openai", dims=24) as server:
        desk_of(server).looks_to_finish = None
        seen: list[tuple[str, str, int, int]] = []

        async def play(stage: Bench) -> None:
            run = stage.run()
            looks = iter(
                [lambda id_: None, lambda id_: desk_of(server).advance(id_, 2), desk_of(server).finish]
            )

            async def note() -> None:
                [job] = run.status()
                assert job.submitted_ms == stage.store.jobs[0].submitted_ms
                seen.append((job.id, job.state, job.texts, job.done))
                next(looks, lambda id_: None)(job.id)

            stage.on_pause = note
            await run.embed(items_of(4))

        # when a job goes on, then status shows it
        played(server, play)
        assert seen == [
            ("batch_000001", "running", 4, 0),
            ("batch_000001", "running", 4, 0),
            ("batch_000001", "running", 4, 2),
        ]
