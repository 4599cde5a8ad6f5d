"""Tests of the limits for this machine: threads, parallel texts, context."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.embedding.local import fit


@pytest.mark.parametrize(
    ("chunk_tokens", "trained", "expected"),
    [
        (400, 512, 512),
        (400, 2048, 512),
        (400, None, 512),
        (400, 256, 256),
        (800, 2048, 1024),
        (100_000, 8192, 2048),
    ],
)
def test_context_fits_the_chunk_and_never_exceeds_the_training(
    chunk_tokens: int, trained: int | None, expected: int
) -> None:
    assert fit.context_tokens(chunk_tokens, trained) == expected


@given(st.integers(0, 10**7), st.one_of(st.none(), st.integers(1, 10**6)))
def test_context_is_always_loadable(chunk_tokens: int, trained: int | None) -> None:
    context = fit.context_tokens(chunk_tokens, trained)
    assert 1 <= context <= min(trained or fit.MAX_CONTEXT, fit.MAX_CONTEXT)


@pytest.mark.parametrize(("configured", "cores", "expected"), [(0, 2, 2), (0, 64, 8), (0, 0, 1), (3, 64, 3)])
def test_threads_are_configured_or_the_cores_up_to_eight(configured: int, cores: int, expected: int) -> None:
    assert fit.thread_count(configured, cores) == expected


@pytest.mark.parametrize(
    ("lists", "allowed", "expected"),
    [
        (["0,2", "1,3", "0,2", "1,3"], {0, 1, 2, 3}, 2),
        (["0-1", "0-1", "2-3", "2-3"], {2, 3}, 1),
        (["0", "1"], {0, 1}, 2),
        ([], {0, 1, 2}, 3),
        (["\n"], set(), 1),
    ],
)
def test_hyperthreads_of_a_core_count_once(lists: list[str], allowed: set[int], expected: int) -> None:
    assert fit.physical_cores(lists, allowed) == expected


def test_memory_is_limited_by_the_container(tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    limit.write_text("1048576\n")
    assert fit.load_memory_bytes(limit) == 1048576
    limit.write_text("max\n")
    assert fit.load_memory_bytes(limit) == fit.load_memory_bytes(tmp_path / "missing") > 1048576


@given(st.integers(1, 256), st.integers(1, 2048), st.integers(0, 300_000))
def test_parallel_texts_stay_within_threads_and_memory(threads: int, context: int, kept_logits: int) -> None:
    parallel_texts = fit.parallel_text_count(threads, context, kept_logits)
    assert 1 <= parallel_texts <= threads
    assert (parallel_texts - 1) * 4 * context * kept_logits <= fit.EXTRA_CONTEXTS_BYTES


def test_two_cores_embed_two_texts_unless_many_logits_stay_in_ram() -> None:
    assert fit.parallel_text_count(2, 512, 0) == fit.parallel_text_count(2, 512, 30_522) == 2
    assert fit.parallel_text_count(2, 512, 262_144) == 1
