"""Tests of estimated RAM and tokens; the estimate of minilm is compared with its process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import trio

from memd.embedding.local.estimate import KNOWN_MODELS, estimate_model
from memd.embedding.local.header import ModelHeader, load_header
from memd.embedding.local.process import ModelSettings
from memd.embedding.local.reference import DEFAULT_LOCAL_MODEL, MINILM, local_space
from tests.support.models import local_provider, running_owner

TOLERANCE = 0.2
"""The share by which an estimate may be wrong."""

GEMMA, SMALL = KNOWN_MODELS[DEFAULT_LOCAL_MODEL], KNOWN_MODELS[MINILM]


def test_default_model_needs_less_than_a_gigabyte_and_chunks_are_one_window() -> None:
    prompt = local_space(DEFAULT_LOCAL_MODEL, None, GEMMA.header).document_prefix
    estimate = estimate_model(GEMMA.file_bytes, GEMMA.header, chunk_tokens=400, prompt=prompt)
    assert GEMMA.file_bytes < estimate.ram_bytes < estimate.peak_bytes < 1_000_000_000
    assert (estimate.context, estimate.chunk, estimate.windows) == (512, 407, 1)


def test_chunks_beyond_the_trained_context_are_several_windows() -> None:
    estimate = estimate_model(SMALL.file_bytes, SMALL.header, chunk_tokens=1000)
    assert (estimate.context, estimate.chunk, estimate.windows) == (512, 1002, 2)


def test_language_model_keeps_the_numbers_of_its_vocabulary_twice() -> None:
    qwen = ModelHeader("qwen3", 32_768, "Qwen3 Embedding 0.6B", 28, 1_024, 151_669)
    estimate = estimate_model(639_150_592, qwen, chunk_tokens=400)
    measured = 1_368_000_000  # of random weights in these sizes: see benchmarks/NOTES.md
    assert estimate.ram_bytes == estimate.peak_bytes == pytest.approx(measured, rel=0.05)


def test_known_minilm_is_the_converted_file(minilm: Path) -> None:
    assert (SMALL.file_bytes, SMALL.header) == (minilm.stat().st_size, load_header(minilm))


@pytest.mark.model
async def test_estimate_of_minilm_is_about_the_ram_of_its_process(minilm: Path) -> None:
    async with running_owner(ModelSettings(query_timeout_s=60)) as owner:
        await local_provider(owner, minilm).embed_batch([" ".join("0123456789" * 50)] * 8)
        [status] = owner.status()
        report = await trio.Path(f"/proc/{status.pid}/status").read_text()
    now, peak = (re.search(rf"{name}:\s+(\d+) kB", report) for name in ("VmRSS", "VmHWM"))
    assert now
    assert peak
    estimate = estimate_model(SMALL.file_bytes, SMALL.header, chunk_tokens=400)
    assert int(now[1]) * 1024 == pytest.approx(estimate.ram_bytes, rel=TOLERANCE)
    assert int(peak[1]) * 1024 == pytest.approx(estimate.peak_bytes, rel=TOLERANCE)
