"""Neighbours: a passage whose neighbour was found as well is more likely to be what is meant."""

from __future__ import annotations

import numpy as np

from memd.ranking.fusion import FloatArray
from memd.ranking.places import Places

SHARE = 0.35
"""What the better neighbour's score counts, beside the passage's own. Chosen on the evaluation set: between 0.15 and
0.35 it hardly matters, without it a point of evidence is lost; see docs/ranking.md."""


def lifted_scores(scores: FloatArray, places: Places, share: float | None = None) -> FloatArray:
    """Add to each score a share of the better of its direct neighbours' scores, in a file.

    Args:
        scores: (n,), of the candidates.
        places: Where each one is: of two in the same place the lesser id counts as the first, and one of which that
            isn't known has no neighbours.
        share: What a neighbour counts; None for `SHARE`.

    Returns:
        (n,), the new scores, within 0..1.
    """
    share = SHARE if share is None else share
    if not scores.size:
        return scores
    at = (places.ends > places.starts).nonzero()[0]
    at = at[np.lexsort((places.ends[at], places.starts[at], places.files[at]))]
    one, other = at[:-1], at[1:]
    # They overlap, or only a line end is between them.
    beside = (places.files[one] == places.files[other]) & (places.starts[other] <= places.ends[one] + 1)
    one, other = one[beside], other[beside]
    best = np.zeros(len(scores))
    best[one] = scores[other]
    best[other] = np.maximum(best[other], scores[one])
    lifted = scores + share * best
    # The best of the list keeps its score: one good match alone is worth 1, not less for having no neighbour.
    scale: float = scores.max() / (lifted.max() or 1.0)
    return lifted * scale
