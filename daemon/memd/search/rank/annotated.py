"""Importance and project of an entry, as they count in a ranking; the figures are those of OpenClaw's own memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from memd.search.rank.fusion import Ranked, best_first, with_score
from memd.text.cut.annotations import Annotations

BASE_WEIGHT: Final = 0.75
IMPORTANCE_STEP: Final = 0.05
"""Weight of one step of importance: 1 counts 0.8, 5 counts 1, 10 counts 1.25."""

ACTIVE_PROJECT_WEIGHT: Final = 1.15
OTHER_PROJECT_WEIGHT: Final = 0.9


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
