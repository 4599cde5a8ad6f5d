"""Search of facts: by vectors and shared words, or without vectors from shared words.

The score is the cosine of query and fact, at least 0. Shared words raise it, by up to `WORD_OVERLAP_WEIGHT` of the
difference to 1; the same words in the same order score 1. Without a vector it is the cosine of the two sets of words.

Vectors are cached in RAM by text, newest facts first, and loaded on demand, since facts are few.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import attrgetter

import numpy as np
import trio
from msgspec import Struct
from numpy.typing import NDArray

from memd.agents.agent import Agent
from memd.lifecycle.facts.lines import LINE_CACHE_SIZE, Fact, differs_in_meaning, normal_form
from memd.text.language.stems import languages_of_text, stem_words
from memd.text.query.keywords import content_keywords
from memd.text.revisions import replaces
from memd.text.statements import read_statement
from memd_client.errors import MemdError, ProviderReplyError
from memd_client.messages import EmbedParams, EmbedReply

WORD_OVERLAP_WEIGHT = 0.3
"""Weight of shared words: enough to rank the fact with a matching name first, not enough for a hit by a name alone."""

DUPLICATE_COSINE = 0.95
"""Cosine above which two facts are duplicates."""

MIN_CLEAR_SCORE, MIN_CLEAR_LEAD = 0.9, 0.05
"""Lowest score of a clear match, and its lowest lead over the next fact."""

MAX_VECTORS = 2_000
"""Cached vectors of an agent, of its newest facts: 3 MB with 384 dimensions. Others are compared without vectors."""

WORD_CACHE_SIZE = 16_384
"""Words with cached roots: a language's common words, which most facts are made of."""

MAX_FACTS_COMPARED = 32
"""Nearest facts whose values are compared with those of a new one."""

EMBED_BATCH_SIZE = 64
"""Facts per embedding request."""

MAX_IN_RECALL = 192
"""Facts embedded while a recall waits; the others are compared without vectors until a later recall."""

TIMEOUT_S = 2.0
"""Longest wait of a request for vectors. Embedding continues meanwhile, so later requests find what this one lacked."""

Vector = NDArray[np.float32]


class ScoredFact(Struct, frozen=True):
    """A fact and its score from 0 to 1. `cosine` is None if it has no vector."""

    fact: Fact
    score: float
    cosine: float | None = None


class FactMatches(Struct, frozen=True):
    """Facts, nearest first; of those that score 0 only some.

    `compared` is `vectors`, or `words` with the code of the `reason`; `without_vectors` counts facts without a vector
    yet.
    """

    facts: list[ScoredFact]
    compared: str
    without_vectors: int = 0
    reason: str = ""


class Target(Struct, frozen=True):
    """The vector of a query, and its vector space: provider, model, dimensions."""

    vector: Vector
    space: tuple[str, str, int]


class FactSearch:
    """Search of the facts of one agent."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._vectors: dict[str, Vector] = {}
        self._space = ("", "", 0)

    async def find(self, query: str, facts: Sequence[Fact], most_unrelated: int = 0) -> FactMatches:
        """Return facts by their score for a query; from shared words if vectors fail or take too long.

        Cancellation keeps the vectors cached so far.
        """
        if not facts:
            return FactMatches([], "words")
        target, reason = await self.prepare(query, "query", facts, MAX_IN_RECALL)
        return await self._compare(query, target, facts, reason, most_unrelated)

    async def find_duplicates(
        self, text: str, target: Target | None, reason: str, facts: Sequence[Fact]
    ) -> FactMatches:
        """Return facts by their similarity to a new one, from what `prepare` returned; never waits for the network."""
        found = await self._compare(text, target, facts, reason)
        if target is not None and len(self._vectors) < MAX_VECTORS and target.space == self._space:
            self._vectors[text] = target.vector
        return found

    async def prepare(
        self, text: str, kind: str, facts: Sequence[Fact], at_most: int
    ) -> tuple[Target | None, str]:
        """Load the vectors of facts; return the text's vector, and the code of an error if there was one."""
        target, until = None, trio.current_time() + TIMEOUT_S
        try:
            target = await self._target(text, kind)
            await self._fill(facts, at_most, until)
        except MemdError as error:
            return target, error.wire_code
        return target, ""

    async def _compare(
        self, query: str, target: Target | None, facts: Sequence[Fact], reason: str, most_unrelated: int = 0
    ) -> FactMatches:
        """Return all facts with their scores, computed in a thread, since there may be many."""
        fits = target is not None and target.space == self._space
        known = dict(self._vectors) if fits else {}
        vector = target.vector if target is not None else None
        scored = await trio.to_thread.run_sync(rank, query, facts, vector, known, most_unrelated)
        compared = sum(each.cosine is not None for each in scored)
        by_vectors = compared > 0 or (fits and not facts)
        without_vectors = len(facts) - compared if by_vectors else 0
        return FactMatches(scored, "vectors" if by_vectors else "words", without_vectors, reason)

    async def _target(self, text: str, kind: str) -> Target:
        """Return the vector of a text."""
        kept = self._vectors.get(text) if kind == "document" else None
        if kept is None:
            wanted = EmbedParams([text], self._agent.agent_id, kind, keep=kind == "document")
            kept = self._rows(await self._agent.embed(wanted, TIMEOUT_S), 1)[0]
        return Target(kept, self._space)

    async def _fill(self, facts: Sequence[Fact], at_most: int, until: float) -> None:
        """Load missing vectors, of the newest facts first, and drop vectors of removed facts."""
        newest = await trio.to_thread.run_sync(newest_first, facts)
        wanted = dict.fromkeys(fact.text for fact in newest[:MAX_VECTORS])
        for text in self._vectors.keys() - wanted.keys():
            del self._vectors[text]
        missing = [text for text in wanted if text not in self._vectors][:at_most]
        for start in range(0, len(missing), EMBED_BATCH_SIZE):
            texts = missing[start : start + EMBED_BATCH_SIZE]
            params = EmbedParams(texts, self._agent.agent_id, "document", keep=True)
            reply = await self._agent.embed(params, max(0.0, until - trio.current_time()))
            before = self._space
            rows = self._rows(reply, len(texts))
            if self._space != before:
                raise ProviderReplyError("the embedding provider changed while facts were compared")
            self._vectors.update(zip(texts, rows, strict=True))

    def _rows(self, reply: EmbedReply, count: int) -> NDArray[np.float32]:
        """Return a reply's vectors; if its vector space is another one, drop the cached vectors."""
        space = (reply.provider, reply.model, reply.dims)
        if space != self._space:
            self._space, self._vectors = space, {}
        rows = np.frombuffer(reply.vectors, dtype="<f4")
        if not reply.dims or rows.size != count * reply.dims:
            raise ProviderReplyError(f"the reply has {reply.count} vectors instead of {count}")
        return rows.reshape(count, reply.dims).astype(np.float32)


def rank(
    query: str,
    facts: Sequence[Fact],
    target: Vector | None,
    known: Mapping[str, Vector],
    most_unrelated: int = 0,
) -> list[ScoredFact]:
    """Return facts, given in order of position, with their scores, best first; equal scores by importance.

    `known` has vectors by text. Facts without a vector and a shared word score 0: at most `most_unrelated` of them.
    """
    words, form = content_words(query), normal_form(query)
    scored, unrelated = list[ScoredFact](), list[Fact]()
    for fact in reversed(facts):
        text = fact.text
        shared = 1.0 if form == normal_form(text) else overlap(words, content_words(text))
        vector = known.get(text)
        if not shared and vector is None:
            unrelated.append(fact)
            continue
        cosine = None if vector is None or target is None else float(np.dot(vector, target))
        scored.append(ScoredFact(fact, score_of(cosine, shared), cosine))
    foremost = sorted(unrelated, key=attrgetter("importance"), reverse=True)[:most_unrelated]
    scored += [ScoredFact(fact, 0.0) for fact in foremost]
    scored.sort(
        key=lambda each: (round(each.score, 4), each.fact.importance, each.fact.position), reverse=True
    )
    return scored


def clear_match(found: FactMatches) -> ScoredFact | None:
    """Return the only clear match of a query; None if there is none."""
    if not found.facts or found.facts[0].score < MIN_CLEAR_SCORE:
        return None
    ahead = len(found.facts) == 1 or found.facts[0].score - found.facts[1].score > MIN_CLEAR_LEAD
    return found.facts[0] if ahead else None


def duplicate_in(text: str, found: FactMatches) -> ScoredFact | None:
    """Return the fact that a new text duplicates; None if there is none."""
    for each in sorted(found.facts, key=lambda fact: fact.cosine or 0.0, reverse=True):
        near = (each.cosine or 0.0) > DUPLICATE_COSINE and not differs_in_meaning(text, each.fact.text)
        if near or (each.score >= 1.0 and normal_form(text) == normal_form(each.fact.text)):
            return each
    return None


def superseded_in(fact: Fact, found: FactMatches) -> Fact | None:
    """Return the latest earlier fact about the same subject with another value; None if there is none."""
    newer = read_statement(fact.text)
    earlier = [
        each.fact
        for each in found.facts[:MAX_FACTS_COMPARED]
        if (each.fact.created_ms or 0) <= (fact.created_ms or 0)
        and replaces(read_statement(each.fact.text), newer)
    ]
    return next(iter(newest_first(earlier)), None)


def newest_first(facts: Sequence[Fact]) -> list[Fact]:
    """Return facts by time, newest first; facts without a time by their position, last first."""
    return sorted(facts, key=lambda fact: (fact.created_ms or 0, fact.position), reverse=True)


def score_of(cosine: float | None, shared: float) -> float:
    """Return the score of a fact, from 0 to 1."""
    if cosine is None or shared >= 1.0 or not math.isfinite(cosine):
        return min(1.0, max(0.0, shared))
    near = min(1.0, max(0.0, cosine))
    return near + (1.0 - near) * WORD_OVERLAP_WEIGHT * shared


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the cosine of two sets of words, below 1."""
    common = len(one & other)
    return min(0.99, common / math.sqrt(len(one) * len(other))) if common else 0.0


@lru_cache(maxsize=LINE_CACHE_SIZE)
def content_words(text: str) -> frozenset[str]:
    """Return the content words of a text, as stems."""
    lower = text.lower()
    words = content_keywords(text)
    stems = stem_words(" ".join(words), languages_of_text(frozenset(lower.split()), text))
    return frozenset([*map(_root, words), *stems])


@lru_cache(maxsize=WORD_CACHE_SIZE)
def _root(word: str) -> str:
    """Return an English word without a plural, third-person or past-tense ending."""
    for ending in ("ing", "ies", "ed", "es", "s", "e", "y"):
        if len(word) - len(ending) >= 4 and word.endswith(ending) and word.isascii():
            root = word.removesuffix(ending)
            doubled = ending in ("ing", "ed") and root[-1] == root[-2] and root[-1] not in "lsz"
            return root[:-1] if doubled else root
    return word
