"""Paths that may have been meant by one that names nothing."""

from __future__ import annotations

import pytest

from memd.text.query.near_paths import find_near_paths, folders_of

PATHS = [
    "MEMORY.md",
    "memory/2026-01-16.md",
    "memory/2026-01-18.md",
    "memory/projects/anvil.md",
    "memory/people/ada.md",
]


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("memory.md", "MEMORY.md"),
        ("memory/2026-01-17.md", "memory/2026-01-16.md"),
        ("anvil.md", "memory/projects/anvil.md"),
        ("./memory//people/Ada.md", "memory/people/ada.md"),
    ],
)
def test_the_nearest_path_comes_first(path: str, near: str) -> None:
    assert find_near_paths(path, PATHS)[0] == near


@pytest.mark.parametrize("path", ["", " ", "/", "zzz", "x" * 100_000])
def test_a_path_that_is_near_to_none_has_none(path: str) -> None:
    assert find_near_paths(path, PATHS) == []


def test_folders_are_those_on_the_way_to_files() -> None:
    assert folders_of(PATHS) == {"memory/", "memory/projects/", "memory/people/"}
