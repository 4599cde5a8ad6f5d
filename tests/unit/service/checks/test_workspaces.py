"""Checks of agents by their settings and files, without the daemon."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from memd.service.checks.finding import OK, WARNING, WRONG, Finding
from memd.service.checks.workspaces import check_agent, check_notes
from memd_client.errors import ConfigInvalidError
from tests.unit.service.checks.installations import installation


def findings(tmp_path: Path, environ: dict[str, str] | None = None, **settings: object) -> list[Finding]:
    """Return the findings on the agent `main` with these settings of search."""
    made = installation(tmp_path, settings, environ)
    return check_agent(made, made.home.agents["main"])


@pytest.mark.parametrize(
    ("settings", "environ", "state"),
    [
        ({"provider": "none"}, {}, OK),
        ({"provider": "auto"}, {}, WARNING),
        ({"provider": "auto"}, {"VOYAGE_API_KEY": "pa-1"}, OK),
        ({"provider": "openai"}, {}, WRONG),
        ({"provider": "openai"}, {"OPENAI_API_KEY": "sk-1"}, OK),
        ({"provider": "local"}, {}, WRONG),
        ({"provider": "oracle"}, {}, WRONG),
    ],
)
def test_provider_is_checked_without_a_request(
    tmp_path: Path, settings: dict[str, object], environ: dict[str, str], state: str
) -> None:
    finding = findings(tmp_path, environ, **settings)[-1]

    assert (finding.name, finding.state) == ("provider", state)
    assert bool(finding.fix) == (state != OK)


def test_files_are_counted_and_their_problems_listed(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "MEMORY.md").write_text("x")
    for name in "abcde":
        (workspace / f"memory/{name}.md").symlink_to(workspace / "MEMORY.md")

    counted, skipped, _ = findings(tmp_path, provider="none")

    assert (counted.state, counted.found) == (OK, f"{workspace}, 1 memory file, 1 B")
    assert (skipped.name, skipped.state) == ("skipped", WARNING)
    assert skipped.found.startswith("5 files not indexed, or only in part: memory/")
    assert " and 2 more; the first: symbolic link" in skipped.found


def test_missing_workspace_is_wrong(tmp_path: Path) -> None:
    (finding,) = [each for each in findings(tmp_path, provider="none") if each.state != OK]

    assert (finding.name, finding.state) == ("workspace", WRONG)
    assert finding.fix == (
        f"run `mkdir -p {tmp_path / 'workspace'}`, or correct `workspace` in openclaw.json"
    )


def test_problems_of_settings_are_shown_even_if_search_is_off(tmp_path: Path) -> None:
    made = installation(tmp_path, {"enabled": False})
    agent = replace(made.home.agents["main"], problems=(ConfigInvalidError("bad", hint="correct it"),))

    assert [(each.state, each.fix) for each in check_agent(made, agent)] == [(WRONG, "correct it"), (OK, "")]
    assert list(check_notes(made, agent)) == []


def test_unreadable_files_are_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace/MEMORY.md").write_text("x")
    monkeypatch.setattr("os.access", lambda *_: False)
    made = installation(tmp_path, {"provider": "none"})

    (finding,) = check_notes(made, made.home.agents["main"])

    assert (finding.name, finding.state) == ("permissions", WRONG)
    assert finding.found == "1 file cannot be read: MEMORY.md"
    assert finding.fix == f"chmod -R u+r {tmp_path / 'workspace'}"


def test_folders_that_notes_were_copied_from_are_found(tmp_path: Path) -> None:
    copy = tmp_path / "workspace/memory/imported/basic-memory/ideas/tea.md"
    copy.parent.mkdir(parents=True)
    copy.write_text(
        '<!-- memd-import {"kind": "basic-memory", "source": "/x/ideas/tea.md", "sha256": ""} -->\nTea\n'
    )
    made = installation(tmp_path, {"provider": "none"})

    (finding,) = check_notes(made, made.home.agents["main"])

    assert (finding.name, finding.state) == ("imported", OK)
    assert "1 note in " in finding.found
