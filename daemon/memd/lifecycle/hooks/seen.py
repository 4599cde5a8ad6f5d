"""What each session has seen, so that a hook never adds the same message or the same fact to it twice."""

from __future__ import annotations

import sys
from collections import deque
from itertools import islice

from memd.lifecycle.hooks.injection import ShownLine
from memd.system.lru import LruCache
from memd.text.query.word_forms import fold
from memd.text.tokens import folded_words

MAX_SESSIONS = 200
"""Sessions that are remembered; the one without an addition for the longest time is forgotten first."""

MAX_MARKS = 500
"""Marks remembered of one session."""

MAX_MARK_CHARS, MAX_MARK_WORDS = 1_000, 40
"""The start of a text, which is enough to recognize it."""

MIN_SHARED_WORDS = 0.8
"""Share of the words of two texts that makes them one fact, if they also have the same numbers."""

MIN_ANSWER_WORDS = 6
"""Words from which an answer is recognized without its question: many questions are answered with `yes` or `8443`."""


Mark = frozenset[str]
"""The words of a text, or the place of a message alone: another part of the same message has other words."""


class SeenFacts:
    """What was shown in the latest sessions, or said in them. In RAM: a new daemon starts without any."""

    def __init__(self) -> None:
        self._sessions: LruCache[tuple[str, str], deque[Mark]] = LruCache(MAX_SESSIONS)

    def __repr__(self) -> str:
        return f"<SeenFacts of {len(self._sessions)} sessions>"

    def is_seen(self, program: str, session_id: str, line: ShownLine) -> bool:
        """Return whether a line, one of its messages, or a near duplicate with the same numbers was seen."""
        marks, seen = _marks_of(line), self._sessions.get((program, session_id)) or ()
        return any(_is_same(mark, other) for mark in marks for other in seen)

    def add(self, program: str, session_id: str, line: ShownLine) -> None:
        """Remember a line of a session."""
        key = (program, session_id)
        session = self._sessions.get(key)
        if session is None:
            session = deque(maxlen=MAX_MARKS)
            self._sessions.put(key, session)
        session.extend(_marks_of(line))


def _marks_of(line: ShownLine) -> list[Mark]:
    """Return what a line is recognized by: its messages, all of its words, and those of a long answer."""
    marks = [*map(Mark, zip(line.messages)), _words_of(" ".join(line.quoted or (line.text,)))]
    answer = _words_of(line.quoted[-1]) if len(line.quoted) > 1 else Mark()
    return [*marks, answer] if len(answer) >= MIN_ANSWER_WORDS else marks


def _words_of(text: str) -> Mark:
    """Return the words at the start of a text, folded; letters of scripts without spaces one by one."""
    words = dict.fromkeys(folded_words(fold(text[:MAX_MARK_CHARS])))
    return Mark(map(sys.intern, islice(words, MAX_MARK_WORDS)))


def _is_same(one: Mark, other: Mark) -> bool:
    """Return whether two marks are those of one fact."""
    shared = len(one & other)
    return 0 < shared >= MIN_SHARED_WORDS * len(one | other) and _numbers(one) == _numbers(other)


def _numbers(words: Mark) -> set[str]:
    return {word for word in words if any(map(str.isdigit, word))}
