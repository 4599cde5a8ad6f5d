"""Real processes and real signals: what the owner of model children promises when they misbehave."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.embedding.local.owner import LocalModel, ModelHold, ModelOwner
from memd.embedding.local.process import RunnerSettings
from memd_client.errors import (
    ModelChildError,
    ProviderFailedError,
    ShuttingDownError,
)
from tests.support import fake_model_child as fake
from tests.support.models import is_running, running_owner, wait_until
from tests.unit.embedding.owning import HURRIED, PATIENT, held_model, only, pid_of, starts


async def test_model_is_loaded_when_the_first_text_waits_and_not_before(model: Path) -> None:
    async with held_model(model) as (owner, hold):
        await trio.testing.wait_all_tasks_blocked()
        assert only(owner).state == "idle"
        assert only(owner).pid is None
        vector = await hold.embed("a text", "text")
        assert vector.tobytes() == fake.vector_of("a text")
        assert only(owner).state == "ready"
        assert only(owner).rss_bytes > 1_000_000
        assert "ready" in repr(owner)


@pytest.mark.parametrize("kind", ["query", "text"])
async def test_request_is_answered_by_a_fresh_process_when_its_process_is_killed(
    model: Path, kind: str
) -> None:
    async with held_model(model) as (owner, hold):
        flag = model.with_name("flag")

        async def kill() -> None:
            await wait_until(flag.exists)
            os.kill(pid_of(owner), signal.SIGKILL)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(kill)
            text = f"hang-once {flag}"
            vector = await hold.embed(text, kind)  # type: ignore[arg-type]
        assert vector.tobytes() == fake.vector_of(text)
        assert only(owner).restarts == 1
        assert only(owner).problem is None


async def test_text_that_kills_two_processes_fails_by_name_and_the_next_text_is_embedded(model: Path) -> None:
    async with held_model(model) as (owner, hold):
        with pytest.raises(ModelChildError, match="ended while it was to embed a text"):
            await hold.embed("crash", "text")
        assert fake.log_of(model).count("crash") == 2
        assert only(owner).state == "restarting"
        assert (await hold.embed("harmless", "text")).size == fake.DIMS
        assert only(owner).state == "ready"


async def test_stopped_process_is_killed_at_the_deadline_of_its_request(model: Path) -> None:
    async with held_model(model, HURRIED) as (owner, hold):
        await hold.embed("warm", "query")
        stopped = pid_of(owner)
        os.kill(stopped, signal.SIGSTOP)
        started = trio.current_time()
        assert (await hold.embed("question", "query")).size == fake.DIMS
        assert trio.current_time() - started >= HURRIED.query_timeout_s
        assert not is_running(stopped)
        assert only(owner).restarts == 1


async def test_deadline_depends_on_who_waits(model: Path) -> None:
    settings = RunnerSettings(command=fake.COMMAND, query_timeout_s=0.3, text_timeout_s=20)

    async with held_model(model, settings) as (owner, hold):
        flag = model.with_name("flag")
        await hold.embed("warm", "text")

        async def open_gate() -> None:
            await trio.sleep(3 * settings.query_timeout_s)
            flag.touch()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(open_gate)
            await hold.embed(f"gate {flag}", "text")
        assert only(owner).restarts == 0
        with pytest.raises(ModelChildError, match=r"did not embed a text in 0\.3 s"):
            await hold.embed("hang", "query")


async def test_queries_overtake_texts_and_wait_for_one_at_most(model: Path) -> None:
    async with held_model(model) as (owner, hold):
        flag = model.with_name("flag")
        gate = f"gate {flag}"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(hold.embed, gate, "text")
            await wait_until(lambda: gate in fake.log_of(model))
            for text in ("text 1", "text 2"):
                nursery.start_soon(hold.embed, text, "text")
                await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(hold.embed, "query 1", "query")
            await trio.testing.wait_all_tasks_blocked()
            assert only(owner).queued == 3
            flag.touch()
        assert fake.log_of(model) == ["start", gate, "query 1", "text 1", "text 2"]


async def test_a_query_has_the_text_under_way_given_up_but_not_for_ever(model: Path) -> None:
    manners = RunnerSettings(
        command=fake.COMMAND, query_timeout_s=20, text_timeout_s=20, interruptible_s=0.05
    )

    async with held_model(model, manners) as (owner, hold):
        flag = model.with_name("flag")
        long = f"long {flag}"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(hold.embed, long, "text")
            await wait_until(lambda: fake.log_of(model).count(long) == 1)
            await trio.sleep(2 * manners.interruptible_s)
            assert (await hold.embed("query", "query")).tobytes() == fake.vector_of("query")
            await wait_until(lambda: fake.log_of(model).count(long) == 2)
            nursery.start_soon(hold.embed, "one more", "query")
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert "one more" not in fake.log_of(model)
            flag.touch()
        assert fake.log_of(model) == ["start", long, "query", long, "one more"]
        assert only(owner).restarts == 0


async def test_cancelled_requests_leave_the_process_and_the_others_alone(model: Path) -> None:
    async with held_model(model) as (owner, hold):
        flag = model.with_name("flag")
        gate = f"gate {flag}"
        async with trio.open_nursery() as cancelled:
            cancelled.start_soon(hold.embed, gate, "text")
            await wait_until(lambda: gate in fake.log_of(model))
            cancelled.start_soon(hold.embed, "never sent", "query")
            await trio.testing.wait_all_tasks_blocked()
            cancelled.cancel_scope.cancel()
        assert only(owner).queued == 0
        async with trio.open_nursery() as nursery:
            nursery.start_soon(hold.embed, "after", "query")
            flag.touch()
        assert (await hold.embed("after", "text")).tobytes() == fake.vector_of("after")
        assert "never sent" not in fake.log_of(model)
        assert only(owner).restarts == 0
        assert starts(model) == 1


async def test_process_killed_while_idle_is_started_again_on_need(model: Path) -> None:
    async with held_model(model) as (owner, hold):
        await hold.embed("warm", "text")
        os.kill(pid_of(owner), signal.SIGKILL)
        await wait_until(lambda: only(owner).pid is None)
        assert starts(model) == 1
        assert (await hold.embed("again", "query")).size == fake.DIMS
        assert starts(model) == 2


async def test_idle_process_is_stopped_and_started_again_on_need(model: Path) -> None:
    settings = RunnerSettings(command=fake.COMMAND, keep_alive_s=0.1, query_timeout_s=20)

    async with held_model(model, settings) as (owner, hold):
        await hold.embed("warm", "text")
        pid = only(owner).pid
        await wait_until(lambda: only(owner).state == "idle" and only(owner).pid is None)
        await wait_until(lambda: pid is None or not is_running(pid))
        assert (await hold.embed("again", "query")).size == fake.DIMS
        assert only(owner).restarts == 0


@pytest.mark.parametrize("text", ["refuse"])
async def test_refused_text_fails_alone(model: Path, text: str) -> None:
    async with held_model(model) as (owner, hold):
        with pytest.raises(ProviderFailedError):
            await hold.embed(text, "text")
        assert (await hold.embed("next", "text")).size == fake.DIMS
        assert only(owner).restarts == 0


async def test_last_release_unloads_the_model_and_ends_waiting_requests(model: Path) -> None:
    async with held_model(model) as (owner, hold):
        other = owner.hold(LocalModel(model, "fake"), chunk_tokens=800)
        await hold.embed("warm", "text")
        pid = pid_of(owner)
        hold.release()
        hold.release()
        assert is_running(pid)
        with pytest.raises(ShuttingDownError):
            await hold.embed("released", "text")
        async with trio.open_nursery() as nursery:

            async def wait() -> None:
                with pytest.raises(ShuttingDownError):
                    await other.embed("hang", "text")

            nursery.start_soon(wait)
            await wait_until(lambda: "hang" in fake.log_of(model))
            other.release()
        await wait_until(lambda: not is_running(pid))
        assert owner.status() == []


async def test_no_process_outlives_the_owner(model: Path) -> None:
    pids = []

    async with held_model(model) as (owner, hold):
        await hold.embed("warm", "text")
        pids.append(pid_of(owner))

    assert not is_running(pids[0])


def test_stopped_owner_refuses_by_name(model: Path) -> None:
    with pytest.raises(ShuttingDownError):
        ModelOwner(PATIENT).hold(LocalModel(model, "fake"), chunk_tokens=400)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), max_size=30))
async def test_a_model_is_owned_exactly_while_somebody_holds_it(steps: list[tuple[bool, int]]) -> None:
    """Whatever the order of claims and releases, released twice or not."""

    async with running_owner(PATIENT) as owner:
        held: dict[str, list[ModelHold]] = {f"model {n}": [] for n in range(3)}
        released: list[ModelHold] = []
        for claim, number in steps:
            name = f"model {number}"
            if claim:
                held[name].append(owner.hold(LocalModel(Path("/nowhere"), name), chunk_tokens=400))
            elif held[name]:
                released.append(held[name].pop())
                released[-1].release()
            if released:
                released[0].release()
            assert [s.model for s in owner.status()] == [name for name in held if held[name]]
        for name, holds in held.items():
            for hold in holds:
                hold.release()
            assert name not in [s.model for s in owner.status()]
