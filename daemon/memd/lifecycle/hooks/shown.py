"""What hooks have shown in each session, so that the same fact is never shown twice in it."""

from __future__ import annotations

from collections import OrderedDict

from memd.lifecycle.hooks.evidence import text_key, words_of

MAX_SESSIONS = 500
"""Sessions that are remembered; the one without an event for the longest time is forgotten first."""

MAX_TEXTS = 500
"""Texts remembered of one session."""

MIN_SHARED_WORDS = 0.8
"""Share of the words of two texts that makes them one fact, if they also have the same numbers."""


ShownTexts = OrderedDict[bytes, frozenset[str]]
"""The texts shown in one session, by key, each with its words."""


class ShownFacts:
    """The texts shown in the latest sessions. In RAM: a new daemon starts without any."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, str], ShownTexts] = OrderedDict()

    def __repr__(self) -> str:
        return f"<ShownFacts of {len(self._sessions)} sessions>"

    def is_shown(self, program: str, session_id: str, text: str) -> bool:
        """Return whether a text, or a near duplicate with the same numbers, was shown in a session."""
        session = self._sessions.get((program, session_id))
        if session is None:
            return False
        if text_key(text) in session:
            return True
        words = words_of(text)
        return any(_is_same(words, other) for other in session.values())

    def add(self, program: str, session_id: str, text: str) -> None:
        """Remember a text that is shown in a session."""
        key = (program, session_id)
        session = self._sessions.setdefault(key, ShownTexts())
        self._sessions.move_to_end(key)
        session[text_key(text)] = words_of(text)
        while len(session) > MAX_TEXTS:
            session.popitem(last=False)
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)


def _is_same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two sets of words are those of one fact."""
    shared, whole = len(one & other), len(one | other)
    if not whole or shared < MIN_SHARED_WORDS * whole:
        return False
    return _numbers(one) == _numbers(other)


def _numbers(words: frozenset[str]) -> set[str]:
    return {word for word in words if any(map(str.isdigit, word))}
