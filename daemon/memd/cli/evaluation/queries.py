"""Queries from an agent's own notes, each with the place it was made from. Pure.

The choice depends on the text of the notes and a seed alone, so that the same notes give the same queries, and a
changed note changes few of them.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memd.cli.evaluation.notes import NoteIndex, NoteKind, NoteLine, NoteText, text_key, tokens
from memd.cli.search import STOP_WORDS, UNSPACED, WORD

MAX_NAME_LINES = 3
"""A name or heading in more lines than this names no place."""

MAX_NAME_WORDS = 3

CALENDAR_WORDS = frozenset(
    """
january february march april may june july august september october november december monday tuesday wednesday
thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays
""".split()
)
"""Capitalized words that are no names: a search takes them for days."""

SENTENCE_WORDS = 5
"""Distinctive terms of a sentence that make a query."""

DATE_WORDS = 2
"""Distinctive terms next to a date."""

MIN_SENTENCE_TOKENS = 6
MIN_UNSPACED, MAX_UNSPACED = 5, 14
"""Characters of a query in a script without spaces."""

MIN_RARE_LETTERS = 5
MIN_TYPO_LETTERS = 5
"""Shortest word with a typing error; shorter ones would become other words."""

MAX_QUERY_CHARACTERS = 160

MAX_LINES = 20_000
"""Lines that queries are chosen from, by a hash of their text: more take seconds and give no better choice."""

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])")
_CLAUSE_END = re.compile(r"[，、；：。！？,;:!?()（）「」“”《》\s]+")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_DATE = re.compile(
    rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b\d{{1,2}}\.\d{{1,2}}\.\d{{4}}\b|\b\d{{1,2}} {_MONTH}\b(?: \d{{4}})?"
    rf"|\b{_MONTH} \d{{1,2}}\b(?:, \d{{4}})?|(?:\d{{4}}\s*年\s*)?\d{{1,2}}\s*月\s*\d{{1,2}}\s*[日号號]"
)
_IDENTIFIER = re.compile(
    r"(?<![\w./:-])[A-Za-z0-9]+(?:[-_./:][A-Za-z0-9]+)+(?![\w-])|\b[A-Za-z]+[a-z][A-Z]\w*\b"
)
_MIXED = re.compile(r"\b(?=[A-Za-z0-9]*[A-Za-z])(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{4,}\b")
_LETTERS = re.compile(r"[^\W\d_]+")

NO_NAMES = STOP_WORDS | CALENDAR_WORDS


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
    REORDERED = "other word order"


@dataclass(frozen=True, slots=True)
class QueryPlace:
    """Lines of a file that answer a query, and texts, one in each snippet that shows the place."""

    path: str
    first_line: int
    last_line: int
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EvalQuery:
    """A query, and the places that answer it; the first is the one it was made from.

    Queries that differ in their wording alone have the same `origin`.
    """

    text: str
    kind: QueryKind
    wording: Wording
    file_kind: NoteKind
    path: str
    line: int
    places: tuple[QueryPlace, ...]
    origin: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A query that may be chosen: the line it is made from, its parts in order, and the text that it represents."""

    kind: QueryKind
    line: NoteLine
    parts: tuple[str, ...]
    text: str

    @property
    def query(self) -> str:
        return " ".join(self.parts)


def make_queries(notes: Iterable[NoteText], limit: int, seed: int = 0) -> list[EvalQuery]:
    """Return at most `limit` queries, as many of each kind of file and of query as possible."""
    index = NoteIndex(notes)
    groups: dict[tuple[NoteKind, QueryKind], list[tuple[str, _Candidate]]] = defaultdict(list)
    for candidate in _candidates(index, seed):
        origin = _digest(seed, candidate.kind, candidate.line.note.path, candidate.query)
        groups[candidate.line.note.kind, candidate.kind].append((origin, candidate))
    kinds = [(file_kind, kind) for file_kind in NoteKind for kind in QueryKind]
    queues = [iter(sorted(groups[each], key=lambda item: item[0])) for each in kinds if each in groups]
    chosen: list[EvalQuery] = []
    used: set[str] = set()
    while queues and len(chosen) < limit:
        for queue in list(queues):
            made = next(filter(None, (_new(_worded(index, *each), used) for each in queue)), None)
            if made is None:
                queues.remove(queue)
            else:
                chosen += made
    return chosen[:limit]


def _new(queries: Sequence[EvalQuery], used: set[str]) -> list[EvalQuery]:
    """Return the queries whose texts were not used yet, and note that they are; none if the first one was."""
    if not queries or queries[0].text.casefold() in used:
        return []
    new = []
    for query in queries:
        if (key := query.text.casefold()) not in used:
            used.add(key)
            new.append(query)
    return new


def _digest(*parts: object) -> str:
    """Return a hash of texts and numbers that is the same in every process."""
    text = "\0".join(map(str, parts))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()


# --- wordings --------------------------------------------------------------------------------------


def _worded(index: NoteIndex, origin: str, candidate: _Candidate) -> list[EvalQuery]:
    """Return a query in each wording that it has; none if too many places answer it."""
    places = _places(index, candidate)
    if not places or len(candidate.query) > MAX_QUERY_CHARACTERS:
        return []
    line, number = candidate.line, int(origin, 16)
    wordings = {
        Wording.AS_WRITTEN: candidate.query,
        Wording.TYPO: _unknown(index, candidate.query, with_typo(candidate.query, number)),
        Wording.REORDERED: reordered(candidate.parts, number),
    }
    return [
        EvalQuery(text, candidate.kind, wording, line.note.kind, line.note.path, line.number, places, origin)
        for wording, text in wordings.items()
        if text is not None
    ]


def with_typo(text: str, number: int) -> str | None:
    """Return a text with one typing error in its longest word; None if all words are short.

    `number` selects the error: two letters swapped, one left out, or one doubled.
    """
    words = [
        match
        for match in WORD.finditer(text)
        if match.group().isalpha() and not UNSPACED.search(match.group())
    ]
    longest = max(words, key=lambda match: (len(match.group()), -match.start()), default=None)
    if longest is None or len(longest.group()) < MIN_TYPO_LETTERS:
        return None
    word = longest.group()
    at = 1 + number // 3 % (len(word) - 3)
    match number % 3:
        case 0 if word[at] != word[at + 1]:
            changed = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        case 1:
            changed = word[:at] + word[at + 1 :]
        case _:
            changed = word[: at + 1] + word[at:]
    return text[: longest.start()] + changed + text[longest.end() :]


def _unknown(index: NoteIndex, text: str, changed: str | None) -> str | None:
    """Return a text with a typing error, unless the error made another word of the notes."""
    if changed is None or any(index.count(word) for word in {*tokens(changed)} - {*tokens(text)}):
        return None
    return changed


def reordered(parts: Sequence[str], number: int) -> str | None:
    """Return the parts of a query in another order; None if there is none."""
    if len(set(parts)) < 2:
        return None
    shift = 1 + number % (len(parts) - 1)
    turned = [*parts[shift:], *parts[:shift]]
    if turned == list(parts):
        turned = list(reversed(parts))
    return None if turned == list(parts) else " ".join(turned)


def _places(index: NoteIndex, candidate: _Candidate) -> tuple[QueryPlace, ...]:
    """Return the places that answer a query, its own first; none if a name or heading has too many."""
    own, key = candidate.line, text_key(candidate.text)
    found = index.find(candidate.text)
    if (
        candidate.kind is QueryKind.HEADING and len(candidate.parts) > 1
    ):  # one word alone may name other lines
        found = [line for line in found if line.level and text_key(line.text) == key]
    if candidate.kind is not QueryKind.SENTENCE and len(found) > MAX_NAME_LINES:
        return ()
    others = [line for line in found if line is not own]
    return tuple(
        QueryPlace(
            line.note.path,
            line.first,
            line.last,
            (candidate.text, line.following) if line.following else (candidate.text,),
        )
        for line in (own, *others)
    )


# --- candidates ------------------------------------------------------------------------------------


def _candidates(index: NoteIndex, seed: int) -> Iterator[_Candidate]:
    """Yield what queries can be made of."""
    lines = index.lines
    if len(lines) > MAX_LINES:
        lines = sorted(lines, key=lambda line: _digest(seed, line.note.path, line.text))[:MAX_LINES]
    for line in lines:
        if line.level:
            yield from _heading(index, line)
            continue
        yield from _names(index, line)
        yield from _rare_word(index, line)
        for sentence in filter(None, _SENTENCE_END.split(line.text)):
            yield from _sentence(index, line, sentence)


def _heading(index: NoteIndex, line: NoteLine) -> Iterator[_Candidate]:
    """Yield the query of a heading, unless it is a date or too short to name a place."""
    words = [word for word in line.text.split() if tokens(word)]
    left = _DATE.sub("", line.text)
    wide = sum(map(len, UNSPACED.findall(left)))
    if wide >= MIN_UNSPACED or any(index.is_telling(word) for word in WORD.findall(left)):
        yield _Candidate(QueryKind.HEADING, line, tuple(words), line.text)


def _names(index: NoteIndex, line: NoteLine) -> Iterator[_Candidate]:
    """Yield the queries of a line's identifiers, and of its capitalized words that begin no sentence."""
    text = _DATE.sub(" ", line.text)
    found = [*_IDENTIFIER.findall(text), *_MIXED.findall(text)]
    found += _capitalized(text)
    for name in dict.fromkeys(each for each in found if any(map(str.isalpha, each))):
        if len(name) >= MIN_UNSPACED - 1 and name.casefold() not in NO_NAMES:
            yield _Candidate(QueryKind.NAME, line, tuple(name.split()), name)


def _capitalized(text: str) -> list[str]:
    """Return the runs of capitalized words that begin no sentence, such as `Ana Pereira`."""
    names: list[list[str]] = []
    before, was_named = 0, False
    for match in _LETTERS.finditer(text):
        gap, word = text[before : match.start()], match.group()
        is_named = word[0].isupper() and bool(before) and gap in (" ", ", ", "; ")
        if is_named and was_named and gap == " " and len(names[-1]) < MAX_NAME_WORDS:
            names[-1].append(word)
        elif is_named:
            names.append([word])
        before, was_named = match.end(), is_named
    return [" ".join(words) for words in names]


def _rare_word(index: NoteIndex, line: NoteLine) -> Iterator[_Candidate]:
    """Yield the query of the longest word that no other line has."""
    words = [word for word in WORD.findall(line.text) if len(word) >= MIN_RARE_LETTERS and word.isalpha()]
    rare = [word for word in words if not UNSPACED.search(word) and index.count(word) == 1]
    if rare:
        word = max(rare, key=lambda each: (len(each), each))
        yield _Candidate(QueryKind.RARE_WORD, line, (word,), word)


def _sentence(index: NoteIndex, line: NoteLine, sentence: str) -> Iterator[_Candidate]:
    """Yield the queries of a sentence: its distinctive terms, and those with the day of it or of its note."""
    if len(tokens(sentence)) < MIN_SENTENCE_TOKENS:
        return
    mention = _DATE.search(sentence)
    words = _telling(index, _DATE.sub(" ", sentence))
    if not words:
        return
    yield _Candidate(QueryKind.SENTENCE, line, words, sentence)
    day = mention.group() if mention else line.note.day
    if day:
        yield _Candidate(QueryKind.DATE, line, (day, *words[:DATE_WORDS]), sentence)


def _telling(index: NoteIndex, sentence: str) -> tuple[str, ...]:
    """Return the rarest distinctive terms of a sentence in order; in a script without spaces its rarest clause."""
    clauses = [
        each for each in _CLAUSE_END.split(sentence) if sum(map(len, UNSPACED.findall(each))) >= MIN_UNSPACED
    ]
    if clauses:
        rarest = min(clauses, key=lambda each: (index.rarity(each), each))
        return (rarest[:MAX_UNSPACED],)
    words = list(dict.fromkeys(word for word in WORD.findall(sentence) if index.is_telling(word)))
    rarest_words = sorted(words, key=lambda word: (index.count(word), -len(word), word))[:SENTENCE_WORDS]
    return tuple(word for word in words if word in rarest_words) if len(rarest_words) > DATE_WORDS else ()
