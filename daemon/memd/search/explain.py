"""Explanations of why a hit has its rank."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from memd.index.snapshot import Snapshot
from memd.search.choose import HitCandidate
from memd.search.query import Query
from memd.search.rank.fusion import Ranked
from memd.search.rank.order import Ranking
from memd.search.relevance import WeighedTerm, weigh_terms
from memd.system.cancellation import check_cancelled
from memd.text.query.exact import exact_match_count
from memd_client.messages import Hit

STEPS = {
    "neighbours": "a neighbouring chunk matched too",
    "lines": "its lines match the query well: words, speakers, adjacent words",
    "days": "notes of the days named in the query come first",
    "decay": "dated notes count less with age",
    "annotations": "the importance or project of its entry",
    "exact": "exact matches come first",
    "breadth": "files take turns, because several pieces of evidence answer the query",
    "trust": "it states what a better match states, in words that are trusted more",
    "supersession": "it has the current value of an outdated hit",
}
"""Why a stage after fusion changed a score."""

STEPS_DOWN = {
    "neighbours": "other chunks have a neighbour that matched too",
    "lines": "the lines of other chunks match better",
    "days": "notes of other days than those named in the query count less",
    "exact": "other chunks are exact matches",
}
"""Why a stage lowered a score, if the reason differs from `STEPS`."""

MIN_CHANGE = 0.0005
"""Smaller changes of a score are not mentioned."""


def explain_hits(
    snapshot: Snapshot,
    query: Query,
    ranking: Ranking,
    shown: Sequence[tuple[HitCandidate, Hit]],
) -> list[dict[str, Any]]:
    """Return for each hit how its score was calculated."""
    ids = [choice.row.id for choice, _ in shown]
    terms = weigh_terms(snapshot, query, ranking.candidates.corrections, ids)
    vector_ranks = _ranks({int(item.id): item.vector_score for item in ranking.ranked})
    keyword_ranks = _ranks({int(item.id): item.text_score for item in ranking.ranked})
    explained = []
    parts = _containing(terms)
    for choice, hit in shown:
        check_cancelled()
        item, row, copies = choice.item, choice.row, hit.copies
        key, where = row.id, f"{hit.path}\n{choice.text}"
        exact = [name for name in query.exact_terms if exact_match_count([name], where)]
        steps = {name: round(scores.get(key, 0.0), 6) for name, scores in ranking.steps.items()}
        explained.append(
            {
                "reasons": [
                    *_describe_terms(terms, key, parts),
                    *_describe_ranks(item, keyword_ranks.get(key), vector_ranks.get(key)),
                    *_describe_steps(steps),
                    *([f"exact match for {' and '.join(exact)}"] if exact else []),
                    *(["from a day named in the query"] if key in ranking.signals.of_days else []),
                    *([_describe_copies(copies - 1)] if copies > 1 else []),
                ],
                "words": [_word(word, key) for word in terms],
                "exact": exact,
                "cosine": None if item.vector_score is None else round(item.vector_score, 6),
                "bm25": None if item.text_score is None else round(item.text_score, 6),
                "steps": steps,
                "chunk_lines": [row.start_line, row.end_line],
            }
        )
    return explained


def _ranks(scores: Mapping[int, float | None]) -> dict[int, int]:
    """Return the rank of each candidate that has a score, from 1."""
    known = sorted((key for key in scores if scores[key] is not None), key=lambda key: -(scores[key] or 0.0))
    return {key: place for place, key in enumerate(known, start=1)}


def _word(word: WeighedTerm, key: int) -> dict[str, Any]:
    """Return one term of the query, whether the hit has it, and its weight."""
    described: dict[str, Any] = {
        "word": word.word,
        "matched": key in word.matching,
        "chunks": word.chunks,
        "weight": round(word.weight, 3),
    }
    return described | ({"corrections": list(word.corrections)} if word.corrections else {})


def _describe_terms(terms: Sequence[WeighedTerm], key: int, parts: Mapping[str, frozenset[str]]) -> list[str]:
    """Return which terms of the query the hit has, and which it lacks."""
    matched_terms = [word for word in terms if key in word.matching]
    missing_terms = [word for word in terms if key not in word.matching]
    matched_words, missing_words = ({word.word for word in words} for words in (matched_terms, missing_terms))
    matched = [_spelled(word) for word in matched_terms if parts[word.word].isdisjoint(matched_words)]
    missing = [word.word for word in missing_terms if parts[word.word].isdisjoint(missing_words)]
    reasons = (
        [f"contains {', '.join(matched)}"] if matched else ["contains none of the terms"] if terms else []
    )
    return [f"{reasons[0]}; not {', '.join(missing)}"] if matched and missing else reasons


def _spelled(word: WeighedTerm) -> str:
    """Return a term as it occurs in the text."""
    return f"{' or '.join(word.corrections)} (for {word.word})" if word.corrections else word.word


def _containing(terms: Sequence[WeighedTerm]) -> dict[str, frozenset[str]]:
    """Return for each term the longer terms that contain it: `POL-358` for `358`."""
    containing: dict[str, frozenset[str]] = {}
    words = {word.word for word in terms}
    for word in words:
        part = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
        containing[word] = frozenset(other for other in words if other != word and part.search(other))
    return containing


def _describe_copies(others: int) -> str:
    """Return how many other places have the text of a hit."""
    return "same text in 1 other place" if others == 1 else f"same text in {others} other places"


def _describe_ranks(item: Ranked, keyword_rank: int | None, vector_rank: int | None) -> list[str]:
    """Return the ranks among keyword and vector matches."""
    reasons = []
    if keyword_rank is not None:
        reasons.append(f"keyword rank {keyword_rank} (BM25 {item.text_score:.2f})")
    if vector_rank is not None:
        reasons.append(f"vector rank {vector_rank} (cosine {item.vector_score:.2f})")
    return [", ".join(reasons)] if reasons else []


def _describe_steps(steps: Mapping[str, float]) -> list[str]:
    """Return the changes of the score, stage by stage."""
    reasons = [f"fused score {steps['fused']:.3f}"] if "fused" in steps else []
    before = steps.get("fused", 0.0)
    for name, why in STEPS.items():
        now = steps.get(name, before)
        if abs(now - before) >= MIN_CHANGE:
            reasons.append(f"{before:.3f} to {now:.3f}: {why if now > before else STEPS_DOWN.get(name, why)}")
        before = now
    return reasons
