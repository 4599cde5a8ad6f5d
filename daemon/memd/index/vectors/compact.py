"""Vectors at one byte a number, and how far a cosine computed from them can be off.

A row keeps its numbers divided by `scale` (its largest one over 127) and rounded to int8. What the rounding
took away is a vector too, `residual`, and its length is known when the row is made. For a query of length 1

    query . vector = scale * (query . numbers) + query . residual,   |query . residual| <= |residual|

by Cauchy and Schwarz. So the true cosine is within `doubt` of `scale * (query . numbers)`, where `doubt` is
the residual's length and what float32 arithmetic adds: see `_compacted`. At 384 dimensions it is some 0.007.

The query becomes bytes as well, so that all that is summed is whole numbers. What rounding took from it is a second
plane of bytes, which leaves a rest of some 0.00003 of it. All rows are compared with the first plane alone, which tells
their cosines to some 0.02; those few that may be among the best are compared with both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numkong
import numpy as np
from numpy.typing import NDArray

from memd.index.vectors.vector_search import FloatArray, IdArray, rounding

ByteArray = NDArray[np.int8]


class _Plane(NamedTuple):
    """A query's numbers, divided by a scale and rounded, and the length of what that took away."""

    numbers: ByteArray
    scale: float
    rest: float


LARGEST = 127
"""The largest number of a row."""

LEAST_SCALE = 2.0**-100
"""The scale of a row of zeros; one of numbers too small to divide by their largest becomes such a row."""

STEP_ROWS = 32_768
"""Rows compared at once: what is computed of them stays in the core's cache."""

BESIDE_BYTES = 17
"""Memory of a row beside its numbers: its id, scale and doubt, and whether it is in use."""


@dataclass(slots=True)
class Block:
    """Rows in one allocation. Below `count` nothing changes but `alive`, which is replaced, not written.

    `longest` is what no row is longer than, as its bytes tell it.
    """

    ids: IdArray
    numbers: ByteArray
    scales: FloatArray
    doubts: FloatArray
    alive: NDArray[np.bool_]
    count: int
    longest: float = 0.0

    @property
    def room(self) -> int:
        """How many rows can be appended."""
        return len(self.ids) - self.count

    @property
    def size_bytes(self) -> int:
        """Memory held."""
        return self.numbers.nbytes + len(self.ids) * BESIDE_BYTES

    def seen(self) -> Block:
        """Return the block as it is now, unaffected by later changes."""
        end = self.count
        return Block(
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
        """Append vectors; there is room for them."""
        end = self.count + len(ids)
        at = slice(self.count, end)
        self.ids[at] = ids
        self.numbers[at], self.scales[at], self.doubts[at], lengths = _compacted(rows)
        self.longest = max(self.longest, float(lengths.max(initial=0.0)) * (1 + rounding(rows.shape[1])))
        alive = self.alive.copy()
        alive[at] = True
        self.alive, self.count = alive, end


def empty_block(rows: int, dims: int) -> Block:
    """Return a block with room for so many rows."""
    return Block(
        np.zeros(rows, dtype=np.int64),
        np.empty((rows, dims), dtype=np.int8),
        np.empty(rows, dtype=np.float32),
        np.empty(rows, dtype=np.float32),
        np.zeros(rows, dtype=np.bool_),
        0,
    )


class Comparison:
    """How near rows can be to a query at most: roughly for all of them, closely for those asked for.

    Args:
        blocks: As `Block.seen` returned them; at least one.
        query: (dims,), unit length.

    Attributes:
        ids: (n,), the rows' ids.
        rough: (n,), the most their cosines can be; minus infinity for those not in use.
    """

    def __init__(self, blocks: Sequence[Block], query: NDArray[np.float64]) -> None:
        self._blocks = blocks
        self._planes = _planes(query)
        # The usual single block's ids are handed over as they are.
        self.ids = blocks[0].ids if len(blocks) == 1 else np.concatenate([block.ids for block in blocks])
        self.rough = np.empty(len(self.ids), dtype=np.float32)
        end = 0
        for block in blocks:
            begin, end = end, end + block.count
            self._compare(block, self.rough[begin:end])

    def _compare(self, block: Block, high: FloatArray) -> None:
        """Write the most that the cosines of a block's rows can be, roughly."""
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
        """Return the most that the cosines of some rows can be, (len(at),)."""
        high = np.empty(len(at), dtype=np.float32)
        end = start = 0
        for block in self._blocks:
            begin, end = end, int(np.searchsorted(at, start + block.count))
            for step in range(begin, end, STEP_ROWS):
                upto = min(step + STEP_ROWS, end)
                high[step:upto] = self._close(block, at[step:upto] - start)
            start += block.count
        return high

    def _close(self, block: Block, at: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the most that the cosines of some rows of a block can be."""
        first, second = self._planes
        numbers = block.numbers.take(at, axis=0)
        products = np.asarray(numkong.dot(first.numbers, numbers)) * first.scale
        products += np.asarray(numkong.dot(second.numbers, numbers)) * second.scale
        products *= block.scales[at]
        products += block.doubts[at]
        products += second.rest * block.longest
        return products


def _planes(query: NDArray[np.float64]) -> tuple[_Plane, _Plane]:
    """Return a query as bytes, and what they leave of it as bytes."""
    first, left = _plane(query)
    second, _ = _plane(left)
    return first, second


def _plane(vector: NDArray[np.float64]) -> tuple[_Plane, NDArray[np.float64]]:
    """Return a vector as bytes, and what they leave of it."""
    scale = max(float(np.abs(vector).max()) / LARGEST, LEAST_SCALE)
    numbers = np.rint(vector / scale).astype(np.int8)
    left = vector - numbers * scale
    return _Plane(numbers, scale, math.sqrt(np.dot(left, left))), left


def _compacted(rows: FloatArray) -> tuple[ByteArray, FloatArray, FloatArray, NDArray[np.float64]]:
    """Return (numbers, scales, doubts, lengths) of vectors; the lengths are those that the bytes tell.

    A doubt is how far the cosine with a query of length 1 can be from the true one. With u = 2**-24, d dimensions, and
    L the length of `scale * numbers`, which is about 1, float32 adds to the residual's length:

    - u L from rounding the cosine, and from the scale each; the products themselves are exact;
    - 2 u L and d u times its own length from the residual itself being computed in float32;
    - 2 u for adding it to the cosine, 2 u for what the query's bytes leave, and u for comparing.

    `rounding` is 2 d u, for 8 dimensions at least. Taken twice it is more than all of them, and than what
    `rank_exactly` takes for equal.
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
    """Return the lengths of vectors, as exactly as float32 sums are."""
    lengths: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", rows, rows), dtype=np.float64)
    return lengths
