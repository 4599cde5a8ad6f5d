"""A real cross-encoder in the real child: the scores NumPy computes of the same weights, whatever happens between."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import pytest
import trio
import trio.testing

from memd.embedding.local.owner import ModelOwner
from memd.embedding.local.pair import logit_of
from memd.embedding.local.policy import RunnerSettings
from memd.embedding.rerank import LocalReranker, Reranker
from memd_client.errors import DeadlineExceededError, ModelChildError, ModelInvalidError
from tests.support.models import running_owner
from tests.support.rank_model import CONTEXT_TOKENS, Head, RankReference, write_rank_model

pytestmark = pytest.mark.model

Test = Callable[[ModelOwner, Reranker], Awaitable[None]]

SETTINGS = RunnerSettings(query_timeout_s=30)
LATE = 60.0

THREE_DECIMALS = 1e-3
"""llama.cpp looks a part of its functions up in tables of 16-bit numbers."""

QUESTION = "Which port does the gateway listen on?"
TEXTS = (
    "The gateway listens on port 8080 since 2026-05-08.",
    "Bread with rye flour takes two hours in the oven.",
    "Ports: `8080` (gateway), `5432` (database) — see [network](network.md).",
    "café naïve Zürich, 重跑 gen 部署方案, 한국어 문장입니다, emoji 😀",
    "[CLS] and [SEP] as plain words",
    "x",
    "",
    "Caroline painted the sunrise by the lake. " * 12,
)


@pytest.fixture(scope="module")
def head() -> Head:
    return Head.seeded()


@pytest.fixture(scope="module")
def reference(minilm_source_dir: Path, head: Head) -> RankReference:
    return RankReference(minilm_source_dir, head)


@pytest.fixture(scope="module")
def model(minilm_source_dir: Path, head: Head, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("llama_cpp")
    return write_rank_model(minilm_source_dir, tmp_path_factory.mktemp("rank") / "reranker.gguf", head)


def run(model: Path, test: Test) -> None:
    async def body() -> None:
        async with running_owner(SETTINGS) as owner:
            await test(owner, LocalReranker(owner, str(model), Path("/nowhere"), chunk_tokens=400))

    trio.run(body)


def scores(model: Path, question: str, *texts: str) -> list[float]:
    """Return what the reranker gives some texts."""
    given: list[float] = []

    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        given.extend(await reranker.score(question, texts, LATE))

    run(model, test)
    return given


def refusal(model: Path) -> ModelInvalidError:
    """Return why a file is no reranker."""
    errors: list[ModelInvalidError] = []

    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        with pytest.raises(ModelInvalidError) as caught:
            await reranker.score(QUESTION, ["text"], LATE)
        errors.append(caught.value)

    run(model, test)
    return errors[0]


def expected(reference: RankReference, question: str, *texts: str) -> list[float]:
    """Return what NumPy gives them."""
    return [float(1 / (1 + np.exp(-reference.score(question, text)[0]))) for text in texts]


def test_scores_are_those_of_the_float32_model_and_in_its_order(
    model: Path, reference: RankReference
) -> None:
    given, right = scores(model, QUESTION, *TEXTS), expected(reference, QUESTION, *TEXTS)
    assert given == pytest.approx(right, abs=THREE_DECIMALS)
    assert np.argsort(given).tolist() == np.argsort(right).tolist()
    assert max(right) - min(right) > 0.2


def test_the_question_counts(model: Path, reference: RankReference) -> None:
    text = TEXTS[0]
    [one], [other] = scores(model, "Who paints?", text), scores(model, QUESTION, text)
    assert abs(one - other) > 10 * THREE_DECIMALS
    assert one == pytest.approx(expected(reference, "Who paints?", text)[0], abs=THREE_DECIMALS)


def test_what_goes_beyond_the_context_is_not_read(model: Path, reference: RankReference) -> None:
    start = "A recipe for bread with rye flour. " * 80
    assert len(reference.tokenizer.tokens(start)) > CONTEXT_TOKENS
    one, other = scores(model, QUESTION, start + "The end.", start + "Port 8080, says the telescope.")
    assert one == other == pytest.approx(expected(reference, QUESTION, start)[0], abs=THREE_DECIMALS)


def test_a_question_without_end_leaves_room_for_the_text(model: Path) -> None:
    one, other = scores(model, "which port " * 2000, "The gateway listens on port 8080.", "Rye bread.")
    assert one != pytest.approx(other, abs=THREE_DECIMALS)
    assert all(0 < score < 1 for score in (one, other))


def test_a_score_doesnt_depend_on_company_or_place(model: Path) -> None:
    alone = [scores(model, QUESTION, text)[0] for text in TEXTS[:3]]
    assert scores(model, QUESTION, *TEXTS[:3]) == alone
    assert scores(model, QUESTION, *reversed(TEXTS[:3])) == alone[::-1]


def test_a_file_that_doesnt_name_its_pooling_is_a_reranker_all_the_same(
    minilm_source_dir: Path, head: Head, tmp_path: Path, model: Path
) -> None:
    silent = write_rank_model(minilm_source_dir, tmp_path / "silent.gguf", head, says_pooling=False)
    assert scores(silent, QUESTION, *TEXTS[:2]) == scores(model, QUESTION, *TEXTS[:2])


def test_a_files_own_template_is_used(
    minilm_source_dir: Path, head: Head, tmp_path: Path, reference: RankReference
) -> None:
    template = "[CLS] question: {query} [SEP] answer: {document} [SEP]"
    path = write_rank_model(minilm_source_dir, tmp_path / "template.gguf", head, template=template)
    right = expected(reference, f"question: {QUESTION}", *(f"answer: {text}" for text in TEXTS[:3]))
    assert scores(path, QUESTION, *TEXTS[:3]) == pytest.approx(right, abs=THREE_DECIMALS)


def test_texts_given_up_at_the_deadline_leave_the_process_and_its_scores_as_they_were(model: Path) -> None:
    many = [f"line {number} about the gateway " * 40 for number in range(40)]

    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        before = await reranker.score(QUESTION, TEXTS[:3], LATE)
        pid = owner.status()[0].pid
        with pytest.raises(DeadlineExceededError):
            await reranker.score(QUESTION, many, 0.1)
        assert await reranker.score(QUESTION, TEXTS[:3], LATE) == before
        assert owner.status()[0].pid == pid

    run(model, test)


def test_the_first_texts_have_their_scores_where_there_is_no_time_for_all(model: Path) -> None:
    first, many = TEXTS[:2], ["line about the gateway " * 100] * 200

    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        right = await reranker.score(QUESTION, first, LATE)
        some = await reranker.score(QUESTION, [*first, *many], 2.0, partial=True)
        assert some[:2] == right
        assert len(some) < len(many)
        assert await reranker.score(QUESTION, first, LATE, partial=True) == right

    run(model, test)


def test_a_process_killed_over_its_texts_is_an_error_and_the_next_has_the_same_scores(model: Path) -> None:
    many = [f"line {number} about the gateway " * 40 for number in range(60)]

    async def test(owner: ModelOwner, reranker: Reranker) -> None:
        before = await reranker.score(QUESTION, TEXTS[:3], LATE)
        pid = owner.status()[0].pid
        assert pid is not None

        async def kill() -> None:
            await trio.testing.wait_all_tasks_blocked(0.01)
            os.kill(pid, signal.SIGKILL)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(kill)
            with pytest.raises(ModelChildError):
                await reranker.score(QUESTION, many, LATE)
        assert await reranker.score(QUESTION, TEXTS[:3], LATE) == before
        assert owner.status()[0].restarts == 1

    run(model, test)


def test_an_embedding_model_is_no_reranker(minilm: Path) -> None:
    assert "no classification head" in refusal(minilm).message


def test_a_model_that_sorts_texts_is_no_reranker(minilm_source_dir: Path, tmp_path: Path) -> None:
    head, labels = Head.seeded(outputs=3), ("entailment", "neutral", "contradiction")
    path = write_rank_model(minilm_source_dir, tmp_path / "nli.gguf", head, labels=labels)
    assert "3 scores" in refusal(path).message


def test_a_template_without_a_place_is_refused(minilm_source_dir: Path, head: Head, tmp_path: Path) -> None:
    path = write_rank_model(minilm_source_dir, tmp_path / "bad.gguf", head, template="[CLS] {query} [SEP]")
    assert "template" in refusal(path).message


@pytest.mark.parametrize(
    ("outputs", "logit"),
    [
        ([-3.25], -3.25),
        ([0.5, 0.5], 0.0),
        ([0.75, 0.25], np.log(3)),
        ([1.0, 0.0], 69.07755),
        ([2.0, 5.0], -3.0),
    ],
)
def test_yes_and_no_are_one_number(outputs: list[float], logit: float) -> None:
    assert logit_of(outputs) == pytest.approx(logit)
