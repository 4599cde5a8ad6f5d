"""Neighbours: a passage whose neighbour was found as well is more likely to be what is meant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from memd.ranking.fusion import Ranked, best_first, with_score

SHARE = 0.35
"""What the better neighbour's score counts, beside the passage's own. Chosen on the evaluation set: between 0.15 and
0.35 it hardly matters, without it a point of evidence is lost; see docs/ranking.md."""

Span = tuple[str, int, int]
"""(path, start, end) of a text in its file, in characters; the end not belonging to it."""


def lift_by_neighbours(
    items: Sequence[Ranked], spans: Mapping[int, Span], share: float | None = None
) -> list[Ranked]:
    """Add to each score a share of the better of its direct neighbours' scores, in a file.

    Args:
        items: Scored candidates.
        spans: Where each one is; a candidate without a place (start equal to end) has no neighbours.
        share: What a neighbour counts; None for `SHARE`.

    Returns:
        The same candidates, best first; scores stay within 0..1.
    """
    share = SHARE if share is None else share
    by_path: dict[str, list[tuple[int, int, int, int]]] = defaultdict(list)
    for at, item in enumerate(items):
        path, start, end = spans[int(item.id)]
        if end > start:
            by_path[path].append((start, end, int(item.id), at))
    score = [item.score for item in items]
    best = [0.0] * len(items)
    for places in by_path.values():
        places.sort()
        for (_, end, _, one), (start, _, _, other) in pairwise(places):
            if start <= end + 1:  # they overlap, or only a line end is between them
                best[one] = max(best[one], score[other])
                best[other] = max(best[other], score[one])
    lifted = [own + share * other for own, other in zip(score, best, strict=True)]
    # The best of the list keeps its score: one good match alone is worth 1, not less for having no neighbour.
    scale = max(score, default=0.0) / (max(lifted, default=0.0) or 1.0)
    return best_first([with_score(item, value * scale) for item, value in zip(items, lifted, strict=True)])
