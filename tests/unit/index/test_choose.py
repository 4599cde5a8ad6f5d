"""The choice of vector search, and the reason shown in status."""

from __future__ import annotations

import sqlite_vec

from memd.index.vectors.choose import choose_search, needed_bytes
from memd.index.vectors.matrix import MatrixSearch
from memd.index.vectors.sqlite_vec import VectorExtension, library_path
from tests.support.indexes import EXTENSION


def test_matrix_is_chosen_if_the_vectors_fit_the_budget() -> None:
    choice = choose_search(EXTENSION, MatrixSearch(), budget_bytes=100, needed_bytes=100)
    assert (choice.search.name, choice.reason) == ("memory", "the vectors fit the memory budget")


def test_extension_is_chosen_beyond_the_budget() -> None:
    choice = choose_search(EXTENSION, MatrixSearch(), budget_bytes=1_048_576, needed_bytes=3_145_728)
    assert choice.search.name == "sqlite-vec"
    assert choice.reason == "the vectors need 3.15 MB, the memory budget is 1.05 MB"


def test_scan_is_chosen_without_the_extension_with_the_reason() -> None:
    broken = VectorExtension("/nowhere.so")
    broken.load()
    choice = choose_search(broken, MatrixSearch(), budget_bytes=0, needed_bytes=9)
    assert choice.search.name == "scan"
    assert "sqlite-vec: " in choice.reason
    off = choose_search(EXTENSION, MatrixSearch(), budget_bytes=0, needed_bytes=9, enabled=False)
    assert off.search.name == "scan"
    assert off.reason.endswith("turned off in the settings")


def test_needed_bytes_are_those_of_the_vectors() -> None:
    assert needed_bytes(15_000, 384) == 15_000 * (384 + 17)


def test_library_of_the_extension_is_the_one_that_its_package_names() -> None:
    assert library_path() == sqlite_vec.loadable_path()
