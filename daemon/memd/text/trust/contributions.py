"""What contributed to a text: other texts that its lines repeat, and what a note records of itself. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from memd.text.trust.origins import OUTSIDE, LineOrigins, Reason
from memd.text.trust.shingles import repeated_lines, shingles_of

T = TypeVar("T", bound=Any)

MAX_HEAD_CHARS, MAX_HEAD_LINES = 10_000, 15

_TABLE: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_FRONTMATTER, _CLIPPED, _HEADER, _REPLY, _FORWARDED = (
    re.compile(_TABLE[name], re.I | re.M | re.S if name == "frontmatter" else re.I | re.M)
    for name in ("frontmatter", "clipped", "header", "reply", "forwarded")
)


def repeated_texts(lines: Sequence[str], texts: Iterable[T]) -> dict[int, T]:
    """Return which text with `shingles` lines repeat, by their numbers from 1: the most similar one."""
    own = shingles_of("\n".join(lines))
    similar = [text for text in texts if not own.isdisjoint(text.shingles)]
    known = own.intersection(set().union(*(text.shingles for text in similar)))
    found = {}
    for number in repeated_lines(lines, known.__contains__) if known else ():
        hashes = shingles_of(lines[number - 1])
        found[number] = max(similar, key=lambda text: len(hashes & text.shingles))
    return found


def recorded_origins(text: str, default: int) -> LineOrigins:
    """Return the origins of a note's lines as clippers and mail programs record them, which only lowers the default."""
    lines, why = text.split("\n"), ""
    frontmatter = _FRONTMATTER.match(text[:MAX_HEAD_CHARS])
    if frontmatter is not None and (clipped := _CLIPPED.search(frontmatter[1])) is not None:
        why = f"clipped from {clipped[1].lower().strip('.')}"
    names = {match[1].casefold() for line in lines[:MAX_HEAD_LINES] if (match := _HEADER.match(line[:200]))}
    if names.intersection(_TABLE["from"]) and len(names.intersection(_TABLE["headers"])) > 1:
        why = why or "received by mail"
    if why:
        return LineOrigins(b"", OUTSIDE, (Reason(1, len(lines), why),))
    forwarded = _FORWARDED.search(text)
    first = len(lines) if forwarded is None else text.count("\n", 0, forwarded.start())
    quoted, last = list(range(first + 1, len(lines) + 1)), " "
    for number, line in enumerate(lines, 1) if "\n>" in text else ():
        if line.startswith(">") and (not last or _REPLY.match(last)):
            quoted.append(number)
            last = ""
        elif line.strip():
            last = line[:400]
    origins = LineOrigins(default=default)
    return origins.lowered(quoted, OUTSIDE, "quoted from a mail", len(lines)) if quoted else origins
