"""A parsed query: terms, vector and limits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from memd.index.keyword import Scope
from memd.programs.catalog import OPENCLAW_SOURCE
from memd.settings.schema import QuerySettings
from memd.text.query.breadth import is_broad, split_parts, without_framing
from memd.text.query.days.find import DaySpan, find_days
from memd.text.query.exact import find_literals
from memd.text.query.keywords import MatchPlan, plan_match
from memd.text.query.resuming import without_resuming
from memd.text.query.speakers import is_first_person, is_message
from memd.text.query.terms import QueryTerms

MAX_ROOMY_RESULTS = 12
"""Most hits that are each shown with as many surrounding lines as fit a snippet."""

MAX_EXACT_TERMS = 64
"""Most exact terms of a query: each is searched for in the text of every candidate."""


class QueryVector(Struct, frozen=True):
    """A query's vector (dims,), its vector space and its model."""

    values: NDArray[np.float32]
    space_id: str
    model: str


class SearchLimits(Struct, frozen=True):
    """Limits of a search: number of results, score and scope.

    Attributes:
        max_results: Most hits to return.
        min_score: The requested score; None uses the setting.
        scope: Sources and paths to search; None searches everything.
        notes_scope: The scope of notes alone if transcripts are searched too, else None.
        active_projects: Keys of the current projects: their entries gain weight, entries of other projects lose it.
        explain: Whether to explain the rank of each hit.
        include_weak: Whether hits that are hardly related to the query are kept.
        max_chars: Most characters of all hits as they are shown; None limits the number of hits alone.
        conversations: The sources that are transcripts, each with its program; empty for OpenClaw's.
        limit_weak: Whether weak hits beyond the first few are left out, as `memd_client.hit_text` describes.
    """

    max_results: int
    min_score: float | None = None
    scope: Scope | None = None
    notes_scope: Scope | None = None
    active_projects: tuple[str, ...] = ()
    explain: bool = False
    max_chars: int | None = None
    include_weak: bool = False
    conversations: Mapping[str, str] = field(default_factory=lambda: {OPENCLAW_SOURCE: ""})
    limit_weak: bool = False

    @property
    def wants_many(self) -> bool:
        """Whether hits share a budget or are many: each is then only as long as its evidence deserves."""
        return self.max_chars is not None or self.max_results > MAX_ROOMY_RESULTS

    @property
    def scopes(self) -> tuple[Scope | None, ...]:
        """The scopes to search: notes again on their own if transcripts could crowd them out."""
        return (self.scope,) if self.notes_scope is None else (self.scope, self.notes_scope)


class Query(Struct, frozen=True):
    """One query, parsed for one snapshot.

    Attributes:
        text: The query as given.
        days: Days that the query names.
        plan: Terms and expressions for the keyword index.
        exact_terms: Names, dates and quoted phrases: exact matches rank first.
        settings: Search settings of the agent.
        limits: Limits of the search.
        now_ms: Wall time.
        vector: The query's vector; None for keyword search alone.
        parts: Expressions for any term of each of the subjects that it joins ("both A and B").
        is_broad: Whether several pieces of evidence answer it.
        is_message: Whether the user says something in it or goes on with a conversation, and doesn't merely ask.
        is_resumption: Whether it has no subject, and only goes on with the last conversation.
    """

    text: str
    days: tuple[DaySpan, ...]
    plan: MatchPlan
    exact_terms: tuple[str, ...]
    settings: QuerySettings
    limits: SearchLimits
    now_ms: int
    vector: QueryVector | None = None
    parts: tuple[str, ...] = ()
    is_broad: bool = False
    is_message: bool = False
    is_resumption: bool = False

    @property
    def uses_reference_formula(self) -> bool:
        """Whether candidates are ranked by OpenClaw's formula alone, without days and exact matches."""
        return self.settings.hybrid.fusion == "weighted"


def parse_query(
    text: str,
    languages: Collection[str],
    *,
    settings: QuerySettings,
    limits: SearchLimits,
    now_ms: int,
    vector: QueryVector | None = None,
) -> Query:
    """Return the parsed query; `languages` are the index's stemming languages."""
    days = find_days(text, datetime.fromtimestamp(now_ms / 1000).date())
    plan = plan_match(without_framing(without_days(text, days)), languages)
    exact = tuple(dict.fromkeys([*plan.exact, *find_literals(text)]))[:MAX_EXACT_TERMS]
    parts = (
        plan_match(without_framing(without_days(part, days)), languages).any for part in split_parts(text)
    )
    subject = without_resuming(text)
    return Query(
        text,
        days,
        plan,
        exact,
        settings,
        limits,
        now_ms,
        vector,
        tuple(part for part in parts if part is not None),
        is_broad(text),
        subject is not None or (is_first_person(text) and is_message(without_framing(text))),
        subject is not None and not _has_subject(subject),
    )


def _has_subject(text: str) -> bool:
    """Return whether a text has words that are not grammar."""
    return any(token.terms for token in QueryTerms(text).tokens())


def without_days(text: str, days: Sequence[DaySpan]) -> str:
    """Return a query without words that only name days (`yesterday`, `last week`): notes need not contain them."""
    for span in days:
        if not any(character.isdigit() for character in span.text):
            text = text.replace(span.text, " ", 1)
    return text
