"""Limits on the length of files and functions."""

from __future__ import annotations

from pathlib import Path

from tests.support.tree import DAEMON, ROOT, code_lines, functions_in, python_files, relative

FILE_LINES = 500
"""A longer file does more than one thing."""

MADE = "Made by `scripts/generate`"
"""In the docstring of a generated file."""

FUNCTION_LINES = 50
"""Without the docstring, whose length depends on the contract."""

METHOD_FILE_LINES = 120
HANDLE_LINES = 40
SCRIPT_LINES = 30
PROVIDER_LINES = 150
ROOT_LINES = 250
"""`app.py` builds all parts in order and has to fit on a few screens."""


def count_lines(path: Path) -> int:
    """Return how many lines a file has."""
    return len(path.read_text(encoding="utf-8").splitlines())


def longer_than(limit: int, paths: list[Path]) -> dict[str, int]:
    """Return the files with more lines than the limit."""
    return {relative(path): lines for path in paths if (lines := count_lines(path)) > limit}


def has_long_block(source: str) -> bool:
    """Return whether a function may be too long, by its indentation: parsing all files takes long."""
    begun: list[tuple[int, int]] = []
    for number, line in enumerate([*source.splitlines(), "end"]):
        text = line.lstrip()
        if not text or text.startswith(")"):  # the end of a signature
            continue
        indent = len(line) - len(text)
        while begun and indent <= begun[-1][0]:
            if number - begun.pop()[1] > FUNCTION_LINES:
                return True
        if text.startswith(("def ", "async def ")):
            begun.append((indent, number))
    return False


def test_files_are_within_the_limit() -> None:
    written = [path for path in python_files() if MADE not in path.read_text("utf-8")[:300]]
    assert not longer_than(FILE_LINES, written)


def test_functions_are_within_the_limit() -> None:
    long = {
        f"{relative(path)}: {function.name}": code_lines(function)
        for path in python_files()
        if has_long_block(path.read_text("utf-8"))
        for function in functions_in(path)
        if code_lines(function) > FUNCTION_LINES
    }
    assert not long


def test_request_methods_are_short() -> None:
    methods = list(python_files(DAEMON / "rpc" / "methods"))
    assert not longer_than(METHOD_FILE_LINES, methods)
    for path in methods:
        for function in functions_in(path):
            assert function.name != "handle" or code_lines(function) <= HANDLE_LINES, relative(path)


def test_providers_and_the_composition_root_are_short() -> None:
    assert not longer_than(PROVIDER_LINES, list(python_files(DAEMON / "embedding" / "remote" / "providers")))
    assert not longer_than(ROOT_LINES, [DAEMON / "app.py", DAEMON / "__main__.py"])


def test_scripts_are_short() -> None:
    scripts = [path for path in (ROOT / "scripts").iterdir() if path.is_file() and not path.suffix]
    assert scripts
    assert not longer_than(SCRIPT_LINES, [*scripts, ROOT / ".ci" / "run"])
