"""Wall time that jumps: nothing waits until it has come round, and nothing is bought twice for it."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from memd.embedding.remote.account import Account
from memd.embedding.remote.bulk.jobs import JobRecord
from memd.embedding.remote.bulk.runner import CANCEL_MS, BatchJob, JobPoller
from memd.embedding.remote.circuit_breaker import MAX_BACKOFF_S
from memd.embedding.remote.token_budget import DAY_MS, TokenBudget
from memd.index.meta import find_last_sync
from memd.system.clock import has_passed
from memd.vector_search.transitions import FALLBACK_AFTER_MS
from memd_client.errors import ProviderRateLimitedError, ProviderUnavailableError, ProviderUnreachableError
from tests.support.bulk_fixture import SPACE, BulkFixture, batch_api_of, items_of, jobs_made, run_bulk
from tests.support.fake_provider import FakeProvider
from tests.support.provider_server import serve_provider
from tests.support.remote_fixture import ACCOUNT_LIMITS, MovableClock, accounts, endpoint
from tests.support.synced_text import synced_text_in
from tests.support.vector_fixture import TEXTS, FakeChooser, ManualClock, run_fast, vector_fixture, wait_for

YEAR_MS = 365 * DAY_MS


def test_a_span_that_began_ahead_of_the_clock_is_over() -> None:
    assert not has_passed(1000, since_ms=5000, now_ms=5000)
    assert not has_passed(1000, since_ms=5000, now_ms=5999)
    assert has_passed(1000, since_ms=5000, now_ms=6000)
    assert has_passed(1000, since_ms=5000, now_ms=4999)
    assert has_passed(1000, since_ms=5000, now_ms=5000 + YEAR_MS)


# --- providers --------------------------------------------------------------------------------------


def test_unavailable_provider_is_tried_again_after_the_clock_went_back(tmp_path: Path) -> None:
    primary, clock = FakeProvider(), ManualClock()
    clock.now_ms += YEAR_MS

    async def body() -> None:
        chooser = FakeChooser(ProviderUnavailableError("no key"))
        async with vector_fixture(tmp_path, chooser, clock=clock) as scene:
            assert scene.vectors.primary is None
            chooser.wanted = primary
            clock.now_ms -= YEAR_MS
            await wait_for(lambda: scene.vectors.primary is not None)

    run_fast(body)


def test_a_primary_is_left_and_found_again_when_the_clock_went_back(tmp_path: Path) -> None:
    primary, spare = FakeProvider(model="primary"), FakeProvider(model="spare")
    clock = ManualClock()
    clock.now_ms += 3 * YEAR_MS

    async def body() -> None:
        chooser = FakeChooser(primary)
        chooser.fallbacks["local"] = spare
        async with vector_fixture(tmp_path, chooser, clock=clock, fallback="local") as scene:
            await scene.publish("memory/a.md", TEXTS)
            await scene.until_whole()
            # when it fails, and the clock goes back before it has failed for long enough
            primary.problem = ProviderUnreachableError("no route")
            with pytest.raises(ProviderUnreachableError):
                await scene.vector_of("a question", 1.0)
            clock.now_ms -= YEAR_MS
            # then the fallback is used
            await wait_for(lambda: scene.vectors.fallback is not None)
            # when it works again, and the clock goes back again
            primary.problem = None
            clock.now_ms -= YEAR_MS + FALLBACK_AFTER_MS
            # then it is found to
            await wait_for(lambda: scene.vectors.target is scene.vectors.primary)

    run_fast(body)


def test_vectors_are_renewed_once_when_the_clock_goes_back_meanwhile(tmp_path: Path) -> None:
    provider, clock = FakeProvider(), ManualClock()
    clock.now_ms += YEAR_MS

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider), clock=clock) as scene:
            await scene.publish("memory/a.md", TEXTS)
            await scene.until_whole()
            provider.gate = trio.Event()
            await scene.vectors.renew()
            clock.now_ms -= YEAR_MS
            provider.gate.set()
            await scene.until_whole()
            assert len(provider.texts) == 2 * len(TEXTS)

    run_fast(body)


def test_vectors_made_while_the_clock_was_ahead_are_renewed(tmp_path: Path) -> None:
    provider, clock = FakeProvider(), ManualClock()
    clock.now_ms += YEAR_MS

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider), clock=clock) as scene:
            await scene.publish("memory/a.md", TEXTS)
            await scene.until_whole()
            clock.now_ms -= YEAR_MS
            await scene.vectors.renew()
            assert scene.vectors.chunks_pending == len(TEXTS)
            await scene.until_whole()
            assert len(provider.texts) == 2 * len(TEXTS)

    run_fast(body)


# --- accounts ---------------------------------------------------------------------------------------


def test_a_short_pause_stays_short_when_the_clock_goes_back() -> None:
    clock = MovableClock()
    account: Account = accounts(clock).account_for(endpoint(), ACCOUNT_LIMITS)
    account.note_short_pause(5.0)
    clock.now_ms -= YEAR_MS
    assert account.short_pause_left_s() <= MAX_BACKOFF_S
    clock.move(MAX_BACKOFF_S)
    assert account.short_pause_left_s() == 0


def test_a_day_that_comes_back_finds_its_purse_as_it_was() -> None:
    clock = MovableClock()
    budget = TokenBudget(100, clock)
    budget.settle(0, 100)
    # when the clock is a year ahead for a while, and then at the beginning of time
    clock.now_ms += YEAR_MS
    assert budget.spent == 0
    clock.now_ms -= YEAR_MS
    assert budget.spent == 100
    at_ms, clock.now_ms = clock.now_ms, 0
    assert budget.spent == 0
    clock.now_ms = at_ms
    # then nothing more is bought on the day itself
    assert budget.is_spent


def test_what_an_earlier_run_bought_counts_when_the_clock_comes_right() -> None:
    clock = MovableClock()
    right_ms, clock.now_ms = clock.now_ms, 1000
    budget = TokenBudget(100, clock)
    budget.add(60, right_ms // DAY_MS)
    assert budget.spent == 0
    clock.now_ms = right_ms
    assert budget.spent == 60


# --- jobs at batch APIs -----------------------------------------------------------------------------


def test_a_job_is_not_waited_for_longer_when_the_clock_goes_back() -> None:
    with serve_provider("openai", dims=24) as server:
        batch_api_of(server).looks_to_finish = None

        async def play_job(stage: BulkFixture) -> BatchJob:
            job_id = await stage.api.submit(items_of(1))
            record = JobRecord(job_id, "openai", SPACE, stage.api.owner, ("a",), stage.clock())
            hour_ms = 3_600_000
            job = BatchJob(record, stage.clock() + hour_ms, hour_ms)
            stage.clock.now_ms -= YEAR_MS
            back_ms = stage.clock()
            watch = JobPoller(stage.api, stage.clock, stage.clock.pause, poll_s=60)
            await watch.results_of(job)
            # an hour, a cancellation, and a look or two
            assert stage.clock() - back_ms < hour_ms + 2 * CANCEL_MS
            return job

        assert run_bulk(server, play_job).ending == "it took too long"


def test_jobs_are_made_again_when_the_clock_went_back_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_provider("openai", dims=24) as server:

        async def play_job(stage: BulkFixture) -> None:
            embed = stage.api.submit

            async def refuse(items: object) -> str:
                await trio.lowlevel.checkpoint()
                raise ProviderRateLimitedError("openai answered 429")

            run_of = stage.run()
            monkeypatch.setattr(stage.api, "submit", refuse)
            await run_of.embed(items_of(1))
            held = not run_of.may_submit
            assert held
            monkeypatch.setattr(stage.api, "submit", embed)
            stage.clock.now_ms -= YEAR_MS
            assert run_of.may_submit
            await run_of.embed(items_of(1))

        run_bulk(server, play_job)
        assert jobs_made(server) == 1


# --- files and the index ----------------------------------------------------------------------------


async def test_a_file_from_the_future_is_read_twice_and_then_known(tmp_path: Path) -> None:
    async with synced_text_in(tmp_path) as scene:
        # given a clock that was set back after the file was written
        scene.note("a.md", "the gateway listens on port 8443")
        scene.offset_ms = -YEAR_MS
        # when it was read, and read again later than another write could have left it the same time
        await scene.text.sync()
        _, changes = await scene.text.scan_in_thread()
        assert [found.path for found in changes.read] == ["memory/a.md"]
        await trio.sleep(0.03)
        await scene.text.sync()
        # then it is known
        _, changes = await scene.text.scan_in_thread()
        assert not changes
        # and a change is seen
        scene.note("a.md", "the gateway listens on port 9443")
        _, changes = await scene.text.scan_in_thread()
        assert [found.path for found in changes.read] == ["memory/a.md"]
        await scene.text.sync()
        assert await scene.texts() == {"the gateway listens on port 9443"}


async def test_the_time_of_the_last_sync_is_written_down_after_the_clock_went_back(tmp_path: Path) -> None:
    async with synced_text_in(tmp_path) as scene:
        scene.offset_ms = YEAR_MS
        await scene.text.sync()
        scene.offset_ms = 0
        await scene.text.sync()
        remembered = await scene.index.read(find_last_sync)
        assert remembered is not None
        assert remembered <= scene.clock()


def test_the_cache_is_trimmed_after_the_clock_went_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trims: list[int] = []
    monkeypatch.setattr("memd.sync.vectors.fill.trim", lambda *_, **__: trims.append(1))
    provider, clock = FakeProvider(), ManualClock()
    clock.now_ms += YEAR_MS

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider), clock=clock) as scene:
            assert scene.vectors.fill is not None
            for _ in range(2):
                await scene.vectors.fill.settle()
            assert len(trims) == 1
            clock.now_ms -= YEAR_MS
            await scene.vectors.fill.settle()
            assert len(trims) == 2

    run_fast(body)
