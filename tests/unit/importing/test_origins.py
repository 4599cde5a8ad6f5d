"""Files of other programs that are imported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memd_client.errors import FileMissingError, FileUnreadableError
from tests.unit.importing.import_home import ImportHome


@pytest.fixture
def home(tmp_path: Path) -> ImportHome:
    """An empty home directory."""
    return ImportHome(tmp_path)


def test_claude_code_folder_has_instructions_rules_and_auto_memory(home: ImportHome) -> None:
    home.write(".claude/CLAUDE.md", "mine")
    home.write(".claude/rules/go/style.md", "rule")
    home.write(".claude/projects/-home-ann-shop/memory/MEMORY.md", "index")
    home.write(".claude/projects/-home-ann-shop/memory/2026-02-09-lease.md", "lease")
    home.write(".claude/projects/-home-ann-shop/a.jsonl", "{}")
    home.write(".claude/projects/-home-ann-shop/notes.md", "no memory")
    home.write(".claude/plugins/cache/README.md", "somebody else's")

    assert home.targets("claude-code") == [
        "claude-code/CLAUDE.md",
        "claude-code/projects/-home-ann-shop/memory/2026-02-09-lease.md",
        "claude-code/projects/-home-ann-shop/memory/MEMORY.md",
        "claude-code/rules/go/style.md",
    ]


def test_claude_code_folder_may_be_set_by_a_variable(home: ImportHome) -> None:
    home.environ["CLAUDE_CONFIG_DIR"] = "~/config/claude"
    home.write("config/claude/CLAUDE.md")

    assert home.targets("claude-code") == ["claude-code/CLAUDE.md"]


def test_moved_auto_memory_is_found_in_the_users_settings(home: ImportHome) -> None:
    home.write(".claude/settings.json", json.dumps({"autoMemoryDirectory": "~/remembered"}))
    home.write("remembered/MEMORY.md")

    assert home.targets("claude-code") == ["claude-code/auto-memory/MEMORY.md"]


@pytest.mark.parametrize(
    "settings", ["{", "[]", '{"autoMemoryDirectory": 3}', '{"autoMemoryDirectory": "/nowhere"}']
)
def test_settings_without_a_folder_are_ignored(home: ImportHome, settings: str) -> None:
    home.write(".claude/settings.json", settings)
    home.write(".claude/CLAUDE.md")

    assert home.targets("claude-code") == ["claude-code/CLAUDE.md"]


def test_project_has_instructions_local_instructions_and_rules(home: ImportHome) -> None:
    for name in ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules/api.md"):
        home.write(f"work/shop/{name}", name)
    home.write("work/shop/README.md", "no memory")
    home.write("work/shop/.claude/agents/reviewer.md", "no memory")

    assert home.targets("claude-code", "~/work/shop") == [
        "claude-code/shop/claude/CLAUDE.md",
        "claude-code/shop/claude/rules/api.md",
        "claude-code/shop/CLAUDE.local.md",
        "claude-code/shop/CLAUDE.md",
    ]


def test_folder_of_auto_memory_is_accepted(home: ImportHome) -> None:
    home.write("repo/claude/memory/MEMORY.md", "a")
    home.write("repo/claude/memory/debugging.md", "b")

    assert home.targets("claude-code", "repo/claude/memory") == [
        "claude-code/claude/MEMORY.md",
        "claude-code/claude/debugging.md",
    ]


def test_codex_memories_exclude_raw_memories_and_skills(home: ImportHome) -> None:
    home.write(".codex/AGENTS.md", "agents")
    home.write(".codex/memories/MEMORY.md", "handbook")
    home.write(".codex/memories/memory_summary.md", "summary")
    home.write(".codex/memories/raw_memories.md", "raw")
    home.write(".codex/memories/rollout_summaries/2025-02-11T15-35-19-jqmb-tea.md", "recap")
    home.write(".codex/memories/skills/brew/SKILL.md", "skill")
    home.write(".codex/prompts/x.md", "no memory")

    assert home.targets("codex") == [
        "codex/AGENTS.md",
        "codex/memories/MEMORY.md",
        "codex/memories/memory_summary.md",
        "codex/memories/rollout_summaries/2025-02-11T15-35-19-jqmb-tea.md",
    ]
    reasons = {Path(row.source).name: row.reason for row in home.plan("codex") if row.state == "left out"}
    assert reasons == {
        "raw_memories.md": "raw notes, summarized in MEMORY.md",
        "SKILL.md": "skills are procedures, not memories",
    }


def test_codex_folder_may_be_set_and_a_project_has_instructions(home: ImportHome) -> None:
    home.environ["CODEX_HOME"] = str(home.home / "cx")
    home.write("cx/AGENTS.override.md", "a")
    home.write("shop/AGENTS.md", "b")
    home.write("old/memories/memory_summary.md", "c")

    assert home.targets("codex") == ["codex/AGENTS.override.md"]
    assert home.targets("codex", "shop") == ["codex/shop/AGENTS.md"]
    assert home.targets("codex", "old/memories") == ["codex/memories/memory_summary.md"]


@pytest.mark.parametrize("source", ["shop", "shop/.memsearch", "shop/.memsearch/memory"])
def test_memsearch_daily_files_keep_their_names(home: ImportHome, source: str) -> None:
    home.write("shop/.memsearch/memory/2026-02-09.md")
    home.write("shop/README.md", "no memory")

    assert home.targets("memsearch", source) == ["memsearch/shop/memory/2026-02-09.md"]


def test_any_folder_of_memsearch_is_accepted(home: ImportHome) -> None:
    home.write("notes/2026-02-09.md")

    assert home.targets("memsearch", "notes") == ["memsearch/notes/2026-02-09.md"]


def test_basic_memory_is_imported_without_hidden_folders(home: ImportHome) -> None:
    home.write("basic-memory/coffee.md", "---\ntitle: Coffee\n---\n- [method] Pour over #brewing\n")
    home.write("basic-memory/specs/search.md", "- implements [[Design]]\n")
    home.write("basic-memory/.obsidian/x.md", "hidden")

    assert home.targets("basic-memory") == [
        "basic-memory/main/coffee.md",
        "basic-memory/main/specs/search.md",
    ]
    home.environ["BASIC_MEMORY_HOME"] = str(home.home / "basic-memory/specs")
    assert home.targets("basic-memory") == ["basic-memory/main/search.md"]
    assert home.targets("basic-memory", "basic-memory")[0] == "basic-memory/basic-memory/coffee.md"


@pytest.mark.parametrize("kind", ["claude-code", "codex", "memsearch", "basic-memory"])
def test_missing_folder_is_an_error_with_a_hint(home: ImportHome, kind: str) -> None:
    for source in (None, "nowhere"):
        with pytest.raises(FileMissingError) as caught:
            home.plan(kind, source)
        assert f"memctl import {kind} PATH" in caught.value.hint


def test_unreadable_folder_is_an_error(home: ImportHome, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write(".codex/AGENTS.md")

    def listdir(path: object) -> list[str]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.listdir", listdir)
    with pytest.raises(FileUnreadableError, match="Permission denied"):
        home.plan("codex")
