"""Speakers in the lines of a dialogue (`Ann: ...`, `**User**: ...`), and queries about the user's own words."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from memd.text.data_files import read_words

_LISTS = read_words(Path(__file__).with_suffix(".txt"))

USER_LABELS = frozenset(_LISTS["user-labels"])
"""Labels of the user's lines, in lower case."""

ASSISTANT_LABELS = frozenset(_LISTS["assistant-labels"])
"""Labels of a model's lines, in lower case."""

ROLE_LABELS = USER_LABELS | ASSISTANT_LABELS
"""Labels that are speakers however few lines they have."""

FIRST_PERSON = frozenset(_LISTS["first-person"])
"""Words with which users speak of themselves, in lower case."""

DECLINING_CHARS = 80
"""Start of an answer in which it says that it is none."""

_DECLINING = tuple(phrase.replace("_", " ") for phrase in _LISTS["declining"])

_LABEL = re.compile(  # possessive, because no shorter part of a label would match where the longest doesn't
    r"\n[ \t]{0,3}+(?:[-*>•] )?+\**+([^\W\d_][\w .'-]{0,23}+)\**+(?: ?[(\[][^)\]\n]{0,20}+[)\]])?+\**+[:：]"
)
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"[.!?][\"')*]*\s|[。！？\n]")
_LETTERS_AS_WORDS = frozenset(word for word in FIRST_PERSON if not word.isascii() and len(word) <= 2)


def find_labels(folded: str) -> list[tuple[int, str]]:
    """Return the labels of the lines of a text in lower case, each with the start of its line."""
    # The line end comes first, because a pattern that begins with a letter is searched for many times faster.
    return [(found.start(), found[1].rstrip()) for found in _LABEL.finditer("\n" + folded)]


def without_label(line: str) -> str:
    """Return a line without its label."""
    found = _LABEL.match(f"\n{line}")
    return line if found is None else line[found.end() - 1 :].lstrip("* ")


def declines_answer(line: str) -> bool:
    """Return whether a line begins by saying that an answer is unknown: "I could not find …"."""
    start = without_label(line)[:DECLINING_CHARS].lower().replace("’", "'")
    return any(phrase in start for phrase in _DECLINING)


def is_first_person(query: str) -> bool:
    """Return whether a user asks about themselves or their own words: "what did I say about ..."."""
    lowered = query.lower()
    if not FIRST_PERSON.isdisjoint(_WORD.findall(lowered)):
        return True
    return not lowered.isascii() and any(word in lowered for word in _LETTERS_AS_WORDS)


def is_message(query: str) -> bool:
    """Return whether a query has several sentences: it says something, and doesn't merely ask."""
    return sum(any(map(str.isalnum, part)) for part in _SENTENCE_END.split(query)) > 1


def names_label(label: str, words: Collection[str]) -> bool:
    """Return whether any of some words, in lower case, is in a label."""
    return any(word in words for word in _WORD.findall(label))
