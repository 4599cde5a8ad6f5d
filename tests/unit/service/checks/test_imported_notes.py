"""The source that replaces notes copied from a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from memd.programs.catalog import Places
from memd.service.checks.finding import OK, WARNING
from memd.service.checks.imported_notes import check_imported, source_of
from memd.settings.agents import AgentConfig, resolve
from memd.settings.sources import SourceConfig
from memd.sources.imported import ImportedFolder

HOME = Path("/home/ann")
PLACES = Places(HOME, {"CODEX_HOME": "/srv/codex"}, "linux")


def imported(program: str, folder: str, label: str = "") -> ImportedFolder:
    """Return a folder with one copy."""
    return ImportedFolder(program, folder, f"memory/imported/{program}", label, exists=True, files=1)


@pytest.mark.parametrize(
    ("found", "source", "path"),
    [
        (imported("claude-code", "/home/ann/.claude"), "claude-code-notes", ""),
        (imported("codex", "/srv/codex"), "codex-notes", ""),
        (imported("codex", "/home/ann/.codex"), "codex-notes", "/home/ann/.codex"),
        (imported("basic-memory", "/home/ann/basic-memory", "main"), "basic-memory", ""),
        (imported("basic-memory", "/data/Specs", "Specs"), "basic-memory-specs", "/data/Specs"),
        (imported("claude-code", "/w/shop", "shop"), "claude-code-shop", "/w/shop"),
        (imported("claude-code", "/w/shop/.claude", "shop"), "claude-code-shop-claude", "/w/shop/.claude"),
        (imported("memsearch", "/w/日本/.memsearch", "日本"), "memsearch-memsearch", "/w/日本/.memsearch"),
        (imported("memsearch", f"/w/{'x' * 80}", "x" * 80), f"memsearch-{'x' * 30}", f"/w/{'x' * 80}"),
    ],
)
def test_source_is_the_programs_own_or_has_the_folders_path(
    found: ImportedFolder, source: str, path: str
) -> None:
    assert source_of(found, PLACES) == (source, path)


def agent_with(*sources: SourceConfig) -> AgentConfig:
    """Return the agent `main` with these sources."""
    home = resolve({}, config_path=HOME / "openclaw.json", state_dir=HOME, home=HOME)
    return replace(home.agents["main"], sources=sources)


@pytest.mark.parametrize(
    ("config", "is_source"),
    [
        (SourceConfig("codex-notes", "codex-notes", "notes", None), True),
        (SourceConfig("mine", "", "notes", Path("/srv/codex")), True),
        (SourceConfig("mine", "", "notes", Path("/srv/other")), False),
        (SourceConfig("codex", "codex", "transcripts", None), False),
    ],
)
def test_folder_that_a_source_reads_already_needs_no_source(config: SourceConfig, is_source: bool) -> None:
    finding = check_imported(imported("codex", "/srv/codex"), agent_with(config), PLACES)

    assert finding.state == WARNING
    assert finding.fix.startswith(
        "delete" if is_source else "run `memctl sources add codex-notes --agent main`"
    )


IDEAS = imported("basic-memory", "/home/ann/my ideas", "ideas")
STALE = f"1 note in {IDEAS.copies}, imported from {IDEAS.folder}: copies go stale"


def test_stale_copies_are_reported_with_the_source_that_replaces_them() -> None:
    finding = check_imported(IDEAS, agent_with(), PLACES)

    assert (finding.state, finding.found) == (WARNING, STALE)
    assert finding.fix == (
        "run `memctl sources add basic-memory-ideas-my-ideas --path '/home/ann/my ideas' --agent main`, "
        "then delete the copies"
    )


def test_copies_that_are_only_here_are_named() -> None:
    config = SourceConfig("mine", "", "notes", Path(IDEAS.folder))
    tea = "memory/imported/basic-memory/ideas/tea.md"

    finding = check_imported(replace(IDEAS, only_here=[tea]), agent_with(config), PLACES)

    assert finding.found == f"{STALE}; edited, or without their source: {tea}"
    assert finding.fix == "move those that are only here out of memory/imported, and delete the other copies"


def test_copies_without_their_folder_need_no_action() -> None:
    finding = check_imported(replace(IDEAS, exists=False), agent_with(), PLACES)

    assert (finding.state, finding.fix) == (OK, "")
    assert finding.found.endswith("imported from /home/ann/my ideas, which no longer exists")
