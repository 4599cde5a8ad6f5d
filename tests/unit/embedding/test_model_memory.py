"""Tests of admission and eviction of models within the RAM budget."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from memd.embedding.local import model_memory
from memd.embedding.local.estimate import estimate_model
from memd.embedding.local.header import ModelHeader
from memd.embedding.local.jobs import JobKind
from memd.embedding.local.model_memory import (
    IDLE_BEFORE_EVICTION_SECONDS,
    MIN_RESIDENCY_QUERY_SECONDS,
    MIN_RESIDENCY_TEXT_SECONDS,
    Activity,
    ModelAdmission,
    ModelMemoryManager,
    Residency,
    decide_admission,
)
from memd.embedding.local.owner import LocalModel, ModelLease, ModelOwner
from memd.embedding.local.process import RunnerSettings
from memd.embedding.local.runner import RunnerStatus
from memd_client.errors import DeadlineExceededError
from tests.support import fake_model_child as fake
from tests.support.clocks import autojump
from tests.support.models import is_running, wait_until
from tests.unit.embedding.leased_model import PATIENT

NOW = 1000.0
LONG_AGO = NOW - 100

NEED = estimate_model(0, ModelHeader("bert", 512, ""), chunk_tokens=400).peak_bytes
"""The estimated RAM of a fake model."""


def idle(size: int, last_used: float = LONG_AGO) -> Residency:
    return Residency(size, LONG_AGO, last_used, "nothing")


def busy(work: Activity, since: float = LONG_AGO, size: int = 50) -> Residency:
    return Residency(size, since, NOW, work)


def test_admission_within_the_budget_or_of_a_single_model_beyond_it() -> None:
    assert decide_admission(50, 100, [idle(50)], "text", NOW).is_admitted
    assert decide_admission(500, 100, [], "text", NOW).is_admitted
    assert not decide_admission(500, 100, [busy("query", size=1)], "query", NOW).is_admitted


def test_eviction_takes_the_least_recently_used_idle_model_first_and_no_more_than_needed() -> None:
    residencies = [idle(40, NOW - 5), idle(40, NOW - 50), busy("text", NOW, 20)]
    assert decide_admission(30, 100, residencies, "text", NOW) == ModelAdmission(evicted=(1,))
    assert decide_admission(80, 100, residencies, "text", NOW).evicted == (1, 0)


def test_eviction_that_would_free_too_little_is_not_started() -> None:
    assert decide_admission(90, 100, [idle(40), busy("query", size=60)], "query", NOW).evicted == ()


def test_evicted_model_frees_memory_only_after_its_end() -> None:
    evicted = Residency(60, LONG_AGO, NOW, "text", is_evicted=True)
    assert decide_admission(50, 100, [evicted, idle(40)], "query", NOW) == ModelAdmission(recheck_s=math.inf)


@pytest.mark.parametrize(
    ("residency", "kind", "wait_s"),
    [
        (idle(90, NOW), "query", None),
        (idle(90, NOW), "text", IDLE_BEFORE_EVICTION_SECONDS),
        (busy("text", NOW, 90), "query", MIN_RESIDENCY_QUERY_SECONDS),
        (busy("text", NOW, 90), "text", MIN_RESIDENCY_TEXT_SECONDS),
        (busy("text", NOW - MIN_RESIDENCY_TEXT_SECONDS, 90), "text", None),
        (busy("query", LONG_AGO, 90), "query", math.inf),
        (busy("loading", LONG_AGO, 90), "query", math.inf),
    ],
)
def test_loaded_model_is_evictable_after_its_minimum_residency(
    residency: Residency, kind: JobKind, wait_s: float | None
) -> None:
    admission = decide_admission(50, 100, [residency], kind, NOW)
    assert admission == (ModelAdmission(evicted=(0,)) if wait_s is None else ModelAdmission(recheck_s=wait_s))


works = st.sampled_from(["nothing", "text", "query", "loading"])
residencies = st.builds(
    Residency, st.integers(1, 100), st.floats(0, NOW), st.floats(0, NOW), works, st.booleans()
)


@given(st.integers(1, 200), st.lists(residencies, max_size=6), st.sampled_from(["query", "text"]))
def test_admission_stays_within_the_budget_and_never_deadlocks(
    need: int, rows: list[Residency], kind: JobKind
) -> None:
    admission = decide_admission(need, 100, rows, kind, NOW)
    taken = sum(row.bytes for row in rows)
    if admission.is_admitted:
        assert not rows or need + taken <= 100
        return
    gone = {place for place, row in enumerate(rows) if row.is_evicted} | set(admission.evicted)
    left = [row for place, row in enumerate(rows) if place not in gone]
    if admission.evicted:
        assert not left or need + sum(row.bytes for row in left) <= 100
        assert all(rows[place].work in ("nothing", "text") for place in admission.evicted)
    elif math.isinf(admission.recheck_s):
        assert gone or any(
            row.work in ("query", "loading") for row in left
        )  # the end of its eviction wakes the waiting model
    else:
        assert admission.recheck_s > 0


class Model:
    """A loadable model with set properties."""

    def __init__(self, kind: JobKind | None = "text") -> None:
        self.kind = kind
        self.is_evicted = False
        self.work: Activity = "nothing"
        self.used = 0.0

    def residency(self, need: int) -> Residency:
        return Residency(need, 0.0, self.used, self.work, self.is_evicted)

    def waiting_kind(self) -> JobKind | None:
        return self.kind

    def evict(self) -> None:
        self.is_evicted = True


@autojump
async def test_waiting_query_is_admitted_before_texts() -> None:
    memory, loaded, order = ModelMemoryManager(100), Model(), list[str]()
    loaded.work = "query"
    assert await memory.admit(loaded, 100)

    async def wait(name: str, model: Model) -> None:
        assert await memory.admit(model, 100)
        order.append(name)
        memory.release(model)

    async with trio.open_nursery() as nursery:
        for name, kind in (("first text", "text"), ("second text", "text"), ("query", "query")):
            nursery.start_soon(wait, name, Model(kind))  # type: ignore[arg-type]
            await trio.testing.wait_all_tasks_blocked()
        assert "3 waiting" in repr(memory)
        memory.release(loaded)
    assert order == ["query", "first text", "second text"]


@autojump
async def test_waiting_model_without_work_is_not_admitted() -> None:
    memory, loaded, waiting = ModelMemoryManager(100), Model(), Model()
    loaded.work = "query"
    await memory.admit(loaded, 100)

    async def give_up() -> None:
        await trio.testing.wait_all_tasks_blocked()
        waiting.kind = None
        memory.changed()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(give_up)
        assert not await memory.admit(waiting, 100)
    assert "0 waiting" in repr(memory)


@autojump
async def test_model_is_evicted_after_the_idle_time() -> None:
    memory, loaded, waiting = ModelMemoryManager(100), Model(), Model()
    loaded.used = trio.current_time()
    await memory.admit(loaded, 100)
    started = trio.current_time()

    async def release_when_evicted() -> None:
        while not loaded.is_evicted:  # noqa: ASYNC110 - a flag of the test
            await trio.sleep(0.05)
        memory.release(loaded)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(release_when_evicted)
        assert await memory.admit(waiting, 100)
    assert trio.current_time() - started >= IDLE_BEFORE_EVICTION_SECONDS


# --- real processes -------------------------------------------------------------------------------


@pytest.fixture
def short_residency(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_memory, "IDLE_BEFORE_EVICTION_SECONDS", 0.05)
    monkeypatch.setattr(model_memory, "MIN_RESIDENCY_QUERY_SECONDS", 0.05)
    monkeypatch.setattr(model_memory, "MIN_RESIDENCY_TEXT_SECONDS", 0.3)


@asynccontextmanager
async def models_with_budget(
    directory: Path, models: float
) -> AsyncIterator[tuple[ModelOwner, list[ModelLease]]]:
    """Run an owner of three models, with RAM for `models` of them."""
    owner = ModelOwner(PATIENT, budget_bytes=int(NEED * models))
    async with trio.open_nursery() as nursery:
        await nursery.start(owner.run)
        files = [fake.write_model(directory / f"model-{number}.gguf") for number in range(3)]
        yield owner, [owner.lease(LocalModel(path, path.stem), chunk_tokens=400) for path in files]
        nursery.cancel_scope.cancel()


def row(owner: ModelOwner, number: int) -> RunnerStatus:
    return owner.status()[number]


def loaded(owner: ModelOwner) -> list[str]:
    return [status.model for status in owner.status() if status.pid is not None]


@pytest.mark.usefixtures("short_residency")
async def test_models_within_the_budget_are_loaded_together(tmp_path: Path) -> None:
    async with models_with_budget(tmp_path, 3.5) as (owner, leases):
        for lease in leases:
            await lease.embed("text", "text")
        assert loaded(owner) == ["model-0", "model-1", "model-2"]


@pytest.mark.usefixtures("short_residency")
async def test_least_recently_used_idle_model_is_evicted(tmp_path: Path) -> None:
    async with models_with_budget(tmp_path, 2.5) as (owner, leases):
        await leases[0].embed("text", "text")
        await leases[1].embed("text", "text")
        first = row(owner, 0).pid
        await leases[0].embed("used again", "text")
        assert (await leases[2].embed("text", "text")).size == fake.DIMS
        assert loaded(owner) == ["model-0", "model-2"]
        assert row(owner, 0).pid == first
        assert (await leases[1].embed("text", "query")).size == fake.DIMS
        assert len(loaded(owner)) == 2
        assert row(owner, 1).restarts == 0


@pytest.mark.usefixtures("short_residency")
async def test_processes_never_exceed_the_budget(tmp_path: Path) -> None:
    async with models_with_budget(tmp_path, 1.5) as (owner, leases):
        most = 0

        async def embed(lease: ModelLease) -> None:
            nonlocal most
            for number in range(4):
                assert (await lease.embed(f"text {number}", "text")).size == fake.DIMS
                most = max(most, len(loaded(owner)))

        with trio.fail_after(120):
            async with trio.open_nursery() as nursery:
                for lease in leases:
                    nursery.start_soon(embed, lease)
        assert most == 1


@pytest.mark.usefixtures("short_residency")
async def test_waiting_for_another_model_is_in_the_status(tmp_path: Path) -> None:
    async with models_with_budget(tmp_path, 1.5) as (owner, leases):
        flag = tmp_path / "flag"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(leases[0].embed, f"gate {flag}", "query")
            await wait_until(lambda: row(owner, 0).state == "ready")
            nursery.start_soon(leases[1].embed, "text", "text")
            await wait_until(lambda: row(owner, 1).state == "waiting")
            assert "waits until other models are idle" in str(row(owner, 1).problem)
            assert loaded(owner) == ["model-0"]
            flag.touch()
        assert loaded(owner) == ["model-1"]
        assert row(owner, 1).problem is None


@pytest.mark.usefixtures("short_residency")
async def test_request_that_times_out_for_memory_has_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        RunnerSettings, "request_timeout_s", lambda self, kind: 0.5 if kind == "text" else 60.0
    )

    async with models_with_budget(tmp_path, 1.5) as (owner, leases):
        flag = tmp_path / "flag"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(leases[0].embed, f"gate {flag}", "query")
            await wait_until(lambda: row(owner, 0).state == "ready")
            with pytest.raises(DeadlineExceededError, match="waits until other models are idle"):
                await leases[1].embed("text", "text")
            await wait_until(lambda: row(owner, 1).state == "idle")
            flag.touch()
        assert fake.log_of(tmp_path / "model-1.gguf") == []


@pytest.mark.usefixtures("short_residency")
async def test_query_evicts_an_indexing_model_whose_texts_continue_later(
    tmp_path: Path,
) -> None:
    async with models_with_budget(tmp_path, 1.5) as (owner, leases):
        flag = tmp_path / "flag"
        text = f"long {flag}"
        vectors: list[bytes] = []

        async def index() -> None:
            vectors.append((await leases[0].embed(text, "text")).tobytes())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(index)
            await wait_until(lambda: text in fake.log_of(tmp_path / "model-0.gguf"))
            assert (await leases[1].embed("query", "query")).tobytes() == fake.vector_of("query")
            flag.touch()
        assert vectors == [fake.vector_of(text)]
        assert row(owner, 0).restarts == 0


@pytest.mark.usefixtures("short_residency")
async def test_two_busy_models_alternate(tmp_path: Path) -> None:
    async with models_with_budget(tmp_path, 1.5) as (_owner, leases):
        answered = [0, 0]

        async def index(number: int) -> None:
            while True:
                await leases[number].embed(f"text {answered[number]}", "text")
                answered[number] += 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(index, 0)
            nursery.start_soon(index, 1)
            starts = [tmp_path / "model-0.gguf", tmp_path / "model-1.gguf"]
            await wait_until(lambda: all(fake.log_of(path).count("start") >= 2 for path in starts))
            nursery.cancel_scope.cancel()
        assert min(answered) > 0


@pytest.mark.usefixtures("short_residency")
async def test_model_beyond_the_budget_is_loaded_alone_and_reported(tmp_path: Path) -> None:
    async with models_with_budget(tmp_path, 0.5) as (owner, leases):
        await leases[0].embed("text", "text")
        assert "it is loaded alone" in str(row(owner, 0).problem)
        first = row(owner, 0).pid
        await leases[1].embed("text", "query")
        assert loaded(owner) == ["model-1"]
        assert first is not None
        assert not is_running(first)


@pytest.mark.usefixtures("short_residency")
async def test_crashed_model_frees_its_memory(tmp_path: Path) -> None:
    async with models_with_budget(tmp_path, 1.5) as (owner, leases):
        flag = tmp_path / "flag"
        assert (await leases[0].embed(f"crash-once {flag}", "text")).size == fake.DIMS
        assert (await leases[1].embed("text", "query")).size == fake.DIMS
        assert loaded(owner) == ["model-1"]


def test_default_budget_is_half_of_the_memory() -> None:
    assert "0 B of" in repr(ModelOwner()._memory)
    assert ModelOwner()._memory.budget_bytes > 100 << 20
