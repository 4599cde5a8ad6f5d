"""All candidates of a question in their final order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from memd.config import Hybrid
from memd.index.connection import Database
from memd.index.files import ChunkRow, chunks_by_id, load_texts
from memd.ranking.alike import Repeats
from memd.ranking.decay import decay_candidates
from memd.ranking.diversity import rerank_mmr
from memd.ranking.fusion import (
    Candidate,
    Ranked,
    best_first,
    bm25_score,
    fuse_rrf,
    fuse_weighted,
    normalized_scores,
)
from memd.ranking.neighbours import lifted_scores
from memd.ranking.seats import seat_notes
from memd.ranking.tiers import prefer_days, put_exact_first
from memd.search.abstain import FAR
from memd.search.question import Question
from memd.text.exact import find_held
from memd.text.literals import is_whole

MMR_PLACES = 50
"""How many places maximal marginal relevance fills: beyond what is ever shown its cost grows and nothing changes."""

MEANING_SHARE = 0.35
"""Weight of meaning in `normalized` fusion where the user set none; words have the rest. On the evaluation set 0.2
to 0.5 are within a point of each other and OpenClaw's 0.7 is seven points below; see docs/ranking.md."""


NONE_KNOWN: Mapping[int, ChunkRow] = MappingProxyType({})


@dataclass(slots=True)
class Order:
    """Candidates in their final order, and what led to it.

    Attributes:
        ranked: Best first, scores from 0 to 1.
        rows: Where each one is, by id.
        repeats: Which of them say the same as a better one.
        texts: Their texts, as far as they were needed.
        fused: Scores by words and meaning alone, by id: what a text around a hit is worth.
        held: How many of the very names of the question each one holds, by id; those that hold none are left out.
        of_day: Candidates of the days the question names.
        steps: Scores after each step that changed them, by its name, where an explanation was asked for.
    """

    ranked: list[Ranked]
    rows: dict[int, ChunkRow]
    repeats: Repeats
    texts: Texts
    fused: dict[int, float] = field(default_factory=dict)
    held: dict[str | int, int] = field(default_factory=dict)
    of_day: set[int] = field(default_factory=set)
    steps: dict[str, dict[int, float]] = field(default_factory=dict)


def order_candidates(
    db: Database,
    question: Question,
    texts: Mapping[int, float],
    vectors: Mapping[int, float],
    of_day: set[int],
    known: Mapping[int, ChunkRow] = NONE_KNOWN,
    *,
    has_whole: bool = True,
) -> Order:
    """Return all candidates in their final order, with scores from 0 to 1.

    Args:
        db: A reader connection, for places and for those texts that the order needs.
        question: The prepared search.
        texts: Negated BM25 by chunk id.
        vectors: Cosine by chunk id.
        of_day: Chunks of the days the question names.
        known: Where chunks are, by id, as far as that was read already.
        has_whole: Whether a text may hold the question as it stands.
    """
    hybrid = question.settings.hybrid
    plain = hybrid.fusion == "weighted"  # OpenClaw's formula, and nothing beside it
    by_names = bool(question.names) and not plain
    # Most questions are names only as a whole, and no text holds them so: then none has to be loaded to be looked at.
    in_texts = by_names and (has_whole or any(not is_whole(name, question.query) for name in question.names))
    rows = _load(db, texts.keys() | vectors.keys() | of_day, known)
    contents = Texts(db, rows)
    order = Order([], rows, Repeats((), {}, contents.load), contents)
    note = _Notes(order, question.explain)
    if hybrid.fusion == "normalized":
        ranked = _fuse_with_neighbours(order, hybrid, texts, vectors, note)
    else:
        ranked = note("fused", _fuse(hybrid, rows, texts, vectors, contents))
        order.fused = {int(item.id): item.score for item in ranked}
    if of_day and not plain:
        order.of_day = of_day
        ranked = note("days", prefer_days(ranked, of_day))
    if hybrid.temporal_decay.enabled:
        ranked = decay_candidates(ranked, question.now_ms, hybrid.temporal_decay.half_life_days)
        note("decay", ranked)
    if by_names:
        order.held = _count_held(question, rows, contents if in_texts else None)
        ranked = note("exact", put_exact_first(ranked, order.held) if order.held else ranked)
    if hybrid.mmr.enabled:
        ranked = _diversify(ranked, order.held, hybrid.mmr.lambda_)
    if question.notes_scope is not None:
        ranked = _seat_notes(ranked, rows)
    floor = _floor(question)
    order.ranked = [item for item in ranked if floor is None or item.score >= floor]
    ids = [int(item.id) for item in order.ranked]
    order.repeats = Repeats(ids, {key: rows[key].likeness for key in ids}, contents.load)
    return order


class Texts:
    """Texts of candidates, loaded where they are needed.

    Args:
        db: A reader connection.
        rows: The candidates.
    """

    def __init__(self, db: Database, rows: Mapping[int, ChunkRow]) -> None:
        self._db = db
        self._rows = rows
        self._texts: dict[int, str] = {}

    def load(self, ids: Sequence[int]) -> Mapping[int, str]:
        """Return texts by id, at least those asked for."""
        missing = [key for key in ids if key not in self._texts]
        if missing:
            self._texts |= load_texts(self._db, missing)
        return self._texts

    def all(self) -> Mapping[int, str]:
        """Return the texts of all candidates by id."""
        return self.load(list(self._rows))


class _Notes:
    """Keeps the scores after each step where somebody wants them explained.

    Args:
        order: Where to.
        wanted: Whether anybody does.
    """

    def __init__(self, order: Order, wanted: bool) -> None:
        self._order = order
        self._wanted = wanted

    def keep(self, step: str, scores: Mapping[int, float]) -> None:
        """Keep scores as they are."""
        if self._wanted:
            self._order.steps[step] = dict(scores)

    def __call__(self, step: str, ranked: list[Ranked]) -> list[Ranked]:
        """Keep the scores after a step, and return what was given."""
        if self._wanted:
            self._order.steps[step] = {int(item.id): item.score for item in ranked}
        return ranked


def _load(db: Database, ids: Collection[int], known: Mapping[int, ChunkRow]) -> dict[int, ChunkRow]:
    """Return where candidates are, by id."""
    missing = [key for key in ids if key not in known]
    found = {row.id: row for row in chunks_by_id(db, missing)} if missing else {}
    rows = {**known, **found}
    return {key: rows[key] for key in sorted(ids) if key in rows}


def _fuse_with_neighbours(
    order: Order,
    hybrid: Hybrid,
    texts: Mapping[int, float],
    vectors: Mapping[int, float],
    note: _Notes,
) -> list[Ranked]:
    """Return the candidates as they are scored where nothing else was configured, put in order once at the end."""
    rows = list(order.rows.values())
    ids = [row.id for row in rows]
    by_meaning, by_words = [vectors.get(key) for key in ids], [texts.get(key) for key in ids]
    weights = _weights(hybrid, bool(vectors), bool(texts))
    fused = normalized_scores(by_meaning, by_words, *weights)
    order.fused = dict(zip(ids, fused, strict=True))
    spans = [(row.path, row.start_char, row.end_char) for row in rows]
    lifted = lifted_scores(fused, ids, spans)
    snippets = order.texts.all() if hybrid.mmr.enabled else {}
    ranked = [
        Ranked(row.id, row.path, row.start_line, row.end_line, snippets.get(row.id, ""), near, told, score)
        for row, near, told, score in zip(rows, by_meaning, by_words, lifted, strict=True)
    ]
    note.keep("fused", order.fused)
    return note("neighbours", best_first(ranked))


def _fuse(
    hybrid: Hybrid,
    rows: Mapping[int, ChunkRow],
    texts: Mapping[int, float],
    vectors: Mapping[int, float],
    contents: Texts,
) -> list[Ranked]:
    """Return the candidates scored by another formula than the default one, best first."""
    plain = hybrid.fusion == "weighted"
    snippets = contents.all() if hybrid.mmr.enabled else {}
    candidates = []
    for key, row in rows.items():
        text_score = texts.get(key)
        if text_score is not None and plain:
            text_score = bm25_score(-text_score)
        candidates.append(
            Candidate(
                key,
                row.path,
                row.start_line,
                row.end_line,
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
    return MEANING_SHARE, 1 - MEANING_SHARE


def _count_held(
    question: Question, rows: Mapping[int, ChunkRow], contents: Texts | None
) -> dict[str | int, int]:
    """Return how many of the question's very names each candidate holds, if any: in path and, if given, text."""
    if contents is None:
        return find_held(question.names, {key: row.path for key, row in rows.items()})
    texts = contents.all()
    return find_held(question.names, {key: f"{row.path}\n{texts.get(key, '')}" for key, row in rows.items()})


def _diversify(ranked: Sequence[Ranked], held: Mapping[str | int, int], lambda_: float) -> list[Ranked]:
    """Put near repetitions later, within what holds equally many of the very names: no guess comes before those."""
    ordered: list[Ranked] = []
    for count in sorted({held.get(item.id, 0) for item in ranked}, reverse=True):
        group = [item for item in ranked if held.get(item.id, 0) == count]
        ordered += rerank_mmr(group, lambda_, MMR_PLACES)
    return ordered


def _seat_notes(ranked: list[Ranked], rows: Mapping[int, ChunkRow]) -> list[Ranked]:
    """Return the ranking with seats for notes that have to do with the question."""
    return seat_notes(
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
