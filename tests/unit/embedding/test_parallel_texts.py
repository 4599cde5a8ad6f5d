"""Tests of texts embedded in parallel, with failures and queries."""

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

from memd.embedding.local.jobs import MAX_TOGETHER_CHARACTERS, InferenceJob, JobQueue
from memd.embedding.local.model import ModelSpec
from memd.embedding.local.process import ModelSettings
from memd.embedding.local.provider import LocalProvider
from memd.embedding.local.reference import local_space
from memd.embedding.provider import FloatArray
from memd_client.errors import MemdError, ModelChildError, ProviderFailedError
from tests.support import fake_model_child as fake
from tests.support.models import running_owner, wait_until
from tests.unit.embedding.model_in_use import HURRIED, PATIENT, model_in_use, only

Outcomes = dict[str, FloatArray | MemdError]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model file whose fake process embeds texts in parallel."""
    return fake.write_model(tmp_path / "parallel_texts.gguf")


async def together(model: Path, *texts: str, settings: ModelSettings = PATIENT) -> Outcomes:
    """Return the outcomes of texts that wait at the same time."""
    outcomes: Outcomes = {}

    async with model_in_use(model, settings) as (_, used):
        flag = model.with_name("first")

        async def embed(text: str) -> None:
            try:
                outcomes[text] = await used.embed(text, "text")
            except MemdError as error:
                outcomes[text] = error

        async with trio.open_nursery() as nursery:
            first = f"gate {flag}"
            nursery.start_soon(used.embed, first, "text")
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


async def test_waiting_texts_share_a_request_and_get_their_own_vectors(model: Path) -> None:
    texts = [f"text {number}" for number in range(5)]
    outcomes = await together(model, *texts)
    assert all(is_own_vector(outcomes, text) for text in texts)
    assert fake.log_of(model)[2:] == ["together 5", *reversed(texts)]


async def test_more_texts_than_fit_a_request_are_all_embedded(model: Path) -> None:
    async with model_in_use(model) as (_owner, used):
        vectors: dict[str, bytes] = {}

        async def embed(text: str) -> None:
            vectors[text] = (await used.embed(text, "text")).tobytes()

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


async def test_text_that_kills_its_process_fails_alone(model: Path) -> None:
    outcomes = await together(model, "a", "crash", "b")
    assert isinstance(outcomes["crash"], ModelChildError)
    assert is_own_vector(outcomes, "a")
    assert is_own_vector(outcomes, "b")
    assert fake.log_of(model).count("crash") == 2
    assert fake.log_of(model).count("b") == 1  # embedded before the crash


async def test_text_that_hangs_its_process_fails_alone(model: Path) -> None:
    outcomes = await together(model, "a", "hang", "b", settings=HURRIED)
    assert isinstance(outcomes["hang"], ModelChildError)
    assert is_own_vector(outcomes, "a")
    assert is_own_vector(outcomes, "b")


async def test_query_interrupts_parallel_texts_and_keeps_finished_ones(model: Path) -> None:
    async with running_owner(PATIENT) as owner:
        used = owner.acquire(ModelSpec(model, "fake"), chunk_tokens=400)
        first, long = f"gate {model.with_name('first')}", f"long {model.with_name('flag')}"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(used.embed, first, "text")
            await wait_until(lambda: first in fake.log_of(model))
            for text in ("not begun", long, "done"):
                nursery.start_soon(used.embed, text, "text")
                await trio.testing.wait_all_tasks_blocked()
            model.with_name("first").touch()
            await wait_until(lambda: long in fake.log_of(model))
            assert (await used.embed("query", "query")).tobytes() == fake.vector_of("query")
            model.with_name("flag").touch()
    log = fake.log_of(model)
    assert log[:6] == ["start", first, "together 3", "done", long, "query"]
    assert log[6:] == ["not begun", long], "after a query texts go one by one for a while"


async def test_texts_interrupted_for_too_long_are_finished_one_at_a_time(model: Path) -> None:
    settings = ModelSettings(
        command=fake.COMMAND, query_timeout_s=120, text_timeout_s=120, interruptible_s=0.05
    )

    async with model_in_use(model, settings) as (owner, used):
        flag, first = model.with_name("flag"), model.with_name("first")
        long = f"long {flag}"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(used.embed, f"gate {first}", "text")
            await wait_until(lambda: f"gate {first}" in fake.log_of(model))
            for text in (long, "brief"):
                nursery.start_soon(used.embed, text, "text")
                await trio.testing.wait_all_tasks_blocked()
            first.touch()
            await wait_until(lambda: fake.log_of(model).count(long) == 1)
            await trio.sleep(2 * settings.interruptible_s)
            await used.embed("query", "query")
            await wait_until(lambda: fake.log_of(model).count(long) == 2)
            nursery.start_soon(used.embed, "one more", "query")
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert "one more" not in fake.log_of(model)
            flag.touch()
        assert fake.log_of(model)[2:] == ["together 2", "brief", long, "query", long, "one more"]
        assert only(owner).restarts == 0


@given(
    st.lists(st.tuples(st.integers(1, MAX_TOGETHER_CHARACTERS), st.booleans()), min_size=1, max_size=30),
    st.integers(1, 16),
)
def test_jobs_of_a_request_are_the_oldest_and_fit_one_message(
    texts: list[tuple[int, bool]], most: int
) -> None:
    queue, jobs = JobQueue(), [InferenceJob("x" * characters, "text") for characters, _ in texts]
    alone = {id(job) for job, (_, is_alone) in zip(jobs, texts, strict=True) if is_alone}
    for job in jobs:
        queue.push(job)
    taken: list[InferenceJob] = []
    while queue:
        some = queue.pop_some(most, lambda job: id(job) in alone)
        assert 1 <= len(some) <= most
        assert len(some) == 1 or sum(len(job.text) for job in some) <= MAX_TOGETHER_CHARACTERS
        assert len(some) == 1 or not any(id(job) in alone for job in some)
        taken += some
    assert taken == jobs


def test_query_is_taken_first_and_alone() -> None:
    queue = JobQueue()
    text, query = InferenceJob("text", "text"), InferenceJob("query", "query")
    queue.push(text)
    queue.push(query)
    assert queue.pop_some(16, lambda job: False) == [query]
    assert queue.pop_some(16, lambda job: False) == [text]


@pytest.mark.long
@pytest.mark.model
async def test_vector_is_bit_identical_alone_and_in_parallel(minilm: Path) -> None:
    texts = [f"line {number} about the gateway " * (1 + 7 * number) for number in range(20)]
    texts += ["", "한국어 문장입니다", "0123456789abcdef" * 200]

    async with running_owner(ModelSettings(threads=3, query_timeout_s=30)) as owner:
        provider = LocalProvider(
            owner, ModelSpec(minilm, "minilm"), local_space("minilm", None), chunk_tokens=400
        )
        side_by_side = await provider.embed_batch(
            texts
        )  # first, because after queries texts are embedded one at a time
        assert np.array_equal(side_by_side, np.stack([await provider.embed_query(t) for t in texts]))


def run_in_process(program: str, minilm: Path) -> None:
    """Run a program that loads the model in a separate process."""
    ended = subprocess.run(
        [sys.executable, "-c", program, str(minilm)], capture_output=True, text=True, check=False, timeout=240
    )
    assert ended.returncode == 0, ended.stderr[-2000:]


RECREATED_CONTEXTS = """
import sys
from memd.embedding.local.child import CancellationFlag, LoadedModel
from memd.embedding.local.engine import load_engine
model = LoadedModel(load_engine()[1], sys.argv[1], 512, 2, CancellationFlag())
first = [model.embed("a text", context_index)[0] for context_index in range(model.open_contexts())]
model.free_unused_ram()
assert not model.has_unused_ram
again = [model.embed("a text", context_index)[0] for context_index in (None, *range(model.open_contexts()))]
assert set(first) == set(again) and len(set(first)) == 1 and len(first) == 2 and model.has_unused_ram
"""


@pytest.mark.model
def test_contexts_can_be_freed_and_created_again(minilm: Path) -> None:
    run_in_process(RECREATED_CONTEXTS, minilm)


FREED_MEMORY = """
import os
import sys
from memd.embedding.local.child import CancellationFlag, LoadedModel
from memd.embedding.local.engine import load_engine
from memd.embedding.local.fit import load_rss_bytes
model = LoadedModel(load_engine()[1], sys.argv[1], 512, 2, CancellationFlag())
query = model.embed("a query")[0]
loaded = load_rss_bytes(os.getpid())
model.free_unused_ram()
assert not model.has_unused_ram, "a query's memory is kept"
asked = load_rss_bytes(os.getpid())
model.embed("words " * 400)
assert model.has_unused_ram
grown = load_rss_bytes(os.getpid())
model.free_unused_ram()
left = load_rss_bytes(os.getpid())
assert not model.has_unused_ram and model.embed("a query")[0] == query
assert loaded - asked > 15e6, "rows of words that no text had"
assert 10e6 < grown - asked < 40e6, ("the logits of 400 tokens alone take 49 MB", asked, grown)
assert left - asked < 5e6, (asked, left)
"""


@pytest.mark.model
@pytest.mark.skipif(sys.platform != "linux", reason="another C library keeps what it was given back")
def test_memory_of_a_long_text_is_freed_and_that_of_a_query_is_kept(minilm: Path) -> None:
    run_in_process(FREED_MEMORY, minilm)


PADDED = """
import sys
from memd.embedding.local.child import CancellationFlag, LoadedModel
from memd.embedding.local.engine import load_engine
model = LoadedModel(load_engine()[1], sys.argv[1], 512, 2, CancellationFlag())
assert model._file.can_pad
context_indexes = [None, *range(model.open_contexts())]
lengths = (3, 39, 40, 41, 52, 63, 64, 65, 300)
texts = [[101, *range(2000, 2000 + length - 2), 102] for length in (*lengths, *reversed(lengths))]
computed = [[model._compute(text, index).tobytes() for index in context_indexes] for text in texts]
assert all(len(set(vectors)) == 1 for vectors in computed), "a vector depends on its context"
assert [vectors[0] for vectors in computed] == [vectors[0] for vectors in reversed(computed)], "or on what came before"
model._contexts[0]._can_pad = False
for text, vectors in zip(texts, computed):
    bare = model._compute(text, None)
    own = memoryview(vectors[0]).cast("f")
    far = sum((one - other) ** 2 for one, other in zip(bare, own)) / sum(one * one for one in bare)
    assert far < 1e-5 and (far > 0) == (40 <= len(text) < 64), (len(text), far)
odd = LoadedModel(load_engine()[1], sys.argv[1], 511, 2, CancellationFlag())
assert not odd._file.can_pad, "two texts of equal length don't make an odd number"
assert odd._compute(texts[0], None).tobytes() == computed[0][0]
"""


@pytest.mark.model
def test_padding_does_not_change_a_vector(minilm: Path) -> None:
    run_in_process(PADDED, minilm)
