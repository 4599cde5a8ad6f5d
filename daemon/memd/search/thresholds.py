"""Thresholds of relevance: when a search answers, and what a hit's score means.

Cosines were measured with MiniLM, the default model; for other models only `MIN_COSINE` holds. Coverage is the share of
the query's terms that a chunk has, weighted by their rarity, 0 to 1. benchmarks/NOTES.md has the error rates.
"""

from __future__ import annotations

import re
from typing import Final

from memd.text.tokens import CJK_CLASS

MIN_COSINE: Final = 0.25
"""Minimum cosine of a related chunk, for any model: MiniLM gives unrelated text 0.1 to 0.21."""

MIN_SCALED_COSINE: Final = 0.2
"""Minimum cosine for uncalibrated models, scaled to 0..1 among the candidates, because their range is unknown."""

STRONG_COSINE: Final = 0.4
"""Cosine from which a hit is strong."""

STRONG_COVERAGE: Final = 0.55
"""Coverage from which a search answers and a hit is strong, whatever its cosine. In conversations, a strong hit holds
evidence four times as often as a weak one."""

DISTINCTIVE_TERMS: Final = 2
"""Distinctive terms in one chunk that are enough: two rare terms seldom meet by chance."""

DISTINCTIVE_COVERAGE: Final = 0.3
"""Coverage that a strong hit with `DISTINCTIVE_TERMS` needs, so that two terms of a long query aren't enough."""

MAX_DISTINCTIVE_SHARE: Final = 0.02
MIN_DISTINCTIVE_CHUNKS: Final = 3
"""A term is distinctive if at most this share of all chunks have it, or so few chunks."""

MIN_KEYWORD_COVERAGE: Final = 0.25
"""Minimum coverage without comparable vectors."""

MIN_CJK_COVERAGE: Final = 0.15
"""The same for scripts without spaces: their terms are letter pairs, and many pairs aren't words."""

COSINE_WEIGHT: Final = 1.2
"""Weight of the cosines of the nearest chunk and the nearest line, each added to the coverage."""

RELEVANCE_THRESHOLD: Final = 1.12
"""Minimum of coverage plus weighted cosines of a relevant hit."""

LINE_MARGIN: Final = 0.2
"""Margin over the threshold, with the chunk's cosine for the line's, above which no line is compared: a line of a near
chunk is rarely much farther than the chunk."""

MIN_CHUNKS_FOR_WEIGHTS: Final = 50
"""Chunks that an index needs for term weights: in a smaller one no term is rare, and any match counts."""

STRONG_KEYWORD_SHARE: Final = 0.6
"""Share of the best keyword score from which a hit is strong if the index alone matched its terms."""

SHORT_QUERY_TERMS: Final = 2
"""Most terms of a query in which a corrected term is a typing error rather than a guess."""

CORRECTED_WEIGHT: Final = 0.5
SHORT_QUERY_CORRECTED_WEIGHT: Final = 0.9
"""Weight of a corrected term, and the same in a short query, because there it is seldom a wrong guess."""

WEAK_SCALE: Final = 0.5
"""Factor of all scores if the best hit is weak, so that a score above 0.5 means a strong best hit."""

_CALIBRATED = re.compile(r"minilm(?:-l6.*)?|.*all-minilm-l6.*", re.IGNORECASE)
"""The calibrated model, as a name and as a file."""

_UNTRAINED = re.compile(rf"[{CJK_CLASS}\u0370-\u1fff]")


def is_calibrated(model: str) -> bool:
    """Return whether the thresholds of cosines hold for a model."""
    return _CALIBRATED.fullmatch(model) is not None


def is_untrained_script(query: str) -> bool:
    """Return whether a query has a script that MiniLM wasn't trained on, so that its cosines mean nothing."""
    return _UNTRAINED.search(query) is not None
