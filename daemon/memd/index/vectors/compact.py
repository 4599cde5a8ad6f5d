"""Vectors at one byte a number, and how far a cosine computed from them can be off.

A row keeps its numbers divided by `scale` (its largest one over 127) and rounded to int8. What the rounding
took away is a vector too, `residual`, and its length is known when the row is made. For a query of length 1

    query . vector = scale * (query . numbers) + query . residual,   |query . residual| <= |residual|

by Cauchy and Schwarz. So the true cosine is within `doubt` of `scale * (query . numbers)`, where `doubt` is
the residual's length and what float32 arithmetic adds: see `_compacted`. At 384 dimensions it is some 0.007.

The query becomes bytes as well, in two planes: the second is what rounding took from the first. That leaves a rest of
some 0.00003 of it, and all that is summed is whole numbers: simsimd does both planes in half the time that numpy takes
to turn a row's bytes into numbers it can multiply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import simsimd
from numpy.typing import NDArray

from memd.index.vectors.vector_search import FloatArray, IdArray, rounding

ByteArray = NDArray[np.int8]

_Plane = tuple[ByteArray, float]
"""A query's numbers, divided by a scale and rounded."""

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
    """Rows in one allocation. Below `count` nothing changes but `alive`, which is replaced, not written."""

    ids: IdArray
    numbers: ByteArray
    scales: FloatArray
    doubts: FloatArray
    alive: NDArray[np.bool_]
    count: int

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
            self.ids[:end], self.numbers[:end], self.scales[:end], self.doubts[:end], self.alive[:end], end
        )

    def live_ids(self) -> IdArray:
        """Return the ids of the rows in use."""
        return self.ids[: self.count][self.alive[: self.count]]

    def append(self, ids: IdArray, rows: FloatArray) -> None:
        """Append vectors; there is room for them."""
        end = self.count + len(ids)
        at = slice(self.count, end)
        self.ids[at] = ids
        self.numbers[at], self.scales[at], self.doubts[at] = _compacted(rows)
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


def highest(blocks: Sequence[Block], query: NDArray[np.float64]) -> tuple[IdArray, FloatArray]:
    """Return (ids, the most their cosines can be) of all rows; minus infinity for those not in use.

    Args:
        blocks: As `Block.seen` returned them.
        query: (dims,), unit length.
    """
    (first_plane, first_scale), (second_plane, second_scale), rest = _planes(query)
    # No number of a row is larger than LARGEST, so a row is no longer than this, times its scale.
    rest *= LARGEST * np.sqrt(len(query))
    high = np.empty(sum(block.count for block in blocks), dtype=np.float32)
    end = 0
    for block in blocks:
        first = end
        for start in range(0, block.count, STEP_ROWS):
            numbers = block.numbers[start : start + STEP_ROWS]
            products = np.asarray(simsimd.dot(first_plane, numbers))
            products *= first_scale
            products += np.asarray(simsimd.dot(second_plane, numbers)) * second_scale + rest
            begin, end = end, end + len(numbers)
            np.multiply(products, block.scales[start : start + len(numbers)], out=high[begin:end])
        part = high[first:end]
        part += block.doubts
        if not block.alive.all():
            part[~block.alive] = -np.inf
    # The usual single block's ids are handed over as they are.
    return blocks[0].ids if len(blocks) == 1 else np.concatenate([block.ids for block in blocks]), high


def _planes(query: NDArray[np.float64]) -> tuple[_Plane, _Plane, float]:
    """Return a query as bytes, what they leave as bytes, and the length of what those leave."""
    first, left = _plane(query)
    second, left = _plane(left)
    return first, second, float(np.linalg.norm(left))


def _plane(vector: NDArray[np.float64]) -> tuple[_Plane, NDArray[np.float64]]:
    """Return a vector as bytes, and what they leave of it."""
    scale = max(float(np.abs(vector).max()) / LARGEST, LEAST_SCALE)
    numbers = np.rint(vector / scale).astype(np.int8)
    return (numbers, scale), vector - numbers * scale


def _compacted(rows: FloatArray) -> tuple[ByteArray, FloatArray, FloatArray]:
    """Return (numbers, scales, doubts) of vectors.

    A doubt is how far the cosine with a query of length 1 can be from the true one. With u = 2**-24, d dimensions, and
    L the length of `scale * numbers`, which is about 1, float32 adds to the residual's length:

    - u L from rounding the cosine, and from the scale each; the products themselves are exact;
    - 2 u L and d u times its own length from the residual itself being computed in float32;
    - 2 u for adding it to the cosine, and u for comparing.

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
    return numbers, scales, np.nextafter(doubts, np.float32(np.inf))


def _lengths(rows: FloatArray) -> NDArray[np.float64]:
    """Return the lengths of vectors, as exactly as float32 sums are."""
    lengths: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", rows, rows), dtype=np.float64)
    return lengths
