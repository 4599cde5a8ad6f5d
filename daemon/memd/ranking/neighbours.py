"""Neighbours: a passage whose neighbour was found as well is more likely to be what is meant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

SHARE = 0.35
"""What the better neighbour's score counts, beside the passage's own. Chosen on the evaluation set: between 0.15 and
0.35 it hardly matters, without it a point of evidence is lost; see docs/ranking.md."""

Span = tuple[str, int, int]
"""(path, start, end) of a text in its file, in characters; the end not belonging to it."""


def lifted_scores(
    score: Sequence[float], ids: Sequence[int], spans: Sequence[Span], share: float | None = None
) -> list[float]:
    """Add to each score a share of the better of its direct neighbours' scores, in a file.

    Args:
        score: Scores of the candidates.
        ids: Their ids: of two in the same place the lesser counts as the first.
        spans: Where each one is; a candidate without a place (start equal to end) has no neighbours.
        share: What a neighbour counts; None for `SHARE`.

    Returns:
        The new scores, within 0..1.
    """
    share = SHARE if share is None else share
    by_path: dict[str, list[tuple[int, int, int, int]]] = defaultdict(list)
    for at, (path, start, end) in enumerate(spans):
        if end > start:
            by_path[path].append((start, end, ids[at], at))
    best = [0.0] * len(score)
    for places in by_path.values():
        if len(places) == 1:  # as most are
            continue
        places.sort()
        for (_, end, _, one), (start, _, _, other) in pairwise(places):
            if start <= end + 1:  # they overlap, or only a line end is between them
                best[one] = max(best[one], score[other])
                best[other] = max(best[other], score[one])
    lifted = [own + share * other for own, other in zip(score, best, strict=True)]
    # The best of the list keeps its score: one good match alone is worth 1, not less for having no neighbour.
    scale = max(score, default=0.0) / (max(lifted, default=0.0) or 1.0)
    return [value * scale for value in lifted]
