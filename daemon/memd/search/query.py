"""A search, prepared; what its sides bring up; what it found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memd.index.files import ChunkRow
from memd.index.keyword import Scope
from memd.index.tracked_locations import FollowedPlaces
from memd.search.lexicon import Lexicon
from memd.settings.schema import Query
from memd.text.query.days.find import DaySpan
from memd.text.query.keywords import MatchPlan
from memd_client.messages import Hit

MAX_QUERY_CHARS = 8_000
"""A query asks about notes; a whole note is not one. What a search does with a query is measured up to here."""

NOTHING_ASKED = MatchPlan(None, None, ())
"""The plan of a question that wasn't read yet."""


@dataclass(slots=True)
class Question:
    """A search, prepared: what to match, what to compare with, how much to return.

    Attributes:
        query: As asked.
        settings: The agent's.
        max_results: Most hits.
        min_score: As asked for; None takes the settings'.
        scope: What the search is limited to.
        now_ms: Wall time.
        vector: The query's vector, once there is one.
        space_id: The vector space that answers.
        model: Its model.
        notes_scope: The scope of notes alone where transcripts may be found beside them, else None.
        lexicon: What is known of the index's words; None leaves errors of typing as they are.
        places: Where all chunks stand, as far as that is in memory; None reads what is needed.
        explain: Whether to say how each hit came by its place.
        active_projects: Keys of the projects at work: entries about them count more, those about others less.
        days: Days the query names; filled in when it is read (`candidates.read_question`), as is what follows.
        plan: What the index is asked.
        names: What is meant letter by letter: a text that holds one comes before those that don't.
    """

    query: str
    settings: Query
    max_results: int
    min_score: float | None
    scope: Scope | None
    now_ms: int
    vector: NDArray[np.float32] | None = None
    space_id: str = ""
    model: str = ""
    notes_scope: Scope | None = None
    lexicon: Lexicon | None = None
    places: FollowedPlaces | None = None
    explain: bool = False
    active_projects: tuple[str, ...] = ()
    days: tuple[DaySpan, ...] = ()
    plan: MatchPlan = NOTHING_ASKED
    names: tuple[str, ...] = ()

    @property
    def scopes(self) -> tuple[Scope | None, ...]:
        """What is looked through: notes a second time alone where transcripts could fill the list."""
        return (self.scope,) if self.notes_scope is None else (self.scope, self.notes_scope)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Chunks that one side brought up: scores by chunk id, and the generation of the index they are of.

    `rows` are those of the chunks that were read on the way, by id, others among them. `respelled` are words of the
    question that stand nowhere, each with the words it was taken for; `whole` are the chunks that have all of its
    words, or None where that isn't known.
    """

    generation: int
    scores: dict[int, float]
    took_ms: float
    rows: Mapping[int, ChunkRow] = field(default_factory=dict)
    respelled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    whole: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class LineCheck:
    """What is left to decide: whether any of some lines is as near to the question as `cosine`; else all is noise."""

    lines: tuple[str, ...]
    cosine: float


@dataclass(slots=True)
class Found:
    """What one search found.

    Attributes:
        hits: Best first.
        mode: `hybrid`, `keyword` or `vector`.
        generation: Of the index.
        abstained: Whether there is nothing relevant.
        timings: Milliseconds by the part of the search.
        closer_look: What would have to be compared to be sure that the hits are relevant, or None.
        held: How well each hit holds the very names of the question: no order puts one with less before it.
    """

    hits: list[Hit]
    mode: str
    generation: int
    abstained: bool
    timings: dict[str, float] = field(default_factory=dict)
    closer_look: LineCheck | None = None
    held: Sequence[int] = ()


def without_days(query: str, days: Sequence[DaySpan]) -> str:
    """Return a question without the words that only name days (`yesterday`, `last week`): no note needs to hold
    them.
    """
    for span in days:
        if not any(character.isdigit() for character in span.text):
            query = query.replace(span.text, " ", 1)
    return query
