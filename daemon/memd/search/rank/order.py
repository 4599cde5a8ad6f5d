"""Ranking of candidates: one fusion, then a list of named stages.

Every step takes values and returns new ones: `fuse` the scores, `_read_signals` what else is known of the candidates,
and each stage the candidates in a new order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain

import numpy as np
from msgspec import Struct

from memd.index.annotations import AnnotatedFiles, load_annotations, load_fact_days
from memd.index.chunk_locations import ChunkLocations
from memd.index.days import load_days_of
from memd.index.origins import load_origins
from memd.index.snapshot import Snapshot
from memd.index.transcripts import load_chunk_times
from memd.search.calibration import Calibration, calibration_of, is_near, is_translated
from memd.search.query import Query
from memd.search.rank.candidates import CandidateRows, LocatedCandidates, MatchScores
from memd.search.rank.fusion import (
    MAX_CANDIDATES_READ,
    FloatArray,
    Fused,
    Ranked,
    ReadLines,
    fuse,
    ids_of,
    read_lines,
)
from memd.search.rank.near_duplicates import NearDuplicates
from memd.search.rank.stages import (
    annotation_weight,
    decay_candidates,
    interleave_notes,
    prefer_days,
    put_exact_first,
    put_linked_next,
    put_newest_first,
    put_statement_first,
    rerank_mmr,
    spread_files,
    spread_regions,
    weigh_annotated,
)
from memd.search.rank.supersession import ReadChunks, Superseded, find_superseded, put_current_first
from memd.search.rank.trusted import find_outranked
from memd.search.retrieve import Candidates
from memd.text.cut.annotations import is_fact_file
from memd.text.query.exact import exact_match_counts, is_plain_query
from memd.text.statements import asks_about_past

MAX_NEAREST = 3
"""Nearest candidates whose language is compared with the query's."""

MAX_MMR_CANDIDATES = 50
"""Most candidates reordered by maximal marginal relevance: later ones are not shown."""


MAX_SHOWN_ANYWAY = 2
"""The best candidates, which are shown in full, also if a linked line is in them."""


class Signals(Struct, frozen=True):
    """What the stages use besides the scores.

    Attributes:
        query: The query.
        of_days: Candidates from days that the query names.
        annotation_weights: Score factors of candidates in annotated entries, by id.
        exact_matches: Exact match scores by id; candidates without an exact match are missing.
        conversations: Candidates in transcripts, if these could crowd out notes.
        outranked: Statements that others state in words that are trusted more.
        superseded: Outdated statements among the best candidates, with the current ones.
        newness: How new each of the best candidates is among them, 0 to 1, if the query is a message.
        linked: The lines to which names in the best line lead: span in the chunk by id, in order.
        lines: Matches in the lines of the best candidates.
        calibration: What the candidates' cosines mean; None without vectors of a calibrated model.
        is_translated: Whether the nearest candidates are in another language than the query.
    """

    query: Query
    of_days: frozenset[int]
    annotation_weights: Mapping[int, float]
    exact_matches: Mapping[str | int, int]
    conversations: frozenset[int]
    outranked: Sequence[Superseded]
    superseded: Sequence[Superseded]
    newness: Mapping[int, float]
    linked: Mapping[int, tuple[int, int]]
    lines: ReadLines | None = None
    calibration: Calibration | None = None
    is_translated: bool = False


class Ranking(Struct, frozen=True):
    """Candidates in their final order, and what snippets and explanations need of them.

    Attributes:
        candidates: The input.
        located: Rows, texts and locations of the candidates.
        annotated: Annotated entries of notes.
        signals: The input of the stages.
        ranked: Best first, scores from 0 to 1.
        fused: Scores after fusion, in the order of the locations.
        lines: Matches in the lines of the best candidates; None without candidates.
        near_duplicates: Finds near duplicates among the candidates.
        steps: Scores after each step by its name, if an explanation is requested.
    """

    candidates: Candidates
    located: LocatedCandidates
    annotated: AnnotatedFiles
    signals: Signals
    ranked: Sequence[Ranked]
    fused: FloatArray
    lines: ReadLines | None
    near_duplicates: NearDuplicates
    steps: Mapping[str, Mapping[int, float]]

    @property
    def is_certain(self) -> bool:
        """Whether relevance needs no check: a candidate is an exact match or from a day of the query."""
        return bool(self.candidates.of_days) or bool(self.signals.exact_matches)


class Stage(Struct, frozen=True):
    """One step of the ranking after fusion.

    Attributes:
        name: Name in explanations.
        applies: Returns whether the stage has an effect.
        rank: Returns the candidates in their new order (pure).
        changes_scores: Whether it changes scores as well as the order.
    """

    name: str
    applies: Callable[[Signals], bool]
    rank: Callable[[Sequence[Ranked], Signals], Sequence[Ranked]]
    changes_scores: bool = True


def _decay(ranked: Sequence[Ranked], signals: Signals) -> Sequence[Ranked]:
    decay = signals.query.settings.hybrid.temporal_decay
    return decay_candidates(ranked, signals.query.now_ms, decay.half_life_days)


def _diversify(ranked: Sequence[Ranked], signals: Signals) -> Sequence[Ranked]:
    """Move near duplicates down, among candidates with equal exact match scores."""
    exact, lambda_ = signals.exact_matches, signals.query.settings.hybrid.mmr.lambda_
    ordered: list[Ranked] = []
    for count in sorted({exact.get(item.id, 0) for item in ranked}, reverse=True):
        group = [item for item in ranked if exact.get(item.id, 0) == count]
        ordered += rerank_mmr(group, lambda_, MAX_MMR_CANDIDATES)
    return ordered


def _balance_sources(ranked: Sequence[Ranked], signals: Signals) -> Sequence[Ranked]:
    return interleave_notes(
        ranked,
        lambda item: item.id in signals.conversations,
        lambda item: item.text_score is not None or is_near(signals.calibration, item.vector_score or 0.0),
    )


def _put_statement_first(ranked: Sequence[Ranked], signals: Signals) -> Sequence[Ranked]:
    assert signals.lines is not None
    numbers, matches = signals.lines
    asked = signals.query.text
    return put_statement_first(
        ranked, lambda item: item.id in numbers and matches.only_asks(numbers[int(item.id)], asked)
    )


STAGES = (
    Stage(
        "days",
        lambda signals: bool(signals.of_days),
        lambda ranked, signals: prefer_days(ranked, signals.of_days),
    ),
    Stage("decay", lambda signals: signals.query.settings.hybrid.temporal_decay.enabled, _decay),
    Stage(
        "annotations",
        lambda signals: bool(signals.annotation_weights),
        lambda ranked, signals: weigh_annotated(ranked, signals.annotation_weights),
    ),
    Stage(
        "exact",
        lambda signals: bool(signals.query.exact_terms) and not signals.query.uses_reference_formula,
        lambda ranked, signals: (
            put_exact_first(ranked, signals.exact_matches) if signals.exact_matches else ranked
        ),
    ),
    Stage(
        "breadth",
        lambda signals: signals.query.is_broad and not signals.query.uses_reference_formula,
        lambda ranked, _: spread_files(ranked),
    ),
    Stage(
        "regions",
        lambda signals: not signals.query.uses_reference_formula,
        lambda ranked, signals: spread_regions(ranked, signals.exact_matches),
        changes_scores=False,
    ),
    Stage(
        "diversity",
        lambda signals: signals.query.settings.hybrid.mmr.enabled,
        _diversify,
        changes_scores=False,
    ),
    Stage(
        "sources",
        lambda signals: signals.query.limits.notes_scope is not None,
        _balance_sources,
        changes_scores=False,
    ),
    Stage(
        "newest",
        lambda signals: bool(signals.newness),
        lambda ranked, signals: put_newest_first(ranked, signals.newness),
    ),
    Stage(
        "questions",
        lambda signals: signals.lines is not None and not signals.query.is_message,
        _put_statement_first,
        changes_scores=False,
    ),
    Stage(
        "links",
        lambda signals: bool(signals.linked),
        lambda ranked, signals: put_linked_next(ranked, signals.linked),
    ),
    Stage(
        "trust",
        lambda signals: bool(signals.outranked),
        lambda ranked, signals: put_current_first(ranked, signals.outranked),
    ),
    Stage(
        "supersession",
        lambda signals: bool(signals.superseded) and not asks_about_past(signals.query.text),
        lambda ranked, signals: put_current_first(ranked, signals.superseded),
    ),
)
"""The stages after fusion, in order."""


def rank(snapshot: Snapshot, query: Query, candidates: Candidates) -> Ranking:
    """Return all candidates in their final order, scores from 0 to 1 (blocking)."""
    located = locate(snapshot, candidates)
    annotated = load_annotations(snapshot.db)
    fused = fuse(query, candidates, located)
    signals = _read_signals(snapshot, query, candidates, located, annotated, fused)
    ranked, steps = _apply_stages(fused, signals)
    floor = _min_score(query)
    if floor is not None:
        ranked = [item for item in ranked if item.score >= floor]
    lines = fused.lines
    if lines is None and ranked:
        lines = read_lines(query, located.rows, ids_of(ranked[:MAX_CANDIDATES_READ]))
    ids, locations = ids_of(ranked), located.locations
    duplicates = NearDuplicates(ids, locations.likeness[locations.at(ids)], located.rows.texts)
    return Ranking(candidates, located, annotated, signals, ranked, fused.scores, lines, duplicates, steps)


def _read_signals(
    snapshot: Snapshot,
    query: Query,
    candidates: Candidates,
    located: LocatedCandidates,
    annotated: AnnotatedFiles,
    fused: Fused,
) -> Signals:
    """Return what the stages use; OpenClaw's formula knows neither days nor exact matches."""
    is_reference, locations = query.uses_reference_formula, located.locations
    conversations: list[int] = []
    if query.limits.notes_scope is not None:
        conversations = locations.from_sources(query.limits.conversations)
    outranked: Sequence[Superseded] = ()
    superseded: Sequence[Superseded] = ()
    if fused.lines is not None:
        chunks = _chunks_read(snapshot, located, list(fused.lines.numbers))
        origins = load_origins(snapshot.db, set(chunks.paths)) if query.settings.prefer_trusted else {}
        outranked = find_outranked(chunks, fused.lines.matches, origins)
        superseded = find_superseded(chunks, fused.lines.matches, origins)
    return Signals(
        query,
        frozenset() if is_reference else candidates.of_days,
        _annotation_weights(annotated, locations, query.limits.active_projects),
        {} if is_reference else _exact_matches(query, candidates, located),
        frozenset(conversations),
        outranked,
        superseded,
        _newness(snapshot, list(fused.lines.numbers)) if query.is_message and fused.lines is not None else {},
        _linked_spans(candidates, fused),
        fused.lines,
        *_calibration(query, candidates, located),
    )


def _newness(snapshot: Snapshot, ids: Sequence[int]) -> dict[int, float]:
    """Return how new chunks are among each other, 0 to 1; those without a date are always new."""
    days = load_days_of(snapshot.db, ids)
    order = sorted(set(days.values()))
    return {key: order.index(days[key]) / max(1, len(order) - 1) if key in days else 1.0 for key in ids}


def _linked_spans(candidates: Candidates, fused: Fused) -> dict[int, tuple[int, int]]:
    """Return the spans of linked lines by chunk, without chunks that are shown anyway."""
    spans: dict[int, tuple[int, int]] = {}
    if candidates.linked:
        shown = ids_of(fused.ranked[:MAX_SHOWN_ANYWAY])
        for line in candidates.linked:
            if line.chunk not in shown:
                first, end = spans.get(line.chunk, (line.start, line.end))
                spans[line.chunk] = min(first, line.start), max(end, line.end)
    return spans


def _calibration(
    query: Query, candidates: Candidates, located: LocatedCandidates
) -> tuple[Calibration | None, bool]:
    """Return what the candidates' cosines mean, and whether the nearest are in another language than the query."""
    calibration = None if query.vector is None else calibration_of(query.vector.model)
    if calibration is None or not calibration.has_all_scripts or not candidates.by_vector:
        return calibration, False
    nearest = candidates.nearest(MAX_NEAREST)
    texts = located.rows.texts(nearest)
    if not is_translated(query.text, [texts[key] for key in nearest]):
        return calibration, False
    return calibration.for_candidates(candidates.by_vector.values()), True


def _apply_stages(
    fused: Fused, signals: Signals
) -> tuple[Sequence[Ranked], Mapping[str, Mapping[int, float]]]:
    """Return the candidates after all stages, and the scores after each step that an explanation needs."""
    ranked, steps = fused.ranked, dict(fused.steps)
    for stage in STAGES:
        if stage.applies(signals):
            ranked = stage.rank(ranked, signals)
            if stage.changes_scores and signals.query.limits.explain:
                steps[stage.name] = {int(item.id): item.score for item in ranked}
    return ranked, steps


def locate(snapshot: Snapshot, candidates: Candidates) -> LocatedCandidates:
    """Return the locations of candidates; candidates missing from the index are left out."""
    by_keyword, by_vector, of_days = candidates.by_keyword, candidates.by_vector, candidates.of_days
    count = len(by_keyword) + len(by_vector) + len(of_days)
    found = np.fromiter(chain(by_keyword, by_vector, of_days), np.int64, count)
    ids, at = np.unique(found, return_inverse=True)
    locations = snapshot.locate(ids.tolist())
    if len(locations) < len(ids):
        there = set(locations.ids.tolist())
        return locate(
            snapshot,
            Candidates(
                {key: score for key, score in by_keyword.items() if key in there},
                {key: score for key, score in by_vector.items() if key in there},
                of_days & there,
                linked=tuple(line for line in candidates.linked if line.chunk in there),
            ),
        )
    keyword_rows = at[: len(by_keyword)]
    vector_rows = at[len(by_keyword) : len(by_keyword) + len(by_vector)]
    return LocatedCandidates(
        CandidateRows(snapshot.db),
        locations,
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
        number = locations.find_file(path)
        if number is None:
            continue
        for at in (locations.files == number).nonzero()[0].tolist():
            entry = entries.at(int(locations.lines[at]))
            if entry is not None:
                weights[int(locations.ids[at])] = annotation_weight(entry.annotations, active_projects)
    return {key: weight for key, weight in weights.items() if weight != 1}


def _exact_matches(query: Query, candidates: Candidates, located: LocatedCandidates) -> dict[str | int, int]:
    """Return exact match scores of candidates by id, from their paths and texts.

    If the whole query is the only exact term, only candidates with all of its terms are read.
    """
    names, locations = query.exact_terms, located.locations
    ids: list[int] = locations.ids.tolist()
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
        texts = located.rows.texts(read)
        path_of = {key: paths[number] for key, number in zip(ids, numbers, strict=True)}
        matches |= exact_match_counts(names, {key: f"{path_of[key]}\n{texts.get(key, '')}" for key in read})
    return matches


def _chunks_read(snapshot: Snapshot, located: LocatedCandidates, ids: Sequence[int]) -> ReadChunks:
    locations = located.locations
    at, texts = locations.at(ids), located.rows.texts(ids)
    paths = list(map(locations.path, locations.files[at].tolist()))
    days = load_fact_days(snapshot.db, filter(is_fact_file, paths))
    messages = [key for key, path in zip(ids, paths, strict=True) if not path.endswith(".md")]
    times = load_chunk_times(snapshot.db, messages) if messages else {}
    return ReadChunks(ids, paths, locations.lines[at].tolist(), [texts[key] for key in ids], days, times)


def _min_score(query: Query) -> float | None:
    """Return the minimum score, or None: the default suits OpenClaw's formula only."""
    if query.limits.min_score is not None:
        return query.limits.min_score
    if query.uses_reference_formula or query.settings.min_score_set:
        return query.settings.min_score
    return None
