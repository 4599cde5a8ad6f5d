"""Tests that models stay within the RAM limit, with real processes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
import trio.testing

from memd.embedding.local import model
from memd.embedding.local.estimate import estimate_model
from memd.embedding.local.header import ModelHeader
from memd.embedding.local.jobs import JobKind
from memd.embedding.local.model import LocalModel, ModelSpec
from memd.embedding.local.owner import ModelOwner
from memd.embedding.local.process import ModelSettings
from memd_client.errors import DeadlineExceededError
from memd_client.reports import ModelStatus
from tests.support import fake_model_child as fake
from tests.support.models import is_running, wait_until
from tests.unit.embedding.model_in_use import PATIENT

NEED = estimate_model(0, ModelHeader("bert", 512, ""), chunk_tokens=400).peak_bytes
"""The estimated RAM of a fake model."""


@pytest.fixture
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MIN_IDLE_SECONDS", 0.05)
    monkeypatch.setattr(model, "MIN_LOADED_QUERY_SECONDS", 0.05)
    monkeypatch.setattr(model, "MIN_LOADED_TEXT_SECONDS", 0.3)


@asynccontextmanager
async def models_with_budget(
    directory: Path, models: float
) -> AsyncIterator[tuple[ModelOwner, list[LocalModel]]]:
    """Run an owner of three models, with RAM for `models` of them."""
    owner = ModelOwner(PATIENT, budget_bytes=int(NEED * models))
    async with trio.open_nursery() as nursery:
        await nursery.start(owner.run)
        files = [fake.write_model(directory / f"model-{number}.gguf") for number in range(3)]
        yield owner, [owner.acquire(ModelSpec(path, path.stem), chunk_tokens=400) for path in files]
        nursery.cancel_scope.cancel()


def row(owner: ModelOwner, number: int) -> ModelStatus:
    return owner.status()[number]


def loaded(owner: ModelOwner) -> list[str]:
    return [status.model for status in owner.status() if status.pid is not None]


@pytest.mark.usefixtures("short_times")
async def test_models_within_the_budget_are_loaded_together(tmp_path: Path) -> None:
    async with models_with_budget(tmp_path, 3.5) as (owner, used):
        for one_model in used:
            await one_model.embed("text", "text")
        assert loaded(owner) == ["model-0", "model-1", "model-2"]


@pytest.mark.usefixtures("short_times")
async def test_least_recently_used_idle_model_is_evicted(tmp_path: Path) -> None:
    async with models_with_budget(tmp_path, 2.5) as (owner, used):
        await used[0].embed("text", "text")
        await used[1].embed("text", "text")
        first = row(owner, 0).pid
        await used[0].embed("used again", "text")
        assert (await used[2].embed("text", "text")).size == fake.DIMS
        assert loaded(owner) == ["model-0", "model-2"]
        assert row(owner, 0).pid == first
        assert (await used[1].embed("text", "query")).size == fake.DIMS
        assert len(loaded(owner)) == 2
        assert row(owner, 1).restarts == 0


@pytest.mark.usefixtures("short_times")
async def test_processes_never_exceed_the_budget(tmp_path: Path) -> None:
    async with models_with_budget(tmp_path, 1.5) as (owner, used):
        most = 0

        async def embed(used: LocalModel) -> None:
            nonlocal most
            for number in range(4):
                assert (await used.embed(f"text {number}", "text")).size == fake.DIMS
                most = max(most, len(loaded(owner)))

        with trio.fail_after(120):
            async with trio.open_nursery() as nursery:
                for one_model in used:
                    nursery.start_soon(embed, one_model)
        assert most == 1


@pytest.mark.usefixtures("short_times")
async def test_waiting_for_another_model_is_in_the_status(tmp_path: Path) -> None:
    async with models_with_budget(tmp_path, 1.5) as (owner, used):
        flag = tmp_path / "flag"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(used[0].embed, f"gate {flag}", "query")
            await wait_until(lambda: row(owner, 0).state == "ready")
            nursery.start_soon(used[1].embed, "text", "text")
            await wait_until(lambda: row(owner, 1).state == "waiting")
            assert "waits until other models are idle" in str(row(owner, 1).problem)
            assert loaded(owner) == ["model-0"]
            flag.touch()
        assert loaded(owner) == ["model-1"]
        assert row(owner, 1).problem == ""


@pytest.mark.usefixtures("short_times")
async def test_request_that_times_out_for_memory_has_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        ModelSettings, "request_timeout_s", lambda self, kind: 0.5 if kind == "text" else 60.0
    )

    async with models_with_budget(tmp_path, 1.5) as (owner, used):
        flag = tmp_path / "flag"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(used[0].embed, f"gate {flag}", "query")
            await wait_until(lambda: row(owner, 0).state == "ready")
            with pytest.raises(DeadlineExceededError, match="waits until other models are idle"):
                await used[1].embed("text", "text")
            await wait_until(lambda: row(owner, 1).state == "idle")
            flag.touch()
        assert fake.log_of(tmp_path / "model-1.gguf") == []


@pytest.mark.usefixtures("short_times")
async def test_query_evicts_an_indexing_model_whose_texts_continue_later(
    tmp_path: Path,
) -> None:
    async with models_with_budget(tmp_path, 1.5) as (owner, used):
        flag = tmp_path / "flag"
        text = f"long {flag}"
        vectors: list[bytes] = []

        async def index() -> None:
            vectors.append((await used[0].embed(text, "text")).tobytes())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(index)
            await wait_until(lambda: text in fake.log_of(tmp_path / "model-0.gguf"))
            assert (await used[1].embed("query", "query")).tobytes() == fake.vector_of("query")
            flag.touch()
        assert vectors == [fake.vector_of(text)]
        assert row(owner, 0).restarts == 0


@pytest.mark.usefixtures("short_times")
async def test_two_busy_models_alternate(tmp_path: Path) -> None:
    async with models_with_budget(tmp_path, 1.5) as (_owner, used):
        answered = [0, 0]

        async def index(number: int) -> None:
            while True:
                await used[number].embed(f"text {answered[number]}", "text")
                answered[number] += 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(index, 0)
            nursery.start_soon(index, 1)
            starts = [tmp_path / "model-0.gguf", tmp_path / "model-1.gguf"]
            await wait_until(lambda: all(fake.log_of(path).count("start") >= 2 for path in starts))
            nursery.cancel_scope.cancel()
        assert min(answered) > 0


@pytest.mark.usefixtures("short_times")
async def test_model_beyond_the_budget_is_loaded_alone_and_reported(tmp_path: Path) -> None:
    async with models_with_budget(tmp_path, 0.5) as (owner, used):
        await used[0].embed("text", "text")
        assert "it is loaded alone" in str(row(owner, 0).problem)
        first = row(owner, 0).pid
        await used[1].embed("text", "query")
        assert loaded(owner) == ["model-1"]
        assert first is not None
        assert not is_running(first)


@pytest.mark.usefixtures("short_times")
async def test_crashed_model_frees_its_memory(tmp_path: Path) -> None:
    async with models_with_budget(tmp_path, 1.5) as (owner, used):
        flag = tmp_path / "flag"
        assert (await used[0].embed(f"crash-once {flag}", "text")).size == fake.DIMS
        assert (await used[1].embed("text", "query")).size == fake.DIMS
        assert loaded(owner) == ["model-1"]


@pytest.mark.usefixtures("short_times")
async def test_waiting_query_is_served_before_a_text_that_waited_longer(tmp_path: Path) -> None:
    async with models_with_budget(tmp_path, 1.5) as (owner, used):
        flag, order = tmp_path / "flag", list[str]()

        async def embed(number: int, kind: JobKind) -> None:
            await used[number].embed(kind, kind)
            order.append(kind)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(used[0].embed, f"gate {flag}", "query")
            await wait_until(lambda: row(owner, 0).state == "ready")
            nursery.start_soon(embed, 1, "text")
            await wait_until(lambda: row(owner, 1).state == "waiting")
            nursery.start_soon(embed, 2, "query")
            await wait_until(lambda: row(owner, 2).state == "waiting")
            flag.touch()
        assert order == ["query", "text"]


@pytest.mark.usefixtures("short_times")
async def test_raised_limit_lets_a_waiting_model_load(tmp_path: Path) -> None:
    async with models_with_budget(tmp_path, 1.5) as (owner, used):
        flag = tmp_path / "flag"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(used[0].embed, f"gate {flag}", "query")
            await wait_until(lambda: row(owner, 0).state == "ready")
            nursery.start_soon(used[1].embed, "text", "text")
            await wait_until(lambda: row(owner, 1).state == "waiting")
            owner.use_settings(PATIENT, NEED * 3)
            await wait_until(lambda: row(owner, 1).state == "ready")
            flag.touch()


def test_default_limit_is_a_share_of_the_ram() -> None:
    assert ModelOwner().budget_bytes > 100 << 20
