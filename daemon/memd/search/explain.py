"""Why a hit has its rank, in words for people."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from memd.index.snapshot import Database
from memd.search.query import Query
from memd.search.rank.fusion import Ranked
from memd.search.rank.order import Ranking
from memd.search.relevance import WeighedTerm, weigh_terms
from memd.system.cancellation import check_cancelled
from memd.text.query.exact import exact_match_count

STEPS = {
    "neighbours": "the passage beside it was found as well",
    "days": "notes of the days in the question come first",
    "decay": "dated notes count less with age",
    "annotations": "the importance or project of its entry",
    "exact": "the very names in the question come first",
}
"""What changes a score after fusion, stage by stage, in words."""

LOST = {
    "neighbours": "others have a passage beside them that was found as well",
    "days": "notes of other days than those in the question count less",
    "exact": "others hold the very names in the question",
}
"""The same for a score that became smaller."""

MIN_CHANGE = 0.0005
"""Smaller changes of a score are not mentioned."""


def explain_hits(
    db: Database,
    query: Query,
    ranking: Ranking,
    shown: Sequence[tuple[Ranked, str, int]],
) -> list[dict[str, Any]]:
    """Return how each hit came by its score."""
    ids = [int(item.id) for item, _, _ in shown]
    asked = weigh_terms(db, query, ranking.candidates.corrections, ids)
    by_meaning = _places({int(item.id): item.vector_score for item in ranking.ranked})
    by_words = _places({int(item.id): item.text_score for item in ranking.ranked})
    explained = []
    parts = _containing(asked)
    for item, where, copies in shown:
        check_cancelled()
        key = int(item.id)
        row = ranking.rows[key]
        exact = [name for name in query.exact_terms if exact_match_count([name], where)]
        steps = {name: round(scores.get(key, 0.0), 6) for name, scores in ranking.scores.items()}
        explained.append(
            {
                "because": [
                    *_words_said(asked, key, parts),
                    *_found_said(item, by_words.get(key), by_meaning.get(key)),
                    *_steps_said(steps),
                    *([f"it holds {' and '.join(exact)} itself"] if exact else []),
                    *(["it is of a day in the question"] if key in ranking.of_days else []),
                    *([_copies_said(copies - 1)] if copies > 1 else []),
                ],
                "words": [_word(word, key) for word in asked],
                "exact": exact,
                "cosine": None if item.vector_score is None else round(item.vector_score, 6),
                "bm25": None if item.text_score is None else round(item.text_score, 6),
                "steps": steps,
                "chunk_lines": [row.start_line, row.end_line],
            }
        )
    return explained


def _places(scores: Mapping[int, float | None]) -> dict[int, int]:
    """Return the place of each candidate that has a score, from 1."""
    known = sorted((key for key in scores if scores[key] is not None), key=lambda key: -(scores[key] or 0.0))
    return {key: place for place, key in enumerate(known, start=1)}


def _word(word: WeighedTerm, key: int) -> dict[str, Any]:
    """Return one term of the query: whether the hit has it, and its weight."""
    described: dict[str, Any] = {
        "word": word.word,
        "held": key in word.matching,
        "chunks": word.chunks,
        "weight": round(word.weight, 3),
    }
    return described | ({"taken_for": list(word.corrections)} if word.corrections else {})


def _words_said(asked: Sequence[WeighedTerm], key: int, parts: Mapping[str, frozenset[str]]) -> list[str]:
    """Return which terms of the query the hit has, and which it lacks."""
    held_words = [word for word in asked if key in word.matching]
    lost_words = [word for word in asked if key not in word.matching]
    of_held, of_lost = ({word.word for word in words} for words in (held_words, lost_words))
    held = [_spelled(word) for word in held_words if parts[word.word].isdisjoint(of_held)]
    missing = [word.word for word in lost_words if parts[word.word].isdisjoint(of_lost)]
    said = [f"it holds {', '.join(held)}"] if held else ["it holds none of the words"] if asked else []
    return [f"{said[0]}; not {', '.join(missing)}"] if held and missing else said


def _spelled(word: WeighedTerm) -> str:
    """Return a word as it was found."""
    return f"{' or '.join(word.corrections)} (for {word.word})" if word.corrections else word.word


def _containing(asked: Sequence[WeighedTerm]) -> dict[str, frozenset[str]]:
    """Return for each word the words of which it only repeats a part: `POL-358` for `358`."""
    containing: dict[str, frozenset[str]] = {}
    words = {word.word for word in asked}
    for word in words:
        part = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
        containing[word] = frozenset(other for other in words if other != word and part.search(other))
    return containing


def _copies_said(others: int) -> str:
    """Return in how many other places the text of a hit is."""
    return "another place says the same" if others == 1 else f"{others} other places say the same"


def _found_said(item: Ranked, by_words: int | None, by_meaning: int | None) -> list[str]:
    """Return the ranks among keyword and vector matches."""
    said = []
    if by_words is not None:
        said.append(f"number {by_words} by words (BM25 {item.text_score:.2f})")
    if by_meaning is not None:
        said.append(f"number {by_meaning} by meaning (cosine {item.vector_score:.2f})")
    return [", ".join(said)] if said else []


def _steps_said(steps: Mapping[str, float]) -> list[str]:
    """Return what changed the score, step by step."""
    said = [f"together {steps['fused']:.3f}"] if "fused" in steps else []
    before = steps.get("fused", 0.0)
    for name, why in STEPS.items():
        now = steps.get(name, before)
        if abs(now - before) >= MIN_CHANGE:
            said.append(f"{before:.3f} to {now:.3f}: {why if now > before else LOST.get(name, why)}")
        before = now
    return said
