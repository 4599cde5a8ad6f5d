"""Outdated statements among the candidates, and the current ones that supersede them. Pure functions.

Only dated statements are compared: those of dated notes, under dated headings, in lines with a date, and messages.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memd.search.rank.fusion import Ranked, with_score
from memd.search.rank.lines import Bools, Floats, LineMatches
from memd.text.query.dates import day_of_note
from memd.text.query.speakers import ASSISTANT_LABELS, USER_LABELS, without_label
from memd.text.query.word_forms import fold
from memd.text.revisions import replaces, updates, weigh_asked
from memd.text.statements import Statement, is_asking, is_state, letter_words, may_be_new, read_statement
from memd.text.trust.origins import AGENT, UNKNOWN, LineOrigins

FileOrigins: TypeAlias = Mapping[str, LineOrigins]

MAX_STATEMENTS = 12
"""Statements compared per search, those with most of the query's words."""

MAX_LINES_READ = 24
"""Lines read per search to find statements among them: most others are a model's or undated."""

MAX_PAIRS = 8
"""Pairs of statements compared word by word per search."""

MAX_REPLACED_CHARS, MAX_SIZE_RATIO = 300, 2.5
"""Longest lines compared word by word, and the highest ratio of their lengths."""

COUNTED_CHARS, COUNTED_PREFIX = 45, 4
"""Characters after a number that may name what it counts, and letters that forms of a word share."""

MIN_COVERAGE = 0.15
"""Share of the query's words that a statement has, weighted by rarity."""

MIN_REPLACED_COVERAGE = 0.3
"""The same of the words that two statements share, if they are compared without regard to the query."""

MIN_UPDATE_TOKENS = 24
"""Words of the longer of two messages of the user from which the query decides what they are about: in shorter ones
every word counts, and another word names another subject."""

MIN_SERIES_DAYS = 3
"""Days with another value each, none of which is said to be new, that are a series of measurements."""

_DAY = r"(\d{4}-\d\d-\d\d)"
_KNOWN_LABELS = USER_LABELS | ASSISTANT_LABELS
_WEEKDAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag")
_DIGITS = re.compile(r"\d+")
_DATED_LINE = re.compile(rf"^[\s>*+-]*[\[(*]*{_DAY}[\])*]*[:,]?\s|[\[(]{_DAY}[\])]")
_DATED_HEADING = re.compile(rf"^#{{1,6}} .*?\b{_DAY}\b", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?(?:-->|$)")
_MARKER = re.compile(r"^\s*(?:[-*+>]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")


class ReadChunks(NamedTuple):
    """The chunks that were read line by line, in columns: id, path, first line and text of each.

    `days` has the days of facts, by path and line, and `times` the times of messages, in milliseconds UTC, by chunk.
    """

    ids: Sequence[int]
    paths: Sequence[str]
    start_lines: Sequence[int]
    texts: Sequence[str]
    days: Mapping[str, Mapping[int, datetime.date]] = {}
    times: Mapping[int, int] = {}


class DatedLine(NamedTuple):
    """A line of a chunk, its day, who says it (None in a note), and its time if it is a message."""

    day: datetime.date
    path: str
    line: int
    chunk_id: int
    speaker: str | None
    text: str
    time_ms: int = 0


class Superseded(Struct, frozen=True):
    """An outdated statement, and the latest one that supersedes it."""

    outdated: DatedLine
    current: DatedLine


def find_superseded(chunks: ReadChunks, lines: LineMatches, origins: FileOrigins) -> list[Superseded]:
    """Return the outdated statements among candidates, those with most of the query's words first.

    Args:
        chunks: The candidates whose lines were matched, in that order.
        lines: Their matches.
        origins: Whose words the lines of files are, by path.
    """
    forms = lines.forms
    asks = np.fromiter(map(is_asking, forms), bool, len(forms))
    is_distinctive = lines.words.any(axis=0) & ~lines.names & ~asks
    if not all(is_state(form) for form, is_one in zip(forms, is_distinctive, strict=True) if is_one):
        is_distinctive &= ~np.fromiter(map(is_state, forms), bool, len(forms))
    weights = np.where(is_distinctive, lines.weights, 0.0)
    distinctive = [word for word, is_one in zip(forms, is_distinctive.tolist(), strict=True) if is_one]
    whole = float(weights.sum())
    if whole <= 0:
        return []
    weights /= whole
    coverage: Floats = lines.matched.astype(float) @ weights
    best = (coverage >= MIN_COVERAGE).nonzero()[0]
    best = best[np.argsort(-coverage[best], kind="stable")[:MAX_LINES_READ]]
    reader = _LineReader(chunks, lines)
    found: list[tuple[int, DatedLine]] = []
    for at in best.tolist():
        line = reader.read(at)
        if line is not None:
            found.append((at, line))
        if len(found) == MAX_STATEMENTS:
            break
    if len(found) < 2:
        return []
    matched, dated = lines.matched[[at for at, _ in found]].astype(float), [line for _, line in found]
    shared = (matched * weights) @ matched.T
    pairs = np.argwhere(_may_supersede(dated, shared, distinctive))
    if not len(pairs):
        return []
    nearest = pairs[np.argsort(-shared[pairs[:, 0], pairs[:, 1]], kind="stable")[:MAX_PAIRS]]
    whose = [origins.get(line.path, UNKNOWN).lowest(line.line, line.line) for line in dated]
    links = _link(dated, nearest.tolist(), shared, weigh_asked(forms, weights.tolist()), whose)
    return _latest(dated, links)


def _may_supersede(lines: Sequence[DatedLine], shared: Floats, forms: Sequence[str]) -> Bools:
    """Return (lines, lines) whether the second line is later and may be about the subject of the first.

    In one file on the same day, lines are in order; messages of one day are ordered by their times. Notes may be the
    user's.
    """
    days, paths, numbers, _, speakers, texts, times = zip(*lines, strict=True)
    day, number, file = np.array([each.toordinal() for each in days]), np.array(numbers), _as_numbers(paths)
    time, is_one_file = np.array(times), file[:, None] == file
    is_later = day[:, None] < day
    is_later |= (day[:, None] == day) & is_one_file & (number[:, None] < number)
    is_later |= ~is_one_file & (time[:, None] > 0) & (time[:, None] < time)
    speaker = _as_numbers(None if each in USER_LABELS else each for each in speakers)
    allowed = is_later & (speaker[:, None] == speaker) & (shared >= MIN_COVERAGE)
    if not allowed.any():
        return np.zeros_like(shared, bool)
    sizes = np.array([max(1, len(text)) for text in texts])
    has_value = np.array([line.speaker in USER_LABELS and _has_value(line) for line in lines])
    is_short = sizes <= MAX_REPLACED_CHARS
    is_like = (sizes[:, None] <= MAX_SIZE_RATIO * sizes) & (sizes <= MAX_SIZE_RATIO * sizes[:, None])
    may_replace = allowed & is_like & is_short & is_short[:, None] & (shared >= MIN_REPLACED_COVERAGE)
    for at in may_replace.any(axis=0).nonzero()[0].tolist():
        if not may_be_new(texts[at]):
            may_replace[:, at] &= _are_like(texts, at, may_replace[:, at]) & (speakers[at] is None)
    may_update = allowed & has_value & has_value[:, None]
    for at in may_update.any(axis=0).nonzero()[0].tolist():
        may_update[:, at] &= _may_update(lines[at], forms)
    pairs: Bools = may_replace | may_update
    return pairs


def _are_like(texts: Sequence[str], at: int, compared: Bools) -> Bools:
    """Return which of some lines share enough words with one, grammar included, to differ in a value alone."""
    words, like = letter_words(texts[at]), compared.copy()
    for other in compared.nonzero()[0].tolist():
        others = letter_words(texts[other])
        like[other] = 2 * len(words & others) >= max(len(words), len(others))
    return like


def _has_value(line: DatedLine) -> bool:
    """Return whether a line may have a number or weekday, other than the time at which it was said."""
    text = line.text if line.speaker is None else without_label(line.text)
    if _DIGITS.search(text) is not None:
        return True
    return ("day" in text or "tag" in text) and _WEEKDAY.search(text.lower()) is not None


def _may_update(line: DatedLine, words: Sequence[str]) -> bool:
    """Return whether a line may say that a value is new, or counts what one of some words names."""
    text = fold(line.text)
    for number in _DIGITS.finditer(text):
        counted = text[number.end() : number.end() + COUNTED_CHARS]
        if any(word[:COUNTED_PREFIX] in counted for word in words):
            return True
    return may_be_new(text)


def _as_numbers(keys: Iterable[object]) -> NDArray[np.intp]:
    """Return equal numbers for equal keys."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys])


class _LineReader:
    """Reads lines of candidates as dated statements."""

    def __init__(self, chunks: ReadChunks, lines: LineMatches) -> None:
        self._chunks = chunks
        self._lines = lines
        self._labels: dict[int, list[tuple[int, str]]] = {}
        self._dialogues: dict[str, bool] = {}

    def read(self, at: int) -> DatedLine | None:
        """Return a line as a dated statement; None if it is undated, a heading, or a model's."""
        chunk, start = int(self._lines.texts[at]), int(self._lines.starts[at])
        path, text = self._chunks.paths[chunk], self._chunks.texts[chunk]
        time_ms = self._chunks.times.get(self._chunks.ids[chunk], 0)
        line = text[start : int(self._lines.ends[at])]
        number = self._chunks.start_lines[chunk] + text.count("\n", 0, start)
        day = day_of_line(line) or _day_of_path(path) or _day_of_time(time_ms) or _day_above(text, start)
        if path in self._chunks.days:
            day = self._chunks.days[path].get(number, day)
        if day is None or line.startswith("#"):
            return None
        labels = self._speakers(chunk)
        speaker = next((label for place, label in reversed(labels) if place <= start), None)
        if speaker in ASSISTANT_LABELS or (speaker is None and self._is_dialogue(path)):
            return None
        return DatedLine(day, path, number, self._chunks.ids[chunk], speaker, line, time_ms)

    def _speakers(self, chunk: int) -> list[tuple[int, str]]:
        """Return the labels of a chunk's speakers with their places; in a chunk without a dialogue, labels are keys."""
        if chunk not in self._labels:
            labels = self._lines.labels_of(chunk)
            often = Counter(label for _, label in labels)
            is_dialogue = any(count > 1 or label in _KNOWN_LABELS for label, count in often.items())
            self._labels[chunk] = labels if is_dialogue else []
        return self._labels[chunk]

    def _is_dialogue(self, path: str) -> bool:
        """Return whether a file has lines of speakers: others continue a line of unknown speaker."""
        if path not in self._dialogues:
            chunks = (chunk for chunk, other in enumerate(self._chunks.paths) if other == path)
            self._dialogues[path] = any(map(self._speakers, chunks))
        return self._dialogues[path]


def day_of_line(line: str) -> datetime.date | None:
    """Return the day that a line begins with or has in brackets."""
    found = _DATED_LINE.search(line) if "20" in line and "-" in line else None
    return None if found is None else _as_day(found[found.lastindex or 0])


def _day_above(text: str, end: int) -> datetime.date | None:
    """Return the day in the last dated heading before a place in a text."""
    headings = _DATED_HEADING.findall(text, 0, end) if text.find("#", 0, end) >= 0 else []
    return _as_day(headings[-1]) if headings else None


@lru_cache(maxsize=4_096)
def _day_of_path(path: str) -> datetime.date | None:
    return day_of_note(path)


def _day_of_time(time_ms: int) -> datetime.date | None:
    return datetime.datetime.fromtimestamp(time_ms / 1000, datetime.UTC).date() if time_ms else None


def _as_day(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


def _link(
    lines: Sequence[DatedLine],
    pairs: Iterable[tuple[int, int]],
    shared: Floats,
    asked: Mapping[str, float],
    origins: Sequence[int],
) -> list[tuple[int, int]]:
    """Return the pairs of an outdated statement and a later one with another value.

    If the later one is trusted less, it must be an agent's and tell of a change.
    """
    links, plain = [], defaultdict[int, set[int]](set)
    read: dict[int, Statement] = {}
    for one, other in pairs:
        if origins[other] > max(AGENT, origins[one]):
            continue
        for each in (one, other):
            if each not in read:
                read[each] = _statement(lines[each])
        older, newer = read[one], read[other]
        is_said = (
            any(lines[each].speaker is not None for each in (one, other)) or origins[other] > origins[one]
        )
        is_message = lines[one].speaker in USER_LABELS and lines[other].speaker in USER_LABELS
        is_long = is_message and max(len(older.tokens), len(newer.tokens)) >= MIN_UPDATE_TOKENS
        if shared[one, other] >= MIN_REPLACED_COVERAGE and replaces(older, newer, only_if_changed=is_said):
            links.append((one, other))
            if not newer.is_changed:
                plain[one].add(other)
        elif is_long and older.values and newer.values and updates(older, newer, asked):
            links.append((one, other))
    series = set[tuple[int, int]]()
    for one, others in plain.items():
        if len({lines[each].day for each in (one, *others)}) >= MIN_SERIES_DAYS:
            series |= {(each, other) for each in (one, *others) for other in others}
    return [link for link in links if link not in series]


def _statement(line: DatedLine) -> Statement:
    """Return what a line says, without its label, marker, comments and date."""
    said = line.text if line.speaker is None else without_label(line.text)
    return read_statement(_DATED_LINE.sub("", _COMMENT.sub("", _MARKER.sub("", said))))


def _latest(lines: Sequence[DatedLine], links: Iterable[tuple[int, int]]) -> list[Superseded]:
    """Return each outdated statement with the latest one that supersedes it."""
    latest: dict[int, int] = {}
    for one, other in links:
        known = latest.get(one)
        if known is None or _order(lines[known]) < _order(lines[other]):
            latest[one] = other
    return [Superseded(lines[one], lines[latest[one]]) for one in sorted(latest)]


def _order(line: DatedLine) -> tuple[datetime.date, int, str, int]:
    return line.day, line.time_ms, line.path, line.line


def put_current_first(items: Sequence[Ranked], superseded: Sequence[Superseded]) -> list[Ranked]:
    """Move each current statement's candidate directly before the best outdated one.

    All other candidates keep their order and their scores.
    """
    current_of: dict[int, dict[int, None]] = defaultdict(dict)
    for each in superseded:
        current_of[each.outdated.chunk_id][each.current.chunk_id] = None
    listed = list(items)
    by_id = {int(item.id): item for item in listed}
    ordered: list[Ranked] = []
    placed: set[int] = set()

    def place(item: Ranked) -> None:
        placed.add(int(item.id))
        for current in current_of.get(int(item.id), ()):
            if current not in placed and current in by_id:
                place(with_score(by_id[current], max(item.score, by_id[current].score)))
        ordered.append(item)

    for item in listed:
        if int(item.id) not in placed:
            place(item)
    return ordered
