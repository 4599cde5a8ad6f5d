"""The source that replaces notes copied from a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.programs.catalog import Places
from memd.service.imported_notes import describe_imported
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
    (row,) = describe_imported([found], [], PLACES)

    assert (row["source"], row["path"], row["is_source"]) == (source, path, False)


@pytest.mark.parametrize(
    ("config", "is_source"),
    [
        (SourceConfig("codex-notes", "codex-notes", "notes", None), True),
        (SourceConfig("mine", "", "notes", Path("/srv/codex")), True),
        (SourceConfig("mine", "", "notes", Path("/srv/other")), False),
        (SourceConfig("codex", "codex", "transcripts", None), False),
    ],
)
def test_folder_that_a_source_reads_already_is_marked(config: SourceConfig, is_source: bool) -> None:
    (row,) = describe_imported([imported("codex", "/srv/codex")], [config], PLACES)

    assert row["is_source"] is is_source
