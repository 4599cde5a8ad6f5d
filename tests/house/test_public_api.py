"""Public names of the client, and classes of the daemon, have docstrings."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.support.tree import CLIENT, modules, relative


def _undocumented(path: Path) -> list[str]:
    """Return the definitions whose docstring is missing.

    The client needs one for every public name, the daemon for modules and classes.
    """
    tree = ast.parse(path.read_text())
    missing = [] if path.name == "__init__.py" or ast.get_docstring(tree) else ["module"]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            missing += _without_docstring(node, "")
    if CLIENT in path.parents:
        return missing
    return [name for name in missing if name == "module" or name.rsplit(".", 1)[-1][0].isupper()]


def _without_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, inside: str) -> list[str]:
    """Return the public names in a definition (itself too) without a docstring.

    Setters of properties need none.
    """
    is_setter = any(isinstance(each, ast.Attribute) and each.attr == "setter" for each in node.decorator_list)
    if node.name.startswith("_") or is_setter:
        return []
    missing = [] if ast.get_docstring(node) else [inside + node.name]
    if isinstance(node, ast.ClassDef):
        for part in node.body:
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                missing += _without_docstring(part, f"{inside}{node.name}.")
    return missing


@pytest.mark.parametrize("path", modules(), ids=relative)
def test_public_names_have_docstrings(path: Path) -> None:
    assert _undocumented(path) == []
