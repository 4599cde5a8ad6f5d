"""A vault's path is added to openclaw.json for one agent, without other changes."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import json5
import pytest

from memd.importing.agents import ImportedAgent, load_agents
from memd.importing.vault import VaultPlan, carry_out_vault, plan_vault
from memd_client.errors import BadParamsError, ConfigInvalidError, FileMissingError, NoteUnwritableError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory with a vault."""
    for name in (".obsidian/x.md", "tea.md", "daily/2026-11-22.md", ".trash/old.md", "picture.png"):
        path = tmp_path / "Notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("tea\n")
    (tmp_path / ".openclaw").mkdir()
    return tmp_path


def agent_of(home: Path, name: str = "main") -> ImportedAgent:
    """Return an agent from the settings."""
    return {each.id: each for each in load_agents({"MEMD_CONFIG": str(home / "memd.toml")}, home)}[name]


def planned(home: Path, text: str | None, name: str = "main") -> VaultPlan:
    """Return the plan for the vault with the given settings."""
    if text is not None:
        (home / ".openclaw/openclaw.json").write_text(text, newline="")
    return plan_vault(home / "Notes", agent_of(home, name))


def paths_in(home: Path, text: str, name: str) -> list[str]:
    """Return the extra paths of an agent with the given settings."""
    (home / ".openclaw/openclaw.json").write_text(text, newline="")
    from memd.settings.agents import load_home

    return [each.path for each in load_home({}, home).agents[name].settings.extra_paths]


def test_files_are_counted_without_hidden_folders(home: Path) -> None:
    (home / "Notes/link.md").symlink_to("tea.md")

    plan = planned(home, None)

    assert (plan.state, plan.files, plan.size) == ("new", 2, 8)
    assert [each.reason for each in plan.left_out] == ["symbolic link; links are not followed"]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (None, ("memory", "search")),
        ("{}", ("memory", "search")),
        ('{meta: {lastTouchedVersion: "2026.9.6"}}', ("memory", "search")),
        ('{meta: {lastTouchedVersion: "2026.1.20"}}', ("agents", "defaults", "memorySearch")),
        ("{agents: {defaults: {memorySearch: {provider: 'none'}}}}", ("agents", "defaults", "memorySearch")),
        ("{agents: {entries: {Main: {}}}}", ("agents", "entries", "Main", "memory", "search")),
        ("{agents: {list: [{id: 'main'}]}}", ("agents", "list", 0, "memorySearch")),
        (
            "{meta: {lastTouchedVersion: '2026.9.6'}, agents: {list: [{id: 'main'}]}}",
            ("agents", "list", 0, "memory", "search"),
        ),
    ],
)
def test_entry_has_the_form_of_the_release(
    home: Path, text: str | None, where: tuple[str | int, ...]
) -> None:
    plan = planned(home, text)

    assert plan.state == "new"
    here: Any = json5.loads(plan.after)
    for key in where:
        here = here[key]
    path = str(home / "Notes")
    assert here["extraPaths"] == [
        path if where[-1] == "memorySearch" else {"path": path, "pattern": "**/*.md"}
    ]


def test_comments_quotes_and_other_agents_are_kept(home: Path) -> None:
    text = (
        "{\r\n  // agents of ours\r\n  'agents': {\r\n    list: [\r\n      { id: 'main', default: true }, // me\r\n"
        "      { id: 'work', memorySearch: { extraPaths: ['~/a' /* b */, ], }, },\r\n    ],\r\n  },\r\n}\r\n"
    )

    plan = planned(home, text, "work")

    assert plan.after == text.replace("/* b */,", f'/* b */, "{home}/Notes"')
    assert paths_in(home, plan.after, "work") == ["~/a", f"{home}/Notes"]
    assert paths_in(home, plan.after, "main") == []


@pytest.mark.parametrize(
    "text",
    [
        "{agents: {list: [{id: 'main'}, {id: 'work', memorySearch: {extraPaths: '~/a'}}]}}",
        "{agents: {list: [{id: 'main'}, {id: 'work', memorySearch: null}]}}",
        "{'agents': {list: [{id: 'main'}, {id: 'work', memorySearch: [1]}]}}",
    ],
)
def test_lines_are_shown_if_an_edit_would_change_other_settings(home: Path, text: str) -> None:
    plan = planned(home, text, "work")

    assert plan.state == "by hand"
    assert plan.after == ""
    entry = json5.loads(plan.lines)["agents"]["list"][0]
    assert entry == {"id": "work", "memorySearch": {"extraPaths": [str(home / "Notes")]}}


def test_agent_without_an_entry_gets_its_own(home: Path) -> None:
    for name in ("main", "work"):
        (home / ".openclaw/agents" / name).mkdir(parents=True)

    plan = planned(home, "{memory: {search: {provider: 'none'}}}", "work")

    assert plan.state == "by hand"
    assert "entries" in json5.loads(plan.lines)["agents"]


def test_present_path_is_not_added_again(home: Path) -> None:
    for entry in ("'~/Notes'", "'~/Notes/'", "{path: '../../Notes', pattern: '**/*.md'}"):
        assert planned(home, f"{{memory: {{search: {{extraPaths: [{entry}]}}}}}}").state == "same"
    for entry in ("'~'", "{path: '~/Notes', pattern: 'daily/*.md'}"):
        assert planned(home, f"{{memory: {{search: {{extraPaths: [{entry}]}}}}}}").state == "new"


def test_vault_behind_a_link_is_added_by_its_real_path(home: Path) -> None:
    (home / "vault").symlink_to("Notes")

    assert plan_vault(home / "vault", agent_of(home)).vault == home / "Notes"


def test_file_is_replaced_atomically_with_a_backup(home: Path) -> None:
    real = home / "dotfiles.json"
    (home / ".openclaw/openclaw.json").symlink_to(real)
    text = "\ufeff{ /* é */ }\n"
    real.write_text(text)
    real.chmod(0o640)
    agent = agent_of(home)

    backup = carry_out_vault(plan_vault(home / "Notes", agent), agent.config, "20261122T170000Z")

    assert backup == home / "dotfiles.json.before-import-20261122T170000Z"
    assert backup.read_text() == text
    after = real.read_text()
    assert after.startswith('\ufeff{ /* é */\n  "memory": {\n')
    assert after.endswith("\n  }\n}\n")
    entry = {"path": f"{home}/Notes", "pattern": "**/*.md"}
    assert json5.loads(after) == {"memory": {"search": {"extraPaths": [entry]}}}
    assert stat.S_IMODE(real.stat().st_mode) == stat.S_IMODE(backup.stat().st_mode) == 0o640
    assert agent.config.is_symlink()
    assert not [name for name in os.listdir(home) if name.endswith(".tmp")]


def test_missing_settings_are_created_private(home: Path) -> None:
    agent = agent_of(home)

    assert carry_out_vault(planned(home, None), agent.config, "now") is None

    assert stat.S_IMODE(agent.config.stat().st_mode) == 0o600
    assert planned(home, None).state == "same"


def test_settings_changed_in_the_meantime_are_unchanged(home: Path) -> None:
    plan = planned(home, "{}")
    config = home / ".openclaw/openclaw.json"
    config.write_text("{a: 1}")

    with pytest.raises(NoteUnwritableError, match="changed in the meantime"):
        carry_out_vault(plan, config, "now")

    assert os.listdir(home / ".openclaw") == ["openclaw.json"]
    assert config.read_text() == "{a: 1}"


def test_invalid_settings_are_not_edited(home: Path) -> None:
    with pytest.raises(ConfigInvalidError):
        planned(home, "{agents: ")


@pytest.mark.parametrize("vault", ["", ".openclaw/workspace", ".openclaw/workspace/memory/vault"])
def test_vault_that_contains_the_workspace_is_refused(home: Path, vault: str) -> None:
    (home / vault).mkdir(parents=True, exist_ok=True)

    with pytest.raises(BadParamsError, match="contains the other"):
        plan_vault(home / vault, agent_of(home))


def test_missing_vault_is_an_error(home: Path) -> None:
    with pytest.raises(FileMissingError, match="nowhere"):
        plan_vault(home / "nowhere", agent_of(home))
