"""The counts of `scripts/size`: lines, code lines and layers."""

from __future__ import annotations

from pathlib import Path

from tests.support.scripts import load_script
from tests.support.tree import ROOT

SIZE = load_script("size")

SOURCE = '''\
"""A module."""

# a comment
LIMIT = 3  # counts
"""What a constant is."""


def ask(text: str) -> str:
    """Return an answer,

    on three lines.
    """
    return """two
lines"""
'''


def test_lines_of_code_exclude_blanks_comments_and_docstrings() -> None:
    assert SIZE.count_code_lines(SOURCE) == 4


def test_size_of_a_folder_is_the_sum_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    for name in ("a.py", "below/b.py", "c.txt"):
        (tmp_path / name).write_text(SOURCE)

    assert SIZE.measure_sources(tmp_path) == SIZE.SourceSize(2, 2 * len(SOURCE.splitlines()), 8)


def test_layers_are_read_from_the_import_contract() -> None:
    layers = SIZE.import_layers((ROOT / "pyproject.toml").read_text())

    assert (layers[0], layers[-1]) == ("__main__", "system")
