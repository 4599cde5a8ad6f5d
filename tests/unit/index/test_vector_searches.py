"""The three paths keep the one promise."""

from __future__ import annotations

from memd.index.vectors.scan import ScanSearch
from memd.index.vectors.sqlite_vec import SqliteVecSearch
from memd.index.vectors.vector_search import VectorSearch
from tests.contracts.vector_search import VectorSearchContract
from tests.support.indexes import LoadingMatrix


class TestMatrix(VectorSearchContract):
    """From memory."""

    def make(self) -> VectorSearch:
        return LoadingMatrix()


class TestSqliteVec(VectorSearchContract):
    """By the extension."""

    def make(self) -> VectorSearch:
        return SqliteVecSearch()


class TestSqliteVecWithoutExtension(VectorSearchContract):
    """By the extension, where it isn't loaded: the same answers."""

    extension = False

    def make(self) -> VectorSearch:
        return SqliteVecSearch()


class TestScan(VectorSearchContract):
    """From the BLOBs."""

    extension = False

    def make(self) -> VectorSearch:
        return ScanSearch()
