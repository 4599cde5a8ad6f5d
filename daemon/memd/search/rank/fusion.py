"""Fusion of keyword and vector scores by the formula of the settings.

The order never depends on the order of the input: equal scores are ordered by cosine, BM25 and location.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from memd.index.chunk_locations import ChunkLocations
from memd.search.query import Query
from memd.search.rank.candidates import CandidateRows, LocatedCandidates, MatchScores
from memd.search.rank.lines import LineMatches, line_scores, match_lines, user_scores
from memd.search.retrieve import Candidates
from memd.settings.schema import Hybrid

FloatArray = NDArray[np.float64]

RRF_K = 60
"""Constant of reciprocal rank fusion, as in its paper."""

NEIGHBOUR_WEIGHT = 0.35
"""Weight of the better neighbour's score; see benchmarks/NOTES.md."""

DEFAULT_VECTOR_WEIGHT = 0.46
"""Vector weight in `normalized` fusion without a setting; the rest is the keyword weight. See benchmarks/NOTES.md."""

MAX_CANDIDATES_READ = 32
"""Candidates whose texts are read line by line, the best by fused score."""

UNSCALED_COSINE_WEIGHT = 0.4
"""Weight of a candidate's cosine next to its fused score, whose cosines are scaled to those of the candidates."""


NOT_RANKED = 999
"""The rank of a match whose BM25 is not a number, as in OpenClaw."""


class Ranked(msgspec.Struct, gc=False):
    """A chunk found by keyword search, vector search or both, with its score; higher is better.

    The score of a search that didn't find it is None. A struct because a search creates hundreds of them.
    """

    id: str | int
    path: str
    start_line: int
    end_line: int
    snippet: str
    vector_score: float | None
    text_score: float | None
    score: float = 0.0


class ReadLines(NamedTuple):
    """The candidates whose texts were read line by line: the number of each by id, and the matches in their lines."""

    numbers: Mapping[int, int]
    matches: LineMatches


class Fused(Struct, frozen=True):
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
        added = _with_cosines(added, ids, by_vector)
        first = int(added.argmax())
        if lines.matches.by_user.any():
            added[best] += user_scores(lines.matches, _are_notes(query, locations)[best])
        if query.is_message:
            added[first] = np.nextafter(max(added[first], added.max()), np.inf)
        scores = _scaled_to(lifted, added)
    steps = {"fused": fused, "neighbours": lifted, "lines": scores} if query.limits.explain else {}
    return Fused(
        best_first(_items(query, located, candidates.by_keyword, by_vector, scores.tolist())),
        fused,
        lines,
        {name: dict(zip(ids, values.tolist(), strict=True)) for name, values in steps.items()},
    )


def _are_notes(query: Query, locations: ChunkLocations) -> NDArray[np.bool_]:
    """Return (n,) which candidates are from notes; none if conversations aren't searched as well."""
    if query.limits.notes_scope is None:
        return np.zeros(len(locations), bool)
    return ~np.isin(locations.ids, locations.from_sources(query.limits.conversations))


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
    paths = locations.paths()
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


def bm25_score(rank: float) -> float:
    """Return FTS5's rank as the score that OpenClaw calculates."""
    if not math.isfinite(rank):
        return 1 / (1 + NOT_RANKED)
    if rank < 0:
        return -rank / (1 - rank)
    return 1 / (1 + rank)


def fuse_weighted(candidates: Iterable[Ranked], vector_weight: float, text_weight: float) -> list[Ranked]:
    """Return the weighted sum of both scores: OpenClaw's formula."""
    return best_first(
        with_score(each, vector_weight * (each.vector_score or 0.0) + text_weight * (each.text_score or 0.0))
        for each in candidates
    )


def normalized_scores(
    count: int, vectors: MatchScores, keywords: MatchScores, vector_weight: float, text_weight: float
) -> FloatArray:
    """Scale the scores of each search to 0..1, then add them with their weights.

    BM25 has no upper bound, so it is divided by the best. Cosines fall into a narrow range, so they are min-max scaled.
    """
    total = vector_weight + text_weight
    vector_share = vector_weight / total if total > 0 else 0.0
    text_share = 1 - vector_share if total > 0 else 0.0
    scores = np.zeros(count)
    scores[vectors.at] = vector_share * _min_max_scaled(vectors.scores)
    scores[keywords.at] += text_share * _scaled_by_best(keywords.scores)
    return scores


def fuse_rrf(candidates: Sequence[Ranked], k: int = RRF_K) -> list[Ranked]:
    """Return reciprocal rank fusion of both searches."""
    vector_ranks = _ranks([each.vector_score for each in candidates])
    text_ranks = _ranks([each.text_score for each in candidates])
    best = 2 / (k + 1)
    return best_first(
        with_score(
            each,
            (_reciprocal(vector_ranks, each.vector_score, k) + _reciprocal(text_ranks, each.text_score, k))
            / best,
        )
        for each in candidates
    )


def best_first(items: Iterable[Ranked]) -> list[Ranked]:
    """Return candidates by score, equal scores by `_tie_break`."""
    listed = list(items)
    scores = np.array([item.score for item in listed], dtype=np.float64)
    order = np.argsort(-scores, kind="stable")
    ordered, best = [listed[at] for at in order.tolist()], scores[order]
    equal = (best[1:] == best[:-1]).nonzero()[0]  # each equals the next
    end = 0
    for first in equal.tolist():
        if first >= end:
            end = first + 2
            while end < len(ordered) and best[end] == best[first]:
                end += 1
            ordered[first:end] = sorted(ordered[first:end], key=_tie_break)
    return ordered


def _tie_break(item: Ranked) -> tuple[float, float, str, int, int, str]:
    """Return the sort key of a candidate among those with the same score: cosine, BM25, location, id."""
    by_cosine = math.inf if item.vector_score is None else -item.vector_score
    by_bm25 = math.inf if item.text_score is None else -item.text_score
    number, name = (item.id, "") if isinstance(item.id, int) else (0, item.id)
    return by_cosine, by_bm25, item.path, item.start_line, number, name


def with_score(item: Ranked, score: float) -> Ranked:
    """Return a candidate with another score."""
    return msgspec.structs.replace(item, score=score)


def _min_max_scaled(scores: FloatArray) -> FloatArray:
    """Return scores scaled from 0 (the lowest) to 1 (the best)."""
    if not scores.size:
        return scores
    least, best = scores.min(), scores.max()
    return (scores - least) / (best - least) if best > least else np.ones(len(scores))


def _scaled_by_best(scores: FloatArray) -> FloatArray:
    """Return scores divided by the best; all 1 if the best is not positive."""
    best = scores.max(initial=0.0)
    return np.maximum(scores, 0.0) / best if best > 0 else np.ones(len(scores))


def _ranks(scores: Iterable[float | None]) -> dict[float, int]:
    """Return the rank of every score, 1 for the best; equal scores share the better rank."""
    ranks: dict[float, int] = {}
    for rank, score in enumerate(
        sorted((each for each in scores if each is not None), reverse=True), start=1
    ):
        ranks.setdefault(score, rank)
    return ranks


def _reciprocal(ranks: dict[float, int], score: float | None, k: int) -> float:
    """Return the reciprocal rank of a score, 0 for None."""
    return 0.0 if score is None else 1 / (k + ranks[score])


def scores_with_neighbours(
    scores: FloatArray, locations: ChunkLocations, share: float | None = None
) -> FloatArray:
    """Add to each score a share of the better score of its direct neighbours in the file.

    A chunk whose neighbour matched too is more likely to be relevant.
    """
    share = NEIGHBOUR_WEIGHT if share is None else share
    if not scores.size:
        return scores
    at = (locations.ends > locations.starts).nonzero()[0]
    at = at[np.lexsort((locations.ends[at], locations.starts[at], locations.files[at]))]
    one, other = at[:-1], at[1:]
    # They overlap, or only a line end separates them.
    adjacent = (locations.files[one] == locations.files[other]) & (
        locations.starts[other] <= locations.ends[one] + 1
    )
    one, other = one[adjacent], other[adjacent]
    best = np.zeros(len(scores))
    best[one] = scores[other]
    best[other] = np.maximum(best[other], scores[one])
    lifted = scores + share * best
    # The best score stays: one good match without a neighbour must not lose.
    scale: float = scores.max() / (lifted.max() or 1.0)
    return lifted * scale


def ids_of(ranked: Sequence[Ranked]) -> list[int]:
    """Return the ids of ranked chunks, in order."""
    return [int(item.id) for item in ranked]


FORMULAS: Final[Mapping[str, Callable[[Query, Candidates, LocatedCandidates], Fused]]] = {
    "normalized": _fuse_normalized,
    "weighted": _fuse_weighted,
    "rrf": _fuse_ranks,
}
"""The formulas by the setting `query.hybrid.fusion`."""
