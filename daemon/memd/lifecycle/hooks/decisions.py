"""The line of a session that records a decision. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from memd.lifecycle.hooks.prompts import read_prompt
from memd.text.data_files import read_words
from memd.text.query.word_forms import fold
from memd.text.tokens import asks_at_end, has_cjk

MAX_DECISION_CHARS: Final = 200

MIN_DECISION_CHARS: Final = 12
"""Shortest statement that tells what was decided: "agreed" alone doesn't."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
_WORDS = read_words(Path(__file__).with_suffix(".txt"))


def _pattern(section: str) -> re.Pattern[str]:
    """Return a pattern of the phrases of a section."""
    phrases = [fold(phrase).replace("_", " ") for phrase in _WORDS[section]]
    letters = "|".join(re.escape(phrase) for phrase in phrases if not has_cjk(phrase))
    wide = "|".join(re.escape(phrase) for phrase in phrases if has_cjk(phrase))
    return re.compile(rf"(?<!\w)(?:{letters})(?!\w)|{wide}")


_DECISION, _REASON = _pattern("decision"), _pattern("reason")


def decision_line(lines: Sequence[str]) -> str:
    """Return the last statement of a session that records a decision, else the last request of its user; "" without
    either. `lines` are its last messages, each with its speaker."""
    messages = [line.partition(": ") for line in lines]
    for _, _, message in reversed(messages):
        for sentence in reversed(sentences_in(message)):
            if len(sentence) >= MIN_DECISION_CHARS and is_decision(sentence):
                return _short(sentence)
    requests = (message for speaker, _, message in reversed(messages) if speaker == "User")
    return next((_short(request) for request in requests if not read_prompt(request).silence), "")


def sentences_in(message: str) -> list[str]:
    """Return the sentences of a message."""
    return _SENTENCE_END.split(message)


def is_decision(sentence: str) -> bool:
    """Return whether a sentence records a decision."""
    return not asks_at_end(sentence) and _DECISION.search(fold(sentence)) is not None


def gives_reason(sentence: str) -> bool:
    """Return whether a sentence tells why something is as it is."""
    return not asks_at_end(sentence) and _REASON.search(fold(sentence)) is not None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_DECISION_CHARS else line[: MAX_DECISION_CHARS - 1] + "…"
