"""A query: what to match, what to compare with, how much to return."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memd.index.keyword import Scope
from memd.settings.schema import QuerySettings
from memd.text.query.days.find import DaySpan, find_days
from memd.text.query.exact import find_literals
from memd.text.query.keywords import MatchPlan, plan_match

MAX_QUERY_CHARS = 8_000
"""Longest query. A query asks about notes; a whole note is not one."""

MAX_EXACT_TERMS = 64
"""Exact terms of a query: each is looked for in the text of every candidate."""


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A query's vector (dims,), and the vector space and the model it is of."""

    values: NDArray[np.float32]
    space_id: str
    model: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What a search returns at most, and from where.

    Attributes:
        max_results: Most hits.
        min_score: As requested; None takes the settings'.
        scope: What is searched; None is everything.
        notes_scope: The scope of notes alone if transcripts are searched as well, else None.
        active_projects: Keys of the current projects: entries about them count more, those about others less.
        explain: Whether to explain the rank of each hit.
    """

    max_results: int
    min_score: float | None = None
    scope: Scope | None = None
    notes_scope: Scope | None = None
    active_projects: tuple[str, ...] = ()
    explain: bool = False

    @property
    def scopes(self) -> tuple[Scope | None, ...]:
        """The scopes to search: notes a second time alone if transcripts could fill the list."""
        return (self.scope,) if self.notes_scope is None else (self.scope, self.notes_scope)


@dataclass(frozen=True, slots=True)
class Query:
    """One query to one snapshot.

    Attributes:
        text: As given.
        days: The days it names.
        plan: The terms and the expressions for the keyword index.
        exact_terms: Names, dates and quoted phrases: a text that has one comes before those that don't.
        settings: The agent's.
        limits: How much to return, and from where.
        now_ms: Wall time.
        vector: None searches keywords alone.
    """

    text: str
    days: tuple[DaySpan, ...]
    plan: MatchPlan
    exact_terms: tuple[str, ...]
    settings: QuerySettings
    limits: Limits
    now_ms: int
    vector: QueryVector | None = None


def parse_query(
    text: str,
    languages: Collection[str],
    *,
    settings: QuerySettings,
    limits: Limits,
    now_ms: int,
    vector: QueryVector | None = None,
) -> Query:
    """Return the query of a text; `languages` are those the index is stemmed in."""
    days = find_days(text, datetime.fromtimestamp(now_ms / 1000).date())
    plan = plan_match(without_days(text, days), languages)
    exact = tuple(dict.fromkeys([*plan.exact, *find_literals(text)]))[:MAX_EXACT_TERMS]
    return Query(text, days, plan, exact, settings, limits, now_ms, vector)


def without_days(text: str, days: Sequence[DaySpan]) -> str:
    """Return a query without words that only name days (`yesterday`, `last week`): no note needs to have them."""
    for span in days:
        if not any(character.isdigit() for character in span.text):
            text = text.replace(span.text, " ", 1)
    return text
