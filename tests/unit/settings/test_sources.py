"""Sources in `memd.toml`: which agent they belong to, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.settings.agents import OpenClawHome, load_settings
from memd.settings.sources import SourceConfig


def loaded(folder: Path, toml: str, *agents: str) -> OpenClawHome:
    """Return the settings of a home with agents and a `memd.toml`."""
    state = folder / "state"
    for agent in ("main", *agents):
        (state / "agents" / agent).mkdir(parents=True)
    (folder / "memd.toml").write_text(toml)
    environ = {"OPENCLAW_STATE_DIR": str(state), "MEMD_CONFIG": str(folder / "memd.toml")}
    home, _, problems = load_settings(environ, folder)
    assert problems == ()
    return home


def names(home: OpenClawHome) -> dict[str, list[str]]:
    """Return the names of the sources by agent."""
    return {agent.id: [each.name for each in agent.sources] for agent in home.agents.values()}


def test_a_source_belongs_to_the_default_agent_unless_it_names_one(tmp_path: Path) -> None:
    home = loaded(
        tmp_path, '[sources.codex]\n[sources.claude-code]\n[sources.gemini]\nagent = "Work"\n', "work"
    )
    assert names(home) == {"main": ["claude-code", "codex"], "work": ["gemini"]}
    assert home.problems == ()


def test_the_shared_agent_exists_as_soon_as_it_has_a_source(tmp_path: Path) -> None:
    home = loaded(tmp_path, '[sources.codex]\nagent = "shared"\n')
    assert names(home) == {"main": [], "shared": ["codex"]}
    assert home.default_agent == "main"
    assert home.agents["shared"].workspace == tmp_path / "state" / "memory" / "shared"


def test_a_folder_of_notes_needs_a_path_and_a_programs_folder_may_have_another(tmp_path: Path) -> None:
    toml = '[sources.vault]\npath = "~/Notes"\n[sources.work-claude]\nprogram = "claude-code"\npath = "/work/p"\n'
    (main,) = loaded(tmp_path, toml).agents.values()
    assert main.sources == (
        SourceConfig("vault", "", "notes", tmp_path / "Notes"),
        SourceConfig("work-claude", "claude-code", "transcripts", Path("/work/p")),
    )


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        ("[sources.vault]\n", "sources.vault.path: is missing"),
        ('[sources.x]\nprogram = "claude-cod"\n', "is not a known program. Did you mean 'claude-code'?"),
        ('[sources."a b"]\npath = "/x"\n', "is not a valid name of a source"),
        ('[sources.memory]\npath = "/x"\n', "is not a valid name of a source"),
        ('[sources.codex]\nagent = "nobody"\n', "there is no agent 'nobody'"),
        ("[sources.codex]\nkeep = 1\n", "sources.codex.keep: expected true or false"),
        ("[sources]\ncodex = true\n", "sources.codex: expected an object"),
    ],
)
def test_a_wrong_source_is_a_problem_and_others_stay(tmp_path: Path, toml: str, problem: str) -> None:
    home = loaded(tmp_path, f"{toml}\n[sources.gemini]\n")
    assert problem in " ".join(str(error) for error in home.problems)
    assert "gemini" in names(home)["main"]
