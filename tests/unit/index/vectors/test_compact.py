"""Quantized rows give an upper bound of each cosine: never below the cosine, and not far above it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memd.index.vectors.compact import Comparison, VectorBlock, empty_block
from tests.support.indexes import unit

Rows = NDArray[np.float32]

DIMS = st.sampled_from([1, 2, 3, 7, 64, 384, 768, 1536])


def blocks_of(rows: Rows, sizes: tuple[int, ...]) -> list[VectorBlock]:
    """Return rows in blocks of so many, ids counted from 1."""
    blocks, start = [], 0
    for size in sizes:
        block = empty_block(size, rows.shape[1])
        block.append(np.arange(start + 1, start + size + 1), rows[start : start + size])
        blocks.append(block.snapshot())
        start += size
    return blocks


def highest(blocks: list[VectorBlock], query: NDArray[np.float64]) -> tuple[Rows, Rows]:
    """Return the rough and the tight upper bounds of the cosines of all rows."""
    compared = Comparison(blocks, query)
    return compared.rough, compared.close(np.arange(len(compared.ids)))


def shaped(shape: str, count: int, dims: int, seed: int) -> Rows:
    """Return vectors that are hard on rounding in one way."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((count, dims))
    if shape == "one huge number":
        rows *= 1e-6
        rows[np.arange(count), rng.integers(0, dims, count)] = 1.0
    elif shape == "between two steps":  # every number is as far from its byte as can be
        rows = (rng.integers(-126, 126, (count, dims)) + 0.5) / 127
        rows[:, 0] = 1.0
    elif shape == "tiny numbers":
        rows *= 10.0 ** rng.integers(-30, 1, (count, dims))
    elif shape == "equal numbers":
        rows = np.ones((count, dims))
    return unit(rows)


@settings(deadline=None, max_examples=150)
@given(
    shape=st.sampled_from(["any", "one huge number", "between two steps", "tiny numbers", "equal numbers"]),
    towards=st.sampled_from(["any", "a row", "a residual"]),
    dims=DIMS,
    seed=st.integers(0, 1_000),
)
def test_cosines_never_exceed_their_bounds(shape: str, towards: str, dims: int, seed: int) -> None:
    # given rows, and a query that may be the worst case: parallel to the residual of a row
    rows = shaped(shape, 20, dims, seed)
    blocks = blocks_of(rows, (20,))
    exact = rows.astype(np.float64)
    residual = exact[3] - blocks[0].numbers[3] * blocks[0].scales[3].astype(np.float64)
    query = {"any": np.random.default_rng(seed + 1).standard_normal(dims), "a row": exact[3]}.get(
        towards, residual
    )
    if not np.linalg.norm(query):
        query = exact[3]
    query = query / np.linalg.norm(query)

    # when
    for high in highest(blocks, query):
        # then
        assert (high.astype(np.float64) >= exact @ query).all()


def test_bounds_are_tight() -> None:
    rows = shaped("any", 500, 384, 1)
    query = rows[7].astype(np.float64)
    rough, close = highest(blocks_of(rows, (500,)), query / np.linalg.norm(query))
    assert float((rough - rows @ rows[7]).max()) < 0.03
    assert float((close - rows @ rows[7]).max()) < 0.02


def test_tight_bounds_are_computed_only_for_the_given_rows() -> None:
    # given rows in several blocks
    rows = shaped("any", 3_000, 384, 5)
    query = rows[0].astype(np.float64)
    compared = Comparison(blocks_of(rows, (1_200, 3, 1_797)), query)
    every = compared.close(np.arange(3_000))

    # when
    some = np.array([0, 7, 1_199, 1_200, 1_202, 1_203, 2_999])

    # then
    assert np.array_equal(compared.close(some), every[some])
    assert compared.close(some[:0]).size == 0


def test_rows_of_zeros_and_of_the_smallest_numbers_have_bounds() -> None:
    rows = np.zeros((3, 5), dtype=np.float32)
    rows[1], rows[2] = 1e-44, -1e-35
    for high in highest(blocks_of(rows, (3,)), np.array([1.0, 0, 0, 0, 0])):
        assert np.isfinite(high).all()
        assert (high >= rows[:, 0]).all()
        assert (high < 1e-5).all()


@pytest.mark.parametrize("sizes", [(3_000,), (1_200, 1_800), (1, 2_500, 499)])
def test_bounds_do_not_depend_on_the_blocks(sizes: tuple[int, ...]) -> None:
    rows = shaped("any", 3_000, 384, 2)
    query = rows[0].astype(np.float64)
    assert Comparison(blocks_of(rows, sizes), query).ids.tolist() == list(range(1, 3_001))
    whole = highest(blocks_of(rows, (3_000,)), query)
    for high, all_in_one in zip(highest(blocks_of(rows, sizes), query), whole, strict=True):
        assert np.allclose(high, all_in_one, atol=1e-3)


def test_deleted_row_has_a_bound_of_minus_infinity() -> None:
    [block] = blocks_of(shaped("any", 4, 8, 3), (4,))
    block.alive = np.array([True, False, True, True])
    assert (Comparison([block], np.eye(8)[0]).rough == -np.inf).tolist() == [False, True, False, False]


def test_block_snapshot_does_not_change() -> None:
    # given a block with free rows, and a snapshot of it
    rows = shaped("any", 6, 8, 4)
    block = empty_block(6, 8)
    block.append(np.arange(3), rows[:3])
    seen = block.snapshot()
    before = highest([seen], np.eye(8)[0])

    # when
    block.append(np.arange(3, 6), rows[3:])

    # then
    assert (seen.count, block.count, block.free_rows) == (3, 6, 0)
    assert np.array_equal(highest([seen], np.eye(8)[0]), before)


def test_row_takes_one_byte_per_number() -> None:
    assert empty_block(1_000, 384).size_bytes == 1_000 * (384 + 17)
