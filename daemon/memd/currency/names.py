"""The names in a text that git can confirm or refute: files, functions, targets, commits, branches. Pure functions.

A name is a guess: whether it is a file, or only looks like one, is found out in the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from memd.text.data_files import read_sections

Kind: TypeAlias = Literal["file", "text", "commit", "branch"]

MAX_NAMES: Final = 24
"""Most names of one text."""

_PATTERNS: Final = {
    name: re.compile("|".join(rows), re.DOTALL if name == "fence" else 0)
    for name, rows in read_sections(Path(__file__).with_name("names.txt")).items()
}
_ASCII = re.compile(r"[!-~]+")
_ENDS: Final = ".,:;!?…'\"-"
_OF_BRANCHES: Final = ("branch", "zweig", "rama", "ramo", "ветк", "分支", "ブランチ", "`")
"""Parts of every match of a branch, which are found much faster."""

_MAKEFILES: Final = ("Makefile", "makefile", "GNUmakefile")


class Name(NamedTuple):
    """A name in a text; a `text` is a function or target, whose file is named.

    Attributes:
        spellings: The name, or the file of a `text`, in the ways it can be read, the most likely first.
        first, last, quote: The lines of a file that are named, 0 if none are, and their quotation, or "".
        label, pattern: What a `text` is called, such as `retry()`, and the regular expression that finds it.
    """

    kind: Kind
    spellings: tuple[str, ...]
    first: int = 0
    last: int = 0
    quote: str = ""
    label: str = ""
    pattern: str = ""


@lru_cache(maxsize=512)
def find_names(text: str) -> tuple[Name, ...]:
    """Return the names in a text in the order of their appearance, without repetitions, at most `MAX_NAMES`."""
    if "://" in text:
        text = _PATTERNS["url"].sub(lambda url: " " * len(url[0]), text)
    names: dict[tuple[str, tuple[str, ...], str], Name] = {}
    for _, name in sorted(_names(text), key=lambda item: item[0]):
        key = (name.kind, name.spellings, name.label)
        if key not in names or (name.quote and not names[key].quote):
            names[key] = name
    return tuple(names.values())[:MAX_NAMES]


def _names(text: str) -> Iterator[tuple[int, Name]]:
    for kind in ("quoted", "bare"):
        for word in _PATTERNS[kind].finditer(text):
            content = word[word.lastindex or 0]
            if not ("/" in content or "." in content or "file" in content or content.isupper()):
                continue  # most words, without a look at each pattern
            if (file := _file(content, text, word.end())) is not None:
                yield word.start(), file
    for commit in _PATTERNS["commit"].finditer(text):
        yield commit.start(), Name("commit", (commit[1],))
    lowered = text.lower()
    for branch in _PATTERNS["branch"].finditer(text) if any(word in lowered for word in _OF_BRANCHES) else ():
        yield branch.start(), Name("branch", (branch[branch.lastindex or 0].rstrip(_ENDS),))
    for target in _PATTERNS["target"].finditer(text):
        goal = target[2].rstrip(_ENDS)
        pattern, label = rf'"{re.escape(goal)}"\s*:\s*"', f"{target[1]} {goal}"
        name = Name("text", ("package.json",), label=label, pattern=pattern)
        if target[1] == "make":
            name = name._replace(spellings=_MAKEFILES, pattern=rf"^{re.escape(goal)}[ \t]*:(?!=)")
        yield target.start(), name
    for line in re.finditer(r"[^\n]*\(\)[^\n]*", text) if "()" in text else ():
        words = [word[0] for word in _PATTERNS["bare"].finditer(line[0])]
        files = {file.spellings for word in words if (file := _file(word)) is not None}
        for function in _PATTERNS["function"].finditer(line[0]) if len(files) == 1 else ():
            pattern = rf"(?<!\w){re.escape(function[1])}(?!\w)"
            name = Name("text", min(files), label=function[0], pattern=pattern)
            yield line.start() + function.start(), name


def _file(word: str, text: str = "", end: int = 0) -> Name | None:
    """Return the file that a word may name, with its lines that are quoted at `end` of a text; else None."""
    word = word.strip().removeprefix("./")
    lines = _PATTERNS["lines"].search(word.rstrip(_ENDS))
    stem = word.rstrip(_ENDS)[: lines.start()] if lines else word
    parts = (part.strip(_ENDS) for part in _ASCII.findall(stem))
    spellings = dict.fromkeys([stem, stem.rstrip(_ENDS), *parts])
    paths = tuple(path for path in spellings if _is_path(path))
    if not paths or lines is None:
        return Name("file", paths) if paths else None
    first, last = int(lines[1]), int(lines[2] or lines[1])
    fence, inline = _PATTERNS["fence"].match(text, end), _PATTERNS["inline"].match(text, end)
    quote = fence[2] if fence else inline[1] if inline and first == last else ""
    return Name("file", paths, first, last, quote)


def _is_path(path: str) -> bool:
    if "\0" in path or "//" in path or ".." in path.split("/"):
        return False
    return "/" in path.strip("/") or _PATTERNS["file"].fullmatch(path) is not None
