"""What a question brings up: by its words, by its meaning, by the days it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from time import perf_counter

import numpy as np

from memd.index.connection import Database, IndexFile
from memd.index.copies import find_distinct
from memd.index.days import find_dated
from memd.index.files import ChunkRow, chunks_of_vectors, generation
from memd.index.keyword import count_chunks, holding
from memd.index.matches import Matches, MatchRow, MatchStatement, match_statement, read_matches
from memd.index.vectors.vector_search import VectorSearch
from memd.search.located import all_places
from memd.search.query import Candidates, Question, without_days
from memd.text.query.days.find import find_days
from memd.text.query.keywords import plan_match
from memd.text.query.literals import find_literals, is_unfindable

CANDIDATES = 100
"""Candidates of each kind. It never depends on how many results are asked for, so that the first k of
k+1 results are the k results; on the evaluation set 100 find what 400 find, and 50 half a point less."""

MOST_NAMES = 64
"""Names of a question that are looked for letter by letter, each in every candidate's text."""

MOST_READ = 50_000
"""Chunks up to which all texts are read for a name made of signs."""


def read_question(db: Database, question: Question) -> int:
    """Read a question: the days it names, and its plan, which depends on the languages of the index."""
    now = generation(db)
    languages = question.lexicon.languages(db, now) if question.lexicon is not None else None
    question.days = find_days(question.query, datetime.fromtimestamp(question.now_ms / 1000).date())
    question.plan = plan_match(without_days(question.query, question.days), languages)
    question.names = tuple(dict.fromkeys([*question.plan.exact, *find_literals(question.query)]))[:MOST_NAMES]
    return now


@dataclass(frozen=True, slots=True)
class AskedWords:
    """What the index is asked for the words of a question.

    Attributes:
        generation: Of the index when the question was read.
        any_of: Matches any of them, misspelled ones as what they may have been meant as; None where there is none.
        all_of: Matches all of them.
        respelled: Words that stand nowhere, each with the words it was taken for.
        took_ms: What reading the question took, and asking the index where that is done.
    """

    generation: int
    any_of: str | None
    all_of: str | None
    respelled: Mapping[str, tuple[str, ...]]
    took_ms: float


def ask_words(db: Database, question: Question) -> AskedWords:
    """Read a question, and return what the index is to be asked for its words.

    A word that stands nowhere is also taken for those it may be a misspelling of.
    """
    started = perf_counter()
    now = read_question(db, question)
    plan, lexicon = question.plan, question.lexicon
    respelled = lexicon.respell(db, now, plan.terms) if lexicon is not None else {}
    asked = [plan.any] if plan.any is not None else []
    asked += [f'"{near}"' for words in respelled.values() for near in words]
    any_of = " OR ".join(asked) or plan.strict
    return AskedWords(now, any_of, plan.strict, respelled, (perf_counter() - started) * 1000)


def match_statements(db: Database, question: Question, asked: AskedWords) -> list[MatchStatement]:
    """Return what finds the words of a question, for each of its scopes."""
    if asked.any_of is None:
        return []
    wanted = (asked.any_of, asked.all_of, CANDIDATES)
    with_rows = all_places(db, question, asked.generation) is None
    return [match_statement(db, *wanted, scope, with_rows=with_rows) for scope in question.scopes]


def match_words(db: Database, question: Question, asked: AskedWords) -> list[Matches]:
    """Return what matches the words of a question, for each of its scopes."""
    return [read_matches(statement.run(db)) for statement in match_statements(db, question, asked)]


def find_words(
    db: Database,
    question: Question,
    asked: AskedWords | None = None,
    matches: Sequence[Matches] | None = None,
) -> Candidates:
    """Return what any of the question's words brings up, and what all of them do, by negated BM25.

    A chunk that both bring up keeps the better score; both are on the same scale.
    """
    started = perf_counter()
    before_ms = 0.0 if asked is None else asked.took_ms
    asked = ask_words(db, question) if asked is None else asked
    if matches is None or any(found.generation != asked.generation for found in matches):
        matches = match_words(db, question, asked)
    scores: dict[int, float] = {}
    rows: dict[int, ChunkRow] = {}
    whole: frozenset[int] | None = None
    places = all_places(db, question, matches[0].generation) if matches else None
    for scope, found in zip(question.scopes, matches, strict=False):
        assert asked.any_of is not None
        rows |= found.rows
        some = dict(find_distinct(db, asked.any_of, CANDIDATES, scope, rows, found.by_any, places))
        # Whatever holds all words holds any: asking again is needed only where the list was cut.
        if asked.all_of is not None and len(some) >= CANDIDATES:
            together = find_distinct(db, asked.all_of, CANDIDATES, scope, rows, found.by_all, places)
            if scope == question.scope and len(found.by_all) < CANDIDATES:
                whole = frozenset(key for key, _ in found.by_all)
            for key, score in together:
                some[key] = max(some.get(key, 0.0), score)
        scores |= some
    _add_literals(db, question, scores)
    took_ms = before_ms + (perf_counter() - started) * 1000
    now = matches[0].generation if matches else asked.generation
    return Candidates(now, scores, took_ms, rows, asked.respelled, whole)


def _add_literals(db: Database, question: Question, scores: dict[int, float]) -> None:
    """Add chunks that hold a name of the question where no candidate does: signs are nothing to the keyword index.

    All texts are read for it, which takes some 10 ms at 15,000 chunks, so it is for names with signs alone.
    """
    whole = " ".join(question.query.split())
    # The question itself comes last: what of it is a name is likelier to be written down.
    wanted = sorted(filter(is_unfindable, question.names), key=lambda name: name == whole)
    if not wanted or count_chunks(db) > MOST_READ:
        return
    held = holding(db, wanted[0], list(scores), question.scope)
    if not held:
        best = max(scores.values(), default=1.0)
        scores |= dict.fromkeys(holding(db, wanted[0], None, question.scope, CANDIDATES), best)


def find_meaning(db: Database, question: Question, search: VectorSearch) -> Candidates:
    """Return what is nearest to the question's vector, by cosine."""
    started = perf_counter()
    assert question.vector is not None
    nearest: dict[int, float] = {}
    for scope in question.scopes:
        nearest |= dict(search.nearest(db, question.space_id, question.vector, CANDIDATES, scope))
    now = generation(db)
    rows: dict[int, ChunkRow] = {}
    places = all_places(db, question, now) if question.scope is None else None
    if places is not None and question.places is not None:
        vector_ids = np.fromiter(nearest, np.int64, len(nearest))
        ids = question.places.chunks_of(db, places, question.space_id, vector_ids).tolist()
        scores = dict(zip(ids, nearest.values(), strict=True))
        scores.pop(0, None)  # of a vector no chunk has
    else:
        found = chunks_of_vectors(db, question.space_id, list(nearest), question.scope)
        scores = {row.id: nearest[vector_id] for vector_id, row in found}
        rows = {row.id: row for _, row in found}
    return Candidates(now, scores, (perf_counter() - started) * 1000, rows)


def find_both(
    db: Database, question: Question, search: VectorSearch, beside: IndexFile | None
) -> tuple[Candidates, Candidates]:
    """Return what words and what meaning bring up."""
    asked = ask_words(db, question)
    statements = match_statements(db, question, asked)

    def look_up(db: Database) -> tuple[list[MatchRow], float]:
        started = perf_counter()
        return [each.run(db) for each in statements], (perf_counter() - started) * 1000

    if beside is None or not statements:
        rows, took_ms = look_up(db)
        meaning = find_meaning(db, question, search)
    else:
        with beside.beside(db, look_up) as by_words:
            meaning = find_meaning(db, question, search)
            rows, took_ms = by_words.result()
    asked = replace(asked, took_ms=asked.took_ms + took_ms)
    return find_words(db, question, asked, [read_matches(row) for row in rows]), meaning


def find_of_days(db: Database, question: Question) -> set[int]:
    """Return chunks of the notes that are of the days a question names, the newest notes first, so many at most."""
    found: set[int] = set()
    for span in question.days:
        found |= set(find_dated(db, span.first, span.last, CANDIDATES, question.scope))
    return found
