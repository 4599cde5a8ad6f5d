"""The reranker against a child that misbehaves when told to: its order, its deadline, and what it leaves behind."""

from __future__ import annotations

import math
import os
import signal
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import pytest
import trio
import trio.testing

from memd.embedding.local.jobs import RankJob
from memd.embedding.local.owner import ModelFile, ModelOwner
from memd.embedding.local.policy import RunnerSettings
from memd.embedding.local.process import MOST_SCORED
from memd.embedding.rerank import KEY, LocalReranker, Reranker, make_reranker
from memd.settings.schema import Local, MemorySearch, Query, Rerank
from memd_client.errors import (
    ConfigInvalidError,
    DeadlineExceededError,
    LocalExtraMissingError,
    MemdError,
    ModelChildError,
    ModelInvalidError,
    ModelMissingError,
    ProviderFailedError,
    ShuttingDownError,
)
from tests.support import fake_model_child as fake
from tests.support.models import is_running, running_owner, wait_until
from tests.unit.embedding.owning import HURRIED, PATIENT, only, pid_of, starts

Test = Callable[[ModelOwner, Reranker], Awaitable[None]]

SOON, LATE = 0.25, 20.0


def write_reranker(path: Path) -> Path:
    """Write a file that starts like a model and has the name of a classification head in it."""
    name = b"cls.weight"
    fake.write_model(path)
    path.write_bytes(path.read_bytes() + struct.pack("<Q", len(name)) + name)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A reranker that the fake child takes."""
    return write_reranker(tmp_path / "lanes-reranker.gguf")


def run(model: Path | str, test: Test, settings: RunnerSettings = PATIENT) -> None:
    """Run a test with an owner and a reranker."""

    async def body() -> None:
        async with running_owner(settings) as owner:
            await test(owner, LocalReranker(owner, str(model), Path("/nowhere"), chunk_tokens=400))

    trio.run(body)


def score_of(text: str) -> float:
    """Return the score the fake child means by a text's vector."""
    return 1 / (1 + math.exp(-float(np.frombuffer(fake.vector_of(text), dtype="<f4")[0])))


def wanted(model: str, **more: object) -> MemorySearch:
    rerank = Rerank(enabled=True, model=model)
    return MemorySearch(query=Query(rerank=rerank), **more)  # type: ignore[arg-type]


def test_nothing_is_made_or_started_where_it_is_off() -> None:
    async def body() -> None:
        async with running_owner(PATIENT) as owner:
            assert make_reranker(MemorySearch(), owner, Path("/nowhere")) is None
            named = MemorySearch(query=Query(rerank=Rerank(model="/a/reranker.gguf")))
            assert make_reranker(named, owner, Path("/nowhere")) is None
            assert owner.status() == []

    trio.run(body)


def test_nothing_is_started_before_the_first_text(model: Path) -> None:
    async def body() -> None:
        async with running_owner(PATIENT) as owner:
            reranker = make_reranker(wanted(str(model)), owner, Path("/nowhere"))
            assert reranker is not None
            assert await reranker.score("question", [], LATE) == []
            assert owner.status() == []
            assert starts(model) == 0
            await reranker.score("question", ["text"], LATE)
            assert only(owner).model == reranker.model == model.name
            assert starts(model) == 1

    trio.run(body)


def test_each_text_has_its_own_score_in_the_order_of_the_texts(model: Path) -> None:
    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        texts = [f"text {number}" for number in range(2 * MOST_SCORED + 5)]
        scores = await reranker.score("question", texts, LATE)
        assert scores == pytest.approx([score_of(text) for text in texts])
        assert fake.log_of(model).count(f"together {MOST_SCORED}") == 2
        assert "together 5" in fake.log_of(model)

    run(model, test)


def test_texts_are_given_up_at_the_deadline_and_the_same_process_scores_the_next(model: Path) -> None:
    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        await reranker.score("warm", ["up"], LATE)
        pid, long = pid_of(owner), f"long {model.with_name('never')}"
        with pytest.raises(DeadlineExceededError, match=model.name):
            await reranker.score("question", [long, "other"], SOON)
        assert await reranker.score("question", ["next"], LATE) == pytest.approx([score_of("next")])
        assert (pid_of(owner), only(owner).restarts, starts(model)) == (pid, 0, 1)
        assert only(owner).queued == 0

    run(model, test)


@pytest.mark.parametrize(("known", "first"), [((), 0), ((0, 1), 2), ((0, 2), 1), ((1, 2), 0), ((0, 1, 2), 3)])
def test_the_first_scores_end_where_one_is_missing(known: tuple[int, ...], first: int) -> None:
    job = RankJob("question", ["a", "b", "c"], LATE)
    job.scores.update({place: place + 0.5 for place in known})
    assert job.first_scores().tolist() == [0.5, 1.5, 2.5][:first]


def test_where_not_even_the_first_text_has_a_score_there_are_none(model: Path) -> None:
    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        await reranker.score("warm", ["up"], LATE)
        long = f"long {model.with_name('never')}"
        with pytest.raises(DeadlineExceededError):
            await reranker.score("question", [long, "scored before it"], SOON, partial=True)
        assert "scored before it" in fake.log_of(model)

    run(model, test)


def test_scores_nobody_waits_for_make_way_for_those_somebody_waits_for(model: Path) -> None:
    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        long = f"long {model.with_name('never')}"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reranker.score, "given up", [long], LATE)
            await wait_until(lambda: long in fake.log_of(model))
            nursery.cancel_scope.cancel()
        assert await reranker.score("question", ["a", "b"], LATE) == pytest.approx(
            [score_of("a"), score_of("b")]
        )
        assert fake.log_of(model).count(long) == 1

    run(model, test)


def test_a_second_question_waits_for_the_first_and_has_it_not_given_up(model: Path) -> None:
    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        flag = model.with_name("flag")
        first = f"long {flag}"
        scores: dict[str, list[float]] = {}

        async def score(text: str) -> None:
            scores[text] = await reranker.score("question", [text], LATE)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(score, first)
            await wait_until(lambda: first in fake.log_of(model))
            nursery.start_soon(score, "second")
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert "second" not in fake.log_of(model)
            flag.touch()
        assert scores == {text: pytest.approx([score_of(text)]) for text in (first, "second")}
        assert fake.log_of(model).count(first) == 1

    run(model, test)


def test_a_model_that_takes_long_to_load_is_loaded_though_nobody_waits_so_long(model: Path) -> None:
    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        late = 0
        with trio.fail_after(LATE):
            while not owner.status() or only(owner).state != "ready":
                try:
                    await reranker.score("question", ["text"], 0.02)
                except DeadlineExceededError:
                    late += 1
        assert late > 0
        assert await reranker.score("question", ["text"], LATE) == pytest.approx([score_of("text")])
        assert starts(model) == 1

    run(model, test)


@pytest.mark.parametrize("text", ["crash", "killed"])
def test_a_dead_process_is_an_error_at_once_and_the_next_score_has_a_new_one(model: Path, text: str) -> None:
    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        hangs = f"long {model.with_name('never')}"

        async def kill() -> None:
            await wait_until(lambda: hangs in fake.log_of(model))
            os.kill(pid_of(owner), signal.SIGKILL)

        async with trio.open_nursery() as nursery:
            if text == "killed":
                nursery.start_soon(kill)
            with pytest.raises(ModelChildError):
                await reranker.score("question", ["fine", hangs if text == "killed" else text], LATE)
        assert starts(model) == 1
        assert await reranker.score("question", ["next"], LATE) == pytest.approx([score_of("next")])
        assert (starts(model), only(owner).restarts, only(owner).problem) == (2, 1, None)

    run(model, test)


def test_a_hung_process_is_replaced_though_nobody_waits_any_more(model: Path) -> None:
    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        await reranker.score("warm", ["up"], LATE)
        hung = pid_of(owner)
        with pytest.raises(DeadlineExceededError):
            await reranker.score("question", ["hang"], SOON)
        await wait_until(lambda: not is_running(hung))
        assert await reranker.score("question", ["next"], LATE) == pytest.approx([score_of("next")])
        assert starts(model) == 2

    run(model, test, HURRIED)


def test_nobody_waits_for_a_process_that_may_not_be_started_yet(model: Path) -> None:
    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        with pytest.raises(ModelChildError):
            await reranker.score("question", ["crash"], LATE)
        with pytest.raises(ModelChildError, match="it is started again in"):  # and no deadline that passed
            await reranker.score("question", ["text"], 0.05)

    run(model, test)


@pytest.mark.parametrize("text", ["nan", "refuse"])
def test_a_text_without_a_score_fails_its_question_alone(model: Path, text: str) -> None:
    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        with pytest.raises(ProviderFailedError):
            await reranker.score("question", ["fine", text], LATE)
        assert await reranker.score("question", ["fine"], LATE) == pytest.approx([score_of("fine")])
        assert only(owner).restarts == 0

    run(model, test)


@pytest.mark.parametrize(
    ("name", "kind", "hint"),
    [
        ("", ConfigInvalidError, KEY),
        ("a\0b.gguf", ConfigInvalidError, KEY),
        ("hf:no-file", ConfigInvalidError, KEY),
        ("/nowhere/reranker.gguf", ModelMissingError, f"Correct `{KEY}`"),
        ("hf:a/b/c.gguf", ModelMissingError, "`memctl model pull hf:a/b/c.gguf`"),
        ("https://me:secret@host/c.gguf", ModelMissingError, "`memctl model pull https://host/c.gguf`"),
    ],
)
def test_a_model_that_cannot_be_had_is_named_with_the_way_out(
    name: str, kind: type[MemdError], hint: str
) -> None:
    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        with pytest.raises(kind) as caught:
            await reranker.score("question", ["text"], LATE)
        assert hint in caught.value.hint
        assert "keep the order" in caught.value.hint
        assert "secret" not in f"{caught.value.message} {caught.value.hint} {caught.value.data}"
        assert all(status.pid is None for status in owner.status())

    run(name, test)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"no model at all"])
def test_a_file_that_is_no_reranker_is_refused_before_a_process_is_started(
    tmp_path: Path, content: bytes
) -> None:
    path = fake.write_model(tmp_path / "model.gguf")
    path.write_bytes(content or path.read_bytes())

    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        with pytest.raises(ModelInvalidError) as caught:
            await reranker.score("question", ["text"], LATE)
        assert KEY in caught.value.hint
        assert starts(path) == 0

    run(path, test)


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        with pytest.raises(LocalExtraMissingError):
            await reranker.score("question", ["text"], LATE)

    run(write_reranker(tmp_path / "loads-without-extra.gguf"), test)


def test_a_pulled_model_is_looked_for_where_the_agent_keeps_its_models(tmp_path: Path) -> None:
    path = write_reranker(tmp_path / "hf_a_b_c.gguf")
    settings = wanted("hf:a/b/c.gguf", local=Local(model_cache_dir=str(tmp_path)))

    async def body() -> None:
        async with running_owner(PATIENT) as owner:
            reranker = make_reranker(settings, owner, Path("/nowhere"))
            assert reranker is not None
            assert len(await reranker.score("question", ["text"], LATE)) == 1
            assert (only(owner).model, only(owner).path) == ("hf:a/b/c.gguf", str(path))

    trio.run(body)


def test_a_model_that_came_meanwhile_is_used(tmp_path: Path) -> None:
    path = tmp_path / "reranker.gguf"

    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        with pytest.raises(ModelMissingError):
            await reranker.score("question", ["text"], LATE)
        write_reranker(path)
        assert await reranker.score("question", ["text"], LATE) == pytest.approx([score_of("text")])

    run(path, test)


def test_closing_ends_the_process_and_every_later_score(model: Path) -> None:
    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        await reranker.score("question", ["text"], LATE)
        pid = pid_of(owner)
        await reranker.aclose()
        await reranker.aclose()
        await wait_until(lambda: not is_running(pid))
        with pytest.raises(ShuttingDownError):
            await reranker.score("question", ["text"], LATE)
        assert owner.status() == []

    run(model, test)


def test_it_waits_for_memory_and_has_no_model_ousted_that_questions_need(model: Path, tmp_path: Path) -> None:
    embedder = fake.write_model(tmp_path / "embedder.gguf")

    async def body() -> None:
        owner = ModelOwner(PATIENT, budget_bytes=1)
        async with trio.open_nursery() as nursery:
            await nursery.start(owner.run)
            hold = owner.hold(ModelFile(embedder, "embedder"), chunk_tokens=400)
            reranker = LocalReranker(owner, str(model), tmp_path, chunk_tokens=400)
            for _ in range(3):
                await hold.embed("question", "query")
                with pytest.raises(DeadlineExceededError, match="waits until others are idle"):
                    await reranker.score("question", ["text"], SOON)
            assert (starts(embedder), starts(model)) == (1, 0)
            nursery.cancel_scope.cancel()

    trio.run(body)


def test_characters_no_pipe_can_carry_are_scored_all_the_same(model: Path) -> None:
    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        assert len(await reranker.score("what \ud800", ["half a \udfff character", ""], LATE)) == 2

    run(model, test)
