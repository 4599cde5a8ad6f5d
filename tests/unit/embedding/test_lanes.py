"""Texts that go through a model side by side: their own vectors, nothing lost, and questions don't wait for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from memd.embedding.local.jobs import MAX_TOGETHER_CHARACTERS, Job, JobQueue
from memd.embedding.local.owner import LocalModel, LocalProvider
from memd.embedding.local.process import RunnerSettings
from memd.embedding.local.reference import local_space
from memd.embedding.provider import FloatArray
from memd_client.errors import MemdError, ModelChildError, ProviderFailedError
from tests.support import fake_model_child as fake
from tests.support.models import running_owner, wait_until
from tests.unit.embedding.owning import HURRIED, PATIENT, held_model, only

Outcomes = dict[str, FloatArray | MemdError]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model file whose fake child takes texts together."""
    return fake.write_model(tmp_path / "lanes.gguf")


async def together(model: Path, *texts: str, settings: RunnerSettings = PATIENT) -> Outcomes:
    """Return what became of texts that wait together."""
    outcomes: Outcomes = {}

    async with held_model(model, settings) as (_, hold):
        flag = model.with_name("first")

        async def embed(text: str) -> None:
            try:
                outcomes[text] = await hold.embed(text, "text")
            except MemdError as error:
                outcomes[text] = error

        async with trio.open_nursery() as nursery:
            first = f"gate {flag}"
            nursery.start_soon(hold.embed, first, "text")
            await wait_until(lambda: first in fake.log_of(model))
            for text in texts:
                nursery.start_soon(embed, text)
                await trio.testing.wait_all_tasks_blocked()
            flag.touch()
        assert f"together {len(texts)}" in fake.log_of(model)

    return outcomes


def is_own_vector(outcomes: Outcomes, text: str) -> bool:
    vector = outcomes[text]
    assert isinstance(vector, np.ndarray), vector
    return vector.tobytes() == fake.vector_of(text)


async def test_texts_that_wait_go_together_and_each_gets_its_own_vector(model: Path) -> None:
    texts = [f"text {number}" for number in range(5)]
    outcomes = await together(model, *texts)
    assert all(is_own_vector(outcomes, text) for text in texts)
    assert fake.log_of(model)[2:] == ["together 5", *reversed(texts)]


async def test_more_texts_than_go_together_are_all_embedded(model: Path) -> None:
    async with held_model(model) as (_owner, hold):
        vectors: dict[str, bytes] = {}

        async def embed(text: str) -> None:
            vectors[text] = (await hold.embed(text, "text")).tobytes()

        async with trio.open_nursery() as nursery:
            for number in range(40):
                nursery.start_soon(embed, f"text {number}")
        assert vectors == {f"text {number}": fake.vector_of(f"text {number}") for number in range(40)}
        assert "together 16" in fake.log_of(model)


async def test_refused_text_fails_alone_among_others(model: Path) -> None:
    outcomes = await together(model, "a", "refuse", "b")
    assert isinstance(outcomes["refuse"], ProviderFailedError)
    assert is_own_vector(outcomes, "a")
    assert is_own_vector(outcomes, "b")


async def test_text_that_kills_its_process_takes_none_of_the_others_along(model: Path) -> None:
    outcomes = await together(model, "a", "crash", "b")
    assert isinstance(outcomes["crash"], ModelChildError)
    assert is_own_vector(outcomes, "a")
    assert is_own_vector(outcomes, "b")
    assert fake.log_of(model).count("crash") == 2
    assert fake.log_of(model).count("b") == 1  # answered before the crash


async def test_text_that_hangs_its_process_takes_none_of_the_others_along(model: Path) -> None:
    outcomes = await together(model, "a", "hang", "b", settings=HURRIED)
    assert isinstance(outcomes["hang"], ModelChildError)
    assert is_own_vector(outcomes, "a")
    assert is_own_vector(outcomes, "b")


async def test_a_question_has_the_texts_given_up_and_those_that_were_done_stay_done(model: Path) -> None:
    async with running_owner(PATIENT) as owner:
        hold = owner.hold(LocalModel(model, "fake"), chunk_tokens=400)
        first, long = f"gate {model.with_name('first')}", f"long {model.with_name('flag')}"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(hold.embed, first, "text")
            await wait_until(lambda: first in fake.log_of(model))
            for text in ("not begun", long, "done"):
                nursery.start_soon(hold.embed, text, "text")
                await trio.testing.wait_all_tasks_blocked()
            model.with_name("first").touch()
            await wait_until(lambda: long in fake.log_of(model))
            assert (await hold.embed("question", "query")).tobytes() == fake.vector_of("question")
            model.with_name("flag").touch()
    log = fake.log_of(model)
    assert log[:6] == ["start", first, "together 3", "done", long, "question"]
    assert log[6:] == ["not begun", long], "after a question texts go one by one for a while"


async def test_texts_put_off_for_too_long_are_embedded_to_their_end_one_at_a_time(model: Path) -> None:
    manners = RunnerSettings(
        command=fake.COMMAND, query_timeout_s=20, text_timeout_s=20, interruptible_s=0.05
    )

    async with held_model(model, manners) as (owner, hold):
        flag, first = model.with_name("flag"), model.with_name("first")
        long = f"long {flag}"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(hold.embed, f"gate {first}", "text")
            await wait_until(lambda: f"gate {first}" in fake.log_of(model))
            for text in (long, "brief"):
                nursery.start_soon(hold.embed, text, "text")
                await trio.testing.wait_all_tasks_blocked()
            first.touch()
            await wait_until(lambda: fake.log_of(model).count(long) == 1)
            await trio.sleep(2 * manners.interruptible_s)
            await hold.embed("question", "query")
            await wait_until(lambda: fake.log_of(model).count(long) == 2)
            nursery.start_soon(hold.embed, "one more", "query")
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert "one more" not in fake.log_of(model)
            flag.touch()
        assert fake.log_of(model)[2:] == ["together 2", "brief", long, "question", long, "one more"]
        assert only(owner).restarts == 0


@given(
    st.lists(st.tuples(st.integers(1, MAX_TOGETHER_CHARACTERS), st.booleans()), min_size=1, max_size=30),
    st.integers(1, 16),
)
def test_jobs_taken_together_are_the_oldest_few_and_fit_one_message(
    texts: list[tuple[int, bool]], most: int
) -> None:
    queue, jobs = JobQueue(), [Job("x" * characters, "text") for characters, _ in texts]
    alone = {id(job) for job, (_, is_alone) in zip(jobs, texts, strict=True) if is_alone}
    for job in jobs:
        queue.push(job)
    taken: list[Job] = []
    while queue:
        some = queue.pop_some(most, lambda job: id(job) in alone)
        assert 1 <= len(some) <= most
        assert len(some) == 1 or sum(len(job.text) for job in some) <= MAX_TOGETHER_CHARACTERS
        assert len(some) == 1 or not any(id(job) in alone for job in some)
        taken += some
    assert taken == jobs


def test_a_question_goes_first_and_alone() -> None:
    queue = JobQueue()
    text, query = Job("text", "text"), Job("question", "query")
    queue.push(text)
    queue.push(query)
    assert queue.pop_some(16, lambda job: False) == [query]
    assert queue.pop_some(16, lambda job: False) == [text]


@pytest.mark.long
@pytest.mark.model
async def test_a_text_has_the_same_vector_bit_by_bit_alone_and_side_by_side(minilm: Path) -> None:
    texts = [f"line {number} about the gateway " * (1 + 7 * number) for number in range(20)]
    texts += ["", "한국어 문장입니다", "0123456789abcdef" * 200]

    async with running_owner(RunnerSettings(threads=3, query_timeout_s=30)) as owner:
        provider = LocalProvider(
            owner, LocalModel(minilm, "minilm"), local_space("minilm", None), chunk_tokens=400
        )
        side_by_side = await provider.embed_batch(texts)  # first: after questions texts go one by one
        assert np.array_equal(side_by_side, np.stack([await provider.embed_query(t) for t in texts]))


def run_alone(program: str, minilm: Path) -> None:
    """Run a program that loads the model in a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-c", program, str(minilm)], capture_output=True, text=True, check=False, timeout=240
    )
    assert ended.returncode == 0, ended.stderr[-2000:]


REOPENED = """
import sys
from memd.embedding.local.child import CancellationFlag, LoadedModel
model = LoadedModel(sys.argv[1], 512, 2, CancellationFlag())
first = [model.embed("a text", lane)[0] for lane in range(model.open_contexts())]
model.rest()
assert not model.can_rest
again = [model.embed("a text", lane)[0] for lane in (None, *range(model.open_contexts()))]
assert set(first) == set(again) and len(set(first)) == 1 and len(first) == 2 and model.can_rest
"""


@pytest.mark.model
def test_lanes_can_be_closed_and_opened_again(minilm: Path) -> None:
    run_alone(REOPENED, minilm)


GIVEN_BACK = """
import os
import sys
from memd.embedding.local.child import CancellationFlag, LoadedModel
from memd.embedding.local.fit import load_rss_bytes
model = LoadedModel(sys.argv[1], 512, 2, CancellationFlag())
question = model.embed("a question")[0]
loaded = load_rss_bytes(os.getpid())
model.rest()
assert not model.can_rest, "a question's memory is kept"
asked = load_rss_bytes(os.getpid())
model.embed("words " * 400)
assert model.can_rest
grown = load_rss_bytes(os.getpid())
model.rest()
left = load_rss_bytes(os.getpid())
assert not model.can_rest and model.embed("a question")[0] == question
assert loaded - asked > 15e6, "rows of words that no text had"
assert grown - asked > 30e6 and left - asked < 5e6, (asked, grown, left)
"""


@pytest.mark.model
@pytest.mark.skipif(sys.platform != "linux", reason="another C library keeps what it was given back")
def test_the_memory_of_a_long_text_is_given_back_and_a_questions_is_kept(minilm: Path) -> None:
    run_alone(GIVEN_BACK, minilm)


FILLED = """
import sys
from memd.embedding.local.child import CancellationFlag, LoadedModel
model = LoadedModel(sys.argv[1], 512, 2, CancellationFlag())
assert model._file.can_pad
lanes = [None, *range(model.open_contexts())]
lengths = (3, 39, 40, 41, 52, 63, 64, 65, 300)
texts = [[101, *range(2000, 2000 + length - 2), 102] for length in (*lengths, *reversed(lengths))]
filled = [[model._compute(text, lane).tobytes() for lane in lanes] for text in texts]
assert all(len(set(vectors)) == 1 for vectors in filled), "a vector depends on its lane"
assert [vectors[0] for vectors in filled] == [vectors[0] for vectors in reversed(filled)], "or on what came before"
model._contexts[0]._can_pad = False
for text, vectors in zip(texts, filled):
    bare = model._compute(text, None)
    own = memoryview(vectors[0]).cast("f")
    far = sum((one - other) ** 2 for one, other in zip(bare, own)) / sum(one * one for one in bare)
    assert far < 1e-5 and (far > 0) == (40 <= len(text) < 64), (len(text), far)
odd = LoadedModel(sys.argv[1], 511, 2, CancellationFlag())
assert not odd._file.can_pad, "two texts of equal length don't make an odd number"
assert odd._compute(texts[0], None).tobytes() == filled[0][0]
"""


@pytest.mark.model
def test_a_text_computed_beside_a_filling_has_its_own_vector(minilm: Path) -> None:
    run_alone(FILLED, minilm)
