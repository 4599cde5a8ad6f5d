"""Names of copies are valid memory files and keep the sources' names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.importing.sources import NAME_BYTES, other_target, same_name, target_of
from memd.sync.disk.rules import is_memory_path
from memd.text.query.dates import day_of_note

NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1).filter(
    lambda name: name not in (".", "..")
)


@given(st.lists(NAMES, max_size=4), NAMES, NAMES)
def test_every_target_is_a_memory_file(folders: list[str], name: str, label: str) -> None:
    target = target_of("codex", label, "/".join([*folders, f"{name}.md"]))

    assert target is None or is_memory_path(target)


@given(NAMES, st.text())
def test_alternative_name_is_a_different_memory_file(name: str, source: str) -> None:
    target = target_of("codex", "", f"{name}.md")
    if target is not None:
        other = other_target(target, source)
        assert is_memory_path(other)
        assert other != target
        assert len(other.rpartition("/")[2].encode()) <= NAME_BYTES


@pytest.mark.parametrize(
    ("kind", "label", "path", "target"),
    [
        ("claude-code", "", "CLAUDE.md", "memory/imported/claude-code/CLAUDE.md"),
        (
            "claude-code",
            "shop",
            ".claude/rules/api.md",
            "memory/imported/claude-code/shop/claude/rules/api.md",
        ),
        (
            "memsearch",
            "shop",
            ".memsearch/memory/2026-02-09.md",
            "memory/imported/memsearch/shop/memory/2026-02-09.md",
        ),
        ("basic-memory", "", "日本/茶.md", "memory/imported/basic-memory/日本/茶.md"),
        ("basic-memory", "", "a\\b\x1b.md", "memory/imported/basic-memory/a-b-.md"),
        ("memsearch", ".venv", ". .a.md", "memory/imported/memsearch/venv_/a.md"),
        ("basic-memory", "", ".md", "memory/imported/basic-memory/unnamed.md"),
    ],
)
def test_targets_keep_the_sources_names(kind: str, label: str, path: str, target: str) -> None:
    assert target_of(kind, label, path) == target


def test_dates_in_names_are_still_found() -> None:
    target = target_of("codex", "", "memories/rollout_summaries/2025-02-11T15-35-19-jqmb-tea.md")

    assert target is not None
    assert str(day_of_note(target)) == "2025-02-11"
    assert str(day_of_note(other_target(target, "/x"))) == "2025-02-11"


def test_long_path_has_no_target() -> None:
    assert target_of("codex", "", "/".join(["folder" * 30] * 6) + "/note.md") is None
    assert target_of("codex", "x" * 300, "note.md") is None


def test_case_and_unicode_form_are_ignored_in_names() -> None:
    assert same_name("memory/Caf\u00e9.md") == same_name("memory/CAFE\u0301.md")
