"""Quantization of vectors to int8, with an error bound for the cosines computed from them.

A row is divided by `scale` (its largest number over 127) and rounded to int8. The rounding errors are a vector too,
`residual`, whose length is known when the row is quantized. For a query of length 1

    query . vector = scale * (query . numbers) + query . residual,   |query . residual| <= |residual|

by the Cauchy-Schwarz inequality. So the true cosine is within `doubt` of `scale * (query . numbers)`; `doubt` is
the residual's length plus the errors of float32 arithmetic: see `_quantized`. At 384 dimensions it is about 0.007.

The query is quantized as well, so that only integers are summed. Its residual is quantized to a second plane, which
leaves about 0.00003 of it. All rows are compared with the first plane alone, which bounds their cosines to about 0.02;
the few that may be among the best are compared with both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memd.index.vectors.vector_search import FloatArray, IdArray, rounding

ByteArray = NDArray[np.int8]


class _QuantizedVector(NamedTuple):
    """A quantized vector: its int8 numbers, their scale, and the length of the residual."""

    numbers: ByteArray
    scale: float
    rest: float


LARGEST = 127
"""The largest number of a quantized row."""

LEAST_SCALE = 2.0**-100
"""The scale of a row of zeros; a row of extremely small numbers becomes such a row."""

STEP_ROWS = 32_768
"""Rows compared at once, so that intermediate results stay in the core's cache."""

ROW_OVERHEAD_BYTES = 17
"""RAM of a row in addition to its numbers: its id, scale, error bound, and whether it is in use."""


class VectorBlock(Struct):
    """Quantized rows in one allocation. Below `count` only `alive` changes, by replacement, never in place.

    `longest` is an upper bound of the lengths of the quantized rows.
    """

    ids: IdArray
    numbers: ByteArray
    scales: FloatArray
    doubts: FloatArray
    alive: NDArray[np.bool_]
    count: int
    longest: float = 0.0

    @property
    def free_rows(self) -> int:
        """Rows that can be appended."""
        return len(self.ids) - self.count

    @property
    def size_bytes(self) -> int:
        """RAM of the block."""
        return self.numbers.nbytes + len(self.ids) * ROW_OVERHEAD_BYTES

    def snapshot(self) -> VectorBlock:
        """Return a view of the current rows that later changes don't affect."""
        end = self.count
        return VectorBlock(
            self.ids[:end],
            self.numbers[:end],
            self.scales[:end],
            self.doubts[:end],
            self.alive[:end],
            end,
            self.longest,
        )

    def live_ids(self) -> IdArray:
        """Return the ids of the rows in use."""
        return self.ids[: self.count][self.alive[: self.count]]

    def append(self, ids: IdArray, rows: FloatArray) -> None:
        """Append vectors; at most `free_rows`."""
        end = self.count + len(ids)
        at = slice(self.count, end)
        self.ids[at] = ids
        self.numbers[at], self.scales[at], self.doubts[at], lengths = _quantized(rows)
        self.longest = max(self.longest, float(lengths.max(initial=0.0)) * (1 + rounding(rows.shape[1])))
        alive = self.alive.copy()
        alive[at] = True
        self.alive, self.count = alive, end


def empty_block(rows: int, dims: int) -> VectorBlock:
    """Return an empty block with space for so many rows."""
    return VectorBlock(
        np.zeros(rows, dtype=np.int64),
        np.empty((rows, dims), dtype=np.int8),
        np.empty(rows, dtype=np.float32),
        np.empty(rows, dtype=np.float32),
        np.zeros(rows, dtype=np.bool_),
        0,
    )


class Comparison:
    """Upper bounds of the cosines of rows with a query: rough ones for all rows, tight ones on request.

    Args:
        blocks: Snapshots of blocks; at least one.
        query: (dims,), unit length.

    Attributes:
        ids: (n,), the rows' ids.
        rough: (n,), rough upper bounds of their cosines; minus infinity for rows not in use.
    """

    def __init__(self, blocks: Sequence[VectorBlock], query: NDArray[np.float64]) -> None:
        self._blocks = blocks
        self._planes = _planes(query)
        # Usually there is a single block, whose ids are not copied.
        self.ids = blocks[0].ids if len(blocks) == 1 else np.concatenate([block.ids for block in blocks])
        self.rough = np.empty(len(self.ids), dtype=np.float32)
        end = 0
        for block in blocks:
            begin, end = end, end + block.count
            self._compare(block, self.rough[begin:end])

    def _compare(self, block: VectorBlock, high: FloatArray) -> None:
        """Write rough upper bounds of the cosines of a block's rows into `high`."""
        import numkong  # 2 MB, which a daemon without vectors doesn't need

        first, _ = self._planes
        for start in range(0, block.count, STEP_ROWS):
            at = slice(start, start + STEP_ROWS)
            products = np.asarray(numkong.dot(first.numbers, block.numbers[at]))
            products *= first.scale
            np.multiply(products, block.scales[at], out=high[at])
        high += block.doubts
        high += np.float32(first.rest * block.longest)
        if not block.alive.all():
            high[~block.alive] = -np.inf

    def close(self, at: NDArray[np.intp]) -> FloatArray:
        """Return tight upper bounds of the cosines of some rows, (len(at),)."""
        high = np.empty(len(at), dtype=np.float32)
        end = start = 0
        for block in self._blocks:
            begin, end = end, int(np.searchsorted(at, start + block.count))
            for step in range(begin, end, STEP_ROWS):
                upto = min(step + STEP_ROWS, end)
                high[step:upto] = self._close(block, at[step:upto] - start)
            start += block.count
        return high

    def _close(self, block: VectorBlock, at: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return tight upper bounds of the cosines of some rows of a block."""
        import numkong

        first, second = self._planes
        numbers = block.numbers.take(at, axis=0)
        products = np.asarray(numkong.dot(first.numbers, numbers)) * first.scale
        products += np.asarray(numkong.dot(second.numbers, numbers)) * second.scale
        products *= block.scales[at]
        products += block.doubts[at]
        products += second.rest * block.longest
        return products


def _planes(query: NDArray[np.float64]) -> tuple[_QuantizedVector, _QuantizedVector]:
    """Return a query and its residual, both quantized."""
    first, left = _plane(query)
    second, _ = _plane(left)
    return first, second


def _plane(vector: NDArray[np.float64]) -> tuple[_QuantizedVector, NDArray[np.float64]]:
    """Return a vector quantized, and its residual."""
    scale = max(float(np.abs(vector).max()) / LARGEST, LEAST_SCALE)
    numbers = np.rint(vector / scale).astype(np.int8)
    left = vector - numbers * scale
    return _QuantizedVector(numbers, scale, math.sqrt(np.dot(left, left))), left


def _quantized(rows: FloatArray) -> tuple[ByteArray, FloatArray, FloatArray, NDArray[np.float64]]:
    """Return (numbers, scales, doubts, lengths) of quantized vectors; lengths are those of scale * numbers.

    A doubt is the largest error of a cosine with a query of length 1. With u = 2**-24, d dimensions, and L the length
    of `scale * numbers`, which is about 1, float32 adds to the residual's length:

    - u L from rounding the cosine, and u L from the scale; the products themselves are exact;
    - 2 u L, and d u times its own length, because the residual itself is computed in float32;
    - 2 u for adding it to the cosine, 2 u for the rest of the query, and u for comparing.

    `rounding` is 2 d u, with d at least 8. Twice that exceeds their sum, and the differences that `rank_exactly`
    treats as equal.
    """
    largest = np.maximum(rows.max(axis=1), -rows.min(axis=1))
    scales = np.maximum(largest / np.float32(LARGEST), np.float32(LEAST_SCALE))
    work = rows / scales[:, np.newaxis]
    np.rint(work, out=work)
    numbers = work.astype(np.int8)
    work *= scales[:, np.newaxis]
    lengths = _lengths(work)
    np.subtract(rows, work, out=work)
    slack = rounding(rows.shape[1])
    doubts = (_lengths(work) * (1 + slack) + 2 * slack * np.maximum(lengths, 1.0)).astype(np.float32)
    return numbers, scales, np.nextafter(doubts, np.float32(np.inf)), lengths


def _lengths(rows: FloatArray) -> NDArray[np.float64]:
    """Return the lengths of vectors, with the precision of float32 sums."""
    lengths: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", rows, rows), dtype=np.float64)
    return lengths
