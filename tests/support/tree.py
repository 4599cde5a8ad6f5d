"""The project's files, for tests of the repository's rules."""

from __future__ import annotations

import ast
import functools
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DAEMON = ROOT / "daemon" / "memd"
CLIENT = ROOT / "client" / "memd_client"
DOCS = ROOT / "docs"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache
def project_files() -> tuple[Path, ...]:
    """Return every file of the project: what git tracks or would track."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    paths = {ROOT / name.decode() for name in listing.stdout.split(b"\0") if name}
    return tuple(sorted(path for path in paths if path.is_file()))


def python_files(*folders: Path) -> tuple[Path, ...]:
    """Return the Python files below the folders, or of the whole project without any."""
    wanted = folders or (ROOT,)
    return tuple(
        path
        for path in project_files()
        if path.suffix == ".py" and any(path.is_relative_to(folder) for folder in wanted)
    )


@functools.cache
def parsed(path: Path) -> ast.Module:
    """Return a Python file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def functions_in(path: Path) -> Iterator[Function]:
    """Yield every function of a file, including methods and inner functions."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, Function):
            yield node


def code_lines(function: Function) -> int:
    """Return a function's number of lines without its docstring."""
    assert function.end_lineno is not None
    total = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None and first.end_lineno is not None:
        total -= first.end_lineno - first.lineno + 1
    return total


def relative(path: Path) -> str:
    """Return a path relative to the repository."""
    return path.relative_to(ROOT).as_posix()


def modules() -> tuple[Path, ...]:
    """Return every Python file of both distributions."""
    return python_files(DAEMON, CLIENT)
