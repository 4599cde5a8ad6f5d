"""Which files of other programs are memories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memd_client.errors import FileMissingError, FileUnreadableError
from tests.unit.importing.stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """A home directory with nothing in it."""
    return Stage(tmp_path)


def test_claude_codes_own_memories_are_instructions_rules_and_auto_memory(stage: Stage) -> None:
    stage.write(".claude/CLAUDE.md", "mine")
    stage.write(".claude/rules/go/style.md", "rule")
    stage.write(".claude/projects/-home-ann-shop/memory/MEMORY.md", "index")
    stage.write(".claude/projects/-home-ann-shop/memory/2026-02-09-lease.md", "lease")
    stage.write(".claude/projects/-home-ann-shop/a.jsonl", "{}")
    stage.write(".claude/projects/-home-ann-shop/notes.md", "no memory")
    stage.write(".claude/plugins/cache/README.md", "somebody else's")

    assert stage.targets("claude-code") == [
        "claude-code/CLAUDE.md",
        "claude-code/projects/-home-ann-shop/memory/2026-02-09-lease.md",
        "claude-code/projects/-home-ann-shop/memory/MEMORY.md",
        "claude-code/rules/go/style.md",
    ]


def test_claude_codes_folder_may_be_elsewhere(stage: Stage) -> None:
    stage.environ["CLAUDE_CONFIG_DIR"] = "~/config/claude"
    stage.write("config/claude/CLAUDE.md")

    assert stage.targets("claude-code") == ["claude-code/CLAUDE.md"]


def test_auto_memory_that_was_moved_is_found_by_the_users_settings(stage: Stage) -> None:
    stage.write(".claude/settings.json", json.dumps({"autoMemoryDirectory": "~/remembered"}))
    stage.write("remembered/MEMORY.md")

    assert stage.targets("claude-code") == ["claude-code/auto-memory/MEMORY.md"]


@pytest.mark.parametrize(
    "settings", ["{", "[]", '{"autoMemoryDirectory": 3}', '{"autoMemoryDirectory": "/nowhere"}']
)
def test_settings_that_name_no_folder_are_no_loss(stage: Stage, settings: str) -> None:
    stage.write(".claude/settings.json", settings)
    stage.write(".claude/CLAUDE.md")

    assert stage.targets("claude-code") == ["claude-code/CLAUDE.md"]


def test_a_project_has_instructions_local_ones_and_rules(stage: Stage) -> None:
    for name in ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules/api.md"):
        stage.write(f"work/shop/{name}", name)
    stage.write("work/shop/README.md", "no memory")
    stage.write("work/shop/.claude/agents/reviewer.md", "no memory")

    assert stage.targets("claude-code", "~/work/shop") == [
        "claude-code/shop/claude/CLAUDE.md",
        "claude-code/shop/claude/rules/api.md",
        "claude-code/shop/CLAUDE.local.md",
        "claude-code/shop/CLAUDE.md",
    ]


def test_a_folder_of_auto_memory_can_be_named(stage: Stage) -> None:
    stage.write("repo/claude/memory/MEMORY.md", "a")
    stage.write("repo/claude/memory/debugging.md", "b")

    assert stage.targets("claude-code", "repo/claude/memory") == [
        "claude-code/claude/MEMORY.md",
        "claude-code/claude/debugging.md",
    ]


def test_codex_memories_are_taken_without_their_raw_material(stage: Stage) -> None:
    stage.write(".codex/AGENTS.md", "agents")
    stage.write(".codex/memories/MEMORY.md", "handbook")
    stage.write(".codex/memories/memory_summary.md", "summary")
    stage.write(".codex/memories/raw_memories.md", "raw")
    stage.write(".codex/memories/rollout_summaries/2025-02-11T15-35-19-jqmb-tea.md", "recap")
    stage.write(".codex/memories/skills/brew/SKILL.md", "skill")
    stage.write(".codex/prompts/x.md", "no memory")

    assert stage.targets("codex") == [
        "codex/AGENTS.md",
        "codex/memories/MEMORY.md",
        "codex/memories/memory_summary.md",
        "codex/memories/rollout_summaries/2025-02-11T15-35-19-jqmb-tea.md",
    ]
    reasons = {Path(row.source).name: row.reason for row in stage.plan("codex") if row.state == "left out"}
    assert reasons == {
        "raw_memories.md": "raw notes that MEMORY.md was made from",
        "SKILL.md": "skills are procedures, not memories",
    }


def test_codex_folder_may_be_elsewhere_and_a_project_has_its_instructions(stage: Stage) -> None:
    stage.environ["CODEX_HOME"] = str(stage.home / "cx")
    stage.write("cx/AGENTS.override.md", "a")
    stage.write("shop/AGENTS.md", "b")
    stage.write("old/memories/memory_summary.md", "c")

    assert stage.targets("codex") == ["codex/AGENTS.override.md"]
    assert stage.targets("codex", "shop") == ["codex/shop/AGENTS.md"]
    assert stage.targets("codex", "old/memories") == ["codex/memories/memory_summary.md"]


@pytest.mark.parametrize("source", ["shop", "shop/.memsearch", "shop/.memsearch/memory"])
def test_memsearchs_daily_files_stay_daily_files(stage: Stage, source: str) -> None:
    stage.write("shop/.memsearch/memory/2026-02-09.md")
    stage.write("shop/README.md", "no memory")

    assert stage.targets("memsearch", source) == ["memsearch/shop/memory/2026-02-09.md"]


def test_any_folder_memsearch_indexes_can_be_named(stage: Stage) -> None:
    stage.write("notes/2026-02-09.md")

    assert stage.targets("memsearch", "notes") == ["memsearch/notes/2026-02-09.md"]


def test_basic_memory_is_taken_whole_but_for_hidden_folders(stage: Stage) -> None:
    stage.write("basic-memory/coffee.md", "---\ntitle: Coffee\n---\n- [method] Pour over #brewing\n")
    stage.write("basic-memory/specs/search.md", "- implements [[Design]]\n")
    stage.write("basic-memory/.obsidian/x.md", "hidden")

    assert stage.targets("basic-memory") == [
        "basic-memory/main/coffee.md",
        "basic-memory/main/specs/search.md",
    ]
    stage.environ["BASIC_MEMORY_HOME"] = str(stage.home / "basic-memory/specs")
    assert stage.targets("basic-memory") == ["basic-memory/main/search.md"]
    assert stage.targets("basic-memory", "basic-memory")[0] == "basic-memory/basic-memory/coffee.md"


@pytest.mark.parametrize("kind", ["claude-code", "codex", "memsearch", "basic-memory"])
def test_a_missing_folder_is_told_with_the_way_out(stage: Stage, kind: str) -> None:
    for source in (None, "nowhere"):
        with pytest.raises(FileMissingError) as caught:
            stage.plan(kind, source)
        assert f"memctl import {kind} PATH" in caught.value.hint


def test_a_folder_that_cant_be_listed_is_told(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.write(".codex/AGENTS.md")

    def listdir(path: object) -> list[str]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.listdir", listdir)
    with pytest.raises(FileUnreadableError, match="Permission denied"):
        stage.plan("codex")
