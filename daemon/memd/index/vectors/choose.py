"""Which of the three paths answers, and why."""

from __future__ import annotations

from dataclasses import dataclass

from memd.index.chunk_locations import KEY_BYTES, LOCATION_BYTES
from memd.index.vectors.compact import BESIDE_BYTES
from memd.index.vectors.matrix import MatrixSearch
from memd.index.vectors.scan import ScanSearch
from memd.index.vectors.sqlite_vec import SqliteVecSearch, VectorExtension
from memd.index.vectors.vector_search import VectorSearch
from memd.system.units import size


@dataclass(frozen=True, slots=True)
class Choice:
    """A path and the reason for it, for status."""

    search: VectorSearch
    reason: str


def needed_bytes(vectors: int, dims: int) -> int:
    """Return the memory a matrix of so many vectors takes, with the locations of their chunks."""
    return vectors * (dims + BESIDE_BYTES + LOCATION_BYTES + KEY_BYTES)


def choose_search(
    extension: VectorExtension,
    matrix: MatrixSearch,
    *,
    budget_bytes: int,
    needed_bytes: int,
    enabled: bool = True,
) -> Choice:
    """Return how to search: from memory where it fits, else by sqlite-vec, else by a scan."""
    if needed_bytes <= budget_bytes:
        return Choice(matrix, "the vectors fit the memory budget")
    over = f"the vectors need {size(needed_bytes)}, the memory budget leaves {size(budget_bytes)}"
    if extension.loaded and enabled:
        return Choice(SqliteVecSearch(), over)
    why = "turned off in the settings" if not enabled else extension.error or "not loaded"
    return Choice(ScanSearch(), f"{over}; sqlite-vec: {why}")
