"""All candidates of a question in their final order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from memd.index.annotations import AnnotatedFiles, load_annotations
from memd.index.chunk_columns import Places
from memd.index.connection import Database
from memd.index.files import load_texts
from memd.search.located import NONE_KNOWN, Known, Located, Rows, locate
from memd.search.query import Question
from memd.search.rank.annotated import annotation_weight, weigh_annotated
from memd.search.rank.decay import decay_candidates
from memd.search.rank.diversity import rerank_mmr
from memd.search.rank.exact_match import prefer_days, put_exact_first
from memd.search.rank.fusion import (
    Candidate,
    FloatArray,
    Ranked,
    TieBreakKey,
    bm25_score,
    fuse_rrf,
    fuse_weighted,
    normalized_scores,
    places_best_first,
    tie_break_key,
)
from memd.search.rank.listing import Listed, ids_of
from memd.search.rank.near_duplicates import NearDuplicates
from memd.search.rank.neighbours import lifted_scores
from memd.search.rank.source_balance import interleave_notes
from memd.search.relevance import FAR
from memd.settings.schema import Hybrid
from memd.text.query.exact import find_held
from memd.text.query.literals import is_whole

MMR_PLACES = 50
"""How many places maximal marginal relevance fills: beyond what is ever shown its cost grows and nothing changes."""

DEFAULT_VECTOR_WEIGHT = 0.35
"""Weight of meaning in `normalized` fusion where the user set none; words have the rest. On the evaluation set 0.2
to 0.5 are within a point of each other and OpenClaw's 0.7 is seven points below; see docs/ranking.md."""


@dataclass(slots=True)
class Order:
    """Candidates in their final order, and what led to it.

    Attributes:
        ranked: Best first, scores from 0 to 1.
        ids: Their ids.
        rows: Where each one is, by id, read where it is needed.
        places: The same in columns.
        repeats: Which of them say the same as a better one.
        texts: Their texts, as far as they were needed.
        fused: Scores by words and meaning alone, as `places` has them: what a text around a hit is worth.
        held: How many of the very names of the question each one holds, by id; those that hold none are left out.
        of_day: Candidates of the days the question names.
        annotated: Entries of notes that comments say something of.
        steps: Scores after each step that changed them, by its name, where an explanation was asked for.
    """

    rows: Rows
    places: Places
    repeats: NearDuplicates
    texts: Texts
    ranked: Sequence[Ranked] = ()
    ids: Sequence[int] = ()
    fused: FloatArray = field(default_factory=lambda: np.zeros(0))
    held: dict[str | int, int] = field(default_factory=dict)
    of_day: set[int] = field(default_factory=set)
    annotated: AnnotatedFiles = field(default_factory=dict)
    steps: dict[str, dict[int, float]] = field(default_factory=dict)


def order_candidates(
    db: Database,
    question: Question,
    texts: Mapping[int, float],
    vectors: Mapping[int, float],
    of_day: set[int],
    known: Known = NONE_KNOWN,
    *,
    whole: Collection[int] | None = None,
) -> Order:
    """Return all candidates in their final order, with scores from 0 to 1."""
    hybrid = question.settings.hybrid
    plain = hybrid.fusion == "weighted"  # OpenClaw's formula, and nothing beside it
    by_names = bool(question.names) and not plain
    located = locate(db, texts, vectors, of_day, known)
    rows, places = located.rows, located.places
    contents = Texts(db, places)
    order = Order(rows, places, NearDuplicates((), (), contents.load), contents)
    note = _Notes(order, question.explain)
    ranked: Sequence[Ranked]
    if hybrid.fusion == "normalized":
        ranked = _fuse_with_neighbours(order, hybrid, located, texts, vectors, note)
    else:
        ranked = note("fused", _fuse(hybrid, located, texts, vectors, contents))
        order.fused = np.empty(len(places))
        order.fused[places.at([int(item.id) for item in ranked])] = [item.score for item in ranked]
    if of_day and not plain:
        order.of_day = of_day
        ranked = note("days", prefer_days(ranked, of_day))
    if hybrid.temporal_decay.enabled:
        ranked = decay_candidates(ranked, question.now_ms, hybrid.temporal_decay.half_life_days)
        note("decay", ranked)
    order.annotated = load_annotations(db)
    weights = _annotation_weights(order.annotated, places, question.active_projects)
    if weights:
        ranked = note("annotations", weigh_annotated(ranked, weights))
        order.of_day = {key for key in order.of_day if weights.get(key) != 0}
    if by_names:
        order.held = _count_held(question, located, contents, whole)
        ranked = note("exact", put_exact_first(ranked, order.held) if order.held else ranked)
    if hybrid.mmr.enabled:
        ranked = _diversify(ranked, order.held, hybrid.mmr.lambda_)
    if question.notes_scope is not None:
        ranked = _seat_notes(ranked, rows)
    floor = _floor(question)
    order.ranked = ranked if floor is None else [item for item in ranked if item.score >= floor]
    order.ids = ids_of(order.ranked)
    order.repeats = NearDuplicates(order.ids, places.likeness[places.at(order.ids)], contents.load)
    return order


def _annotation_weights(
    annotated: AnnotatedFiles, places: Places, active_projects: Collection[str]
) -> dict[int, float]:
    """Return the weights of the candidates whose entry's comments change their score, by id."""
    weights = {}
    for path, entries in annotated.items():
        number = places.file_numbers.find(path)
        if number is None:
            continue
        for at in (places.files == number).nonzero()[0].tolist():
            entry = entries.at(int(places.lines[at]))
            if entry is not None:
                weights[int(places.ids[at])] = annotation_weight(entry.annotations, active_projects)
    return {key: weight for key, weight in weights.items() if weight != 1}


class Texts:
    """Texts of candidates, loaded where they are needed."""

    def __init__(self, db: Database, places: Places) -> None:
        self._db = db
        self._places = places
        self._texts: dict[int, str] = {}

    def load(self, ids: Sequence[int]) -> Mapping[int, str]:
        """Return texts by id, at least those asked for."""
        missing = [key for key in ids if key not in self._texts]
        if missing:
            self._texts |= load_texts(self._db, missing)
        return self._texts

    def all(self) -> Mapping[int, str]:
        """Return the texts of all candidates by id."""
        return self.load(self._places.ids.tolist())


class _Notes:
    """Keeps the scores after each step where somebody wants them explained."""

    def __init__(self, order: Order, wanted: bool) -> None:
        self._order = order
        self._wanted = wanted

    def keep(self, step: str, scores: FloatArray) -> None:
        """Keep scores as they are."""
        if self._wanted:
            ids = self._order.places.ids.tolist()
            self._order.steps[step] = dict(zip(ids, scores.tolist(), strict=True))

    def __call__(self, step: str, ranked: Sequence[Ranked]) -> Sequence[Ranked]:
        """Keep the scores after a step, and return what was given."""
        if self._wanted:
            self._order.steps[step] = {int(item.id): item.score for item in ranked}
        return ranked


def _fuse_with_neighbours(
    order: Order,
    hybrid: Hybrid,
    located: Located,
    texts: Mapping[int, float],
    vectors: Mapping[int, float],
    note: _Notes,
) -> Sequence[Ranked]:
    """Return the candidates as they are scored where nothing else was configured, put in order once at the end."""
    places = located.places
    weights = _weights(hybrid, bool(vectors), bool(texts))
    order.fused = normalized_scores(len(places), located.by_meaning, located.by_words, *weights)
    note.keep("fused", order.fused)
    lifted = lifted_scores(order.fused, places)
    ids, scores = places.ids.tolist(), lifted.tolist()
    snippets = order.texts.all() if hybrid.mmr.enabled else {}

    paths, files, lines = places.file_numbers.paths, places.files.tolist(), places.lines.tolist()
    end_lines = places.end_lines

    def item(at: int) -> Ranked:
        key, end_line = ids[at], int(end_lines[at])
        near, told, snippet = vectors.get(key), texts.get(key), snippets.get(key, "")
        return Ranked(key, paths[files[at]], lines[at], end_line, snippet, near, told, scores[at])

    def behind(at: int) -> TieBreakKey:
        key = ids[at]
        return tie_break_key(vectors.get(key), texts.get(key), paths[files[at]], lines[at], key)

    best = places_best_first(lifted, behind)
    return note("neighbours", Listed(best, [ids[at] for at in best], item))


def _fuse(
    hybrid: Hybrid,
    located: Located,
    texts: Mapping[int, float],
    vectors: Mapping[int, float],
    contents: Texts,
) -> list[Ranked]:
    """Return the candidates scored by another formula than the default one, best first."""
    plain = hybrid.fusion == "weighted"
    snippets = contents.all() if hybrid.mmr.enabled else {}
    candidates, places = [], located.places
    columns = (places.ids, places.files, places.lines, places.end_lines)
    for key, file, line, end_line in zip(*(column.tolist() for column in columns), strict=True):
        text_score = texts.get(key)
        if text_score is not None and plain:
            text_score = bm25_score(-text_score)
        candidates.append(
            Candidate(
                key,
                places.file_numbers.paths[file],
                line,
                end_line,
                snippets.get(key, ""),
                vectors.get(key),
                text_score,
            )
        )
    if plain:
        return fuse_weighted(candidates, hybrid.vector_weight, hybrid.text_weight)
    return fuse_rrf(candidates)


def _weights(hybrid: Hybrid, by_meaning: bool, by_words: bool) -> tuple[float, float]:
    """Return the weights of meaning and words; a side that found nothing leaves all to the other."""
    if not by_meaning or not by_words:
        return (0.0, 1.0) if by_words else (1.0, 0.0)
    if hybrid.weights_set:
        return hybrid.vector_weight, hybrid.text_weight
    return DEFAULT_VECTOR_WEIGHT, 1 - DEFAULT_VECTOR_WEIGHT


def _count_held(
    question: Question, located: Located, contents: Texts, whole: Collection[int] | None
) -> dict[str | int, int]:
    """Return how many of the question's very names each candidate holds, if any, in its path or its text.

    Most questions are names only as a whole: then no text is loaded but of those that have all of their words.
    """
    names, places, ids = question.names, located.places, located.places.ids.tolist()
    if whole is not None and all(is_whole(name, question.query) for name in names):
        read = [key for key in ids if key in whole]
    else:
        read = ids
    held: dict[str | int, int] = {}
    paths, numbers = places.paths(), places.files.tolist()
    by_file = find_held(names, paths) if len(read) < len(ids) else {}
    if by_file:
        held = {key: by_file[number] for key, number in zip(ids, numbers, strict=True) if number in by_file}
    if read:
        texts = contents.load(read)
        path_of = {key: paths[number] for key, number in zip(ids, numbers, strict=True)}
        held |= find_held(names, {key: f"{path_of[key]}\n{texts.get(key, '')}" for key in read})
    return held


def _diversify(ranked: Sequence[Ranked], held: Mapping[str | int, int], lambda_: float) -> list[Ranked]:
    """Put near repetitions later, within what holds equally many of the very names: no guess comes before those."""
    ordered: list[Ranked] = []
    for count in sorted({held.get(item.id, 0) for item in ranked}, reverse=True):
        group = [item for item in ranked if held.get(item.id, 0) == count]
        ordered += rerank_mmr(group, lambda_, MMR_PLACES)
    return ordered


def _seat_notes(ranked: Sequence[Ranked], rows: Rows) -> list[Ranked]:
    """Return the ranking with seats for notes that have to do with the question."""
    rows.load(ids_of(ranked))
    return interleave_notes(
        ranked,
        lambda item: rows[int(item.id)].source == "sessions",
        lambda item: item.text_score is not None or (item.vector_score or 0.0) >= FAR,
    )


def _floor(question: Question) -> float | None:
    """Return the least score, or None: the default's belongs to OpenClaw's formula and would empty other lists."""
    if question.min_score is not None:
        return question.min_score
    if question.settings.hybrid.fusion == "weighted" or question.settings.min_score_set:
        return question.settings.min_score
    return None
