"""The stages of a ranking after fusion: days, age, annotations, exact terms, diversity, source balance. Pure functions.

Each returns an order that depends on the candidates alone. Their figures are in docs/ranking.md.
"""

from __future__ import annotations

import datetime
import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from memd.search.rank.fusion import Ranked, best_first, with_score
from memd.system.cancellation import check_cancelled
from memd.text.cut.annotations import Annotations
from memd.text.query.dates import date_in_path
from memd.text.tokens import folded_words

DAY_SHARE = 0.35
"""Share of the score for being of a day that the query names. A note of another day may still be first if it alone
matches the rest of the query."""

MAX_INEXACT_SCORE = 0.9
"""Highest score of a candidate without an exact match if others have one."""

DAY_MS = 86_400_000
"""Milliseconds in a day."""

_EPOCH = datetime.date(1970, 1, 1)

BASE_WEIGHT: Final = 0.75
IMPORTANCE_STEP: Final = 0.05
"""Weight of one step of importance: 1 counts 0.8, 5 counts 1, 10 counts 1.25."""

ACTIVE_PROJECT_WEIGHT: Final = 1.15
OTHER_PROJECT_WEIGHT: Final = 0.9


def prefer_days(items: Iterable[Ranked], asked: Collection[str | int]) -> list[Ranked]:
    """Move candidates of the days a query names up."""
    listed = list(items)
    if not asked:
        return best_first(listed)
    return best_first(
        with_score(item, (1 - DAY_SHARE) * item.score + DAY_SHARE * (item.id in asked)) for item in listed
    )


def decay_weight(age_days: float, half_life_days: float) -> float:
    """Return what a note of some age still counts."""
    if not (math.isfinite(half_life_days) and half_life_days > 0 and math.isfinite(age_days)):
        return 1.0
    return math.exp(-(math.log(2) / half_life_days) * max(0.0, age_days))


def decay_candidates(items: Iterable[Ranked], now_ms: int, half_life_days: float) -> list[Ranked]:
    """Weigh scores by the age of their notes, and order the candidates again."""
    weighed = []
    for item in items:
        day = date_in_path(item.path)
        if day is not None:
            age_days = max(0, now_ms - (day - _EPOCH).days * DAY_MS) / DAY_MS
            item = with_score(item, item.score * decay_weight(age_days, half_life_days))
        weighed.append(item)
    return best_first(weighed)


def annotation_weight(annotations: Annotations, active_projects: Collection[str]) -> float:
    """Return the factor of an entry's score, 0 if the entry must not be shown."""
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
    """Return candidates with their scores times their weights, best first, scores from 0 to 1."""
    weighed = [
        with_score(item, item.score * weight)
        for item in items
        if (weight := weights.get(int(item.id), 1.0)) > 0
    ]
    best = max((item.score for item in weighed), default=0.0)
    if best > 1:  # all alike, so that their order stays
        weighed = [with_score(item, item.score / best) for item in weighed]
    return best_first(weighed)


def put_exact_first(items: Sequence[Ranked], matches: Mapping[str | int, int]) -> list[Ranked]:
    """Put candidates that match exact terms before all others, those that match more of them first."""
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

    # By group, not by the new score: the worst of one group and the best of the next may have the same.
    ordered = sorted(best_first(items), key=lambda item: -matches.get(item.id, 0))
    return [with_score(item, placed(item)) for item in ordered]


def rerank_mmr(items: Sequence[Ranked], lambda_: float, limit: int | None = None) -> list[Ranked]:
    """Reorder candidates so that near repetitions come later.

    Each next one is the best of `lambda_` times its relevance (scores stretched over 0..1) minus
    `1 - lambda_` times its likeness to the most similar one already chosen (Jaccard on words).
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
        # `waiting` is in order of relevance, and the first of equals wins.
        chosen = max(waiting, key=lambda at: lambda_ * relevance[at] - (1 - lambda_) * likeness[at])
        waiting.remove(chosen)
        order.append(chosen)
        for at in waiting:
            alike = _jaccard(words[at], words[chosen], sizes[at] + sizes[chosen])
            likeness[at] = max(likeness[at], alike)
    return [left[at] for at in order + waiting]


def _as_bits(items: Sequence[Ranked]) -> list[int]:
    """Return each candidate's set of words as a number with one bit a word: intersections are then cheap."""
    numbers: dict[str, int] = {}
    sets = []
    for item in items:
        bits = 0
        for word in set(folded_words(item.snippet)):
            bits |= 1 << numbers.setdefault(word, len(numbers))
        sets.append(bits)
    return sets


def _jaccard(one: int, other: int, both_sizes: int) -> float:
    """Return the Jaccard index of two sets of words, 0 to 1; two empty ones are the same."""
    if both_sizes == 0:
        return 1.0
    shared = (one & other).bit_count()
    return shared / (both_sizes - shared)


def interleave_notes(
    ranked: Sequence[Ranked], is_transcript: Callable[[Ranked], bool], is_relevant: Callable[[Ranked], bool]
) -> list[Ranked]:
    """Return results in an order in which transcripts never take more than every second place from a note.

    The order is by score, except that a relevant note comes before a better transcript once transcripts have half of
    the places, rounded up. What is on a place never depends on how many are wanted.
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
