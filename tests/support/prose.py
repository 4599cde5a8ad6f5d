"""Words that have a project term instead, found in docs, docstrings, comments, messages and test names.

`python -m tests.support.prose [PATH…]` prints each finding as `path:line: word → what to write`; `--count` the sums.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.tree import ROOT

REPLACED = {
    r"by words|by meaning": "keyword search, vector search",
    r"passages?": "chunk",
}
"""A pattern of words and what to write instead."""

PATTERN = re.compile(
    "|".join(rf"(?P<w{at}>\b(?:{words})\b)" for at, words in enumerate(REPLACED)), re.IGNORECASE
)
ADVICE = list(REPLACED.values())

CODE_IN_MARKDOWN = re.compile(r"`[^`\n]*`|\]\([^)]*\)|<[^>\n]*>|https?://\S+")
SCRIPT_PROSE = re.compile(r"//.*|^\s*/?\*.*|`[^`\n]* [^`\n]*`|\"[^\"\n]* [^\"\n]*\"")
"""Comments, and strings of more than one word."""
SHELL_PROSE = re.compile(r"#.*")
CHECKED_SUFFIXES = (".md", ".py", ".js", ".mjs", ".ts", ".service", ".socket", ".toml", "")
FENCE = re.compile(r"^\s*(```|~~~)")
SQL = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|CREATE|WHERE|FROM|PRAGMA)\b")

UNCHECKED = (
    "tests/support/prose.py",  # names the words
    "daemon/memd/page/static/vendor",
    "daemon/memd/sample/state",  # notes of a fictional user
    "daemon/memd/text/language",  # words of users' languages
    "tests/retrieval/abstention",  # notes and queries of fictional users
    "tests/retrieval/multilingual",
    "tests/retrieval/technical",
    "tests/golden",
)
DATA = {
    "benchmarks/corpus.py": {"FUNCTION_WORDS"},
    "daemon/memd/embedding/prefixes.py": {"_INSTRUCT", "_REPRESENT"},
    "daemon/memd/sync/text/file_rows.py": {"DEFAULT_SCHEME"},
    "daemon/memd/vector_search/kept_vectors.py": {"HASH_PREFIX"},
}
"""Constants whose strings are data: queries, prompts that models were trained with, and stored names and hashes."""
TREES = ("daemon", "client", "benchmarks", "tests", "scripts", "docs", ".github", "systemd", "launchd")


class ReplacedWord(NamedTuple):
    """A word that the project replaces, and its place."""

    path: str
    line: int
    word: str
    advice: str


def findings(paths: list[Path] | None = None) -> list[ReplacedWord]:
    """All findings below `paths`, by default in the whole repository."""
    found: list[ReplacedWord] = []
    for path in sorted(_files(paths or [ROOT / tree for tree in TREES] + sorted(ROOT.glob("*.md")))):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix not in CHECKED_SUFFIXES or (not path.suffix and path.parent.name != "scripts"):
            continue
        text = path.read_text("utf-8")
        if not PATTERN.search(text.replace("_", " ")):
            continue
        for line, prose in _prose(path, name, text):
            for match in PATTERN.finditer(prose):
                if match[0].isupper():  # SQL, or the name of a constant
                    continue
                at = int((match.lastgroup or "w0")[1:])
                found.append(
                    ReplacedWord(name, line + prose.count("\n", 0, match.start()), match[0], ADVICE[at])
                )
    return found


def _files(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        for each in [path] if path.is_file() else path.rglob("*"):
            name = each.resolve().relative_to(ROOT).as_posix()
            is_hidden = any(
                part in ("node_modules", "__pycache__", "build") or ".egg-info" in part for part in each.parts
            )
            if each.is_file() and not is_hidden and not name.startswith(UNCHECKED):
                yield each.resolve()


def _prose(path: Path, name: str, text: str) -> Iterator[tuple[int, str]]:
    """(first line, text) of what a person reads in a file."""
    if path.suffix == ".md":
        yield from _prose_of_markdown(text)
    elif path.suffix == ".py":
        yield from _prose_of_python(text, DATA.get(name, set()), is_test=name.startswith("tests/"))
    elif path.suffix in (".js", ".mjs", ".ts"):
        yield from _prose_of_script(text, SCRIPT_PROSE)
    else:
        yield from _prose_of_script(text, SHELL_PROSE)


def _prose_of_markdown(text: str) -> Iterator[tuple[int, str]]:
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            is_code = not is_code
        elif not is_code:
            yield number, CODE_IN_MARKDOWN.sub(" ", line)


def _prose_of_script(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        for match in pattern.finditer(line):
            yield number, match[0]


def _prose_of_python(source: str, data: set[str], *, is_test: bool) -> Iterator[tuple[int, str]]:
    """Comments and docstrings; of the program also messages, of tests also the names of functions."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    tree = ast.parse(source)
    docstrings = {id(value) for value in _docstrings(tree)}
    skipped = {id(each) for value in _values(tree, data) for each in ast.walk(value)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value.removesuffix("\n")
            is_message = not is_test and " " in text.strip() and not SQL.search(text)
            if id(node) in docstrings or is_message:
                yield node.lineno, re.sub(r"`[^`\n]*`", " ", text)
        elif is_test and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name.replace("_", " ")


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Strings that are statements: docstrings, and texts below constants and fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _values(tree: ast.Module, names: set[str]) -> Iterator[ast.expr]:
    """The values of a module's constants."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        is_named = any(isinstance(each, ast.Name) and each.id in names for each in targets)
        if is_named and isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            yield node.value


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--count", action="store_true", help="print how often each word occurs")
    arguments = parser.parse_args()
    found = findings([path.resolve() for path in arguments.paths] or None)
    if arguments.count:
        for word, count in Counter(each.word.lower() for each in found).most_common():
            print(f"{count:6,}  {word}")
    else:
        for each in found:
            print(f"{each.path}:{each.line}: {each.word} → {each.advice}")
    print(f"{len(found):,} findings", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
