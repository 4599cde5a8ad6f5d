"""Fusion of candidates by the formula of the settings; the formulas themselves are in `fusion`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from memd.index.chunk_locations import ChunkLocations
from memd.search.query import Query
from memd.search.rank.candidates import CandidateRows, LocatedCandidates
from memd.search.rank.fusion import (
    FloatArray,
    Ranked,
    best_first,
    bm25_score,
    fuse_rrf,
    fuse_weighted,
    normalized_scores,
    scores_with_neighbours,
)
from memd.search.rank.lines import LineMatches, line_scores, match_lines
from memd.search.retrieve import Candidates
from memd.settings.schema import Hybrid

DEFAULT_VECTOR_WEIGHT = 0.35
"""Vector weight in `normalized` fusion without a setting; the rest is the keyword weight. See benchmarks/NOTES.md."""

MAX_CANDIDATES_READ = 32
"""Candidates whose texts are read line by line, the best by fused score."""

UNSCALED_COSINE_WEIGHT = 0.4
"""Weight of a candidate's cosine next to its fused score, whose cosines are scaled to those of the candidates."""


class ReadLines(NamedTuple):
    """The candidates whose texts were read line by line: the number of each by id, and the matches in their lines."""

    numbers: Mapping[int, int]
    matches: LineMatches


@dataclass(frozen=True, slots=True)
class Fused:
    """Candidates after fusion.

    Attributes:
        ranked: Best first.
        scores: Scores of the formula alone, in the order of the locations.
        lines: Matches in the lines of the best candidates; None if the formula doesn't read them.
        steps: Scores after each step by its name, if an explanation is requested.
    """

    ranked: Sequence[Ranked]
    scores: FloatArray
    lines: ReadLines | None = None
    steps: Mapping[str, Mapping[int, float]] = field(default_factory=dict)


def fuse(query: Query, candidates: Candidates, located: LocatedCandidates) -> Fused:
    """Return the candidates with the scores of the configured formula, best first (blocking: may read texts)."""
    return FORMULAS[query.settings.hybrid.fusion](query, candidates, located)


def read_lines(query: Query, rows: CandidateRows, ids: Sequence[int]) -> ReadLines:
    """Return the matches in the lines of some candidates."""
    texts = rows.texts(ids)
    matches = match_lines([texts[key] for key in ids], query.text, query.plan.words)
    return ReadLines({key: at for at, key in enumerate(ids)}, matches)


def _fuse_normalized(query: Query, candidates: Candidates, located: LocatedCandidates) -> Fused:
    """Return the candidates scored by the default formula: both searches, then neighbours, then lines."""
    locations, by_vector = located.locations, candidates.by_vector
    weights = _side_weights(query.settings.hybrid, bool(by_vector), bool(candidates.by_keyword))
    fused = normalized_scores(len(locations), located.by_vector, located.by_keyword, *weights)
    lifted = scores_with_neighbours(fused, locations)
    ids: list[int] = locations.ids.tolist()
    lines, scores = None, lifted
    if ids:
        best = np.sort(np.argsort(-lifted, kind="stable")[:MAX_CANDIDATES_READ])
        lines = read_lines(query, located.rows, locations.ids[best].tolist())
        added = lifted.copy()
        added[best] += line_scores(lines.matches, locations.files[best])
        scores = _scaled_to(lifted, _with_cosines(added, ids, by_vector))
    steps = {"fused": fused, "neighbours": lifted, "lines": scores} if query.limits.explain else {}
    return Fused(
        best_first(_items(query, located, candidates.by_keyword, by_vector, scores.tolist())),
        fused,
        lines,
        {name: dict(zip(ids, values.tolist(), strict=True)) for name, values in steps.items()},
    )


def _with_cosines(scores: FloatArray, ids: Sequence[int], cosines: Mapping[int, float]) -> FloatArray:
    """Add each candidate's cosine to its score; candidates without a vector count as the farthest."""
    if not cosines:
        return scores
    lowest = min(cosines.values())
    return scores + UNSCALED_COSINE_WEIGHT * np.fromiter(
        (cosines.get(key, lowest) for key in ids), np.float64, len(ids)
    )


def _scaled_to(before: FloatArray, after: FloatArray) -> FloatArray:
    """Return positive scores, scaled so that the best score is as high as before."""
    after = np.maximum(after, 0.0)
    scale: float = before.max(initial=0.0) / (after.max(initial=0.0) or 1.0)
    return after * scale


def _fuse_weighted(query: Query, candidates: Candidates, located: LocatedCandidates) -> Fused:
    """Return the candidates scored by OpenClaw's formula."""
    hybrid = query.settings.hybrid
    by_keyword = {key: bm25_score(-score) for key, score in candidates.by_keyword.items()}
    items = _items(query, located, by_keyword, candidates.by_vector)
    return _fused(query, located.locations, fuse_weighted(items, hybrid.vector_weight, hybrid.text_weight))


def _fuse_ranks(query: Query, candidates: Candidates, located: LocatedCandidates) -> Fused:
    """Return the candidates scored by reciprocal rank fusion."""
    items = _items(query, located, candidates.by_keyword, candidates.by_vector)
    return _fused(query, located.locations, fuse_rrf(items))


def _items(
    query: Query,
    located: LocatedCandidates,
    texts: Mapping[int, float],
    vectors: Mapping[int, float],
    scores: Sequence[float] | None = None,
) -> list[Ranked]:
    """Return the candidates in the order of their locations; texts are read only if they are compared."""
    locations = located.locations
    columns = (locations.ids, locations.files, locations.lines, locations.end_lines)
    ids, files, lines, end_lines = (column.tolist() for column in columns)
    snippets = located.rows.texts(ids) if query.settings.hybrid.mmr.enabled else {}
    paths = locations.file_numbers.paths
    values = scores if scores is not None else [0.0] * len(ids)
    return [
        Ranked(key, paths[file], line, end, snippets.get(key, ""), vectors.get(key), texts.get(key), score)
        for key, file, line, end, score in zip(ids, files, lines, end_lines, values, strict=True)
    ]


def _fused(query: Query, locations: ChunkLocations, ranked: Sequence[Ranked]) -> Fused:
    by_id = {int(item.id): item.score for item in ranked}
    scores = np.empty(len(locations))
    scores[locations.at(list(by_id))] = list(by_id.values())
    return Fused(ranked, scores, steps={"fused": by_id} if query.limits.explain else {})


def _side_weights(hybrid: Hybrid, has_vectors: bool, has_keywords: bool) -> tuple[float, float]:
    """Return the weights of vectors and keywords; a search without matches cedes its weight."""
    if not has_vectors or not has_keywords:
        return (0.0, 1.0) if has_keywords else (1.0, 0.0)
    if hybrid.weights_set:
        return hybrid.vector_weight, hybrid.text_weight
    return DEFAULT_VECTOR_WEIGHT, 1 - DEFAULT_VECTOR_WEIGHT


FORMULAS: Final[Mapping[str, Callable[[Query, Candidates, LocatedCandidates], Fused]]] = {
    "normalized": _fuse_normalized,
    "weighted": _fuse_weighted,
    "rrf": _fuse_ranks,
}
"""The formulas by the setting `query.hybrid.fusion`."""
