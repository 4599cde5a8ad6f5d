"""A question -> words worth searching, and the expressions FTS5 is asked with.

User text never reaches MATCH as it is: words are taken out of it and quoted one by one. Characters of Han,
kana, Hangul and Thai are searched one by one: `spaced` puts spaces around them, in what is indexed and in
what is asked, so that a quoted run of them is a phrase, that is an exact substring.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memd.text.stopwords import CHINESE_CHARACTERS, PHRASES, STOP_WORDS
from memd.text.tokens import CJK_CLASS

_WORD = re.compile(r"\w+")
_CJK_CHAR = re.compile(f"([{CJK_CLASS}])")
_CJK_RUN = re.compile(f"[{CJK_CLASS}]+")
_HAN_OR_KANA = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_PIECE = re.compile(f"[{CJK_CLASS}]+|[^\\W{CJK_CLASS}]+")
_NUMBER = re.compile(r"\d+")

SHORT_LATIN = 2
"""Words of the Latin alphabet up to this length carry no meaning in a question."""


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """How a question is put to FTS5.

    Attributes:
        strict: All words, or None where there is no word.
        any: Any word worth searching, or None where there is no word.
        words: The words worth searching, for finding the place to quote.
    """

    strict: str | None
    any: str | None
    words: tuple[str, ...]


def spaced(text: str) -> str:
    """Return a text with spaces around every character that is searched on its own."""
    if text.isascii():
        return text
    return _CJK_CHAR.sub(r" \1 ", text)


def strict_query(raw: str) -> str | None:
    """Return an expression that asks for all words of a question, each quoted; None where there is none."""
    words = _WORD.findall(_clean(raw))
    return " AND ".join(f'"{word}"' for word in words) or None


def any_query(words: Sequence[str]) -> str | None:
    """Return an expression that asks for any of some words, each quoted; None where there is none."""
    return " OR ".join(f'"{word}"' for word in words) or None


def content_keywords(raw: str) -> list[str]:
    """Return the content words of a conversational question, lower case, in order of first appearance.

    Chinese runs give their characters and pairs of neighbours; stop words, bare numbers and Latin words of
    one or two letters go.
    """
    found: list[str] = []
    for piece in _PIECE.findall(_clean(raw).lower().replace("_", " ")):
        if _HAN_OR_KANA.search(piece):
            found.extend(piece)
            found.extend(piece[at : at + 2] for at in range(len(piece) - 1))
        else:
            found.append(piece)
    return list(dict.fromkeys(word for word in found if _is_content(word)))


def plan_match(raw: str) -> MatchPlan:
    """Return how a question is put to FTS5.

    Args:
        raw: The question as it was asked.
    """
    strict = strict_query(raw)
    latin = [word for word in _words(raw) if not _CJK_RUN.fullmatch(word)]
    runs = [word for word in _words(raw) if _CJK_RUN.fullmatch(word)]
    content = [word for word in latin if word.lower() not in STOP_WORDS and (len(word) > 1 or word.isdigit())]
    pairs = list(dict.fromkeys(pair for run in runs for pair in _pairs(run)))
    words = content + pairs or latin
    expression = any_query([spaced(word) for word in words])
    return MatchPlan(spaced(strict) if strict is not None else None, expression, tuple(words))


def _words(raw: str) -> list[str]:
    """Return the words of a question, runs of characters searched one by one kept together, each once."""
    return list(dict.fromkeys(_PIECE.findall(_clean(raw).replace("_", " "))))


def _pairs(run: str) -> Iterable[str]:
    """Return the neighbouring pairs of a run that carry meaning; the run itself where it is short."""
    if len(run) <= 2:
        return [run]
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    telling = [pair for pair in pairs if pair not in PHRASES and not set(pair) <= CHINESE_CHARACTERS]
    return telling or pairs


def _clean(raw: str) -> str:
    """Return a text without what FTS5 can't take: NUL ends an expression, lone surrogates can't be stored."""
    if raw.isascii():
        return raw.replace("\0", " ")
    return "".join(" " if char == "\0" or "\ud800" <= char <= "\udfff" else char for char in raw)


def _is_content(word: str) -> bool:
    """Return whether a word of a question carries meaning, by OpenClaw's rules."""
    if word in STOP_WORDS or word in PHRASES or word in CHINESE_CHARACTERS or _NUMBER.fullmatch(word):
        return False
    return not (word.isascii() and len(word) <= SHORT_LATIN)
