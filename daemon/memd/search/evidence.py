"""How much speaks for it that what was found has to do with the question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memd.index.connection import Database
from memd.index.keyword import count_chunks, count_matches
from memd.search.query import Question
from memd.system.cancellation import check_cancelled
from memd.text.query.terms import Term

GUESSED_SHARE = 0.5
"""What a word counts that was only guessed: it stands nowhere, one spelled nearly so does."""

TYPED_WORDS = 2
"""In a question of so few words a word that is only nearly there was mistyped, and counts nearly in full."""

TYPED_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class AskedWord:
    """One thing a question asks for, and where it is among some chunks.

    Attributes:
        word: As asked.
        weight: How telling it is in this memory: its inverse document frequency.
        chunks: In how many chunks it is.
        held_by: Which of the chunks that were looked at hold it.
        taken_for: What it was taken for, where it stands nowhere.
    """

    word: str
    weight: float
    chunks: int
    held_by: frozenset[int]
    taken_for: tuple[str, ...] = ()


def weigh_words(
    db: Database, question: Question, respelled: Mapping[str, tuple[str, ...]], ids: Sequence[int]
) -> list[AskedWord]:
    """Return what a question asks for, how telling each word is, and which of some chunks hold it."""
    total = count_chunks(db)
    words = []
    for term in _words(question.plan.terms):
        check_cancelled()
        chunks, holding = count_matches(db, term.match, ids)
        taken_for = respelled.get(term.word, ())
        if not chunks and taken_for:
            _, holding = count_matches(db, " OR ".join(f'"{word}"' for word in taken_for), ids)
        # Robertson and Sparck Jones' weight, kept positive as in Lucene.
        weight = math.log(1 + (total - chunks + 0.5) / (chunks + 0.5))
        taken_for = () if chunks else taken_for
        words.append(AskedWord(term.word, weight, chunks, frozenset(holding), taken_for))
    return words


def coverage(words: Sequence[AskedWord], chunk_id: int) -> float:
    """Return which share of what was asked for a chunk holds, telling words counting more; 0 to 1."""
    whole = sum(word.weight for word in words)
    guessed = TYPED_SHARE if len(words) <= TYPED_WORDS else GUESSED_SHARE
    held = sum(word.weight * (1.0 if word.chunks else guessed) for word in words if chunk_id in word.held_by)
    return held / whole if whole > 0 else 0.0


def _words(terms: Sequence[Term]) -> list[Term]:
    """Return the terms that are words: phrases and neighbours written together only repeat them."""
    return [term for term in terms if " " not in term.word.strip()] or list(terms)
