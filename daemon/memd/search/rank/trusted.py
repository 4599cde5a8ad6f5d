"""Statements among the candidates, and copies of them whose words are trusted less. Pure functions."""

from __future__ import annotations

from datetime import date
from itertools import product

from memd.search.rank.lines import LineMatches
from memd.search.rank.supersession import (
    MAX_LINES_READ,
    MAX_SIZE_RATIO,
    DatedLine,
    FileOrigins,
    ReadChunks,
    Superseded,
)
from memd.text.statements import letter_words
from memd.text.trust.origins import AGENT, UNKNOWN

MIN_SHARED, MIN_STATEMENT_WORDS = 0.6, 3
"""Share of the words of the shorter of two lines that state the same, perhaps with another value."""


def find_outranked(chunks: ReadChunks, lines: LineMatches, origins: FileOrigins) -> list[Superseded]:
    """Return lines (as outdated) that state what others state in words that are trusted more (as current).

    An agent's line that matches more words of the query than the user's is about something else. Lines of others may
    have been written to match.
    """
    best = (-(lines.matched.astype(float) @ lines.weights)).argsort(kind="stable")[:MAX_LINES_READ]
    read = []
    for at in best.tolist() if origins else ():
        chunk, start = int(lines.texts[at]), int(lines.starts[at])
        path, text = chunks.paths[chunk], chunks.texts[chunk]
        number = chunks.start_lines[chunk] + text.count("\n", 0, start)
        line = DatedLine(date.min, path, number, chunks.ids[chunk], None, text[start : int(lines.ends[at])])
        origin = origins.get(path, UNKNOWN).lowest(number, number)
        read.append((origin, line, letter_words(line.text), lines.matched[at]))
    return [
        Superseded(copy, line)
        for (low, copy, copied, found), (high, line, words, others) in product(read, read)
        if high < low and copy.chunk_id != line.chunk_id and _are_alike(words, copied)
        if low > AGENT or not (found & ~others).any()
    ]


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    short, long = sorted((len(one), len(other)))
    is_like = short >= MIN_STATEMENT_WORDS and long <= MAX_SIZE_RATIO * short
    return is_like and len(one & other) >= MIN_SHARED * short
