"""The table in docs/openclaw-plugin.md lists the cases of the interop test."""

from __future__ import annotations

from tests.support.openclaw_workspaces import CASES, table
from tests.support.tree import ROOT


def test_table_of_memory_in_the_system_prompt_lists_every_case() -> None:
    page = (ROOT / "docs" / "openclaw-plugin.md").read_text(encoding="utf-8")
    _, _, section = page.partition("## Memory in the system prompt\n")
    rows = [line for line in section.partition("\n## ")[0].splitlines(keepends=True) if line.startswith("|")]

    assert "".join(rows) == table()


def test_every_case_has_a_unique_name_and_description() -> None:
    assert len({case.name for case in CASES}) == len({case.about for case in CASES}) == len(CASES)
