"""Tests of estimated RAM and tokens; the estimates of RAM are compared with real model processes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.embedding.local import fit
from memd.embedding.local.estimate import (
    KNOWN_MODELS,
    MemoryEstimate,
    estimate_memory,
    estimate_model,
    kept_logits,
)
from memd.embedding.local.header import ModelHeader, load_header, load_stamp
from memd.embedding.local.process import RunnerSettings
from memd.embedding.local.reference import DEFAULT_LOCAL_MODEL, MINILM, local_space
from tests.support.models import local_provider, running_owner
from tests.support.tiny_models import TINY_MODELS, write_tiny_model

TOLERANCE = 0.1
"""The share by which an estimate may be wrong."""

GEMMA = KNOWN_MODELS[DEFAULT_LOCAL_MODEL]


def test_default_model_needs_less_than_a_gigabyte_and_chunks_are_one_window() -> None:
    prompt = local_space(DEFAULT_LOCAL_MODEL, None, GEMMA.header).document_prefix
    estimate = estimate_model(GEMMA.file_bytes, GEMMA.header, chunk_tokens=400, prompt=prompt, threads=2)
    assert estimate.memory == MemoryEstimate(working_bytes=452_604_320, peak_bytes=989_475_232)
    assert (estimate.context, estimate.chunk, estimate.windows) == (512, 407, 1)


def test_chunks_beyond_the_trained_context_are_several_windows() -> None:
    minilm = KNOWN_MODELS[MINILM]
    estimate = estimate_model(minilm.file_bytes, minilm.header, chunk_tokens=1000, prompt="", threads=2)
    assert (estimate.context, estimate.chunk, estimate.windows) == (512, 1002, 2)


def test_known_minilm_is_the_converted_file(minilm: Path) -> None:
    known = KNOWN_MODELS[MINILM]
    assert (known.file_bytes, known.header) == (minilm.stat().st_size, load_header(minilm))


def test_language_model_needs_its_cache_and_logits_while_it_works() -> None:
    header = ModelHeader("qwen3", 32768, "Qwen3 Embedding 0.6B", 28, 1024, 3072, 2 * 8 * 128, 151_669)
    estimate = estimate_memory(639_000_000, header, 512, 1)
    assert estimate.working_bytes == estimate.peak_bytes
    without = estimate_memory(639_000_000, replace(header, cache_width=0), 512, 1)
    assert estimate.working_bytes - without.working_bytes == 512 * 28 * 2048 * 2


@given(
    st.integers(0, 10**12), st.integers(1, 4096), st.integers(1, 4), st.integers(0, 300_000), st.booleans()
)
def test_peak_is_at_least_the_working_need_and_that_more_than_the_file(
    file_bytes: int, context: int, contexts: int, vocabulary: int, is_encoder: bool
) -> None:
    header = ModelHeader("bert" if is_encoder else "llama", None, "", 6, 384, 1536, 768, vocabulary)
    estimate = estimate_memory(file_bytes, header, context, contexts)
    assert file_bytes < estimate.working_bytes <= estimate.peak_bytes
    more = estimate_memory(file_bytes, header, context + 1, contexts)
    assert estimate.peak_bytes < more.peak_bytes


# --- measurements ---------------------------------------------------------------------------------

SETTINGS = RunnerSettings(query_timeout_s=60)


def memory_of(pid: int) -> MemoryEstimate:
    """Return a process's resident memory now and at most."""
    status = Path(f"/proc/{pid}/status").read_text()
    now, peak = (re.search(rf"{name}:\s+(\d+) kB", status) for name in ("VmRSS", "VmHWM"))
    assert now
    assert peak
    return MemoryEstimate(int(now[1]) * 1024, int(peak[1]) * 1024)


async def check(path: Path, text: str) -> None:
    """Compare the memory of a model's process, after texts in all its contexts, with the estimates."""
    file_bytes, header = load_stamp(path).size, load_header(path)
    threads = fit.thread_count(0, fit.load_physical_cores())
    contexts = fit.parallel_text_count(threads, 512, kept_logits(header))
    async with running_owner(SETTINGS) as owner:
        await local_provider(owner, path).embed_batch([text] * 4 * contexts)
        [status] = owner.status()
        assert status.pid is not None
        measured = memory_of(status.pid)
    estimated = estimate_memory(file_bytes, header, 512, contexts)
    print(f"{path.name}: {measured}, estimated {estimated}")
    assert measured.working_bytes == pytest.approx(estimated.working_bytes, rel=TOLERANCE)
    assert measured.peak_bytes == pytest.approx(estimated.peak_bytes, rel=TOLERANCE)


@pytest.mark.model
@pytest.mark.parametrize("architecture", list(TINY_MODELS))
async def test_estimate_is_the_ram_of_the_process(architecture: str, tmp_path: Path) -> None:
    pytest.importorskip("llama_cpp")
    model = replace(TINY_MODELS[architecture], padding_tokens=60_000, is_quantized=True)
    path = write_tiny_model(tmp_path / f"{architecture}.gguf", model)
    await check(path, "".join(str(number % 10) for number in range(490)))


@pytest.mark.model
async def test_estimate_of_minilm_is_the_ram_of_its_process(minilm: Path) -> None:
    await check(minilm, " ".join(str(number % 10) for number in range(500)))
