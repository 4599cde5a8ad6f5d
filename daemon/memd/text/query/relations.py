"""Questions that nest relations ("Where does Ann's sister work?"), and the names that lead to their answers."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from memd.text.data_files import read_sections
from memd.text.lazy_pattern import lazy_pattern
from memd.text.query.speakers import is_message
from memd.text.query.word_forms import find_word

_SECTIONS = read_sections(Path(__file__).with_suffix(".txt"))
_MARKS = [lazy_pattern("|".join(f"(?:{row})" for row in rows)) for rows in _SECTIONS.values()]

MAX_LINE_CHARACTERS = 400
"""Most characters of a line that are read for names."""

_NAME = re.compile(r"[^\W_][\w.+#@/-]*\w")
_LIST_MARK = re.compile(r"\s*(?:[-*+>•]|\d{1,6}[.)])\s+")


@lru_cache(maxsize=256)  # searches are repeated, and the patterns take 40 µs
def nests_relations(query: str) -> bool:
    """Return whether a question goes through something that it doesn't name: "Where does Ann's sister work?"."""
    return not is_message(query) and sum(len(mark.findall(query)) for mark in _MARKS) >= 2


def link_names(line: str) -> list[str]:
    """Return what a line names, in order: words with a capital, a digit or a sign inside, adjacent ones as one name."""
    start = found.end() if (found := _LIST_MARK.match(line)) else 0
    names: list[str] = []
    end = -1
    for found in _NAME.finditer(line, start, start + MAX_LINE_CHARACTERS):
        word = found[0]
        is_name = not word.islower() or not word.isalpha()
        if is_name and not word.isdecimal():
            if names and found.start() == end + 1 and line[end] == " ":
                names[-1] += f" {word}"
            else:
                names.append(word)
            end = found.end()
    return names


def has_text(folded: str, word: str) -> bool:
    """Return whether a text has a word or a name in any form, both folded."""
    return next(find_word(folded, word), None) is not None


def starts_with(text: str, name: str) -> bool:
    """Return whether a word of a text begins with a name, in the same case."""
    at = text.find(name)
    while at > 0 and text[at - 1].isalnum():
        at = text.find(name, at + 1)
    return at >= 0
