"""Queries from an agent's own notes, each with the places that answer it. Pure.

The choice depends on the text of the notes alone, so that the same notes give the same queries, and a changed note
changes few of them.
"""

from __future__ import annotations

import datetime
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, islice, product, zip_longest

from memd.evaluation.notes import Note, NoteIndex, NoteKind, NoteLine, stable_hash, text_key
from memd.text.query.days.find import find_days
from memd.text.query.identifiers import exact_names
from memd.text.query.names import find_names
from memd.text.tokens import folded_words, is_cjk, split_words

MAX_NAME_LINES = 3
"""A name or heading in more lines than this has no place of its own."""

MIN_NAME_LETTERS, MIN_LONG_WORD = 4, 5
SENTENCE_WORDS, DATE_WORDS = 5, 2
"""Distinctive terms of a sentence that make a query, alone or next to a date."""

MIN_SENTENCE_WORDS = 6
MIN_CJK, MAX_CJK = 5, 14
"""Characters of a query in a script without spaces."""

MAX_QUERY_CHARACTERS = 160

MAX_LINES = 10_000
"""Lines that queries are chosen from, by a hash of their text: more take seconds and give no better choice."""

TODAY = datetime.date(2100, 1, 1)
"""Reading dates needs the day of the question. Only the text of a date is used, so any day serves."""

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])")
_CLAUSE_END = re.compile(r"[，、；：。！？,;:!?()（）「」“”《》\s]+")
_ADDRESS = re.compile(r"\]\([^)]*\)|\b[a-z][a-z0-9+.-]*://\S+")
_MARKUP = "*_`[]#|"


class QueryKind(StrEnum):
    """What a query is made of."""

    HEADING = "headings"
    NAME = "names"
    DATE = "dates"
    RARE_WORD = "rare words"
    SENTENCE = "sentences"


class Wording(StrEnum):
    """How a query is worded."""

    AS_WRITTEN = "as written"
    TYPO = "with a typo"


@dataclass(frozen=True, slots=True)
class EvalQuery:
    """A query, and what answers it.

    Attributes:
        kind: What it is made of.
        text: What is searched for.
        answer: The heading, name, word or sentence that it is made from.
        lines: The lines that contain the answer; the first is the one it is made from.
        wording: How it is worded.
    """

    kind: QueryKind
    text: str
    answer: str
    lines: tuple[NoteLine, ...]
    wording: Wording = Wording.AS_WRITTEN

    @property
    def file_kind(self) -> NoteKind:
        return self.lines[0].note.kind


def make_queries(notes: Iterable[Note], limit: int) -> list[EvalQuery]:
    """Return at most `limit` queries, as many of each kind of file and of query as possible."""
    index = NoteIndex(notes)
    groups: dict[tuple[NoteKind, QueryKind], list[EvalQuery]] = defaultdict(list)
    for query in _candidates(index):
        groups[query.file_kind, query.kind].append(query)
    used: set[str] = set()
    queues = [
        _answerable(index, groups[each], used) for each in product(NoteKind, QueryKind) if each in groups
    ]
    return list(islice(filter(None, chain.from_iterable(zip_longest(*queues))), limit))


def _answerable(index: NoteIndex, candidates: Iterable[EvalQuery], used: set[str]) -> Iterator[EvalQuery]:
    """Yield queries, as written and with a typo, without texts in `used` and those that too many lines answer."""
    by_hash = {stable_hash(query.lines[0].note.path, query.text): query for query in candidates}
    for digest, query in sorted(by_hash.items()):
        if len(query.text) <= MAX_QUERY_CHARACTERS and query.text.lower() not in used:
            used.add(query.text.lower())
            if lines := _answering(index, query):
                yield replace(query, lines=lines)
                typo = with_typo(index, query.text, int(digest, 16))
                if typo and typo.lower() not in used:
                    used.add(typo.lower())
                    yield replace(query, text=typo, lines=lines, wording=Wording.TYPO)


def with_typo(index: NoteIndex, text: str, number: int) -> str:
    """Return a text with one typing error in its longest word; empty if it is short, or becomes a word of the notes.

    `number` selects the error: two letters swapped, or one left out.
    """
    word = max(filter(str.isalpha, split_words(text)), key=len, default="")
    if len(word) < MIN_LONG_WORD:
        return ""
    at = 1 + number // 2 % (len(word) - 3)
    changed = word[:at] + word[at + 1 :]
    if number % 2 and word[at] != word[at + 1]:
        changed = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return "" if index.count(changed) else text.replace(word, changed, 1)


def _answering(index: NoteIndex, query: EvalQuery) -> tuple[NoteLine, ...]:
    """Return the lines that answer a query, its own first; none if a name or heading is in too many."""
    (own,) = query.lines
    lines = index.find(query.answer)
    if query.kind is QueryKind.HEADING and " " in query.text:  # a single word may name other lines
        key = text_key(query.answer)
        lines = [line for line in lines if line.is_heading and text_key(line.text) == key]
    if query.kind is not QueryKind.SENTENCE and len(lines) > MAX_NAME_LINES:
        return ()
    return own, *(line for line in lines if line is not own)


def _candidates(index: NoteIndex) -> Iterator[EvalQuery]:
    """Yield what queries can be made of."""
    lines = index.lines
    if len(lines) > MAX_LINES:
        lines = sorted(lines, key=lambda line: stable_hash(line.note.path, line.text))[:MAX_LINES]
    for line in lines:
        if line.is_heading:
            yield from _from_heading(index, line)
        else:
            for sentence in filter(None, _SENTENCE_END.split(line.text)):
                yield from _from_sentence(index, line, sentence)


def _from_heading(index: NoteIndex, line: NoteLine) -> Iterator[EvalQuery]:
    """Yield the query of a heading, unless it is a date or too short to be distinctive."""
    _, rest = _split_days(line.text)
    if sum(map(is_cjk, rest)) >= MIN_CJK or any(map(index.is_distinctive, split_words(rest))):
        words = (word.strip(_MARKUP) for word in line.text.split() if folded_words(word))
        yield EvalQuery(QueryKind.HEADING, " ".join(words), line.text, (line,))


def _from_sentence(index: NoteIndex, line: NoteLine, sentence: str) -> Iterator[EvalQuery]:
    """Yield the queries of a sentence: its names, a rare word, its distinctive terms, and these with a day."""
    days, rest = _split_days(_ADDRESS.sub(" ", sentence))
    for name in dict.fromkeys([*exact_names(rest), *_capitalized(rest)]):
        if len(name) >= MIN_NAME_LETTERS and not name.isdigit():
            yield EvalQuery(QueryKind.NAME, name, name, (line,))
    rare = (word for word in split_words(rest) if word.isalpha() and index.count(word) == 1)
    word = max(rare, key=len, default="")
    if len(word) >= MIN_LONG_WORD:
        yield EvalQuery(QueryKind.RARE_WORD, word, word, (line,))
    words = _distinctive(index, rest)
    if words and len(folded_words(sentence)) >= MIN_SENTENCE_WORDS:
        yield EvalQuery(QueryKind.SENTENCE, " ".join(words), sentence, (line,))
        if day := next(iter(days), line.note.day):
            yield EvalQuery(QueryKind.DATE, " ".join([day, *words[:DATE_WORDS]]), sentence, (line,))


def _split_days(text: str) -> tuple[list[str], str]:
    """Return the days that a text names in numbers, and the text without all days that it names."""
    days = [span.text for span in find_days(text, TODAY)]
    for day in days:
        text = text.replace(day, " ")
    return [day for day in days if any(map(str.isdigit, day))], text


def _capitalized(text: str) -> list[str]:
    """Return the names in a text by their capital letters, such as `Ana Pereira`."""
    words = "|".join(sorted(find_names(text)))
    return re.findall(rf"\b(?:{words})(?: (?:{words}))*\b", text) if words else []


def _distinctive(index: NoteIndex, sentence: str) -> list[str]:
    """Return the rarest distinctive terms of a sentence in order; in a script without spaces its longest clause."""
    clause = max(_CLAUSE_END.split(sentence), key=lambda each: sum(map(is_cjk, each)))
    if sum(map(is_cjk, clause)) >= MIN_CJK:
        return [clause[:MAX_CJK]]
    words = dict.fromkeys(word for word in split_words(sentence) if index.is_distinctive(word))
    rarest = sorted(words, key=lambda word: (index.count(word), -len(word), word))[:SENTENCE_WORDS]
    return [word for word in words if word in rarest] if len(rarest) > DATE_WORDS else []
