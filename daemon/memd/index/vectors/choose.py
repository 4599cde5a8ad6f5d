"""Chooses among the three implementations of vector search."""

from __future__ import annotations

from msgspec import Struct

from memd.index.vectors.compact import ROW_OVERHEAD_BYTES
from memd.index.vectors.matrix import MatrixSearch
from memd.index.vectors.scan import ScanSearch
from memd.index.vectors.sqlite_vec import SqliteVecSearch, VectorExtension
from memd.index.vectors.vector_search import VectorSearch
from memd.system.units import size


class VectorSearchChoice(Struct, frozen=True):
    """A vector search and the reason for choosing it, for status."""

    search: VectorSearch
    reason: str


def needed_bytes(vectors: int, dims: int) -> int:
    """Return the RAM of a matrix of so many vectors."""
    return vectors * (dims + ROW_OVERHEAD_BYTES)


def choose_search(
    extension: VectorExtension,
    matrix: MatrixSearch,
    *,
    budget_bytes: int,
    needed_bytes: int,
    enabled: bool = True,
) -> VectorSearchChoice:
    """Return the vector search: in RAM if the vectors fit, else by sqlite-vec, else by a scan."""
    if needed_bytes <= budget_bytes:
        return VectorSearchChoice(matrix, "the vectors fit the memory budget")
    over = f"the vectors need {size(needed_bytes)}, the memory budget is {size(budget_bytes)}"
    if extension.loaded and enabled:
        return VectorSearchChoice(SqliteVecSearch(), over)
    reason = "turned off in the settings" if not enabled else extension.error or "not loaded"
    return VectorSearchChoice(ScanSearch(), f"{over}; sqlite-vec: {reason}")
