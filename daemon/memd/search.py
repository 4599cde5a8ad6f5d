"""One search: candidates by words and by meaning, fused, cut to snippets.

Everything here runs in one reader thread over one read transaction, so that a reply is of one moment. What
needs waiting (catching up with files, embedding the question) was done before by the agent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memd.config import Hybrid, Query
from memd.index.connection import Database
from memd.index.copies import count_copies, find_copies, find_distinct
from memd.index.files import ChunkRow, chunks_by_id, generation, load_texts
from memd.index.keyword import Scope
from memd.index.transcripts import load_line_maps
from memd.index.vectors.vector_search import VectorSearch, chunk_ids_of_vectors
from memd.ranking.decay import decay_candidates
from memd.ranking.diversity import rerank_mmr
from memd.ranking.fusion import Candidate, Ranked, bm25_score, fuse_normalized, fuse_rrf, fuse_weighted
from memd.ranking.seats import seat_notes
from memd.text.keywords import MatchPlan
from memd.text.snippets import Snippet, cut_snippet
from memd_client.messages import Hit

CANDIDATES = 100
"""Candidates of each kind. It never depends on how many results are asked for, so that the first k of
k+1 results are the k results; on the evaluation set 100 find what 400 find, and 50 half a point less."""

MMR_PLACES = 50
"""How many places maximal marginal relevance fills: beyond what is ever shown its cost grows and nothing changes."""

NOWHERE = ChunkRow(0, "", "", 0, 0, "")
"""Stands in for a chunk's place while that isn't needed to rank it."""

SNIPPET_CHARACTERS = 700
"""Longest snippet, as OpenClaw's."""

MEANING_SHARE = 0.4
"""Weight of meaning in `normalized` fusion where the user set none; words have the rest. On the evaluation set 0.2
to 0.5 are within a point of each other and OpenClaw's 0.7 is seven points below; see docs/ranking.md."""

FAR = 0.25
"""Cosine below which the nearest text has nothing to do with the question, where no word matched either. MiniLM
puts nonsense at 0.1 to 0.21 and a loose paraphrase above 0.3; see docs/ranking.md."""


@dataclass(frozen=True, slots=True)
class Question:
    """A search, prepared: what to match, what to compare with, how much to return.

    `notes_scope` is the scope of notes alone where transcripts may be found beside them, else None.
    """

    query: str
    plan: MatchPlan
    vector: NDArray[np.float32] | None
    space_id: str
    settings: Query
    max_results: int
    min_score: float | None
    scope: Scope | None
    now_ms: int
    notes_scope: Scope | None = None
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Candidates:
    """Chunks that one side brought up: scores by chunk id, and the generation of the index they are of."""

    generation: int
    scores: dict[int, float]
    took_ms: float


@dataclass(slots=True)
class Found:
    """What one search found, before freshness is checked."""

    hits: list[Hit]
    mode: str
    generation: int
    abstained: bool
    timings: dict[str, float] = field(default_factory=dict)


def find_words(db: Database, question: Question) -> Candidates:
    """Return what any of the question's words brings up, and what all of them do, by negated BM25.

    A chunk that both bring up keeps the better score; both are on the same scale.
    """
    started = perf_counter()
    plan = question.plan
    scores: dict[int, float] = {}
    for scope in _scopes(question):
        some = dict(find_distinct(db, plan.any, CANDIDATES, scope)) if plan.any is not None else {}
        # Whatever holds all words holds any: asking again is needed only where the list was cut.
        if plan.strict is not None and (plan.any is None or len(some) >= CANDIDATES):
            for key, score in find_distinct(db, plan.strict, CANDIDATES, scope):
                some[key] = max(some.get(key, 0.0), score)
        scores |= some
    return Candidates(generation(db), scores, (perf_counter() - started) * 1000)


def find_meaning(db: Database, question: Question, search: VectorSearch) -> Candidates:
    """Return what is nearest to the question's vector, by cosine."""
    started = perf_counter()
    assert question.vector is not None
    nearest: dict[int, float] = {}
    for scope in _scopes(question):
        nearest |= dict(search.nearest(db, question.space_id, question.vector, CANDIDATES, scope))
    scores: dict[int, float] = {}
    told: set[int] = set()
    for vector_id, chunk_id in chunk_ids_of_vectors(db, question.space_id, list(nearest), question.scope):
        if vector_id not in told:  # of copies the first stands for all, on the side of words as well
            told.add(vector_id)
            scores[chunk_id] = nearest[vector_id]
    return Candidates(generation(db), scores, (perf_counter() - started) * 1000)


def _scopes(question: Question) -> tuple[Scope | None, ...]:
    """Return what is looked through: notes a second time alone where transcripts could fill the list."""
    if question.notes_scope is None:
        return (question.scope,)
    return question.scope, question.notes_scope


def find_hits(
    db: Database,
    question: Question,
    search: VectorSearch | None,
    words: Candidates | None = None,
    meaning: Candidates | None = None,
    *,
    is_there: Callable[[Hit], bool] = lambda _: True,
) -> Found:
    """Return the hits of a question, best first.

    Args:
        db: A reader connection.
        question: The prepared search.
        search: The vector path in use, or None where vectors are not to be asked.
        words: What was found by words already; found anew where the index has changed since.
        meaning: What was found by meaning already, likewise.
        is_there: Says whether a hit's text is still on disk; others are left out, another place of the same text
            taking their seat.

    Returns:
        At most `max_results` hits. None at all, with `abstained`, where nothing is relevant.
    """
    now = generation(db)
    by_meaning = search is not None and question.vector is not None
    by_words = question.settings.hybrid.enabled or not by_meaning
    if search is None or question.vector is None:
        meaning = Candidates(now, {}, 0.0)
    elif meaning is None or meaning.generation != now:
        meaning = find_meaning(db, question, search)
    if not by_words:
        words = Candidates(now, {}, 0.0)
    elif words is None or words.generation != now:
        words = find_words(db, question)
    started = perf_counter()
    far = max(meaning.scores.values(), default=0.0) < FAR
    ranked: list[Ranked] = []
    if words.scores or not far:
        ranked = rank(db, question, words.scores, meaning.scores)
        if question.notes_scope is not None:
            ranked = _seat_notes(db, ranked)
    hits = cut_hits(db, question, ranked, is_there)
    timings = {
        "words_ms": words.took_ms,
        "meaning_ms": meaning.took_ms,
        "ranking_ms": (perf_counter() - started) * 1000,
    }
    mode = "keyword" if not by_meaning else "hybrid" if by_words else "vector"
    return Found(hits, mode, now, not hits, timings)


def _seat_notes(db: Database, ranked: list[Ranked]) -> list[Ranked]:
    """Return the ranking with seats for notes that have to do with the question."""
    sources = {row.id: row.source for row in chunks_by_id(db, [int(item.id) for item in ranked])}
    return seat_notes(
        ranked,
        lambda item: sources.get(int(item.id)) == "sessions",
        lambda item: item.text_score is not None or (item.vector_score or 0.0) >= FAR,
    )


def rank(
    db: Database, question: Question, texts: dict[int, float], vectors: dict[int, float]
) -> list[Ranked]:
    """Return all candidates in their final order, with scores from 0 to 1.

    Args:
        db: A reader connection; asked for places and texts only where the settings need them to rank.
        question: The prepared search.
        texts: Negated BM25 by chunk id.
        vectors: Cosine by chunk id.
    """
    hybrid = question.settings.hybrid
    weighted = hybrid.fusion == "weighted"
    keys = sorted(texts.keys() | vectors.keys())
    rows: dict[int, ChunkRow] = {}
    if weighted or hybrid.temporal_decay.enabled or hybrid.mmr.enabled:
        rows = {row.id: row for row in chunks_by_id(db, keys)}
    contents = load_texts(db, keys) if hybrid.mmr.enabled else {}
    candidates = []
    for key in keys:
        row = rows.get(key, NOWHERE)
        text_score = texts.get(key)
        if text_score is not None and weighted:
            text_score = bm25_score(-text_score)
        candidates.append(
            Candidate(
                key,
                row.path,
                row.start_line,
                row.end_line,
                contents.get(key, ""),
                vectors.get(key),
                text_score,
            )
        )
    if weighted:
        ranked = fuse_weighted(candidates, hybrid.vector_weight, hybrid.text_weight)
    elif hybrid.fusion == "rrf":
        ranked = fuse_rrf(candidates)
    else:
        ranked = fuse_normalized(candidates, *_weights(hybrid, bool(vectors), bool(texts)))
    if hybrid.temporal_decay.enabled:
        ranked = decay_candidates(ranked, question.now_ms, hybrid.temporal_decay.half_life_days)
    if hybrid.mmr.enabled:
        ranked = rerank_mmr(ranked, hybrid.mmr.lambda_, MMR_PLACES)
    floor = question.min_score
    if floor is None and (weighted or question.settings.min_score_set):
        floor = question.settings.min_score
    return [item for item in ranked if floor is None or item.score >= floor]


def _weights(hybrid: Hybrid, by_meaning: bool, by_words: bool) -> tuple[float, float]:
    """Return the weights of meaning and words; a side that found nothing leaves all to the other."""
    if not by_meaning or not by_words:
        return (0.0, 1.0) if by_words else (1.0, 0.0)
    if hybrid.weights_set:
        return hybrid.vector_weight, hybrid.text_weight
    return MEANING_SHARE, 1 - MEANING_SHARE


def cut_hits(
    db: Database, question: Question, ranked: Sequence[Ranked], is_there: Callable[[Hit], bool]
) -> list[Hit]:
    """Return the best hits as snippets; a snippet inside one already shown only counts as a copy of it."""
    hits: list[Hit] = []
    shown: set[str] = set()
    for start in range(0, len(ranked), question.max_results):
        page = ranked[start : start + question.max_results]
        rows = {row.id: row for row in chunks_by_id(db, [int(item.id) for item in page])}
        copies = count_copies(db, {row.hash for row in rows.values()}, question.scope)
        contents = load_texts(db, list(rows))
        for item in page:
            row = rows.get(int(item.id), NOWHERE)
            if row.id not in contents or row.hash in shown:
                continue
            places = [row] if copies[row.hash] == 1 else find_copies(db, row.hash, question.scope)
            hit = next(
                (
                    hit
                    for place in places
                    if is_there(hit := _cut(db, question, item, place, contents[row.id], copies[row.hash]))
                ),
                None,
            )
            if hit is not None and not _is_told(hits, hit):
                if len(hits) >= question.max_results:
                    return hits
                hits.append(hit)
                shown.add(row.hash)
        if len(hits) >= question.max_results:
            return hits
    return hits


def _cut(db: Database, question: Question, item: Ranked, row: ChunkRow, text: str, copies: int) -> Hit:
    """Return a candidate as it is shown where it stands."""
    cut = cut_snippet(text, row.start_line, question.plan.words, SNIPPET_CHARACTERS)
    line_map = load_line_maps(db, [row.path]).get(row.path) if row.source == "sessions" else None
    return _hit(question, item, row, _placed(cut, line_map), copies)


def _placed(cut: Snippet, line_map: Sequence[int] | None) -> Snippet:
    """Return a snippet with its real lines: those of the transcript, where its text was made from one."""
    if line_map is None or cut.end_line > len(line_map):
        return cut
    return replace(cut, start_line=line_map[cut.start_line - 1], end_line=line_map[cut.end_line - 1])


def _is_told(hits: list[Hit], new: Hit) -> bool:
    """Return whether a hit shows nothing that an earlier one doesn't; another place of it is counted there."""
    for place, hit in enumerate(hits):
        if hit.path == new.path and hit.start_line <= new.start_line and new.end_line <= hit.end_line:
            if new.snippet in hit.snippet:
                return True
        elif hit.snippet == new.snippet:
            hits[place] = replace(hit, copies=hit.copies + new.copies)
            return True
    return False


def _hit(question: Question, item: Ranked, row: ChunkRow, cut: Snippet, copies: int) -> Hit:
    """Return a candidate as it is shown."""
    return Hit(
        path=row.path,
        start_line=cut.start_line,
        end_line=cut.end_line,
        score=round(item.score, 6),
        vector_score=None if item.vector_score is None else round(item.vector_score, 6),
        text_score=None if item.text_score is None else round(item.text_score, 6),
        snippet=cut.text,
        source=row.source,
        citation=_citation(row.path, cut.start_line, cut.end_line),
        copies=copies,
        explain=_explain(item, row) if question.explain else None,
    )


def _citation(path: str, start_line: int, end_line: int) -> str:
    """Return where a hit is, as people write it: path#L3-L9."""
    return f"{path}#L{start_line}" if start_line == end_line else f"{path}#L{start_line}-L{end_line}"


def _explain(item: Ranked, row: ChunkRow) -> dict[str, Any]:
    """Return how a hit came by its score."""
    return {
        "chunk_lines": [row.start_line, row.end_line],
        "cosine": item.vector_score,
        "bm25": item.text_score,
        "fused": round(item.score, 6),
    }
