"""Statements about a subject, read for comparison: terms, values, and words that say what changed. Pure, no model.

`memd.text.revisions` compares two of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise, takewhile
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from memd.text.data_files import read_words
from memd.text.language.stems import languages_of_text
from memd.text.language.stopwords import WORDS_OF
from memd.text.lazy_pattern import lazy_pattern
from memd.text.query.days.words import ENGLISH_WEEKDAYS, GERMAN_WEEKDAYS, MONTHS
from memd.text.query.word_forms import MIN_STEM_LETTERS, fold, stem_word
from memd.text.tokens import CJK_CLASS, has_cjk

NEAR_WORDS = 8
"""Words on each side of a value that say what it is a value of."""

MAX_UNIT_WORDS = 3
"""Words after a number that say what it counts: `12 conditional probability problems`."""

NEWS_CHARS = 45
"""Characters within which a word of change belongs to a value after it."""

_TOKEN = lazy_pattern(
    rf"[$€£¥₹]?(?<![^\W_])v?\d+(?:[.,:/-]\d+)*\s?%?|[{CJK_CLASS}]|/?[^\W_{CJK_CLASS}]+(?:[-_./@]*[^\W_{CJK_CLASS}]+)*(?:['’][^\W\d_]+)?"
)
_LETTERS = lazy_pattern(rf"[{CJK_CLASS}]|[^\W\d_{CJK_CLASS}]+")
_APOSTROPHE = re.compile("['’](?=[a-z]{1,2}$)")
_HIRAGANA = re.compile("[\u3040-\u309f]")
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_AMBIGUOUS_DATES = frozenset(
    ("may", "march", "mar", "sun", "sat", "second", "mai", "so", "mi", "do", "di", "fr")
)


@lru_cache(maxsize=8_192)
def _stem_of(word: str) -> str:
    """Return what the forms of a word have in common: `stud` for `study` and `studies`."""
    stem = stem_word(word)[0]
    return stem.rstrip("ey") if len(stem) > MIN_STEM_LETTERS else stem


class _Words:
    """Words and phrases of one section of `statements.txt`."""

    def __init__(self, rows: Sequence[str]) -> None:
        words = [fold(row).replace("_", " ") for row in rows]
        phrases = [word.split(" ") for word in words if " " in word]
        self._plain = frozenset(word for word in words if not has_cjk(word))
        self._firsts = frozenset(first for first, *_ in phrases)
        self._cjk = tuple(word for word in words if has_cjk(word))

    def spans(self, folded: str, tokens: Sequence[tuple[str, int]]) -> list[tuple[int, int]]:
        """Return the spans of its words and phrases in a text, in characters."""
        found = list[tuple[int, int]]()
        words = dict(tokens)
        if self._plain.isdisjoint(words) and self._firsts.isdisjoint(words) and folded.isascii():
            return found
        for place, (word, at) in enumerate(tokens):
            if word in self._plain:
                found.append((at, at + len(word)))
            elif word in self._firsts:
                for end in range(place + 2, min(place + 4, len(tokens) + 1)):
                    if " ".join(each for each, _ in tokens[place:end]) in self._plain:
                        last, start = tokens[end - 1]
                        found.append((at, start + len(last)))
        if not folded.isascii():
            found += [(at, at + len(word)) for word in self._cjk if (at := folded.find(word)) >= 0]
        return found

    def may_occur(self, text: str) -> bool:
        """Return whether a text may have one of its words. Fast."""
        folded = fold(text)
        words = _LETTERS.findall(folded)
        return not (self._plain.isdisjoint(words) and self._firsts.isdisjoint(words)) or (
            not text.isascii() and any(word in folded for word in self._cjk)
        )


_ROWS = read_words(Path(__file__).with_suffix(".txt"))
_LISTS = {name: _Words(rows) for name, rows in _ROWS.items()}
_READ = ("change", "announcing", "negation", "proposal", "further", "occasion", "event", "copula")
_COPULAS = frozenset(_ROWS["copula"])
_NUMBERED, _NUMBER = (frozenset(map(_stem_of, map(fold, _ROWS[name]))) for name in ("numbered", "number"))
_ASKING = frozenset(_ROWS["asking"])
_FORMS = {
    name: frozenset(_stem_of(fold(row)) for row in _ROWS[name])
    for name in ("state", "topic", "from", "copula", "event", "light")
}
_COLON = re.compile(r":(?!\d)|：")
_CLAUSE = re.compile(r"[,:;()!–—→=。，：、]|\.\s|-\s")
_DATES = frozenset(fold(word) for word in (*MONTHS, *ENGLISH_WEEKDAYS, *GERMAN_WEEKDAYS) if len(word) > 2)


class Token(NamedTuple):
    """A word, number or date of a statement.

    Attributes:
        kind: `word`, `number`, `date`, `grammar`, or `change` and `negation` for words that say so.
        form: Equal for all forms of one word.
        start: Its first character.
        begins: Whether a clause begins with it.
    """

    kind: str
    form: str
    start: int
    begins: bool = False


class Value(Struct, frozen=True):
    """A number or date of a statement.

    Attributes:
        kind: `date`, `%`, a currency, or `number`.
        form: The value.
        near: Distinctive terms around it.
        units: The words directly after it: what it counts or measures.
        is_new: Whether the statement says that the value is new.
    """

    kind: str
    form: str
    near: frozenset[str]
    units: frozenset[str]
    is_new: bool


class Statement(Struct, frozen=True):
    """One sentence or line, read for comparison.

    Attributes:
        tokens: All of its words, numbers and dates in order.
        words: The distinctive terms.
        before: Each distinctive term's distinctive terms directly before it.
        values: Its numbers and dates.
        is_changed: Whether it says that something changed.
        is_proposal: Whether it may not come true, or did not.
        is_further: Whether it adds a value to earlier ones.
        is_negated: Whether it is negated.
        is_occasional: Whether its value is that of one day or occasion.
        is_event: Whether it says what somebody did or should do once.
        has_copula: Whether it equates a subject and a value.
        is_question: Whether it asks.
    """

    tokens: tuple[Token, ...]
    words: frozenset[str]
    before: Mapping[str, frozenset[str]]
    values: tuple[Value, ...]
    is_changed: bool
    is_proposal: bool
    is_further: bool
    is_negated: bool
    is_occasional: bool
    is_event: bool
    has_copula: bool
    is_question: bool


def is_asking(word: str) -> bool:
    """Return whether a word of a query, folded, asks for a value instead of naming its subject."""
    return word in _ASKING


def is_state(word: str) -> bool:
    """Return whether a word of a query, folded, is a verb such as `runs`, which says nothing about the subject."""
    return is_listed("state", _stem_of(word))


def asks_about_past(query: str) -> bool:
    """Return whether a query asks for an earlier value."""
    folded = fold(query)
    raw = _raw(folded)
    has_verb, may_ask = (bool(_LISTS[name].spans(folded, raw)) for name in ("past-verb", "past-if-verb"))
    return (has_verb and may_ask) or bool(_LISTS["past"].spans(folded, raw))


def letter_words(text: str) -> frozenset[str]:
    """Return all words of a text; each letter of scripts without spaces is one. Fast."""
    return frozenset(_LETTERS.findall(fold(text)))


def may_be_new(text: str) -> bool:
    """Return whether a statement may say that something changed. Fast."""
    return _LISTS["change"].may_occur(text)


@lru_cache(maxsize=128)
def read_statement(text: str) -> Statement:
    """Return a statement, read for comparison."""
    folded = fold(text)
    raw = _raw(folded)
    spans = {name: words.spans(folded, raw) for name, words in _LISTS.items() if name in _READ}
    changes, negations = spans["change"], spans["negation"]
    dropped = {start for start, _ in (*changes, *negations)}
    tokens = _tokens(text, raw)
    values = _values(folded, tokens, changes, dropped)
    before: dict[str, set[str]] = {}
    for one, other in pairwise(tokens):
        if one.kind == other.kind == "word" and one.start not in dropped and not is_listed("light", one.form):
            before.setdefault(other.form, set()).add(one.form)
    marked = _marked(tokens, {"change": [*changes, *spans["announcing"]], "negation": negations})
    announced = {start for start, _ in spans["announcing"]}
    return Statement(
        tuple(marked),
        frozenset(token.form for token in marked if token.kind == "word"),
        {word: frozenset(words) for word, words in before.items()},
        tuple(values),
        any(
            token.kind == "change" and (token.start not in announced or _begins_clause(marked, at))
            for at, token in enumerate(marked)
        ),
        bool(spans["proposal"]),
        bool(spans["further"]),
        len(negations) % 2 == 1,
        bool(spans["occasion"]),
        bool(spans["event"]),
        _COLON.search(text) is not None or bool(spans["copula"]),
        "?" in text or "？" in text,
    )


def is_listed(name: str, form: str) -> bool:
    """Return whether the form of a word is in a section of `statements.txt`."""
    return form in _FORMS[name]


def _marked(tokens: Sequence[Token], spans: Mapping[str, Sequence[tuple[int, int]]]) -> list[Token]:
    """Return tokens with the kinds of the spans that they are in; a number that is a name becomes a word."""
    marked = list(tokens)
    for at, token in enumerate(tokens):
        if token.kind == "number" and _is_numbered(tokens[:at]):
            marked[at] = token._replace(kind="word")
    for kind, places in spans.items():
        for start, end in places:
            for at, token in enumerate(tokens):
                if start <= token.start < end:
                    marked[at] = token._replace(kind=kind)
    return marked


def _begins_clause(tokens: Sequence[Token], at: int) -> bool:
    """Return whether a clause begins with a token, apart from grammar."""
    while at > 0 and not tokens[at].begins and tokens[at - 1].kind == "grammar":
        at -= 1
    return at == 0 or tokens[at].begins


def _raw(folded: str) -> list[tuple[str, int]]:
    return [(found[0], found.start()) for found in _TOKEN.finditer(folded)]


def _tokens(text: str, raw: Sequence[tuple[str, int]]) -> list[Token]:
    words = frozenset(word for word, _ in raw)
    grammar = _grammar(languages_of_text(words, text))
    tokens: list[Token] = []
    end = 0
    for at, (word, start) in enumerate(raw):
        begins = text[end:start] not in ("", " ") and _CLAUSE.search(text, end, start) is not None
        end, first = start + len(word), word[0]
        if first.isdigit() or first in "$€£¥₹" or (first == "v" and word[1:2].isdigit()):
            tokens.append(
                Token(
                    "number", word.strip().rstrip("%").strip() + ("%" if "%" in word else ""), start, begins
                )
            )
        elif word in _DATES or word.removesuffix("s") in _DATES:
            around = (raw[at - 1][0][:1] if at else "") + (raw[at + 1][0][:1] if at + 1 < len(raw) else "")
            is_date = word not in _AMBIGUOUS_DATES or any(map(str.isdigit, around))
            tokens.append(Token("date" if is_date else "grammar", word.removesuffix("s"), start, begins))
        else:
            bare = _APOSTROPHE.split(word)[0] if "'" in word or "’" in word else word
            stem = _stem_of(bare)
            kind = "grammar" if bare in grammar or _HIRAGANA.match(bare) else "word"
            tokens.append(Token(kind, stem, start, begins))
    return tokens


@cache
def _grammar(languages: tuple[str, ...]) -> frozenset[str]:
    return WORDS_OF["en"].union(*(WORDS_OF[each] for each in languages))


def _values(
    folded: str, tokens: Sequence[Token], changes: Sequence[tuple[int, int]], dropped: set[int]
) -> list[Value]:
    """Return the numbers and dates of a statement; a month and its day are one value."""
    values: list[Value] = []
    for at, token in enumerate(tokens):
        if token.kind not in ("number", "date"):
            continue
        left, right = tokens[max(0, at - NEAR_WORDS) : at], tokens[at + 1 : at + 1 + NEAR_WORDS]
        is_part = any(each.kind == "date" for each in (*left[-2:], *right[:1]))
        is_identifier = bool(right) and right[0].form in _COPULAS  # `port 5433 is taken`
        is_identifier |= token.kind == "number" and _is_numbered(left)
        if is_identifier or (token.kind == "number" and is_part):
            continue
        kind, form = kind_of(token)
        if kind == "date":
            form = " ".join(
                [form, *(each.form for each in (*left[-1:], *right[:1]) if each.kind == "number")]
            )
        near = frozenset(
            each.form for each in (*left, *right) if each.kind == "word" and each.start not in dropped
        )
        end = token.start + len(token.form)
        is_new = any(
            start - end <= 20 if start >= end else 0 <= token.start - stop <= NEWS_CHARS
            for start, stop in changes
        )
        units = takewhile(lambda each: each.kind == "word", right[:MAX_UNIT_WORDS])
        values.append(Value(kind, form, near, frozenset(each.form for each in units), is_new))
    return values


def _is_numbered(left: Sequence[Token]) -> bool:
    """Return whether the words before a number make it a name: `ticket 12`, `task number 3`."""
    if left and left[-1].form in _NUMBER:
        left = left[:-1]
    return bool(left) and left[-1].form in _NUMBERED


def kind_of(token: Token) -> tuple[str, str]:
    form = token.form
    if token.kind == "date" or _ISO_DAY.fullmatch(form):
        return "date", form
    if form.endswith("%") or form[0] in "$€£¥₹":
        return ("%" if form[-1] == "%" else form[0]), form
    if form[0] == "v" or form.count(".") > 1:
        return "version", form
    if ":" in form:
        return "time", form
    return "number", form
