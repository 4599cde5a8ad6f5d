"""Ranking stages after fusion: days, age, annotations, exact matches, diversity, source balance. Pure functions.

The order depends on the candidates alone. Their figures are in benchmarks/NOTES.md.
"""

from __future__ import annotations

import datetime
import math
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Final

from memd.search.rank.fusion import Ranked, best_first, with_score
from memd.system.cancellation import check_cancelled
from memd.text.cut.annotations import Annotations
from memd.text.query.dates import date_in_path
from memd.text.tokens import folded_words

DAY_SHARE = 0.35
"""Share of the score for a day named in the query. A note of another day can still rank first if only it matches the
rest of the query."""

MAX_INEXACT_SCORE = 0.9
"""Highest score of an inexact match if there are exact matches."""

FURTHER_WEIGHT: Final = 0.97
"""Score factor of each further candidate of a file, for queries that several pieces of evidence answer. A stronger one
loses evidence: sessions that have one piece often have another."""

MAX_ASKING = 8
"""Most questions at the top that a statement passes: a candidate behind more of them is rarely an answer."""

LONG_FILE_LINES: Final = 150
"""Lines from which a file has several subjects: a meeting, but not a short chat."""

MAX_SPREAD: Final = 32
"""Candidates that are compared with their neighbours: later ones are hardly ever shown."""

NEIGHBOUR_FACTOR: Final = 0.9
"""Score factor of a candidate in a long file with a better neighbour: they are one discussion."""

NEWEST_SHARE: Final = 0.2
"""Share of the best score that the newest candidate gains over the oldest one, in the choice of the first hit."""

DAY_MS = 86_400_000

_EPOCH = datetime.date(1970, 1, 1)

BASE_WEIGHT: Final = 0.75
IMPORTANCE_STEP: Final = 0.05
"""Weight per step of importance: 1 counts 0.8, 5 counts 1, 10 counts 1.25."""

ACTIVE_PROJECT_WEIGHT: Final = 1.15
OTHER_PROJECT_WEIGHT: Final = 0.9


def prefer_days(items: Iterable[Ranked], ids_of_days: Collection[str | int]) -> list[Ranked]:
    """Move candidates from days of the query up."""
    listed = list(items)
    if not ids_of_days:
        return best_first(listed)
    return best_first(
        with_score(item, (1 - DAY_SHARE) * item.score + DAY_SHARE * (item.id in ids_of_days))
        for item in listed
    )


def decay_weight(age_days: float, half_life_days: float) -> float:
    """Return the score factor of a note by its age."""
    if not (math.isfinite(half_life_days) and half_life_days > 0 and math.isfinite(age_days)):
        return 1.0
    return math.exp(-(math.log(2) / half_life_days) * max(0.0, age_days))


def decay_candidates(items: Iterable[Ranked], now_ms: int, half_life_days: float) -> list[Ranked]:
    """Scale scores by the age of their notes and reorder the candidates."""
    weighed = []
    for item in items:
        day = date_in_path(item.path)
        if day is not None:
            age_days = max(0, now_ms - (day - _EPOCH).days * DAY_MS) / DAY_MS
            item = with_score(item, item.score * decay_weight(age_days, half_life_days))
        weighed.append(item)
    return best_first(weighed)


def annotation_weight(annotations: Annotations, active_projects: Collection[str]) -> float:
    """Return the score factor of an entry; 0 if it must not be shown."""
    if annotations.is_invalid:
        return 0.0
    weight = 1.0
    if annotations.importance is not None:
        weight = BASE_WEIGHT + IMPORTANCE_STEP * annotations.importance
    if annotations.projects and active_projects:
        is_active = set(annotations.projects) <= set(active_projects)
        weight *= ACTIVE_PROJECT_WEIGHT if is_active else OTHER_PROJECT_WEIGHT
    return weight


def weigh_annotated(items: Sequence[Ranked], weights: Mapping[int, float]) -> list[Ranked]:
    """Return candidates with weighted scores, best first, scores from 0 to 1."""
    weighed = [
        with_score(item, item.score * weight)
        for item in items
        if (weight := weights.get(int(item.id), 1.0)) > 0
    ]
    best = max((item.score for item in weighed), default=0.0)
    if best > 1:  # scale all scores, so that the order stays
        weighed = [with_score(item, item.score / best) for item in weighed]
    return best_first(weighed)


def put_exact_first(items: Sequence[Ranked], matches: Mapping[str | int, int]) -> list[Ranked]:
    """Put exact matches before all other candidates, those with more exact matches first."""
    most = max((matches.get(item.id, 0) for item in items), default=0)
    if most == 0:
        return best_first(items)
    top = max((item.score for item in items if not matches.get(item.id, 0)), default=0.0)
    shrink = min(1.0, MAX_INEXACT_SCORE / top) if top > 0 else 1.0

    def placed(item: Ranked) -> float:
        count = matches.get(item.id, 0)
        if count == 0:
            return min(MAX_INEXACT_SCORE, item.score * shrink)
        return MAX_INEXACT_SCORE + (1 - MAX_INEXACT_SCORE) * (count - 1 + item.score) / most

    # Sort by group, not by the new score: the worst of a group may equal the best of the next.
    ordered = sorted(best_first(items), key=lambda item: -matches.get(item.id, 0))
    return [with_score(item, placed(item)) for item in ordered]


def put_newest_first(items: Sequence[Ranked], newness: Mapping[int, float]) -> list[Ranked]:
    """Put the best candidate first after adding a share of the best score for its newness; the others stay."""
    best = items[0].score
    first = max(items, key=lambda item: item.score + NEWEST_SHARE * best * newness.get(int(item.id), 0.0))
    return [with_score(first, best), *(item for item in items if item is not first)]


def put_linked_next(items: Sequence[Ranked], linked: Iterable[int]) -> list[Ranked]:
    """Put candidates to which the best line leads directly after the best candidate, in their order."""
    places = {key: place for place, key in enumerate(linked)}
    first, *others = items
    moved = sorted((item for item in others if item.id in places), key=lambda item: places[int(item.id)])
    stay = [item for item in others if item.id not in places]
    score = stay[0].score if stay else first.score
    return [first, *(with_score(item, score) for item in moved), *stay]


def spread_regions(items: Sequence[Ranked], exact: Mapping[str | int, int]) -> list[Ranked]:
    """Let other regions of long files pass the neighbours of better candidates, if their scores are close.

    The scores stay, and so do exact matches before all other candidates.
    """
    best, others = items[:MAX_SPREAD], items[MAX_SPREAD:]
    lengths: dict[str, int] = {}
    for item in best:
        lengths[item.path] = max(lengths.get(item.path, 0), item.end_line)
    better: dict[str, list[Ranked]] = {
        path: [] for path, lines in lengths.items() if lines >= LONG_FILE_LINES
    }
    values = {item.id: item.score for item in best}
    for item in best:
        if item.path in better:
            if any(_are_adjacent(item, other) for other in better[item.path]):
                values[item.id] *= NEIGHBOUR_FACTOR
            better[item.path].append(item)
    return [*sorted(best, key=lambda item: (-exact.get(item.id, 0), -values[item.id])), *others]


def _are_adjacent(one: Ranked, other: Ranked) -> bool:
    """Return whether two candidates of a file overlap, or one begins on the line after the other."""
    return one.start_line <= other.end_line + 1 and other.start_line <= one.end_line + 1


def spread_files(items: Sequence[Ranked]) -> list[Ranked]:
    """Let candidates of other files pass the further ones of a file, if their scores are close."""
    counts: Counter[str] = Counter()
    spread = []
    for item in items:
        spread.append(with_score(item, item.score * FURTHER_WEIGHT ** counts[item.path]))
        counts[item.path] += 1
    return best_first(spread)


def rerank_mmr(items: Sequence[Ranked], lambda_: float, limit: int | None = None) -> list[Ranked]:
    """Move near duplicates down by maximal marginal relevance.

    The next candidate has the highest `lambda_ * relevance - (1 - lambda_) * similarity`: relevance is its score scaled
    to 0..1, similarity the greatest Jaccard index of words with a candidate chosen before.
    """
    left = best_first(items)
    lambda_ = max(0.0, min(1.0, lambda_))
    if len(left) <= 1 or lambda_ == 1:
        return left
    low, high = left[-1].score, left[0].score
    relevance = [(item.score - low) / (high - low) if high > low else 1.0 for item in left]
    words = _as_bits(left)
    sizes = [each.bit_count() for each in words]
    likeness = [0.0] * len(left)
    waiting = list(range(len(left)))
    order: list[int] = []
    while waiting and (limit is None or len(order) < limit):
        check_cancelled()
        # `waiting` is ordered by relevance, so the more relevant of equals is chosen.
        chosen = max(waiting, key=lambda at: lambda_ * relevance[at] - (1 - lambda_) * likeness[at])
        waiting.remove(chosen)
        order.append(chosen)
        for at in waiting:
            alike = _jaccard(words[at], words[chosen], sizes[at] + sizes[chosen])
            likeness[at] = max(likeness[at], alike)
    return [left[at] for at in order + waiting]


def _as_bits(items: Sequence[Ranked]) -> list[int]:
    """Return each candidate's set of words as a bit mask, for cheap intersections."""
    numbers: dict[str, int] = {}
    sets = []
    for item in items:
        bits = 0
        for word in set(folded_words(item.snippet)):
            bits |= 1 << numbers.setdefault(word, len(numbers))
        sets.append(bits)
    return sets


def _jaccard(one: int, other: int, both_sizes: int) -> float:
    """Return the Jaccard index of two word sets, 1 for two empty ones."""
    if both_sizes == 0:
        return 1.0
    shared = (one & other).bit_count()
    return shared / (both_sizes - shared)


def put_statement_first(items: Sequence[Ranked], only_asks: Callable[[Ranked], bool]) -> list[Ranked]:
    """Put the best candidate that states something before questions that nothing answers."""
    asking = list(takewhile(only_asks, items[:MAX_ASKING]))
    rest = items[len(asking) :]
    if not asking or not rest or len(asking) == MAX_ASKING:
        return list(items)
    return [with_score(rest[0], asking[0].score), *asking, *rest[1:]]


def interleave_notes(
    ranked: Sequence[Ranked], is_transcript: Callable[[Ranked], bool], is_relevant: Callable[[Ranked], bool]
) -> list[Ranked]:
    """Return results so that transcripts take at most half of the places while relevant notes are left.

    The order is by score until transcripts have half of the places, rounded up; then the next relevant note comes
    first. A result's place does not depend on how many are requested.
    """
    notes = deque(item for item in ranked if not is_transcript(item))
    transcripts = deque(item for item in ranked if is_transcript(item))
    place_of = {item.id: place for place, item in enumerate(ranked)}
    balanced: list[Ranked] = []
    taken = 0
    while notes and transcripts:
        note_is_first = place_of[notes[0].id] < place_of[transcripts[0].id]
        had_their_half = taken >= (len(balanced) + 2) // 2
        if note_is_first or (had_their_half and is_relevant(notes[0])):
            balanced.append(notes.popleft())
        else:
            balanced.append(transcripts.popleft())
            taken += 1
    return [*balanced, *notes, *transcripts]
