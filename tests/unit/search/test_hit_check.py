"""Checks of hits against changed files that aren't indexed yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.search.hit_check import _contains_hit, check_against
from memd.sources.notes import WorkspaceNotes
from memd.sync.text.changes import Changes
from memd_client.messages import Hit
from tests.support.growth import check_linear


def hit(snippet: str, line: int) -> Hit:
    """Return a hit of the note."""
    return Hit(
        "MEMORY.md", line, line + snippet.count("\n"), 1.0, None, 1.0, snippet, "memory", "MEMORY.md#L1"
    )


@pytest.mark.parametrize(
    ("snippet", "line", "is_there"),
    [
        ("- tea is\n  steeped", 2, True),
        ("- tea is\n  steeped", 1, False),
        ("- tea is <!-- trigger: x -->\n  steeped", 2, False),
        ("- gone", 2, False),
    ],
)
def test_hit_is_checked_against_the_indexed_text_of_a_changed_note(
    tmp_path: Path, snippet: str, line: int, is_there: bool
) -> None:
    (tmp_path / "MEMORY.md").write_text("# Kitchen\n- tea is <!-- trigger: x -->\n  steeped\n")
    notes = WorkspaceNotes(tmp_path)
    disk = notes.find()

    check = check_against(disk, Changes([disk.files["MEMORY.md"]], []), notes.load)

    assert check(hit(snippet, line)) is is_there


def test_check_of_a_snippet_that_every_line_begins_is_linear() -> None:
    def check(text: str) -> None:
        assert _contains_hit(hit("ab\nab", text.count("\n") - 3), text, is_conversation=False)

    check_linear(lambda lines: "ab\n" * lines, check, 20_000)
