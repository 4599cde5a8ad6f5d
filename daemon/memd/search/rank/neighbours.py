"""Neighbours: a passage whose neighbour was found as well is more likely to be what is meant."""

from __future__ import annotations

import numpy as np

from memd.index.chunk_columns import Places
from memd.search.rank.fusion import FloatArray

SHARE = 0.35
"""What the better neighbour's score counts, beside the passage's own. Chosen on the evaluation set: between 0.15 and
0.35 it hardly matters, without it a point of evidence is lost; see docs/ranking.md."""


def lifted_scores(scores: FloatArray, places: Places, share: float | None = None) -> FloatArray:
    """Add to each score a share of the better of its direct neighbours' scores, in a file."""
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
