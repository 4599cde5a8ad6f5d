"""Thresholds of relevance: when a search answers, and what a hit's score means.

Closeness is a calibrated cosine (`memd.search.calibration`). Coverage is the share of the query's terms that a chunk
has, weighted by their rarity, 0 to 1. benchmarks/NOTES.md has the error rates.
"""

from __future__ import annotations

from typing import Final

MIN_COSINE: Final = 0.25
"""Minimum cosine of a related chunk, if the model is not calibrated."""

MIN_SCALED_COSINE: Final = 0.2
"""The same on a scale from 0 to 1 among the candidates, because the range of such a model is unknown."""

MIN_CLOSENESS: Final = -0.15
"""Minimum closeness of a related chunk."""

TRANSLATED_CLOSENESS: Final = -0.6
"""Closeness from which a chunk in another language than the query is relevant: it can't have the query's words."""

STRONG_PROBABILITY: Final = 0.42
"""Probability from which a hit is strong. See benchmarks/NOTES.md for how often such a hit holds evidence."""

SUFFICIENT_COVERAGE: Final = 0.55
"""Coverage from which a search answers, whatever the closeness."""

DISTINCTIVE_TERMS: Final = 2
"""Distinctive terms in one chunk that are enough: two rare terms seldom meet by chance."""

WHOLE_COVERAGE: Final = 0.999
"""Coverage from which a chunk has all terms."""

MAX_DISTINCTIVE_SHARE: Final = 0.02
MIN_DISTINCTIVE_CHUNKS: Final = 3
"""A term is distinctive if at most this share of all chunks have it, or so few chunks."""

MIN_KEYWORD_COVERAGE: Final = 0.25
"""Minimum coverage without comparable vectors."""

MIN_CJK_COVERAGE: Final = 0.15
"""The same for scripts without spaces: their terms are letter pairs, and many pairs aren't words."""

CLOSENESS_WEIGHT: Final = 0.156
"""Weight of the closeness of the nearest chunk and of the nearest line, each added to the coverage."""

RELEVANCE_THRESHOLD: Final = 0.474
"""Minimum of coverage plus weighted closeness of a relevant hit."""

LINE_MARGIN: Final = 0.2
"""Margin over the threshold, with the chunk's closeness for the line's, above which no line is compared: a line of a
near chunk is rarely much farther than the chunk."""

MIN_CHUNKS_FOR_WEIGHTS: Final = 50
"""Chunks that an index needs for term weights: in a smaller one no term is rare, and any match counts."""

SHORT_QUERY_TERMS: Final = 2
"""Most terms of a query in which a corrected term is a typing error rather than a guess."""

CORRECTED_WEIGHT: Final = 0.5
SHORT_QUERY_CORRECTED_WEIGHT: Final = 0.9
"""Weight of a corrected term, and the same in a short query, because there it is seldom a wrong guess."""

WEAK_SCALE: Final = 0.5
"""Factor of all scores if the best hit is weak, so that a score above 0.5 means a strong best hit."""
