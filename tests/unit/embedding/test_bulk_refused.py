"""Jobs that can't be made: the texts are free at once, and what is only a pause isn't held against anybody."""

from __future__ import annotations

import pytest

from tests.support.bulk import (
    Bench,
    items_of,
    played,
    small_jobs,
)
from tests.support.provider_errors import DialectName
from tests.support.provider_faults import Fault, FaultKind
from tests.support.provider_server import serving

DIALECTS: tuple[DialectName, ...] = ("openai", "voyage", "gemini")


@pytest.mark.parametrize(
    "kind", ["unauthorized", "forbidden", "quota", "server_error", "reset", "model_missing"]
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_texts_that_can_not_be_submitted_are_free_again(dialect: DialectName, kind: FaultKind) -> None:
    with serving(dialect, dims=24) as server:

        async def play(stage: Bench) -> None:
            small_jobs(stage, 1)
            run = stage.run()
            server.fault = Fault(kind)
            await run.embed(items_of(4))
            assert run.in_flight() == set()
            await run.embed(items_of(4))
            assert run.gave_up
            assert stage.got == []
            assert stage.store.saves == []

        # when no job can be made twice over, then it is given up, and plain requests may have the texts
        played(server, play)


def test_a_pause_of_the_account_is_no_failure_of_the_batch_api() -> None:
    with serving("openai", dims=24) as server:

        async def play(stage: Bench) -> None:
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
            assert not run.gave_up

        # when the provider asks for 40 s, then nothing is sent meanwhile, and all goes well afterwards
        played(server, play)


def test_tokens_that_are_used_up_are_no_failure_of_the_batch_api() -> None:
    with serving("openai", dims=24) as server:

        async def play(stage: Bench) -> None:
            run = stage.run()
            await run.embed(items_of(40))
            await run.embed(items_of(40))
            await run.embed(items_of(40))
            assert server.requests == []
            assert not run.gave_up
            may_submit = [run.may_submit]
            stage.clock.move(24 * 3600)
            assert [*may_submit, run.may_submit] == [False, True]

        # when the day's tokens don't suffice, then nothing is sent, and tomorrow it may be
        played(server, play, daily_budget=50)


def test_nothing_is_submitted_where_the_settings_say_so() -> None:
    with serving("openai", dims=24) as server:

        async def play(stage: Bench) -> None:
            run = stage.run(enabled=False)
            await run.embed(items_of(2))
            assert not run.may_submit

        played(server, play)
        assert server.requests == []
