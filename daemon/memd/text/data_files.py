"""Word lists and patterns in data files next to the code.

A line `[name]` opens a section, a line that begins with `# ` is a comment, any other line is a row of the section.
"""

from __future__ import annotations

from pathlib import Path


def read_sections(path: Path) -> dict[str, list[str]]:
    """Return the rows of a data file by section name."""
    sections: dict[str, list[str]] = {}
    rows: list[str] = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        row = line.strip()
        if row[:1] == "[" and row[-1] == "]" and row[1:-1].replace("-", "").isalnum():
            rows = sections.setdefault(row[1:-1], [])
        elif row and not row.startswith("# "):
            rows.append(row)
    return sections


def read_words(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the words of a data file by section name, in order."""
    return {name: tuple(" ".join(rows).split()) for name, rows in read_sections(path).items()}
