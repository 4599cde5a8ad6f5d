"""Several models and memory for fewer: real processes, each of them started only where it fits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from memd.embedding.local import fit
from memd.embedding.local import model_memory as room
from memd.embedding.local.owner import ModelFile, ModelHold, ModelOwner
from memd.embedding.local.policy import ModelStatus, RunnerSettings
from memd_client.errors import DeadlineExceededError
from tests.support import fake_model_child as fake
from tests.support.models import is_running, wait_until

MANNERS = RunnerSettings(command=fake.COMMAND, query_timeout_s=20, text_timeout_s=20, load_timeout_s=20)
NEED = fit.memory_need(0, 512)
"""About what one of the fake models is expected to take."""

Test = Callable[[ModelOwner, list[ModelHold]], Awaitable[None]]


@pytest.fixture(autouse=True)
def _short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "QUIET_SECONDS", 0.05)
    monkeypatch.setattr(room, "QUERY_STAY_SECONDS", 0.05)
    monkeypatch.setattr(room, "TURN_SECONDS", 0.3)


def run(directory: Path, test: Test, models: float, settings: RunnerSettings = MANNERS) -> None:
    """Run a test with three models and memory for so many of them."""

    async def body() -> None:
        owner = ModelOwner(settings, budget_bytes=int(NEED * models))
        async with trio.open_nursery() as nursery:
            await nursery.start(owner.run)
            files = [fake.write_model(directory / f"model-{number}.gguf") for number in range(3)]
            await test(owner, [owner.hold(ModelFile(path, path.stem), chunk_tokens=400) for path in files])
            nursery.cancel_scope.cancel()

    trio.run(body)


def row(owner: ModelOwner, number: int) -> ModelStatus:
    return owner.status()[number]


def loaded(owner: ModelOwner) -> list[str]:
    return [status.model for status in owner.status() if status.pid is not None]


def test_models_that_fit_are_loaded_side_by_side(tmp_path: Path) -> None:
    async def test(owner: ModelOwner, holds: list[ModelHold]) -> None:
        for hold in holds:
            await hold.embed("text", "text")
        assert loaded(owner) == ["model-0", "model-1", "model-2"]

    run(tmp_path, test, models=3.5)


def test_the_least_recently_used_idle_model_makes_room(tmp_path: Path) -> None:
    async def test(owner: ModelOwner, holds: list[ModelHold]) -> None:
        await holds[0].embed("text", "text")
        await holds[1].embed("text", "text")
        first = row(owner, 0).pid
        await holds[0].embed("used again", "text")
        assert (await holds[2].embed("text", "text")).size == fake.DIMS
        assert loaded(owner) == ["model-0", "model-2"]
        assert row(owner, 0).pid == first
        assert (await holds[1].embed("text", "query")).size == fake.DIMS
        assert len(loaded(owner)) == 2
        assert row(owner, 1).restarts == 0

    run(tmp_path, test, models=2.5)


def test_never_more_processes_than_fit_whoever_asks(tmp_path: Path) -> None:
    async def test(owner: ModelOwner, holds: list[ModelHold]) -> None:
        most = 0

        async def ask(hold: ModelHold) -> None:
            nonlocal most
            for number in range(4):
                assert (await hold.embed(f"text {number}", "text")).size == fake.DIMS
                most = max(most, len(loaded(owner)))

        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                for hold in holds:
                    nursery.start_soon(ask, hold)
        assert most == 1

    run(tmp_path, test, models=1.5)


def test_a_text_waits_while_another_model_embeds_and_says_so(tmp_path: Path) -> None:
    async def test(owner: ModelOwner, holds: list[ModelHold]) -> None:
        flag = tmp_path / "flag"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(holds[0].embed, f"gate {flag}", "query")
            await wait_until(lambda: row(owner, 0).state == "ready")
            nursery.start_soon(holds[1].embed, "text", "text")
            await wait_until(lambda: row(owner, 1).state == "waiting")
            assert "waits until others are idle" in str(row(owner, 1).problem)
            assert loaded(owner) == ["model-0"]
            flag.touch()
        assert loaded(owner) == ["model-1"]
        assert row(owner, 1).problem is None

    run(tmp_path, test, models=1.5)


def test_a_request_that_gets_no_room_in_time_is_told_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunnerSettings, "patience_s", lambda self, kind: 0.5 if kind == "text" else 60.0)

    async def test(owner: ModelOwner, holds: list[ModelHold]) -> None:
        flag = tmp_path / "flag"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(holds[0].embed, f"gate {flag}", "query")
            await wait_until(lambda: row(owner, 0).state == "ready")
            with pytest.raises(DeadlineExceededError, match="waits until others are idle"):
                await holds[1].embed("text", "text")
            await wait_until(lambda: row(owner, 1).state == "idle")
            flag.touch()
        assert fake.log_of(tmp_path / "model-1.gguf") == []

    run(tmp_path, test, models=1.5)


def test_a_query_gets_the_place_of_a_model_that_indexes_and_the_texts_go_on_later(tmp_path: Path) -> None:
    async def test(owner: ModelOwner, holds: list[ModelHold]) -> None:
        flag = tmp_path / "flag"
        text = f"long {flag}"
        vectors: list[bytes] = []

        async def index() -> None:
            vectors.append((await holds[0].embed(text, "text")).tobytes())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(index)
            await wait_until(lambda: text in fake.log_of(tmp_path / "model-0.gguf"))
            assert (await holds[1].embed("question", "query")).tobytes() == fake.vector_of("question")
            flag.touch()
        assert vectors == [fake.vector_of(text)]
        assert row(owner, 0).restarts == 0

    run(tmp_path, test, models=1.5)


def test_two_models_with_texts_without_end_take_turns(tmp_path: Path) -> None:
    async def test(owner: ModelOwner, holds: list[ModelHold]) -> None:
        answered = [0, 0]

        async def index(number: int) -> None:
            while True:
                await holds[number].embed(f"text {answered[number]}", "text")
                answered[number] += 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(index, 0)
            nursery.start_soon(index, 1)
            starts = [tmp_path / "model-0.gguf", tmp_path / "model-1.gguf"]
            await wait_until(lambda: all(fake.log_of(path).count("start") >= 2 for path in starts))
            nursery.cancel_scope.cancel()
        assert min(answered) > 0

    run(tmp_path, test, models=1.5)


def test_a_model_larger_than_the_budget_is_loaded_alone_and_said_so(tmp_path: Path) -> None:
    async def test(owner: ModelOwner, holds: list[ModelHold]) -> None:
        await holds[0].embed("text", "text")
        assert "it is loaded alone" in str(row(owner, 0).problem)
        first = row(owner, 0).pid
        await holds[1].embed("text", "query")
        assert loaded(owner) == ["model-1"]
        assert first is not None
        assert not is_running(first)

    run(tmp_path, test, models=0.5)


def test_a_crash_gives_the_place_back(tmp_path: Path) -> None:
    async def test(owner: ModelOwner, holds: list[ModelHold]) -> None:
        flag = tmp_path / "flag"
        assert (await holds[0].embed(f"crash-once {flag}", "text")).size == fake.DIMS
        assert (await holds[1].embed("text", "query")).size == fake.DIMS
        assert loaded(owner) == ["model-1"]

    run(tmp_path, test, models=1.5)


def test_half_of_the_machines_memory_is_taken_where_nothing_is_said() -> None:
    assert "0 B of" in repr(ModelOwner()._room)
    assert ModelOwner()._room.budget_bytes > 100 << 20
