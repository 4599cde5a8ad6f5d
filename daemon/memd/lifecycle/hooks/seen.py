"""What each session has seen, so that a hook never adds the same message or the same fact to it twice."""

from __future__ import annotations

from collections import OrderedDict, deque

from memd.lifecycle.hooks.injection import ShownLine
from memd.text.query.word_forms import fold
from memd.text.tokens import folded_words

MAX_SESSIONS = 500
"""Sessions that are remembered; the one without an addition for the longest time is forgotten first."""

MAX_MARKS = 500
"""Marks remembered of one session."""

MAX_MARK_CHARS, MAX_MARK_WORDS = 2_000, 60
"""The start of a text, which is enough to recognize it."""

MIN_SHARED_WORDS = 0.8
"""Share of the words of two texts that makes them one fact, if they also have the same numbers."""

MIN_ANSWER_WORDS = 6
"""Words from which an answer is recognized without its question: many questions are answered with `yes` or `8443`."""


class SeenFacts:
    """What was shown in the latest sessions, or said in them. In RAM: a new daemon starts without any.

    Each mark is the words of a text, separated by spaces, or the place of a message: another part of the same message
    has other words.
    """

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, str], deque[str]] = OrderedDict()

    def __repr__(self) -> str:
        return f"<SeenFacts of {len(self._sessions)} sessions>"

    def is_seen(self, program: str, session_id: str, line: ShownLine) -> bool:
        """Return whether a line, one of its messages, or a near duplicate with the same numbers was seen."""
        marks = [frozenset(mark.split()) for mark in _marks_of(line)]
        seen = (frozenset(mark.split()) for mark in self._sessions.get((program, session_id), ()))
        return any(_is_same(mark, other) for other in seen for mark in marks)

    def add(self, program: str, session_id: str, line: ShownLine) -> None:
        """Remember a line of a session."""
        key = (program, session_id)
        session = self._sessions.setdefault(key, deque(maxlen=MAX_MARKS))
        self._sessions.move_to_end(key)
        session.extend(_marks_of(line))
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)


def _marks_of(line: ShownLine) -> list[str]:
    """Return what a line is recognized by: its messages, all of its words, and those of a long answer."""
    marks = [*line.messages, _words_of(" ".join(line.quoted or (line.text,)))]
    answer = _words_of(line.quoted[-1]) if len(line.quoted) > 1 else ""
    return [*marks, answer] if len(answer.split()) >= MIN_ANSWER_WORDS else marks


def _words_of(text: str) -> str:
    """Return the different words at the start of a text, folded; letters of scripts without spaces one by one."""
    return " ".join([*dict.fromkeys(folded_words(fold(text[:MAX_MARK_CHARS])))][:MAX_MARK_WORDS])


def _is_same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two sets of words are those of one fact."""
    shared, whole = len(one & other), len(one | other)
    if not whole or shared < MIN_SHARED_WORDS * whole:
        return False
    return _numbers(one) == _numbers(other)


def _numbers(words: frozenset[str]) -> set[str]:
    return {word for word in words if any(map(str.isdigit, word))}
