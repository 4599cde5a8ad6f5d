"""One search: candidates by words and by meaning, fused, cut to snippets.

Everything here runs in one reader thread over one read transaction, so that a reply is of one moment. What
needs waiting (catching up with files, embedding the question) was done before by the agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memd.config import Hybrid, Query
from memd.index.connection import Database
from memd.index.files import ChunkRow, chunks_by_id, generation, load_texts
from memd.index.keyword import Scope, find_keyword
from memd.index.vectors.vector_search import VectorSearch, chunks_of_vectors
from memd.ranking.decay import decay_candidates
from memd.ranking.diversity import rerank_mmr
from memd.ranking.fusion import Candidate, Ranked, bm25_score, fuse_normalized, fuse_rrf, fuse_weighted
from memd.text.keywords import MatchPlan
from memd.text.snippets import Snippet, cut_snippet
from memd_client.messages import Hit

CANDIDATES = 100
"""Candidates of each kind. It never depends on how many results are asked for, so that the first k of
k+1 results are the k results; on the evaluation set 100 find what 400 find, and 50 half a point less."""

SNIPPET_CHARACTERS = 700
"""Longest snippet, as OpenClaw's."""

MEANING_SHARE = 0.4
"""Weight of meaning in `normalized` fusion where the user set none; words have the rest. On the evaluation set 0.2
to 0.5 are within a point of each other and OpenClaw's 0.7 is seven points below; see docs/ranking.md."""

FAR = 0.2
"""Cosine below which a nearest text has nothing to do with the question. MiniLM puts unrelated English
texts at 0.0 to 0.15 and a loose paraphrase above 0.3; see docs/ranking.md."""


@dataclass(frozen=True, slots=True)
class Question:
    """A search, prepared: what to match, what to compare with, how much to return."""

    plan: MatchPlan
    vector: NDArray[np.float32] | None
    space_id: str
    settings: Query
    max_results: int
    min_score: float | None
    scope: Scope | None
    now_ms: int
    explain: bool = False


@dataclass(slots=True)
class Found:
    """What one search found, before freshness is checked."""

    hits: list[Hit]
    mode: str
    generation: int
    abstained: bool
    timings: dict[str, float] = field(default_factory=dict)


def find_hits(db: Database, question: Question, search: VectorSearch | None) -> Found:
    """Return the hits of a question, best first.

    Args:
        db: A reader connection.
        question: The prepared search.
        search: The vector path in use, or None where vectors are not to be asked.

    Returns:
        At most `max_results` hits. None at all, with `abstained`, where nothing is relevant.
    """
    started = perf_counter()
    by_meaning = search is not None and question.vector is not None
    by_words = question.settings.hybrid.enabled or not by_meaning
    texts = find_texts(db, question) if by_words else {}
    after_words = perf_counter()
    vectors = find_vectors(db, question, search)
    after_vectors = perf_counter()
    chunks = {row.id: row for _, row in vectors.values()}
    chunks.update({row.id: row for row in chunks_by_id(db, [key for key in texts if key not in chunks])})
    nearest = max((score for score, _ in vectors.values()), default=0.0)
    abstained = not texts and nearest < FAR
    cosines = {key: score for key, (score, _) in vectors.items()}
    contents = load_texts(db, list(chunks)) if question.settings.hybrid.mmr.enabled else {}
    ranked = [] if abstained else rank(question, chunks, texts, cosines, contents)
    hits = cut_hits(db, question, ranked, chunks)
    ended = perf_counter()
    timings = {
        "words_ms": (after_words - started) * 1000,
        "meaning_ms": (after_vectors - after_words) * 1000,
        "ranking_ms": (ended - after_vectors) * 1000,
    }
    mode = "keyword" if not by_meaning else "hybrid" if by_words else "vector"
    return Found(hits, mode, generation(db), not hits, timings)


def find_texts(db: Database, question: Question) -> dict[int, float]:
    """Return keyword candidates by chunk id: strict matches of all words first, then of any word.

    Scores are negated BM25 (bigger is better), on the scale of the any-word query, so that both kinds
    compare; a strict match that the any-word query doesn't reach keeps its own.
    """
    plan = question.plan
    scores: dict[int, float] = {}
    if plan.any is not None:
        scores = dict(find_keyword(db, plan.any, CANDIDATES, question.scope))
    if plan.strict is not None and plan.strict != plan.any:
        for key, score in find_keyword(db, plan.strict, CANDIDATES, question.scope):
            scores[key] = max(scores.get(key, 0.0), score)
    return scores


def find_vectors(
    db: Database, question: Question, search: VectorSearch | None
) -> dict[int, tuple[float, ChunkRow]]:
    """Return vector candidates by chunk id with their cosine."""
    if search is None or question.vector is None:
        return {}
    nearest = search.nearest(db, question.space_id, question.vector, CANDIDATES, question.scope)
    scores = dict(nearest)
    rows = chunks_of_vectors(db, question.space_id, list(scores), question.scope)
    return {row.id: (scores[vector_id], row) for vector_id, row in rows}


def rank(
    question: Question,
    chunks: dict[int, ChunkRow],
    texts: dict[int, float],
    vectors: dict[int, float],
    contents: dict[int, str],
) -> list[Ranked]:
    """Return all candidates in their final order, with scores from 0 to 1.

    Args:
        question: The prepared search.
        chunks: Rows of all candidates by id.
        texts: Negated BM25 by chunk id.
        vectors: Cosine by chunk id.
        contents: Texts by chunk id; MMR alone looks at them.
    """
    hybrid = question.settings.hybrid
    weighted = hybrid.fusion == "weighted"
    candidates = [
        Candidate(
            id=row.id,
            path=row.path,
            start_line=row.start_line,
            end_line=row.end_line,
            snippet=contents.get(row.id, ""),
            vector_score=vectors.get(row.id),
            text_score=_text_score(texts.get(row.id), weighted),
        )
        for row in chunks.values()
    ]
    if weighted:
        ranked = fuse_weighted(candidates, hybrid.vector_weight, hybrid.text_weight)
    elif hybrid.fusion == "rrf":
        ranked = fuse_rrf(candidates)
    else:
        ranked = fuse_normalized(candidates, *_weights(hybrid, bool(vectors), bool(texts)))
    if hybrid.temporal_decay.enabled:
        ranked = decay_candidates(ranked, question.now_ms, hybrid.temporal_decay.half_life_days)
    if hybrid.mmr.enabled:
        ranked = rerank_mmr(ranked, hybrid.mmr.lambda_)
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


def _text_score(score: float | None, weighted: bool) -> float | None:
    """Return a keyword score on the scale the fusion wants."""
    if score is None:
        return None
    return bm25_score(-score) if weighted else score


def cut_hits(
    db: Database, question: Question, ranked: Sequence[Ranked], chunks: dict[int, ChunkRow]
) -> list[Hit]:
    """Return the best hits as snippets; a snippet inside one already shown is left out."""
    hits: list[Hit] = []
    contents: dict[int, str] = {}
    for place, item in enumerate(ranked):
        if len(hits) >= question.max_results:
            break
        if int(item.id) not in contents:
            following = [int(each.id) for each in ranked[place : place + question.max_results]]
            contents = load_texts(db, following)
        row = chunks[int(item.id)]
        cut = cut_snippet(contents[row.id], row.start_line, question.plan.words, SNIPPET_CHARACTERS)
        if not any(_repeats(hit, row.path, cut) for hit in hits):
            hits.append(_hit(question, item, row, cut))
    return hits


def _hit(question: Question, item: Ranked, row: ChunkRow, cut: Snippet) -> Hit:
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
        explain=_explain(item, row) if question.explain else None,
    )


def _repeats(hit: Hit, path: str, cut: Snippet) -> bool:
    """Return whether a snippet shows nothing that an earlier hit doesn't."""
    if hit.path != path or cut.start_line < hit.start_line or cut.end_line > hit.end_line:
        return False
    return cut.text in hit.snippet


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
