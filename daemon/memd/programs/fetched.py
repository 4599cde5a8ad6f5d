"""Whose text a tool returns, by the rules of `fetched.toml`: never by what the text contains. Pure."""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

from memd.text.trust.origins import ORIGINS, OUTSIDE
from memd.text.trust.shingles import runs_of, shingles_of
from memd.text.work.commands import MAX_LINE_CHARS, all_commands

TextSource: TypeAlias = tuple[int, str]
"""The origin of a text, and a description without text of memory."""

MAX_CHARS, HEAD_CHARS, TAIL_CHARS = 200_000, 400, 200
"""What is hashed of a text of others, and of the project, whose texts are most bytes of transcripts."""

ATTACHMENT: Final = OUTSIDE, "an attachment"
MEMORY: Final = OUTSIDE, "memory of outside origin"  # the marked parts of what memd's tools return

_URL = re.compile(r"https?://(?:[^\s/@]{0,100}@)?([A-Za-z0-9.-]{1,80})")
_BLOCK = re.compile(r"<outside-text\b[^>]{0,1000}>(.*?)(?:</outside-text>|\Z)", re.S)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[nrt])")
_MARKUP = re.compile(r"<[^<>]{0,2000}>|\]\([^()\s]{0,2000}\)|^ *\d+[\t→|]", re.M)
"""Tags, addresses of links, and numbers of lines, which an agent that repeats a text omits."""

_RULES: Final = {
    kind: [(re.compile(rule["match"], re.A | re.I | re.S | re.X), rule) for rule in rules]
    for kind, rules in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
}


@lru_cache(maxsize=1_024)
def source_of(kind: str, name: str, folder: str = "") -> TextSource | None:
    """Return whose text is in a file or what else is named; None if it is code, or only confirms what was done."""
    inner = name.replace(f"{folder.rstrip('/')}/", "") if folder else name  # a project may be anywhere
    for pattern, rule in _RULES[kind]:
        if (match := pattern.search(inner)) is not None:
            group = next(filter(None, match.groups()), "")
            if "then" in rule:
                return source_of(rule["then"], name[name.find(" ") + 1 :], folder)
            absolute = re.search(
                r"(?:^| )([/~].*)", name
            )  # the last word of a command, or a path with blanks
            path = absolute[1] if absolute else posixpath.join(folder, name.rpartition(" ")[2])
            what = rule.get("what", "").format(group, path=posixpath.normpath(path))
            return (ORIGINS.index(rule["origin"]), what) if what else None
    return None


def source_of_tool(tool: str, arguments: object) -> TextSource | None:
    """Return whose text a tool returns."""
    url = _URL.search("\n".join(texts_in(arguments)))
    return source_of("tools", f"{tool[:200]} {url[1].lower() if url else ''}")


def source_of_command(line: str, folder: str) -> TextSource | None:
    """Return whose text a command line in a folder prints."""
    names = (" ".join(command.words) for command in all_commands(line) if command.rank)
    sources = [
        source_of("lines", line[:MAX_LINE_CHARS]),
        *(source_of("commands", name, folder) for name in names),
    ]
    return max(filter(None, sources), key=lambda source: (source[0], source != MEMORY), default=None)


def hashes_in(source: TextSource, content: object) -> frozenset[int]:
    """Return the hashes of what a tool returned."""
    text = "\n".join(texts_in(content))
    if source[0] != OUTSIDE:
        return frozenset(runs_of(f"{text[:HEAD_CHARS]}\n{text[HEAD_CHARS:][-TAIL_CHARS:]}"))
    text = _ESCAPE.sub(lambda escape: chr(int(escape[1] or "a", 16)), text[:MAX_CHARS])  # JSON in a text
    text = "\n".join(_BLOCK.findall(text)) if source == MEMORY else text
    return frozenset[int]().union(*map(shingles_of, {text, _MARKUP.sub(" ", text)}))


def texts_in(content: object, depth: int = 20) -> Iterator[str]:
    """Yield all texts in a JSON value."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict | list) and depth:
        for value in content.values() if isinstance(content, dict) else content:
            yield from texts_in(value, depth - 1)
