"""Tests of model processes that crash, hang or idle, with real signals."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.embedding.local import process
from memd.embedding.local.model import LocalModel, ModelSpec
from memd.embedding.local.owner import ModelOwner
from memd.embedding.local.process import ModelSettings
from memd_client.errors import (
    ModelChildError,
    ProviderFailedError,
    ShuttingDownError,
)
from tests.support import fake_model_child as fake
from tests.support.models import is_running, running_owner, wait_until
from tests.unit.embedding.model_in_use import HURRIED, PATIENT, model_in_use, only, pid_of, starts


async def test_model_is_loaded_for_the_first_text(model: Path) -> None:
    async with model_in_use(model) as (owner, used):
        await trio.testing.wait_all_tasks_blocked()
        assert only(owner).state == "idle"
        assert only(owner).pid is None
        vector = await used.embed("a text", "text")
        assert vector.tobytes() == fake.vector_of("a text")
        assert only(owner).state == "ready"
        assert only(owner).rss_bytes > 1_000_000
        assert "ready" in repr(owner)


@pytest.mark.parametrize("kind", ["query", "text"])
async def test_request_of_a_killed_process_is_retried_in_a_new_one(model: Path, kind: str) -> None:
    async with model_in_use(model) as (owner, used):
        flag = model.with_name("flag")

        async def kill() -> None:
            await wait_until(flag.exists)
            os.kill(pid_of(owner), signal.SIGKILL)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(kill)
            text = f"hang-once {flag}"
            vector = await used.embed(text, kind)  # type: ignore[arg-type]
        assert vector.tobytes() == fake.vector_of(text)
        assert only(owner).restarts == 1
        assert only(owner).problem == ""


async def test_text_that_kills_two_processes_fails_and_the_next_is_embedded(model: Path) -> None:
    async with model_in_use(model) as (owner, used):
        with pytest.raises(ModelChildError, match="ended: could not embed a text"):
            await used.embed("crash", "text")
        assert fake.log_of(model).count("crash") == 2
        assert only(owner).state == "restarting"
        assert (await used.embed("harmless", "text")).size == fake.DIMS
        assert only(owner).state == "ready"


async def test_stopped_process_is_killed_at_the_deadline_of_its_request(model: Path) -> None:
    async with model_in_use(model, HURRIED) as (owner, used):
        await used.embed("warm", "query")
        stopped = pid_of(owner)
        os.kill(stopped, signal.SIGSTOP)
        started = trio.current_time()
        assert (await used.embed("query", "query")).size == fake.DIMS
        assert trio.current_time() - started >= HURRIED.query_timeout_s
        assert not is_running(stopped)
        assert only(owner).restarts == 1


async def test_process_stopped_while_it_embeds_a_text_is_replaced_before_the_text_times_out(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "PING_INTERVAL_S", 0.1)
    patient = ModelSettings(command=fake.COMMAND, text_timeout_s=3600, load_timeout_s=120)

    async with model_in_use(model, patient) as (owner, used):
        flag = model.with_name("flag")
        await used.embed("warm", "text")
        stopped = pid_of(owner)

        async def stop() -> None:
            await wait_until(lambda: f"gate {flag}" in fake.log_of(model))
            os.kill(stopped, signal.SIGSTOP)
            flag.touch()

        with trio.fail_after(120):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(stop)
                assert (await used.embed(f"gate {flag}", "text")).size == fake.DIMS
        assert not is_running(stopped)
        assert only(owner).restarts == 1


async def test_long_text_is_not_taken_for_silence(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PING_INTERVAL_S", 0.1)

    async with model_in_use(model) as (owner, used):
        flag = model.with_name("flag")

        async def open_gate() -> None:
            await trio.sleep(0.1 * 3 * process.MAX_SILENT_PINGS)
            flag.touch()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(open_gate)
            await used.embed(f"gate {flag}", "text")
        assert only(owner).restarts == 0


async def test_timeout_depends_on_the_kind_of_job(model: Path) -> None:
    settings = ModelSettings(command=fake.COMMAND, query_timeout_s=0.3, text_timeout_s=120)

    async with model_in_use(model, settings) as (owner, used):
        flag = model.with_name("flag")
        await used.embed("warm", "text")

        async def open_gate() -> None:
            await trio.sleep(3 * settings.query_timeout_s)
            flag.touch()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(open_gate)
            await used.embed(f"gate {flag}", "text")
        assert only(owner).restarts == 0
        with pytest.raises(ModelChildError, match=r"did not embed a text in 0\.3 s"):
            await used.embed("hang", "query")


async def test_queries_overtake_texts_except_the_current_one(model: Path) -> None:
    async with model_in_use(model) as (owner, used):
        flag = model.with_name("flag")
        gate = f"gate {flag}"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(used.embed, gate, "text")
            await wait_until(lambda: gate in fake.log_of(model))
            for text in ("text 1", "text 2"):
                nursery.start_soon(used.embed, text, "text")
                await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(used.embed, "query 1", "query")
            await trio.testing.wait_all_tasks_blocked()
            assert only(owner).queued == 3
            flag.touch()
        assert fake.log_of(model) == ["start", gate, "query 1", "text 1", "text 2"]


async def test_query_interrupts_a_text_only_for_a_limited_time(model: Path) -> None:
    settings = ModelSettings(
        command=fake.COMMAND, query_timeout_s=120, text_timeout_s=120, interruptible_s=0.05
    )

    async with model_in_use(model, settings) as (owner, used):
        flag = model.with_name("flag")
        long = f"long {flag}"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(used.embed, long, "text")
            await wait_until(lambda: fake.log_of(model).count(long) == 1)
            await trio.sleep(2 * settings.interruptible_s)
            assert (await used.embed("query", "query")).tobytes() == fake.vector_of("query")
            await wait_until(lambda: fake.log_of(model).count(long) == 2)
            nursery.start_soon(used.embed, "one more", "query")
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert "one more" not in fake.log_of(model)
            flag.touch()
        assert fake.log_of(model) == ["start", long, "query", long, "one more"]
        assert only(owner).restarts == 0


async def test_cancelled_requests_do_not_affect_others(model: Path) -> None:
    async with model_in_use(model) as (owner, used):
        flag = model.with_name("flag")
        gate = f"gate {flag}"
        async with trio.open_nursery() as cancelled:
            cancelled.start_soon(used.embed, gate, "text")
            await wait_until(lambda: gate in fake.log_of(model))
            cancelled.start_soon(used.embed, "never sent", "query")
            await trio.testing.wait_all_tasks_blocked()
            cancelled.cancel_scope.cancel()
        assert only(owner).queued == 0
        async with trio.open_nursery() as nursery:
            nursery.start_soon(used.embed, "after", "query")
            flag.touch()
        assert (await used.embed("after", "text")).tobytes() == fake.vector_of("after")
        assert "never sent" not in fake.log_of(model)
        assert only(owner).restarts == 0
        assert starts(model) == 1


async def test_process_killed_while_idle_is_restarted_on_demand(model: Path) -> None:
    async with model_in_use(model) as (owner, used):
        await used.embed("warm", "text")
        os.kill(pid_of(owner), signal.SIGKILL)
        await wait_until(lambda: only(owner).pid is None)
        assert starts(model) == 1
        assert (await used.embed("again", "query")).size == fake.DIMS
        assert starts(model) == 2


async def test_idle_process_is_stopped_and_restarted_on_demand(model: Path) -> None:
    settings = ModelSettings(command=fake.COMMAND, keep_alive_s=0.1, query_timeout_s=120)

    async with model_in_use(model, settings) as (owner, used):
        await used.embed("warm", "text")
        pid = only(owner).pid
        await wait_until(lambda: only(owner).state == "idle" and only(owner).pid is None)
        await wait_until(lambda: pid is None or not is_running(pid))
        assert (await used.embed("again", "query")).size == fake.DIMS
        assert only(owner).restarts == 0


@pytest.mark.parametrize("text", ["refuse"])
async def test_refused_text_fails_alone(model: Path, text: str) -> None:
    async with model_in_use(model) as (owner, used):
        with pytest.raises(ProviderFailedError):
            await used.embed(text, "text")
        assert (await used.embed("next", "text")).size == fake.DIMS
        assert only(owner).restarts == 0


async def test_last_release_unloads_the_model_and_ends_waiting_requests(model: Path) -> None:
    async with model_in_use(model) as (owner, used):
        assert owner.acquire(ModelSpec(model, "fake"), chunk_tokens=800) is used
        await used.embed("warm", "text")
        pid = pid_of(owner)
        owner.release(used)
        assert is_running(pid)
        async with trio.open_nursery() as nursery:

            async def wait() -> None:
                with pytest.raises(ShuttingDownError):
                    await used.embed("hang", "text")

            nursery.start_soon(wait)
            await wait_until(lambda: "hang" in fake.log_of(model))
            owner.release(used)
        with pytest.raises(ShuttingDownError):
            await used.embed("released", "text")
        await wait_until(lambda: not is_running(pid))
        assert owner.status() == []


async def test_no_process_outlives_the_owner(model: Path) -> None:
    pids = []

    async with model_in_use(model) as (owner, used):
        await used.embed("warm", "text")
        pids.append(pid_of(owner))

    assert not is_running(pids[0])


def test_stopped_owner_refuses_a_model(model: Path) -> None:
    with pytest.raises(ShuttingDownError):
        ModelOwner(PATIENT).acquire(ModelSpec(model, "fake"), chunk_tokens=400)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), max_size=30))
async def test_owner_has_a_model_exactly_while_it_is_used(steps: list[tuple[bool, int]]) -> None:
    """In any order of uses and releases."""

    async with running_owner(PATIENT) as owner:
        uses: dict[str, list[LocalModel]] = {f"model {n}": [] for n in range(3)}
        for is_use, number in steps:
            name = f"model {number}"
            if is_use:
                uses[name].append(owner.acquire(ModelSpec(Path("/nowhere"), name), chunk_tokens=400))
            elif uses[name]:
                owner.release(uses[name].pop())
            assert [status.model for status in owner.status()] == [name for name in uses if uses[name]]
        for models in uses.values():
            for model in models:
                owner.release(model)
        assert owner.status() == []
