"""Ranking of candidates by a list of named stages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from memd.index.annotations import AnnotatedFiles, load_annotations, load_fact_days
from memd.index.chunk_locations import ChunkLocations, locations_of
from memd.index.files import chunks_by_id
from memd.index.snapshot import Snapshot
from memd.search.query import Query
from memd.search.rank.candidates import CandidateRows, CandidateTexts
from memd.search.rank.fusion import (
    Candidate,
    FloatArray,
    LazyRanking,
    MatchScores,
    Ranked,
    TieBreakKey,
    bm25_score,
    fuse_rrf,
    fuse_weighted,
    ids_of,
    normalized_scores,
    rows_best_first,
    scores_with_neighbours,
    tie_break_key,
)
from memd.search.rank.lines import LineMatches, line_scores, match_lines
from memd.search.rank.near_duplicates import NearDuplicates
from memd.search.rank.stages import (
    annotation_weight,
    decay_candidates,
    interleave_notes,
    prefer_days,
    put_exact_first,
    rerank_mmr,
    spread_files,
    weigh_annotated,
)
from memd.search.rank.supersession import ReadChunks, Superseded, find_superseded, put_current_first
from memd.search.retrieve import Candidates
from memd.search.thresholds import MIN_COSINE
from memd.settings.schema import Hybrid
from memd.text.cut.annotations import is_fact_file
from memd.text.query.exact import exact_match_counts, is_plain_query
from memd.text.statements import asks_about_past

MAX_MMR_CANDIDATES = 50
"""Most candidates reordered by maximal marginal relevance: later ones are not shown."""

DEFAULT_VECTOR_WEIGHT = 0.35
"""Vector weight in `normalized` fusion without a setting; the rest is the keyword weight. See benchmarks/NOTES.md."""

MAX_CANDIDATES_READ = 32
"""Candidates whose texts are read line by line, the best by fused score."""

UNSCALED_COSINE_WEIGHT = 0.4
"""Weight of a candidate's cosine next to its fused score, whose cosines are scaled to those of the candidates."""


@dataclass(frozen=True, slots=True)
class LocatedCandidates:
    """Candidates with their locations.

    Attributes:
        rows: Rows by chunk id.
        locations: The locations in columns.
        by_keyword, by_vector: Keyword and vector matches with their scores.
    """

    rows: CandidateRows
    locations: ChunkLocations
    by_keyword: MatchScores
    by_vector: MatchScores


@dataclass(slots=True)
class Ranking:
    """Candidates in their final order, with the intermediate results.

    Attributes:
        query, candidates: The input.
        rows: Rows of the candidates by id.
        locations: Locations in columns.
        texts: Texts of candidates, read on demand.
        annotated: Annotated entries of notes.
        annotation_weights: Score factors of candidates in annotated entries, by id.
        exact_matches: Exact match scores by id; candidates without an exact match are missing.
        of_days: Candidates from days that the query names.
        ranked: Best first, scores from 0 to 1.
        ids: Ids of `ranked`.
        fused: Scores after fusion, in the order of `locations`.
        lines: Matches in the lines of the best candidates, whose numbers there are in `text_numbers` by id.
        superseded: Outdated statements among the best candidates, with the current ones.
        near_duplicates: Finds near duplicates among the candidates.
        scores: Scores after each stage by its name, if an explanation is requested.
    """

    query: Query
    candidates: Candidates
    rows: CandidateRows
    locations: ChunkLocations
    texts: CandidateTexts
    annotated: AnnotatedFiles
    annotation_weights: dict[int, float]
    exact_matches: dict[str | int, int]
    of_days: frozenset[int]
    ranked: Sequence[Ranked] = ()
    ids: Sequence[int] = ()
    fused: FloatArray = field(default_factory=lambda: np.zeros(0))
    lines: LineMatches | None = None
    text_numbers: dict[int, int] = field(default_factory=dict)
    superseded: Sequence[Superseded] = ()
    near_duplicates: NearDuplicates = field(init=False)
    scores: dict[str, dict[int, float]] = field(default_factory=dict)

    @property
    def is_certain(self) -> bool:
        """Whether relevance needs no check: a candidate is an exact match or from a day of the query."""
        return bool(self.candidates.of_days) or bool(self.exact_matches)

    def note_scores(self, stage: str, scores: Mapping[int, float]) -> None:
        """Record the scores after a stage."""
        self.scores[stage] = dict(scores)


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the ranking after fusion.

    Attributes:
        name: Name in explanations.
        applies: Returns whether the stage has an effect on a ranking.
        rank: Returns the new order.
        changes_scores: Whether it changes scores as well as the order.
    """

    name: str
    applies: Callable[[Ranking], bool]
    rank: Callable[[Sequence[Ranked], Ranking], Sequence[Ranked]]
    changes_scores: bool = True


def _is_reference_formula(query: Query) -> bool:
    """Return whether the fusion is OpenClaw's weighted sum."""
    return query.settings.hybrid.fusion == "weighted"


def _decay(ranked: Sequence[Ranked], ranking: Ranking) -> Sequence[Ranked]:
    decay = ranking.query.settings.hybrid.temporal_decay
    return decay_candidates(ranked, ranking.query.now_ms, decay.half_life_days)


def _put_exact_first(ranked: Sequence[Ranked], ranking: Ranking) -> Sequence[Ranked]:
    return put_exact_first(ranked, ranking.exact_matches) if ranking.exact_matches else ranked


def _diversify(ranked: Sequence[Ranked], ranking: Ranking) -> Sequence[Ranked]:
    """Move near duplicates down, among candidates with equal exact match scores."""
    exact, lambda_ = ranking.exact_matches, ranking.query.settings.hybrid.mmr.lambda_
    ordered: list[Ranked] = []
    for count in sorted({exact.get(item.id, 0) for item in ranked}, reverse=True):
        group = [item for item in ranked if exact.get(item.id, 0) == count]
        ordered += rerank_mmr(group, lambda_, MAX_MMR_CANDIDATES)
    return ordered


def _balance_sources(ranked: Sequence[Ranked], ranking: Ranking) -> Sequence[Ranked]:
    rows = ranking.rows
    rows.load(ids_of(ranked))
    return interleave_notes(
        ranked,
        lambda item: rows[int(item.id)].source in ranking.query.limits.conversations,
        lambda item: item.text_score is not None or (item.vector_score or 0.0) >= MIN_COSINE,
    )


STAGES = (
    Stage(
        "days",
        lambda ranking: bool(ranking.of_days),
        lambda ranked, ranking: prefer_days(ranked, ranking.of_days),
    ),
    Stage("decay", lambda ranking: ranking.query.settings.hybrid.temporal_decay.enabled, _decay),
    Stage(
        "annotations",
        lambda ranking: bool(ranking.annotation_weights),
        lambda ranked, ranking: weigh_annotated(ranked, ranking.annotation_weights),
    ),
    Stage(
        "exact",
        lambda ranking: bool(ranking.query.exact_terms) and not _is_reference_formula(ranking.query),
        _put_exact_first,
    ),
    Stage(
        "breadth",
        lambda ranking: ranking.query.is_broad and not _is_reference_formula(ranking.query),
        lambda ranked, _: spread_files(ranked),
    ),
    Stage(
        "diversity",
        lambda ranking: ranking.query.settings.hybrid.mmr.enabled,
        _diversify,
        changes_scores=False,
    ),
    Stage(
        "sources",
        lambda ranking: ranking.query.limits.notes_scope is not None,
        _balance_sources,
        changes_scores=False,
    ),
    Stage(
        "supersession",
        lambda ranking: bool(ranking.superseded) and not asks_about_past(ranking.query.text),
        lambda ranked, ranking: put_current_first(ranked, ranking.superseded),
    ),
)
"""The stages after fusion, in order."""


def rank(snapshot: Snapshot, query: Query, candidates: Candidates) -> Ranking:
    """Return all candidates in their final order, scores from 0 to 1 (blocking)."""
    located = locate(snapshot, candidates)
    locations, texts = located.locations, CandidateTexts(snapshot.db, located.locations)
    annotated = load_annotations(snapshot.db)
    is_reference = _is_reference_formula(query)
    ranking = Ranking(
        query,
        candidates,
        located.rows,
        locations,
        texts,
        annotated,
        _annotation_weights(annotated, locations, query.limits.active_projects),
        {} if is_reference else _exact_matches(query, candidates, locations, texts),
        frozenset() if is_reference else candidates.of_days,
    )
    if query.settings.hybrid.fusion == "normalized":
        ranked = _fuse_normalized(ranking, located)
        if ranking.lines is not None:
            ranking.superseded = find_superseded(_chunks_read(snapshot, ranking), ranking.lines)
    else:
        ranked = _fuse_other(ranking)
    for stage in STAGES:
        if stage.applies(ranking):
            ranked = stage.rank(ranked, ranking)
            if stage.changes_scores and query.limits.explain:
                ranking.note_scores(stage.name, {int(item.id): item.score for item in ranked})
    floor = _min_score(query)
    ranking.ranked = ranked if floor is None else [item for item in ranked if item.score >= floor]
    if ranking.lines is None and ranking.ranked:
        _read_lines(ranking, ids_of(ranking.ranked[:MAX_CANDIDATES_READ]))
    weights = ranking.annotation_weights
    ranking.of_days = frozenset(key for key in ranking.of_days if weights.get(key) != 0)
    ids = ranking.ids = ids_of(ranking.ranked)
    ranking.near_duplicates = NearDuplicates(ids, locations.likeness[locations.at(ids)], texts.load)
    return ranking


def locate(snapshot: Snapshot, candidates: Candidates) -> LocatedCandidates:
    """Return the locations of candidates; candidates missing from the index are left out."""
    by_keyword, by_vector, of_days = candidates.by_keyword, candidates.by_vector, candidates.of_days
    count = len(by_keyword) + len(by_vector) + len(of_days)
    found = np.fromiter(chain(by_keyword, by_vector, of_days), np.int64, count)
    ids, at = np.unique(found, return_inverse=True)
    rows = {row.id: row for row in chunks_by_id(snapshot.db, ids.tolist())}
    if len(rows) < len(ids):
        there = rows.keys()
        return locate(
            snapshot,
            Candidates(
                {key: score for key, score in by_keyword.items() if key in there},
                {key: score for key, score in by_vector.items() if key in there},
                of_days & there,
            ),
        )
    keyword_rows = at[: len(by_keyword)]
    vector_rows = at[len(by_keyword) : len(by_keyword) + len(by_vector)]
    return LocatedCandidates(
        CandidateRows(snapshot.db, rows),
        locations_of(rows.values()),
        MatchScores(keyword_rows, _as_array(by_keyword)),
        MatchScores(vector_rows, _as_array(by_vector)),
    )


def _as_array(scores: Mapping[int, float]) -> FloatArray:
    return np.fromiter(scores.values(), np.float64, len(scores))


def _annotation_weights(
    annotated: AnnotatedFiles, locations: ChunkLocations, active_projects: Collection[str]
) -> dict[int, float]:
    """Return the score factors of candidates in annotated entries, by id, except factors of 1."""
    weights = {}
    for path, entries in annotated.items():
        number = locations.file_numbers.find(path)
        if number is None:
            continue
        for at in (locations.files == number).nonzero()[0].tolist():
            entry = entries.at(int(locations.lines[at]))
            if entry is not None:
                weights[int(locations.ids[at])] = annotation_weight(entry.annotations, active_projects)
    return {key: weight for key, weight in weights.items() if weight != 1}


def _exact_matches(
    query: Query, candidates: Candidates, locations: ChunkLocations, texts: CandidateTexts
) -> dict[str | int, int]:
    """Return exact match scores of candidates by id, from their paths and texts.

    If the whole query is the only exact term, only candidates with all of its terms are read.
    """
    names, ids = query.exact_terms, locations.ids.tolist()
    if not names:
        return {}
    with_all = candidates.with_all_terms
    if with_all is not None and all(is_plain_query(name, query.text) for name in names):
        read = [key for key in ids if key in with_all]
    else:
        read = ids
    matches: dict[str | int, int] = {}
    paths, numbers = locations.paths(), locations.files.tolist()
    by_file = exact_match_counts(names, paths) if len(read) < len(ids) else {}
    if by_file:
        matches = {
            key: by_file[number] for key, number in zip(ids, numbers, strict=True) if number in by_file
        }
    if read:
        known = texts.load(read)
        path_of = {key: paths[number] for key, number in zip(ids, numbers, strict=True)}
        matches |= exact_match_counts(names, {key: f"{path_of[key]}\n{known.get(key, '')}" for key in read})
    return matches


def _fuse_normalized(ranking: Ranking, located: LocatedCandidates) -> Sequence[Ranked]:
    """Return the candidates scored by the default formula."""
    query, locations = ranking.query, located.locations
    texts, vectors = ranking.candidates.by_keyword, ranking.candidates.by_vector
    weights = _side_weights(query.settings.hybrid, bool(vectors), bool(texts))
    ranking.fused = normalized_scores(len(locations), located.by_vector, located.by_keyword, *weights)
    lifted = scores_with_neighbours(ranking.fused, locations)
    with_lines = _with_line_scores(ranking, lifted)
    ids, scores = locations.ids.tolist(), with_lines.tolist()
    snippets = ranking.texts.load_all() if query.settings.hybrid.mmr.enabled else {}
    paths, files, lines = locations.file_numbers.paths, locations.files.tolist(), locations.lines.tolist()
    end_lines = locations.end_lines

    def item(at: int) -> Ranked:
        key, end_line = ids[at], int(end_lines[at])
        vector_score, text_score, snippet = vectors.get(key), texts.get(key), snippets.get(key, "")
        return Ranked(
            key, paths[files[at]], lines[at], end_line, snippet, vector_score, text_score, scores[at]
        )

    def tie_break(at: int) -> TieBreakKey:
        key = ids[at]
        return tie_break_key(vectors.get(key), texts.get(key), paths[files[at]], lines[at], key)

    best = rows_best_first(with_lines, tie_break)
    if query.limits.explain:
        ranking.note_scores("fused", dict(zip(ids, ranking.fused.tolist(), strict=True)))
        ranking.note_scores("neighbours", dict(zip(ids, lifted.tolist(), strict=True)))
        ranking.note_scores("lines", dict(zip(ids, scores, strict=True)))
    return LazyRanking(best, [ids[at] for at in best], item)


def _read_lines(ranking: Ranking, ids: Sequence[int]) -> LineMatches:
    """Read the texts of candidates line by line; the ranking keeps the matches."""
    texts = ranking.texts.load(ids)
    ranking.lines = match_lines([texts[key] for key in ids], ranking.query.text, ranking.query.plan.words)
    ranking.text_numbers = {key: at for at, key in enumerate(ids)}
    return ranking.lines


def _chunks_read(snapshot: Snapshot, ranking: Ranking) -> ReadChunks:
    ids, locations = list(ranking.text_numbers), ranking.locations
    at, texts = locations.at(ids), ranking.texts.load(ids)
    paths = [locations.file_numbers.paths[file] for file in locations.files[at].tolist()]
    days = load_fact_days(snapshot.db, filter(is_fact_file, paths))
    return ReadChunks(ids, paths, locations.lines[at].tolist(), [texts[key] for key in ids], days)


def _with_line_scores(ranking: Ranking, scores: FloatArray) -> FloatArray:
    """Add to the scores of the best candidates what their lines and cosines add."""
    locations, cosines = ranking.locations, ranking.candidates.by_vector
    if not len(locations):
        return scores
    read = np.sort(np.argsort(-scores, kind="stable")[:MAX_CANDIDATES_READ])
    lines = _read_lines(ranking, locations.ids[read].tolist())
    added = scores.copy()
    added[read] += line_scores(lines, locations.files[read])
    if cosines:
        lowest = min(cosines.values())
        added += UNSCALED_COSINE_WEIGHT * np.fromiter(
            (cosines.get(key, lowest) for key in locations.ids.tolist()), np.float64, len(added)
        )
    added = np.maximum(added, 0.0)
    scale: float = scores.max(initial=0.0) / (added.max(initial=0.0) or 1.0)
    return added * scale


def _fuse_other(ranking: Ranking) -> Sequence[Ranked]:
    """Return the candidates scored by OpenClaw's formula or reciprocal rank fusion, best first."""
    hybrid, locations = ranking.query.settings.hybrid, ranking.locations
    texts, vectors = ranking.candidates.by_keyword, ranking.candidates.by_vector
    is_reference = _is_reference_formula(ranking.query)
    snippets = ranking.texts.load_all() if hybrid.mmr.enabled else {}
    found = []
    columns = (locations.ids, locations.files, locations.lines, locations.end_lines)
    for key, file, line, end_line in zip(*(column.tolist() for column in columns), strict=True):
        text_score = texts.get(key)
        if text_score is not None and is_reference:
            text_score = bm25_score(-text_score)
        path = locations.file_numbers.paths[file]
        found.append(
            Candidate(key, path, line, end_line, snippets.get(key, ""), vectors.get(key), text_score)
        )
    ranked = (
        fuse_weighted(found, hybrid.vector_weight, hybrid.text_weight) if is_reference else fuse_rrf(found)
    )
    ranking.fused = np.empty(len(locations))
    ranking.fused[locations.at([int(item.id) for item in ranked])] = [item.score for item in ranked]
    if ranking.query.limits.explain:
        ranking.note_scores("fused", {int(item.id): item.score for item in ranked})
    return ranked


def _side_weights(hybrid: Hybrid, has_vectors: bool, has_keywords: bool) -> tuple[float, float]:
    """Return the weights of vectors and keywords; a search without matches cedes its weight."""
    if not has_vectors or not has_keywords:
        return (0.0, 1.0) if has_keywords else (1.0, 0.0)
    if hybrid.weights_set:
        return hybrid.vector_weight, hybrid.text_weight
    return DEFAULT_VECTOR_WEIGHT, 1 - DEFAULT_VECTOR_WEIGHT


def _min_score(query: Query) -> float | None:
    """Return the minimum score, or None: the default suits OpenClaw's formula only."""
    if query.limits.min_score is not None:
        return query.limits.min_score
    if query.settings.hybrid.fusion == "weighted" or query.settings.min_score_set:
        return query.settings.min_score
    return None
