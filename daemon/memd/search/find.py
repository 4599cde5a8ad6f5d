"""One search: candidates by words, by meaning and by day, put in order, cut to snippets.

Everything here runs in one reader thread over one read transaction, so that a reply is of one moment. What
needs waiting (catching up with files, embedding the question) was done before by the agent.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from memd.index.connection import Database
from memd.index.files import generation
from memd.index.vectors.vector_search import VectorSearch
from memd.search.candidates import (
    ask_words,
    find_meaning,
    find_of_days,
    find_words,
    match_words,
    read_question,
)
from memd.search.hits import cut_hits
from memd.search.located import Known, all_places
from memd.search.order import order_candidates
from memd.search.query import Candidates, Found, Question
from memd.search.relevance import judge
from memd.search.steps import Steps, run_alone
from memd.system.cancellation import check_cancelled
from memd_client.messages import Hit


def find_hits(
    db: Database,
    question: Question,
    search: VectorSearch | None,
    words: Candidates | None = None,
    meaning: Candidates | None = None,
    *,
    is_there: Callable[[Hit], bool] = lambda _: True,
) -> Found:
    """Return the hits of a question, best first."""
    return run_alone(_find_hits(db, question, search, words, meaning, is_there))


def find_in_steps(db: Database, question: Question, search: VectorSearch) -> Steps[Found]:
    """Find everything in steps: what words and meaning bring up, then the hits."""
    asked = ask_words(db, question)
    yield
    matches = match_words(db, question, asked)
    yield
    words = find_words(db, question, asked, matches)
    yield
    meaning = find_meaning(db, question, search)
    yield
    return (yield from _find_hits(db, question, search, words, meaning, lambda _: True))


def _find_hits(
    db: Database,
    question: Question,
    search: VectorSearch | None,
    words: Candidates | None,
    meaning: Candidates | None,
    is_there: Callable[[Hit], bool],
) -> Steps[Found]:
    """Do what `find_hits` does, in steps."""
    check_cancelled()
    now = generation(db)
    by_meaning = search is not None and question.vector is not None
    by_words = question.settings.hybrid.enabled or not by_meaning
    if search is None or question.vector is None:
        meaning = Candidates(now, {}, 0.0)
    elif meaning is None or meaning.generation != now:
        meaning = find_meaning(db, question, search)
    if not by_words:
        read_question(db, question)
        words = Candidates(now, {}, 0.0)
    elif words is None or words.generation != now:
        words = find_words(db, question)
    spent = _Spent()
    with spent:
        of_day = find_of_days(db, question) if question.days else set()
        known = Known(words.rows, meaning.rows, all_places(db, question, now))
        order = order_candidates(db, question, words.scores, meaning.scores, of_day, known, whole=words.whole)
    yield
    check_cancelled()
    with spent:
        sure = bool(of_day) or any(order.held.values())
        verdict = judge(db, question, words, meaning, order.ids, sure=sure)
    yield
    with spent:
        hits, held = ([], []) if verdict.nothing else cut_hits(db, question, order, words.respelled, is_there)
    timings = {"words_ms": words.took_ms, "meaning_ms": meaning.took_ms, "ranking_ms": spent.ms}
    mode = "keyword" if not by_meaning else "hybrid" if by_words else "vector"
    return Found(hits, mode, now, not hits, timings, verdict.closer_look if hits else None, held)


class _Spent:
    """The time spent inside its `with` blocks, in milliseconds: between two steps others take theirs."""

    def __init__(self) -> None:
        self.ms = 0.0
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = perf_counter()

    def __exit__(self, *_: object) -> None:
        self.ms += (perf_counter() - self._began) * 1000
