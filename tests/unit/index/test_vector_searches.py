"""The contract of vector search, for all implementations."""

from __future__ import annotations

from memd.index.vectors.scan import ScanSearch
from memd.index.vectors.sqlite_vec import SqliteVecSearch
from memd.index.vectors.vector_search import VectorSearch
from tests.contracts.vector_search import VectorSearchContract
from tests.support.indexes import LoadingMatrix


class TestMatrix(VectorSearchContract):
    """In RAM."""

    def make(self) -> VectorSearch:
        return LoadingMatrix()


class TestSqliteVec(VectorSearchContract):
    """By the extension."""

    def make(self) -> VectorSearch:
        return SqliteVecSearch()


class TestSqliteVecWithoutExtension(VectorSearchContract):
    """By sqlite-vec without the extension: the same results."""

    extension = False

    def make(self) -> VectorSearch:
        return SqliteVecSearch()


class TestScan(VectorSearchContract):
    """From the BLOBs."""

    extension = False

    def make(self) -> VectorSearch:
        return ScanSearch()
