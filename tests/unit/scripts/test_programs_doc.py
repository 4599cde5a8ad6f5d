"""The table of programs has a row for each program of the catalog, with what memd does with it."""

from __future__ import annotations

from memd.programs.catalog import PROGRAMS
from tests.support.scripts import load_script

SCRIPT = load_script("programs_doc")


def rows() -> dict[str, list[str]]:
    """Return the cells of each row by the name of its conversations, or by its title."""
    table = SCRIPT.render().split("| program | conversations")[1].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return {(row[1].split("`")[1] if row[1] else row[0]): row for row in cells}


def test_each_program_has_one_row() -> None:
    expected = {name if program.conversations else program.title for name, program in PROGRAMS.items()}

    assert rows().keys() == expected
    assert len(rows()) == len(PROGRAMS)


def test_row_has_what_memd_does_with_the_program() -> None:
    table = rows()

    assert table["claude-code"][1:] == [
        "`claude-code`",
        "yes",
        "`claude-code-notes`",
        "yes",
        "yes",
        "program",
    ]
    assert table["opencode"][2] == "yes"
    assert table["chatgpt"] == ["ChatGPT", "`chatgpt` (export)", "", "", "", "", "unverified"]
    assert table["Obsidian"][1:] == ["", "", "`obsidian`", "", "", ""]
