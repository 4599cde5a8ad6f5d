"""The rules that decide which paths are memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.sources.rules import describe_refusal, is_memory_path, is_walked, matches_pattern, name_in


@pytest.mark.parametrize("path", ["MEMORY.md", "memory.md", "USER.md", "memory/a.md", "memory/x/y/z.MD"])
def test_memory_files_are_memory(path: str) -> None:
    assert is_memory_path(path)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/x.md",
        "memory/../x.md",
        "../memory/a.md",
        "README.md",
        "memory/a.txt",
        "memory",
        "memory//a.md",
        "memory/./a.md",
        "memory\\a.md",
        "memory/a\0.md",
        "memory/.git/a.md",
        "memory/node_modules/a.md",
        "USER.md/x.md",
    ],
)
def test_everything_else_is_refused_with_a_reason(path: str) -> None:
    assert not is_memory_path(path)
    assert describe_refusal(path)


@given(st.text())
def test_path_outside_the_workspace_is_not_memory(path: str) -> None:
    if is_memory_path(path):
        assert ".." not in path.split("/")
        assert not path.startswith("/")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/ada/work/MEMORY.md", "MEMORY.md"),
        ("/home/ada/work/memory/a.md", "memory/a.md"),
        ("./memory//b/../a.md", "memory/a.md"),
        ("memory/a.md", "memory/a.md"),
        ("..notes/a.md", "..notes/a.md"),
        ("../work/MEMORY.md", "MEMORY.md"),
        ("../other.md", "../other.md"),
        ("memory/../../other.md", "memory/../../other.md"),
        ("/home/ada/workshop/a.md", "/home/ada/workshop/a.md"),
        ("/etc/hostname", "/etc/hostname"),
    ],
)
def test_path_inside_the_workspace_becomes_the_name_of_a_note(path: str, name: str) -> None:
    assert name_in("/home/ada/work", path) == name


def test_hidden_and_third_party_folders_are_skipped() -> None:
    assert [is_walked(name) for name in ("notes", ".git", "node_modules", ".venv")] == [
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("relative", "pattern", "wanted"),
    [
        ("a.md", None, True),
        ("deep/a.md", "*.md", True),
        ("deep/a.md", "deep/*.md", True),
        ("other/a.md", "deep/*.md", False),
        ("x/deep/a.md", "**/deep/*.md", True),
        ("deep/a.md", "**/deep/*.md", True),
        ("a.md", "b*.md", False),
    ],
)
def test_pattern_of_an_extra_path_selects_files(relative: str, pattern: str | None, wanted: bool) -> None:
    assert matches_pattern(relative, pattern) is wanted
