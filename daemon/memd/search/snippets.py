"""Hits of a ranking: snippets with their locations, without repetitions, checked against the disk."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from msgspec.structs import replace

from memd.index.copies import count_copies, find_copies
from memd.index.files import ChunkRow
from memd.index.regions import load_regions
from memd.index.snapshot import Snapshot
from memd.search.explain import explain_hits
from memd.search.query import Query
from memd.search.rank.fusion import Ranked, ids_of
from memd.search.rank.order import Ranking
from memd.search.relevance import HitRelevance
from memd.search.sessions import HitSessions
from memd.search.thresholds import WEAK_SCALE
from memd.system.cancellation import check_cancelled
from memd.text.cut.annotations import Annotations
from memd.text.cut.snippets import Snippet, cut_snippet
from memd.text.cut.windows import Region, SpanScore, grow_window
from memd.text.query.word_forms import has_words
from memd_client.locations import citation
from memd_client.messages import Hit, Supersession

MAX_SNIPPET_CHARACTERS = 695
"""Longest snippet; OpenClaw's limit is 700."""

MAX_SHOWN_SHARE = 0.75
"""A candidate is skipped if better hits' snippets show more than this share of it."""

SPARE_CANDIDATES = 2
"""Candidates prepared beyond the missing hits: one or two are usually shown by better hits' snippets."""


@dataclass(frozen=True, slots=True)
class SnippetLengths:
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


class HitBuilder:
    """Builds the hits of one search."""

    def __init__(
        self, snapshot: Snapshot, query: Query, ranking: Ranking, is_current: Callable[[Hit], bool]
    ) -> None:
        self._db = snapshot.db
        self._query = query
        self._ranking = ranking
        self._is_current = is_current
        self._lengths = _lengths(query)
        self._best_score = max((item.score for item in ranking.ranked[:1]), default=0.0)
        self._hits: list[Hit] = []
        self._spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._shown_firsts: set[int] = set()
        self._worths: dict[int | None, list[SpanScore]] = defaultdict(list)
        self._relevance = HitRelevance(query, ranking)
        self._shows_all = query.limits.include_weak or query.uses_reference_formula
        best = ranking.ranked[0] if ranking.ranked else None
        is_doubtful = best is not None and not self._shows_all and not self._relevance.is_strong(best)
        self._scale = WEAK_SCALE if is_doubtful else 1.0
        self._chars_left = math.inf if query.limits.max_chars is None else query.limits.max_chars
        self._is_full = False
        self._sessions = HitSessions(self._db, query.limits.conversations)
        self.shown: list[tuple[Ranked, str]] = []

    def cut(self) -> list[Hit]:
        """Return the best hits; `shown` has the candidate of each, with its path and text."""
        ranking, wanted = self._ranking, self._query.limits.max_results
        locations = ranking.located.locations
        worths = zip(locations.starts.tolist(), locations.ends.tolist(), ranking.fused.tolist(), strict=True)
        for number, worth in zip(locations.files.tolist(), worths, strict=True):
            self._worths[number].append(worth)
        at = 0
        while at < len(ranking.ranked) and len(self._hits) < wanted and not self._is_full:
            size = wanted - len(self._hits) + SPARE_CANDIDATES
            page = ranking.ranked[at : at + size]
            ranking.located.rows.load(ids_of(page))
            self._cut_page(page, wanted)
            at += size
        return self._hits

    def _cut_page(self, page: Sequence[Ranked], wanted: int) -> None:
        """Add hits of some candidates, at most as many as wanted."""
        ranking, duplicates = self._ranking, self._ranking.near_duplicates
        page = [item for item in page if self._is_wanted(item)]
        firsts = duplicates.find_originals([int(item.id) for item in page])
        rows = [ranking.located.rows[key] for key in firsts]
        left = [row for row in rows if firsts[row.id] not in self._shown_firsts and not self._is_shown(row)]
        # Copies of a text are separate candidates, and the count by hash includes all of them.
        groups = duplicates.find_groups({*firsts.values()})
        ranking.located.rows.load([key for group in groups.values() for key in group])
        alike = {first: {ranking.located.rows[key].hash for key in group} for first, group in groups.items()}
        hashes = {digest for row in left for digest in (row.hash, *alike[firsts[row.id]])}
        copies = count_copies(self._db, hashes, self._query.limits.scope)
        contents = ranking.located.rows.texts([row.id for row in left])
        left = [row for row in left if row.id in contents]
        regions = self._load_regions([(row, contents[row.id]) for row in left])
        items = {int(item.id): item for item in page}
        for row in left:
            check_cancelled()
            if len(self._hits) >= wanted or self._is_full:
                return
            item, first, text = items[row.id], firsts[row.id], contents[row.id]
            if first in self._shown_firsts or self._is_shown(row):
                continue
            places = (
                [row] if copies[row.hash] == 1 else find_copies(self._db, row.hash, self._query.limits.scope)
            )
            count = sum(copies[digest] for digest in alike[first])
            for place in filter(self._may_be_shown, places):
                region = (regions if place is row else self._load_regions([(place, text)])).get(place.id)
                hit, span = self._cut_one(item, place, text, region, count)
                if self._is_current(hit):
                    if not self._is_repeated(hit) and self._is_about(item, hit, text) and self._fits(hit):
                        self._hits.append(hit)
                        self.shown.append((item, f"{place.path}\n{text}"))
                        self._spans[place.path].append(span)
                        self._shown_firsts.add(first)
                    break

    def _is_wanted(self, item: Ranked) -> bool:
        """Return whether a candidate is related to the query and reaches the minimum score."""
        floor = self._query.limits.min_score
        if floor is not None and item.score * self._scale < floor:
            return False
        return self._shows_all or self._relevance.is_related(item)

    def _annotations(self, row: ChunkRow) -> Annotations | None:
        """Return the annotations of a chunk's entry."""
        file = self._ranking.annotated.get(row.path)
        entry = None if file is None else file.at(row.start_line)
        return None if entry is None else entry.annotations

    def _may_be_shown(self, row: ChunkRow) -> bool:
        """Return whether the projects of a chunk are readable; if not, it is never shown."""
        annotations = self._annotations(row)
        return annotations is None or not annotations.is_invalid

    def _load_regions(self, chunks: Sequence[tuple[ChunkRow, str]]) -> dict[int, Region]:
        """Return the surrounding text of chunks shorter than a snippet."""
        short = [(row, text) for row, text in chunks if len(text) <= MAX_SNIPPET_CHARACTERS]
        return load_regions(self._db, short, MAX_SNIPPET_CHARACTERS, self._ranking.annotated)

    def _cut_one(
        self, item: Ranked, row: ChunkRow, text: str, region: Region | None, copies: int
    ) -> tuple[Hit, tuple[int, int]]:
        """Return the hit of a candidate at one location, and the span of the file in its snippet."""
        query = self._query
        budget = query.limits.max_chars if query.limits.max_chars is not None else MAX_SNIPPET_CHARACTERS
        if region is None or budget < len(text):
            limit = min(MAX_SNIPPET_CHARACTERS, budget)
            cut = cut_snippet(text, row.start_line, query.plan.words, limit)
            span = (row.start_char, row.end_char)
        else:
            shown = self._spans[row.path]
            first, end = _unshown(row.start_char, row.end_char, shown)
            worths = self._worths.get(self._ranking.located.locations.file_numbers.find(row.path), [])
            share = item.score / (self._best_score or 1.0)
            if share < self._lengths.trim_below:
                first, end = self._matching_part(row, first, end)
            limit = min(self._lengths.limit, budget) if share >= self._lengths.grow_above else end - first
            window = grow_window(region, first, end, limit, worths, shown)
            cut = Snippet(window.text, window.start_line, window.end_line)
            span = (window.start, window.end)
        is_conversation = row.source in query.limits.conversations
        line_map = self._sessions.line_map(row.path) if is_conversation else None
        session = self._sessions.find(row.path, cut.end_line, cut.text) if is_conversation else None
        lines = range(cut.start_line, cut.end_line + 1)
        numbers = _line_numbers(lines, line_map)
        hit = Hit(
            path=row.path,
            start_line=numbers[0],
            end_line=numbers[-1],
            score=round(item.score * self._scale, 6),
            vector_score=None if item.vector_score is None else round(item.vector_score, 6),
            text_score=None if item.text_score is None else round(item.text_score, 6),
            snippet=cut.text,
            source=row.source,
            citation=citation(row.path, numbers[0], numbers[-1]),
            copies=copies,
            explain={"lines": list(numbers)} if query.limits.explain else None,
            annotations=_as_map(self._annotations(row)),
            relevance="strong" if self._relevance.is_strong(item) else "weak",
            superseded_by=self._supersession(row.path, lines),
            session=session,
        )
        return hit, span

    def _supersession(self, path: str, lines: range) -> Supersession | None:
        """Return what supersedes a statement in some lines of a file; None if the lines have that as well."""
        for each in self._ranking.signals.superseded:
            outdated, current = each.outdated, each.current
            if outdated.path == path and outdated.line in lines:
                other = current.path
                if other != path or current.line not in lines:
                    at = current.line
                    return Supersession(
                        other, at, at, citation(other, at, at), str(current.day), str(outdated.day)
                    )
        return None

    def _matching_part(self, row: ChunkRow, first: int, end: int) -> tuple[int, int]:
        """Return the part of a span of the file, inside a chunk, whose lines match the query."""
        lines, start = self._ranking.lines, row.start_char
        number = None if lines is None else lines.numbers.get(row.id)
        if lines is None or number is None:
            return first, end
        part = lines.matches.matching_span(number, first - start, end - start)
        return (first, end) if part is None else (start + part[0], start + part[1])

    def _is_shown(self, row: ChunkRow) -> bool:
        """Return whether better hits' snippets show most of a chunk."""
        shown, at = 0, row.start_char
        for start, end in sorted(self._spans.get(row.path, [])):
            upto = min(end, row.end_char)
            shown += max(0, upto - max(start, at))
            at = max(at, upto)
        return shown > MAX_SHOWN_SHARE * (row.end_char - row.start_char)

    def _fits(self, hit: Hit) -> bool:
        """Return whether a hit fits the budget, and charge it.

        The first hit that doesn't fit ends the search, so that a larger budget only adds hits.
        """
        self._chars_left -= len(hit.snippet)
        self._is_full = self._chars_left < 0
        return not self._is_full

    def _is_about(self, item: Ranked, hit: Hit, text: str) -> bool:
        """Return whether a snippet contains a matched term, or the whole chunk."""
        if item.text_score is None or text.strip() in hit.snippet:
            return True
        words = self._query.plan.words
        return has_words(hit.snippet, words) or not has_words(text, words)

    def _is_repeated(self, new: Hit) -> bool:
        """Return whether an earlier hit shows the same text; its copies are then added there."""
        for place, hit in enumerate(self._hits):
            if hit.path == new.path and hit.start_line <= new.start_line and new.end_line <= hit.end_line:
                if new.snippet in hit.snippet:
                    return True
            elif new.snippet.strip() in hit.snippet:
                self._hits[place] = replace(hit, copies=hit.copies + new.copies)
                return True
        return False


def with_falling_scores(hits: Sequence[Hit]) -> list[Hit]:
    """Return hits in their order, each with at most the score of the one before it."""
    falling = accumulate((hit.score for hit in hits), min)
    return [replace(hit, score=score) for hit, score in zip(hits, falling, strict=True)]


def build_hits(
    snapshot: Snapshot, query: Query, ranking: Ranking, is_current: Callable[[Hit], bool]
) -> list[Hit]:
    """Return the best hits with snippets, explained if requested.

    `is_current` returns whether a hit's text is still on disk; the next candidate replaces a stale one.
    """
    cutter = HitBuilder(snapshot, query, ranking, is_current)
    hits = with_falling_scores(cutter.cut())
    if query.limits.explain:
        shown = [(item, where, hit.copies) for (item, where), hit in zip(cutter.shown, hits, strict=True)]
        explained = explain_hits(snapshot.db, query, ranking, shown)
        explained_hits = zip(hits, explained, strict=True)
        hits = [replace(hit, explain=why | (hit.explain or {})) for hit, why in explained_hits]
    return hits


def _lengths(query: Query) -> SnippetLengths:
    if not query.limits.wants_many:
        return ROOMY_LENGTHS
    return BROAD_LENGTHS if query.is_broad else SHARED_LENGTHS


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
