"""Queries that several pieces of evidence answer: lists, counts, orders, comparisons, summaries, two subjects."""

from __future__ import annotations

import re
from pathlib import Path

from memd.text.data_files import read_sections
from memd.text.lazy_pattern import lazy_pattern

MAX_PART_WORDS = 6
"""Most words of one part of a query: longer ones are clauses of their own."""

_SECTIONS = read_sections(Path(__file__).with_suffix(".txt"))
_BROAD = lazy_pattern("|".join(f"(?:{row})" for row in _SECTIONS["broad"]), re.IGNORECASE)
_PARTS = [re.compile(row, re.IGNORECASE) for row in _SECTIONS["parts"]]
_FRAMING = lazy_pattern("|".join(f"(?:{row})" for row in _SECTIONS["framing"]), re.IGNORECASE)
_NAMES = [re.compile(row) for row in _SECTIONS["names"]]


def is_broad(query: str) -> bool:
    """Return whether a query asks for several things, so that many short hits serve it better than a few long ones."""
    return _BROAD.search(query) is not None or bool(split_parts(query))


def without_framing(query: str) -> str:
    """Return a query without what it says about its answer: "can you list the order in which I brought up"."""
    bare = " ".join(_FRAMING.sub(" ", query).split())
    return bare if any(map(str.isalnum, bare)) else query


def split_parts(query: str) -> tuple[str, ...]:
    """Return a query once for each of the two subjects that it joins, without the other one.

    "Which cities did both Ann and Bob visit?" gives "Which cities did Ann visit?" and "Which cities did Bob visit?".
    Empty if the query joins nothing.
    """
    for pattern in [*_PARTS, *_NAMES]:
        found = pattern.search(query)
        if found is not None:
            parts = found["one"].strip(), found["other"].strip()
            if len(set(parts)) == 2 and all(part and len(part.split()) <= MAX_PART_WORDS for part in parts):
                before, after = query[: found.start()], query[found.end() :]
                return tuple(" ".join(f"{before} {part} {after}".split()) for part in parts)
    return ()
