"""Statements about a subject, and whether a later one gives another value. Pure functions, no model.

Two statements are about the same subject if nothing but the value differs (`replaces`), or if both have a value for
what a query asks about (`updates`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
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

MAX_ALIGNED_WORDS = 40
"""Longest statements that are compared word by word."""

MIN_SHARED_WORDS = 0.6
"""Share of the shorter statement's words that two statements about the same subject have in common."""

MIN_ASKED_IF_NEW, MIN_ASKED = 0.2, 0.4
"""Share of a query's words that both statements have, if the later one says that its value is new, and if not."""

MANY_ASKED = 3
"""Number of a query's words that are enough whatever their weight, if the later value is new."""

_TOKEN = lazy_pattern(
    rf"[$€£¥₹]?(?<![^\W_])v?\d+(?:[.,:/-]\d+)*\s?%?|[{CJK_CLASS}]|[^\W_{CJK_CLASS}]+(?:['’][^\W\d_]+)?"
)
_LETTERS = lazy_pattern(rf"[{CJK_CLASS}]|[^\W\d_{CJK_CLASS}]+")
_APOSTROPHE = re.compile("['’](?=[a-z]{1,2}$)")
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
        found = []
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
_COPULAS = frozenset(_ROWS["copula"])
_LIGHT = frozenset(_stem_of(word) for word in _ROWS["light"])
_NUMBERED, _NUMBER = (frozenset(map(_stem_of, map(fold, _ROWS[name]))) for name in ("numbered", "number"))
_ASKING = frozenset(_ROWS["asking"])
_DATES = frozenset(fold(word) for word in (*MONTHS, *ENGLISH_WEEKDAYS, *GERMAN_WEEKDAYS) if len(word) > 2)


class Token(NamedTuple):
    """A word, number or date of a statement; `form` is equal for forms of one word."""

    kind: str
    form: str
    start: int
    is_name: bool = False


class _Slot(NamedTuple):
    """A place in a statement at which another has other words, and whether these are names."""

    start: int
    is_named: bool


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
        telling: Its distinctive terms, numbers and dates in order.
        words: The distinctive terms.
        before: Each distinctive term's distinctive terms directly before it.
        values: Its numbers and dates.
        is_changed: Whether it says that something changed.
        is_negated: Whether it is negated.
        is_occasional: Whether its value is that of one day or occasion.
        has_copula: Whether it equates a subject and a value.
        is_question: Whether it asks.
    """

    telling: tuple[Token, ...]
    words: frozenset[str]
    before: Mapping[str, frozenset[str]]
    values: tuple[Value, ...]
    is_changed: bool
    is_negated: bool
    is_occasional: bool
    has_copula: bool
    is_question: bool


def is_asking(word: str) -> bool:
    """Return whether a word of a query, folded, asks for a value instead of naming its subject."""
    return word in _ASKING


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
    changes = _LISTS["change"].spans(folded, raw)
    negations = _LISTS["negation"].spans(folded, raw)
    dropped = {start for start, _ in (*changes, *negations)}
    tokens = _tokens(text, raw)
    telling = tuple(token for token in tokens if token.kind != "grammar" and token.start not in dropped)
    before: dict[str, set[str]] = {}
    for one, other in pairwise(tokens):
        if one.kind == other.kind == "word" and one.start not in dropped and one.form not in _LIGHT:
            before.setdefault(other.form, set()).add(one.form)
    return Statement(
        telling,
        frozenset(token.form for token in telling if token.kind == "word"),
        {word: frozenset(words) for word, words in before.items()},
        tuple(_values(folded, tokens, changes, dropped)),
        bool(changes),
        len(negations) % 2 == 1,
        bool(_LISTS["occasion"].spans(folded, raw)),
        ":" in text or bool(_LISTS["copula"].spans(folded, raw)),
        "?" in text or "？" in text,
    )


def weigh_asked(words: Sequence[str], weights: Sequence[float]) -> dict[str, float]:
    """Return a query's distinctive terms, in the form in which statements have them, with weights whose sum is 1."""
    asked: dict[str, float] = {}
    for word, weight in zip(words, weights, strict=True):
        tokens = read_statement(word).telling if word not in _ASKING else ()
        forms = [token.form for token in tokens if token.kind == "word"]
        for form in forms:
            asked[form] = asked.get(form, 0.0) + weight / len(forms)
    whole = sum(asked.values()) or 1.0
    return {form: weight / whole for form, weight in asked.items()}


def replaces(older: Statement, newer: Statement, *, only_if_changed: bool = False) -> bool:
    """Return whether a later statement is an earlier one with another value.

    With `only_if_changed`, other words or a negation are another value only if the later one says that it is new.
    """
    one, other = older.telling, newer.telling
    if not one or not other or max(len(one), len(other)) > MAX_ALIGNED_WORDS:
        return False
    is_lasting = newer.is_changed or not (older.is_occasional or newer.is_occasional)
    if not is_lasting or older.is_question or newer.is_question:
        return False
    words = max(len(older.words), len(newer.words))
    if len(older.words & newer.words) < max(1.0, MIN_SHARED_WORDS * (words - 1)):
        return False
    shared, slots = _compare(one, other)
    if not shared or shared < MIN_SHARED_WORDS * (words - len(slots)):
        return False
    values, new_values = ({each.form for each in statement.values} for statement in (older, newer))
    if values - new_values and new_values - values:
        return not slots
    if only_if_changed and not newer.is_changed:
        return False
    if not slots:
        return older.is_negated != newer.is_negated and shared >= 2
    if len(slots) > 1 or values != new_values:
        return False
    if newer.is_changed:
        return True
    equates = older.has_copula and newer.has_copula
    return slots[0].start > 0 and shared >= 2 and (slots[0].is_named or equates)


def updates(older: Statement, newer: Statement, asked: Mapping[str, float]) -> bool:
    """Return whether both statements have a value for what a query asks about, and the later one another.

    `asked` has the query's distinctive terms with their weights, which sum to 1.
    """
    common = older.words & newer.words & asked.keys()
    weight = sum(asked[word] for word in common)
    is_enough = weight >= MIN_ASKED_IF_NEW or len(common) >= MANY_ASKED
    values = {each.form for each in older.values}
    return any(
        _measures_same(old, new, asked)
        and (is_enough if new.is_new else _counts_asked(old, new, asked, weight))
        for new in newer.values
        if new.form not in values
        for old in older.values
        if old.kind == new.kind
    ) and not _is_of_another(older, newer, asked)


def _counts_asked(old: Value, new: Value, asked: Mapping[str, float], weight: float) -> bool:
    """Return whether two values count the same thing, which a query asks about, in the same context."""
    near = old.near & new.near & asked.keys()
    return bool(old.units & new.units & asked.keys()) and (weight >= MIN_ASKED or len(near) >= 2)


def _measures_same(old: Value, new: Value, asked: Mapping[str, float]) -> bool:
    """Return whether two values of the same kind measure the same, which a query asks about."""
    near, units = old.near & new.near & asked.keys(), old.units & new.units
    if units & asked.keys():
        return True
    if old.kind == "number" and not new.units and old.units:  # `3 mentees`, `mentees ... increased to 7`
        return new.is_new and bool(old.units & asked.keys()) and bool(new.near & asked.keys())
    if old.kind == "number" and bool(old.units) != bool(new.units):
        return False
    if old.kind == "number" and old.units and not units:
        return False
    return len(near) >= min(2, len(asked)) if old.kind == "number" else len(near) >= 1


def _is_of_another(older: Statement, newer: Statement, asked: Mapping[str, float]) -> bool:
    """Return whether the same asked word has another qualifier: `staging database` and `production database`."""
    for word in asked.keys() & older.before.keys() & newer.before.keys():
        old, new = older.before[word], newer.before[word]
        if old.isdisjoint(new) and (asked.keys().isdisjoint(old) or asked.keys().isdisjoint(new)):
            return True
    return False


def _compare(one: Sequence[Token], other: Sequence[Token]) -> tuple[int, list[_Slot]]:
    """Return how many words two statements share in order, and the places of words that others replace."""
    ops = SequenceMatcher(None, [t.form for t in one], [t.form for t in other], autojunk=False).get_opcodes()
    shared, slots = 0, []
    for tag, start, end, other_start, other_end in ops:
        if tag == "equal":
            shared += sum(token.kind == "word" for token in one[start:end])
        elif tag == "replace":
            old, new = _before_value(one[start:end]), _before_value(other[other_start:other_end])
            if old and new:
                is_named = any(token.is_name for token in old) and any(token.is_name for token in new)
                slots.append(_Slot(start, is_named))
    return shared, slots


def _before_value(tokens: Sequence[Token]) -> list[Token]:
    """Return the words before a value; the word after it is its unit."""
    kinds = [token.kind for token in tokens]
    end = next((at for at, kind in enumerate(kinds) if kind != "word"), len(kinds))
    return list(tokens[:end])


def _raw(folded: str) -> list[tuple[str, int]]:
    return [(found[0], found.start()) for found in _TOKEN.finditer(folded)]


def _tokens(text: str, raw: Sequence[tuple[str, int]]) -> list[Token]:
    words = frozenset(word for word, _ in raw)
    grammar = _grammar(languages_of_text(words, text))
    tokens = []
    for at, (word, start) in enumerate(raw):
        first = word[0]
        if first.isdigit() or first in "$€£¥₹" or (first == "v" and word[1:2].isdigit()):
            tokens.append(
                Token("number", word.strip().rstrip("%").strip() + ("%" if "%" in word else ""), start)
            )
        elif word in _DATES or word.removesuffix("s") in _DATES:
            around = (raw[at - 1][0][:1] if at else "") + (raw[at + 1][0][:1] if at + 1 < len(raw) else "")
            is_date = word not in _AMBIGUOUS_DATES or any(map(str.isdigit, around))
            tokens.append(Token("date" if is_date else "grammar", word.removesuffix("s"), start))
        else:
            bare = _APOSTROPHE.split(word)[0] if "'" in word or "’" in word else word
            stem = _stem_of(bare)
            kind = "grammar" if bare in grammar else "word"
            tokens.append(Token(kind, stem, start, at > 0 and text[start].isupper()))
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
        kind, form = _kind_of(token)
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


def _kind_of(token: Token) -> tuple[str, str]:
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
