"""Local names of files: one for each path, and different ones on file systems that ignore case."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.replication.names import LocalNames

NAMES = st.sampled_from(
    [
        "a",
        "A",
        "b.md",
        "B.md",
        "B.MD",
        "caf\u00e9.md",
        "cafe\u0301.md",
        "CAF\u00c9.md",
        "stra\u00dfe.md",
        "STRASSE.md",
        "ﬁ.md",
        "fi.md",
        ".md",
    ]
)
PATHS = st.lists(st.lists(NAMES, min_size=1, max_size=3).map("/".join), max_size=8)


def fold(path: str) -> str:
    """Return a path as a file system that ignores case and Unicode form compares it."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def check_names(paths: list[str]) -> None:
    """Check that no two paths, nor two folders, share a local name."""
    names = LocalNames(paths, is_folding=True)
    local = {path: names.local(path) for path in paths}
    assert all(names.path(local[path]) == path for path in paths)
    places: dict[str, str] = {}  # the repository's file or folder of each folded local one
    for path, where in local.items():
        for depth in range(1, path.count("/") + 2):
            here, there = ("/".join(each.split("/")[:depth]) for each in (path, where))
            assert places.setdefault(fold(there), here) == here


@given(PATHS)
def test_local_names_on_a_folding_file_system_never_fold_together(paths: list[str]) -> None:
    check_names(paths)


@given(PATHS)
def test_local_names_that_other_files_have_are_not_used(paths: list[str]) -> None:
    names = LocalNames(paths, is_folding=True)
    taken = [names.local(path) for path in paths]
    check_names([*paths, *taken, *map(str.upper, taken)])


@given(PATHS)
def test_local_names_on_other_file_systems_are_the_paths(paths: list[str]) -> None:
    names = LocalNames(paths, is_folding=False)
    assert all(names.local(path) == names.path(path) == path for path in paths)


@given(PATHS)
def test_local_names_do_not_depend_on_the_order_of_paths(paths: list[str]) -> None:
    one, other = LocalNames(paths, is_folding=True), LocalNames(paths[::-1], is_folding=True)
    assert [one.local(path) for path in paths] == [other.local(path) for path in paths]


def test_second_name_has_a_mark_before_its_suffix() -> None:
    names = LocalNames(["memory/A.md", "memory/a.md"], is_folding=True)
    assert names.local("memory/A.md") == "memory/A.md"
    local = names.local("memory/a.md")
    assert local.startswith("memory/a~")
    assert local.endswith(".md")
    assert names.path(local) == "memory/a.md"


@pytest.mark.parametrize("path", ["memory/new.md", "memory/日記.md", "MEMORY.md"])
def test_unknown_path_is_its_own_local_name(path: str) -> None:
    names = LocalNames(["memory/A.md", "memory/a.md"], is_folding=True)
    assert names.local(path) == names.path(path) == path
