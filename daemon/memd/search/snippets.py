"""Hits of a ranking: snippets with their locations, without repetitions, checked against the disk.

Three passes make them: choose candidates, cut their snippets, check the hits against the disk, the budget and each
other. They run page by page, because a snippet leaves out text that the hits before it show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any

from msgspec import Struct, structs
from msgspec.structs import replace

from memd.index.copies import find_copies
from memd.index.files import ChunkRow
from memd.index.origins import load_origins
from memd.index.regions import load_regions
from memd.index.snapshot import Database, Snapshot
from memd.search.choose import HitCandidate, ShownText, choose
from memd.search.explain import explain_hits
from memd.search.hit_days import day_of_heading, with_days
from memd.search.query import Query
from memd.search.rank.fusion import Ranked
from memd.search.rank.order import Ranking
from memd.search.relevance import HitRelevance
from memd.search.sessions import HitSessions, day_of
from memd.search.thresholds import WEAK_SCALE
from memd.system.cancellation import check_cancelled
from memd.text.cut.annotations import Annotations
from memd.text.cut.chunking import HEADING, headings_above
from memd.text.cut.snippets import cut_snippet
from memd.text.cut.units import ends_unit, starts_unit
from memd.text.cut.windows import Region, SpanScore, Window, fitting_part, grow_window
from memd.text.lines import start_of_line
from memd.text.query.dates import day_of_note
from memd.text.query.word_forms import has_words, matched_spans
from memd.text.trust.origins import ORIGINS, OUTSIDE, UNKNOWN, LineOrigins
from memd_client.hit_text import (
    MAX_WEAK_BESIDE_STRONG,
    MAX_WEAK_HITS,
    MAX_WEAK_SHARE,
    NO_STRONG_MATCH,
    size_of_hit,
)
from memd_client.locations import citation
from memd_client.messages import Hit, SessionInfo, Supersession

MAX_SNIPPET_CHARACTERS = 695
"""Longest snippet; OpenClaw's limit is 700."""

MIN_SNIPPET_CHARACTERS = 60
"""Shortest snippet of a hit that is cut because it doesn't fit the budget."""

MAX_HIT_CHARACTERS = 900
"""Longest hit as it is shown, unless its names are very long."""

MAX_SPANS = 64
"""Most spans of matched terms in a hit: a snippet of a pasted query could have a hundred."""

MAX_FIRST_WEAK_CHARS = 160
"""Length of a first weak hit that is shown after a short strong one: it may have the newer value of a one-line note."""

SPARE_CANDIDATES = 2
"""Candidates prepared beyond the missing hits: one or two are usually shown by better hits' snippets."""


class SnippetLengths(Struct, frozen=True):
    """How long the snippet of a hit is.

    Attributes:
        limit: Most characters of a snippet that grows by surrounding lines.
        grow_above: Share of the best score from which a snippet grows; others end with their chunk.
        trim_below: Share of the best score below which only the matching lines of a chunk are shown.
    """

    limit: int
    grow_above: float
    trim_below: float


ROOMY_LENGTHS = SnippetLengths(MAX_SNIPPET_CHARACTERS, grow_above=0.0, trim_below=0.0)
"""For a few hits: each grows."""

SHARED_LENGTHS = SnippetLengths(600, grow_above=0.9, trim_below=0.8)
"""For hits that share a budget: the strong ones stay long, so that the next one is not missed. Figures of other values
are in benchmarks/NOTES.md."""

BROAD_LENGTHS = SnippetLengths(600, grow_above=1.0, trim_below=math.inf)
"""For queries that several pieces of evidence answer: many short hits."""


def build_hits(
    snapshot: Snapshot, query: Query, ranking: Ranking, is_current: Callable[[Hit], bool]
) -> list[Hit]:
    """Return the best hits with snippets, explained if requested.

    `is_current` returns whether a hit's text is still on disk; the next candidate replaces a stale one.
    """
    db, shown, at = snapshot.db, ShownText(), 0
    cutter, maker = SnippetCutter(db, query, ranking), HitMaker(db, query, ranking)
    hits = CheckedHits(query, maker.most_weak(ranking))
    while at < len(ranking.ranked) and hits.missing:
        page = ranking.ranked[at : at + hits.missing + SPARE_CANDIDATES]
        at += len(page)
        wanted = [item for item in page if maker.is_wanted(item) and hits.has_space(maker.relevance(item))]
        choices = choose(db, query, ranking, wanted, shown)
        regions = cutter.load_regions([(each.row, each.text) for each in choices if cutter.may_grow(each)])
        for choice in choices:
            check_cancelled()
            if not hits.missing:
                break
            if shown.has(choice.original, choice.row) or not hits.has_space(maker.relevance(choice.item)):
                continue
            for place, whole in cutter.cut(choice, regions, shown):
                window = maker.fitting(place.path, whole)
                if window is None:
                    continue
                hit = maker.make(choice, place, window)
                surplus = excess = hits.surplus_of_first(hit)
                while excess and len(window.text) > MIN_SNIPPET_CHARACTERS:
                    window = cutter.shorten(window, len(window.text) - excess)
                    hit = maker.make(choice, place, window)  # with the heading above it, if that was cut off
                    excess = hits.surplus_of_first(hit)
                if is_current(hit):
                    if hits.add(hit, choice, surplus):
                        shown.add(choice, place.path, (window.start, window.end))
                    break
    found = with_days(db, with_falling_scores(hits.hits))
    if not query.limits.explain:
        return found
    explained = explain_hits(snapshot, query, ranking, list(zip(hits.choices, found, strict=True)))
    return [
        replace(hit, explain=why | (hit.explain or {})) for hit, why in zip(found, explained, strict=True)
    ]


class SnippetCutter:
    """Cuts the snippets of one search."""

    def __init__(self, db: Database, query: Query, ranking: Ranking) -> None:
        self._db = db
        self._query = query
        self._ranking = ranking
        self._lengths = _lengths(query)
        self._best_score = max((item.score for item in ranking.ranked[:1]), default=0.0)
        self._worths: dict[str, list[SpanScore]] = {}

    def may_grow(self, choice: HitCandidate) -> bool:
        """Return whether a candidate's snippet may show text around its chunk."""
        is_linked = choice.row.id in self._ranking.signals.linked
        return not is_linked and self._share(choice) >= self._lengths.grow_above

    def _share(self, choice: HitCandidate) -> float:
        return choice.item.score / (self._best_score or 1.0)

    def load_regions(self, chunks: Sequence[tuple[ChunkRow, str]]) -> dict[int, Region]:
        """Return the surrounding text of chunks shorter than a snippet, by id."""
        short = [(row, text) for row, text in chunks if _is_short(row, text)]
        return load_regions(self._db, short, MAX_SNIPPET_CHARACTERS, self._ranking.annotated)

    def cut(
        self, choice: HitCandidate, regions: Mapping[int, Region], shown: ShownText
    ) -> Iterator[tuple[ChunkRow, Window]]:
        """Yield the snippet of a candidate at each place that has its text, unless it must not be shown there."""
        row, scope = choice.row, self._query.limits.scope
        for place in [row] if choice.is_unique else find_copies(self._db, row.hash, scope):
            annotations = _annotations(self._ranking, place)
            if annotations is None or not annotations.is_invalid:
                yield place, self._cut_at(place, choice, regions, shown.spans[place.path])

    def _cut_at(
        self,
        place: ChunkRow,
        choice: HitCandidate,
        regions: Mapping[int, Region],
        shown: Sequence[tuple[int, int]],
    ) -> Window:
        text = choice.text
        if not _is_short(place, text):
            whole = Window(text, place.start_char, place.end_char, place.start_line, place.end_line)
            return self.shorten(whole, MAX_SNIPPET_CHARACTERS)
        first, end = _unshown(place.start_char, place.end_char, shown)
        linked = self._ranking.signals.linked.get(choice.row.id)
        if linked is not None:
            first, end = place.start_char + linked[0], place.start_char + linked[1]
        elif self._share(choice) < self._lengths.trim_below:
            first, end = self._matching_part(place, first, end)
        may_grow = self.may_grow(choice)
        if not may_grow:
            before = first - place.start_char
            part = text[before : before + end - first]
            if part == part.strip() and starts_unit(part) and ends_unit(part):
                line = place.start_line + text.count("\n", 0, before)
                return Window(part, first, end, line, line + part.count("\n"))
        region = regions.get(place.id) or self.load_regions([(place, text)])[place.id]
        limit, worths = self._lengths.limit, self._worths_in(place.path)
        return grow_window(region, first, end, limit, worths, shown, completes_only=not may_grow)

    def shorten(self, window: Window, limit: int) -> Window:
        """Return the part of a window with the most matched words, within a limit that is at least a few words."""
        limit = max(limit, MIN_SNIPPET_CHARACTERS)
        cut = cut_snippet(window.text, window.start_line, self._query.plan.words, limit)
        if len(cut.text) == len(window.text):
            return window
        return Window(cut.text, window.start, window.end, *structs.astuple(cut)[1:])

    def _worths_in(self, path: str) -> list[SpanScore]:
        """Return the candidates in a file as spans with their fused scores."""
        if path not in self._worths:
            locations = self._ranking.located.locations
            at = (locations.files == locations.find_file(path)).nonzero()[0]
            columns = (locations.starts[at], locations.ends[at], self._ranking.fused[at])
            self._worths[path] = list(zip(*(column.tolist() for column in columns), strict=True))
        return self._worths[path]

    def _matching_part(self, row: ChunkRow, first: int, end: int) -> tuple[int, int]:
        """Return the part of a span of the file, inside a chunk, whose lines match the query."""
        lines, start = self._ranking.lines, row.start_char
        number = None if lines is None else lines.numbers.get(row.id)
        if lines is None or number is None:
            return first, end
        part = lines.matches.matching_span(
            number, first - start, end - start, with_announced=not self._query.is_broad
        )
        return (first, end) if part is None else (start + part[0], start + part[1])


class HitMaker:
    """Makes hits of chosen candidates: location, score, relevance, session, spans."""

    def __init__(self, db: Database, query: Query, ranking: Ranking) -> None:
        self._db = db
        self._query = query
        self._ranking = ranking
        self._origins: dict[str, LineOrigins] = {}
        self._relevance = HitRelevance(query, ranking)
        self._sessions = HitSessions(db, query.limits.conversations)
        corrections = chain.from_iterable(ranking.candidates.corrections.values())
        self._words = tuple(dict.fromkeys([*query.plan.words, *query.exact_terms, *corrections]))
        self._shows_all = query.limits.include_weak or query.uses_reference_formula
        self._strong: dict[int, bool] = {}
        best = ranking.ranked[0] if ranking.ranked else None
        is_doubtful = best is not None and not self._shows_all and self.relevance(best) == "weak"
        self._scale = WEAK_SCALE if is_doubtful else 1.0

    def relevance(self, item: Ranked) -> str:
        """Return `strong` or `weak`."""
        key = int(item.id)
        if key not in self._strong:
            self._strong[key] = self._relevance.is_strong(item)
        return "strong" if self._strong[key] else "weak"

    def most_weak(self, ranking: Ranking) -> float:
        """Return how many weak hits may be shown.

        Any strong candidate counts, so that it doesn't depend on the budget.
        """
        if self._shows_all or not self._query.limits.limit_weak:
            return math.inf
        has_strong = any(self.relevance(item) == "strong" for item in ranking.ranked)
        return MAX_WEAK_BESIDE_STRONG if has_strong else MAX_WEAK_HITS

    def is_wanted(self, item: Ranked) -> bool:
        """Return whether a candidate is related to the query and reaches the minimum score."""
        floor = self._query.limits.min_score
        if floor is not None and item.score * self._scale < floor:
            return False
        return self._shows_all or self._relevance.is_related(item)

    def make(self, choice: HitCandidate, row: ChunkRow, window: Window) -> Hit:
        """Return the hit of a candidate at one place, with the text of a window."""
        item, text = choice.item, window.text
        is_conversation = row.source in self._query.limits.conversations
        line_map = self._sessions.line_map(row.path) if is_conversation else None
        lines = range(window.start_line, window.end_line + 1)
        numbers = _line_numbers(lines, line_map)
        session = self._sessions.find(row.path, lines[-1], text) if is_conversation else None
        origins = self._origins_of(row.path)
        facts = {"origins": origins.names(lines), "has_outside": origins.has(OUTSIDE)}
        return Hit(
            path=row.path,
            start_line=numbers[0],
            end_line=numbers[-1],
            score=round(item.score * self._scale, 6),
            vector_score=None if item.vector_score is None else round(item.vector_score, 6),
            text_score=None if item.text_score is None else round(item.text_score, 6),
            snippet=text,
            source=row.source,
            citation=citation(row.path, numbers[0], numbers[-1]),
            copies=choice.copies,
            explain=self._explain(item, numbers) | facts if self._query.limits.explain else None,
            annotations=_as_map(_annotations(self._ranking, row)),
            relevance=self.relevance(item),
            superseded_by=self._supersession(row.path, lines),
            session=session,
            spans=[[start, end] for start, end in matched_spans(text, self._words, MAX_SPANS)],
            date=self._day_of(choice, row, window, session, is_conversation=is_conversation),
            heading="" if is_conversation else _heading(choice, row, window, origins),
            is_cut_above=window.is_cut_above,
            is_cut_below=window.is_cut_below,
            origin=ORIGINS[origins.lowest(window.start_line, window.end_line)],
            origin_reason=origins.reason(window.start_line, window.end_line),
        )

    def fitting(self, path: str, window: Window) -> Window | None:
        """Return the part of a window whose lines have a requested origin; None if it has no such line."""
        mask = None if (scope := self._query.limits.scope) is None else scope.origins
        all_of, words = self._origins_of(path).all_of, self._words
        return window if mask is None else fitting_part(window, lambda at: bool(all_of(at, at) & mask), words)

    def _origins_of(self, path: str) -> LineOrigins:
        """Return whose words the lines of a file are."""
        if path not in self._origins:
            self._origins[path] = load_origins(self._db, [path]).get(path, UNKNOWN)
        return self._origins[path]

    def _explain(self, item: Ranked, numbers: Sequence[int]) -> dict[str, Any]:
        """Return the lines of a hit, and how likely it holds what the query asks for, with what that depends on."""
        confidence = self._relevance.confidence
        judge, features = confidence.features(item)
        return {
            "lines": list(numbers),
            "probability": round(confidence.probability(item), 3),
            "judge": judge,
            "features": {name: round(value, 3) for name, value in features.items()},
        }

    def _day_of(
        self,
        choice: HitCandidate,
        row: ChunkRow,
        window: Window,
        session: SessionInfo | None,
        *,
        is_conversation: bool,
    ) -> str:
        """Return the day of a hit by its time, by its note's name or by a heading; empty if none of them tells it."""
        if session is not None:
            return session.date
        if is_conversation:
            return day_of(self._sessions.time_at(row.path, window.end_line))
        day = day_of_note(row.path)
        if day is not None or "#" not in choice.text:
            return "" if day is None else day.isoformat()
        spans = matched_spans(choice.text, self._words, 1)
        end = spans[0][1] if spans else len(choice.text)
        return day_of_heading(choice.text, end)

    def _supersession(self, path: str, lines: range) -> Supersession | None:
        """Return what supersedes a statement in some lines of a file; None if the lines have that as well."""
        for each in self._ranking.signals.superseded:
            outdated, current = each.outdated, each.current
            if outdated.path == path and outdated.line in lines:
                other = current.path
                if other != path or current.line not in lines:
                    line_map = self._sessions.line_map(other)
                    at = _line_numbers(range(current.line, current.line + 1), line_map)[0]
                    return Supersession(
                        other, at, at, citation(other, at, at), str(current.day), str(outdated.day)
                    )
        return None


class CheckedHits:
    """The hits so far, checked against the budget and each other."""

    def __init__(self, query: Query, most_weak: float = math.inf) -> None:
        self.hits: list[Hit] = []
        self.choices: list[HitCandidate] = []
        self._query = query
        self._weak_left = most_weak
        self._chars = {"strong": 0, "weak": 0}
        self._chars_left = math.inf if query.limits.max_chars is None else query.limits.max_chars
        self._is_limited = self._chars_left < math.inf or most_weak < math.inf
        if most_weak == MAX_WEAK_HITS:
            self._chars_left -= len(NO_STRONG_MATCH) + 2

    @property
    def missing(self) -> int:
        """How many hits are missing; 0 if one didn't fit the budget, so that a larger budget only adds hits."""
        return 0 if self._chars_left < 0 else self._query.limits.max_results - len(self.hits)

    def has_space(self, relevance: str) -> bool:
        """Return whether a hit of this relevance may be added."""
        return relevance == "strong" or self._weak_left > 0

    def surplus_of_first(self, hit: Hit) -> int:
        """Return how many characters too long the first hit is; 0 if it fits, or if others precede it."""
        if self.hits or self._chars_left == math.inf:
            return 0
        return int(max(0, size_of_hit(hit) - self._chars_left))

    def add(self, hit: Hit, choice: HitCandidate, surplus: int = 0) -> bool:
        """Add a hit, unless it is repeated, shows no matched term, or doesn't fit; return whether it was added.

        `surplus` are the characters by which the first hit was too long; no other hit fits then.
        """
        if self._is_repeated(hit) or not self._is_about(hit, choice):
            return False
        size = size_of_hit(hit) if self._is_limited else 0
        if hit.relevance == "weak" and not self._may_add_weak(size):
            self._weak_left = 0
            return False
        self._chars_left -= size + surplus
        if self._chars_left < 0 and self.hits:
            return False
        self._chars[hit.relevance] += size
        self._weak_left -= hit.relevance == "weak"
        self.hits.append(hit)
        self.choices.append(choice)
        return True

    def _may_add_weak(self, size: int) -> bool:
        """Return whether a weak hit of a size is short, and the first, or a small part of what is shown."""
        strong, weak = self._chars["strong"], self._chars["weak"] + size
        is_free = self._weak_left == math.inf or not strong or weak <= MAX_FIRST_WEAK_CHARS
        return is_free or weak <= MAX_WEAK_SHARE * (strong + weak)

    def _is_about(self, hit: Hit, choice: HitCandidate) -> bool:
        """Return whether a snippet contains a matched term, or the whole chunk."""
        text = choice.text
        if choice.item.text_score is None or text.strip() in hit.snippet:
            return True
        words = self._query.plan.words
        return has_words(hit.snippet, words) or not has_words(text, words)

    def _is_repeated(self, new: Hit) -> bool:
        """Return whether an earlier hit shows the same text; its copies are then added there."""
        for place, hit in enumerate(self.hits):
            if hit.path == new.path and hit.start_line <= new.start_line and new.end_line <= hit.end_line:
                if new.snippet in hit.snippet:
                    return True
            elif new.snippet.strip() in hit.snippet:
                self.hits[place] = replace(hit, copies=hit.copies + new.copies)
                return True
        return False


def with_falling_scores(hits: Sequence[Hit]) -> list[Hit]:
    """Return hits in their order, each with at most the score of the one before it."""
    falling = accumulate((hit.score for hit in hits), min)
    return [replace(hit, score=score) for hit, score in zip(hits, falling, strict=True)]


def _heading(choice: HitCandidate, row: ChunkRow, window: Window, origins: LineOrigins) -> str:
    """Return the headings above a window; empty if it starts with one, or a line above is of other people."""
    if HEADING.match(window.text) or origins.lowest(1, window.start_line) == OUTSIDE:
        return ""
    first = start_of_line(choice.text, window.start_line - row.start_line + 1)
    return headings_above(choice.text, first, choice.context, choice.row.path)


def _lengths(query: Query) -> SnippetLengths:
    if not query.limits.wants_many:
        return ROOMY_LENGTHS
    return BROAD_LENGTHS if query.is_broad else SHARED_LENGTHS


def _is_short(row: ChunkRow, text: str) -> bool:
    """Return whether a snippet may show more than a chunk, whose place in its file is known."""
    return len(text) <= MAX_SNIPPET_CHARACTERS and row.end_char > row.start_char


def _annotations(ranking: Ranking, row: ChunkRow) -> Annotations | None:
    """Return the annotations of a chunk's entry."""
    file = ranking.annotated.get(row.path)
    entry = None if file is None else file.at(row.start_line)
    return None if entry is None else entry.annotations


def _as_map(annotations: Annotations | None) -> dict[str, Any] | None:
    """Return annotations as the reply carries them."""
    if annotations is None:
        return None
    return {
        "importance": annotations.importance,
        "triggers": list(annotations.triggers),
        "projects": list(annotations.projects),
    }


def _unshown(first: int, end: int, shown: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return a span without the parts at its ends that are shown."""
    low, high = first, end
    for start, stop in shown:
        if start <= first < stop:
            low = max(low, stop + 1)
        if start < end <= stop:
            high = min(high, start - 1)
    return (low, high) if low < high else (first, end)


def _line_numbers(lines: range, line_map: Sequence[int] | None) -> Sequence[int]:
    """Return the lines of the file; those of the transcript, if the text was made from one."""
    if line_map is None or lines[-1] > len(line_map):
        return lines
    return line_map[lines.start - 1 : lines[-1]]
