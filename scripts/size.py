"""Prints the size of the daemon, the client, the tests and the benchmarks, and the import layers."""

from __future__ import annotations

import ast
import io
import tokenize
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MADE = "Made by `scripts/generate`"
"""In the docstring of a generated file, which isn't counted."""

FOLDERS = ("daemon/memd", "client/memd_client", "tests", "benchmarks", "scripts")

NOISE = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


@dataclass(frozen=True, slots=True)
class SourceSize:
    """Modules, all their lines, and the lines with code."""

    modules: int
    lines: int
    code_lines: int


def count_code_lines(source: str) -> int:
    """Return the number of lines with code, without blanks, comments and docstrings."""
    texts: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), end_lineno=int(end)):
                texts.update(range(node.lineno, end + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NOISE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - texts)


def measure_sources(folder: Path) -> SourceSize:
    """Return the size of the Python files below a folder that are written by hand."""
    sources = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))]
    sources = [each for each in sources if MADE not in each[:300]]
    return SourceSize(
        len(sources), sum(len(each.splitlines()) for each in sources), sum(map(count_code_lines, sources))
    )


def import_layers(pyproject: str) -> list[str]:
    """Return the package layers of the text of `pyproject.toml`, highest first."""
    contracts = tomllib.loads(pyproject)["tool"]["importlinter"]["contracts"]
    return [layer for each in contracts if each["type"] == "layers" for layer in each["layers"]]


def main() -> None:
    """Print the counts."""
    for folder in FOLDERS:
        size = measure_sources(ROOT / folder)
        print(f"{folder:<20}{size.lines:>8,} lines, {size.code_lines:,} of code, in {size.modules:,} modules")
    layers = import_layers((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    print(f"{'import layers':<20}{len(layers):>8}")


if __name__ == "__main__":
    main()
