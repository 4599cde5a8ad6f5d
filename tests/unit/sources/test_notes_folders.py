"""Notes of programs: their own, and the instructions in the projects they know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memd.programs.catalog import Places
from memd.programs.listed_projects import MAX_PROJECTS
from memd.settings.sources import SourceConfig
from memd.sources.notes_folders import find_notes_folders
from memd.sources.open import open_source


def notes(home: Path, program: str, path: Path | None = None, **environ: str) -> set[str]:
    """Return the paths of a source's notes in the index."""
    places = Places(home, environ, "linux")
    source = open_source(SourceConfig(program, program, "notes", path), places, 1_000_000).source
    try:
        return set(source.find().files)
    finally:
        source.close()


def write(path: Path, text: str = "# Note\n") -> Path:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_claude_code_has_rules_memory_and_the_instructions_of_its_projects(tmp_path: Path) -> None:
    own, shop = tmp_path / ".claude", tmp_path / "work" / "shop"
    for path in (
        "CLAUDE.md",
        "rules/style/python.md",
        "projects/-work-shop/memory/MEMORY.md",
        "agent-memory/a/b.md",
    ):
        write(own / path)
    for path in ("projects/-work-shop/notes.md", "plugins/x/README.md", "todo.md"):
        write(own / path)
    for path in ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules/tests.md"):
        write(shop / path)
    for path in ("README.md", "docs/CLAUDE.md", ".claude/commands/x.md"):
        write(shop / path)
    write(
        tmp_path / ".claude.json",
        json.dumps({"projects": {str(shop): {}, "/gone": {}, str(tmp_path): {}, "x": 1}}),
    )
    assert notes(tmp_path, "claude-code-notes") == {
        "claude-code-notes/.claude/CLAUDE.md",
        "claude-code-notes/.claude/rules/style/python.md",
        "claude-code-notes/.claude/projects/-work-shop/memory/MEMORY.md",
        "claude-code-notes/.claude/agent-memory/a/b.md",
        "claude-code-notes/shop/CLAUDE.md",
        "claude-code-notes/shop/CLAUDE.local.md",
        "claude-code-notes/shop/.claude/CLAUDE.md",
        "claude-code-notes/shop/.claude/rules/tests.md",
    }


def test_codex_has_memories_and_the_instructions_of_its_projects(tmp_path: Path) -> None:
    home, shop = tmp_path / "codex", tmp_path / "shop"
    write(home / "AGENTS.override.md")
    write(home / "memories" / "rollout_summaries" / "a.md")
    write(home / "sessions" / "x.md")
    write(shop / "AGENTS.md")
    write(home / "config.toml", f'[projects."{shop}"]\ntrust_level = "trusted"\n')
    assert notes(tmp_path, "codex-notes", CODEX_HOME=str(home)) == {
        "codex-notes/codex/AGENTS.override.md",
        "codex-notes/codex/memories/rollout_summaries/a.md",
        "codex-notes/shop/AGENTS.md",
    }


def test_gemini_has_memory_and_the_instructions_of_its_projects(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    write(tmp_path / ".gemini/GEMINI.md")
    write(tmp_path / ".gemini/tmp/shop/memory/MEMORY.md")
    write(tmp_path / ".gemini/tmp/shop/chats/x.md")
    write(shop / "GEMINI.md")
    write(tmp_path / ".gemini/projects.json", json.dumps({"projects": {str(shop): "shop"}}))
    assert notes(tmp_path, "gemini-notes") == {
        "gemini-notes/.gemini/GEMINI.md",
        "gemini-notes/.gemini/tmp/shop/memory/MEMORY.md",
        "gemini-notes/shop/GEMINI.md",
    }


def test_projects_of_the_same_name_stay_apart(tmp_path: Path) -> None:
    one, two = tmp_path / "a" / "shop", tmp_path / "b" / "shop"
    for folder in (one, two):
        write(folder / "AGENTS.md")
    write(tmp_path / ".codex/config.toml", f'[projects."{one}"]\n[projects."{two}"]\n')
    assert notes(tmp_path, "codex-notes") == {"codex-notes/shop/AGENTS.md", "codex-notes/shop-2/AGENTS.md"}


def test_number_of_projects_is_limited(tmp_path: Path) -> None:
    listed = [tmp_path / f"p{number}" for number in range(MAX_PROJECTS + 9)]
    for folder in listed:
        folder.mkdir()
    write(tmp_path / ".claude.json", json.dumps({"projects": {str(folder): {} for folder in listed}}))
    folders = find_notes_folders("claude-code-notes", Places(tmp_path, {}, "linux"))
    assert len(folders) == 1 + MAX_PROJECTS


def test_programs_folder_in_another_place_has_its_notes_alone(tmp_path: Path) -> None:
    write(tmp_path / "old" / "CLAUDE.md")
    write(tmp_path / "old" / "other.md")
    assert notes(tmp_path, "claude-code-notes", tmp_path / "old") == {"claude-code-notes/CLAUDE.md"}


def test_obsidian_has_every_vault_it_knows(tmp_path: Path) -> None:
    vaults = {str(at): {"path": str(tmp_path / name)} for at, name in enumerate(("One", "Two"))}
    write(tmp_path / ".config/obsidian/obsidian.json", json.dumps({"vaults": vaults}))
    write(tmp_path / "One" / "Birds" / "heron.md")
    write(tmp_path / "One" / ".obsidian" / "workspace.md")
    write(tmp_path / "Two" / "a.md")
    assert notes(tmp_path, "obsidian") == {"obsidian/One/Birds/heron.md", "obsidian/Two/a.md"}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"projects": 3}', '{"projects": {"\\u0000": {}}}', "\xff"])
@pytest.mark.parametrize("program", ["claude-code-notes", "codex-notes", "gemini-notes", "obsidian"])
def test_settings_that_can_not_be_read_name_no_project(tmp_path: Path, program: str, text: str) -> None:
    for path in (
        ".claude.json",
        ".codex/config.toml",
        ".gemini/projects.json",
        ".config/obsidian/obsidian.json",
    ):
        write(tmp_path / path, text)
    assert notes(tmp_path, program) == set()
