"""Which facts a text is near to: by their vectors, with help of their words, or by words alone.

How a score comes about: the cosine of query and fact, not below 0; words they share close up to `WORDS_SHARE` of what
is missing to 1; the same words in the same order are 1. Without a vector it is the cosine of the two sets of words.

Vectors are kept in memory, since facts are few: by text, newest facts first, filled as they are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

import numpy as np
import trio
from numpy.typing import NDArray

from memd.lifecycle.facts.lines import LINES_KEPT, Fact, normal_form, says_otherwise
from memd.lifecycle.host import Host
from memd.text.language.stems import languages_of_text, stem_words
from memd.text.query.keywords import content_keywords
from memd_client.errors import DeadlineExceededError, MemdError, ProviderReplyError
from memd_client.messages import EmbedParams, EmbedReply

WORDS_SHARE = 0.3
"""How much of the way to 1 shared words take a score: enough to put a name's owner first, not to make a hit of one."""

ALIKE = 0.95
"""Cosine above which two facts say the same."""

SURE_SCORE, SURE_AHEAD = 0.9, 0.05
"""What a query names for certain: a score so high, and so far ahead of any other's."""

MOST_VECTORS = 2_000
"""Facts of an agent that have a vector in memory, the newest: 3 MB of 384 dimensions. Others are found by words."""

BATCH = 64
"""Facts embedded by one request."""

MOST_IN_RECALL = 192
"""Facts embedded while a recall waits; the others are compared by words until a later recall."""

RECALL_S = 4.0
"""How long a recall waits for vectors; a prompt waits for the recall."""

STORE_S = 20.0
"""The same for a fact that is stored: no prompt waits for it."""

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ScoredFact:
    """A fact and how near it is, from 0 to 1. `cosine` is None if it has no vector."""

    fact: Fact
    score: float
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class FactMatches:
    """All facts, nearest first.

    `compared` is `vectors` or `words`, then with the code of the `reason`; `unread` facts had no vector yet.
    """

    facts: list[ScoredFact]
    compared: str
    unread: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Target:
    """What facts are compared with, and what made its vector: provider, model, dimensions."""

    vector: Vector
    space: tuple[str, str, int]


class FactSearch:
    """The facts of one agent, compared."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._vectors: dict[bytes, Vector] = {}
        self._space = ("", "", 0)

    async def find(self, query: str, facts: Sequence[Fact]) -> FactMatches:
        """Return facts by how near they are to a question; by words where vectors fail or take too long.

        Cancellation leaves the vectors that were had until then in memory.
        """
        if not facts:
            return FactMatches([], "words")
        target, reason = await self._prepare(query, "query", facts, MOST_IN_RECALL, RECALL_S)
        return await self._compare(query, target, facts, reason)

    async def find_alike(self, text: str, facts: Sequence[Fact]) -> FactMatches:
        """Return facts by how much they say the same as a new one; as `find` does, with more patience."""
        target, reason = await self._prepare(text, "document", facts, MOST_VECTORS, STORE_S)
        found = await self._compare(text, target, facts, reason)
        if target is not None and len(self._vectors) < MOST_VECTORS and target.space == self._space:
            self._vectors[_key(text)] = target.vector
        return found

    async def _prepare(
        self, text: str, kind: str, facts: Sequence[Fact], at_most: int, seconds: float
    ) -> tuple[_Target | None, str]:
        """Return a text's vector once those of facts are there, and the code of what failed, if anything did."""
        target: _Target | None = None
        with trio.move_on_after(seconds):
            try:
                target = await self._target(text, kind)
                await self._fill(facts, at_most)
            except MemdError as error:
                return target, error.wire_code
            return target, ""
        return target, DeadlineExceededError.code

    async def _compare(
        self, query: str, target: _Target | None, facts: Sequence[Fact], reason: str
    ) -> FactMatches:
        """Return all facts with their scores; in a thread, since many of them take a while."""
        fits = target is not None and target.space == self._space
        known = self._known(facts) if fits else {}
        by_vectors = bool(known) or (fits and not facts)
        unread = len(facts) - len(known) if by_vectors else 0
        vector = target.vector if target is not None else None
        scored = await trio.to_thread.run_sync(rank, query, facts, vector, known)
        return FactMatches(scored, "vectors" if by_vectors else "words", unread, reason)

    async def _target(self, text: str, kind: str) -> _Target:
        """Return the vector of what is compared with the facts."""
        kept = self._vectors.get(_key(text)) if kind == "document" else None
        if kept is None:
            wanted = EmbedParams([text], self._host.agent_id, kind, keep=kind == "document")
            kept = self._rows(await self._host.embed(wanted), 1)[0]
        return _Target(kept, self._space)

    async def _fill(self, facts: Sequence[Fact], at_most: int) -> None:
        """Get vectors of facts that have none, the newest facts first, and drop those of facts that are gone."""
        wanted = {_key(fact.text): fact.text for fact in newest_first(facts)[:MOST_VECTORS]}
        for key in self._vectors.keys() - wanted.keys():
            del self._vectors[key]
        missing = [key for key in wanted if key not in self._vectors][:at_most]
        for start in range(0, len(missing), BATCH):
            keys = missing[start : start + BATCH]
            texts = [wanted[key] for key in keys]
            reply = await self._host.embed(EmbedParams(texts, self._host.agent_id, "document", keep=True))
            before = self._space
            rows = self._rows(reply, len(keys))
            if self._space != before:
                raise ProviderReplyError("the embedding provider changed while facts were compared")
            self._vectors.update(zip(keys, rows, strict=True))

    def _rows(self, reply: EmbedReply, count: int) -> NDArray[np.float32]:
        """Return a reply's vectors; those of another provider are forgotten: nothing compares with them."""
        space = (reply.provider, reply.model, reply.dims)
        if space != self._space:
            self._space, self._vectors = space, {}
        rows = np.frombuffer(reply.vectors, dtype="<f4")
        if not reply.dims or rows.size != count * reply.dims:
            raise ProviderReplyError(f"{count} vectors were wanted, {reply.count} came")
        return rows.reshape(count, reply.dims).astype(np.float32)

    def _known(self, facts: Sequence[Fact]) -> dict[str, Vector]:
        vectors = {fact.id: self._vectors.get(_key(fact.text)) for fact in facts}
        return {fact_id: vector for fact_id, vector in vectors.items() if vector is not None}


def rank(
    query: str, facts: Sequence[Fact], target: Vector | None, known: Mapping[str, Vector]
) -> list[ScoredFact]:
    """Return all facts with their scores, best first; the more important of two equal ones first."""
    words, form = telling_words(query), normal_form(query)
    scored = []
    for fact in facts:
        vector = known.get(fact.id)
        cosine = None if vector is None or target is None else float(np.dot(vector, target))
        shared = 1.0 if form == normal_form(fact.text) else overlap(words, telling_words(fact.text))
        scored.append(ScoredFact(fact, score_of(cosine, shared), cosine))
    scored.sort(
        key=lambda each: (round(each.score, 4), each.fact.importance, each.fact.position), reverse=True
    )
    return scored


def clearly_meant(found: FactMatches) -> ScoredFact | None:
    """Return the fact a query clearly means; None if in doubt."""
    if not found.facts or found.facts[0].score < SURE_SCORE:
        return None
    ahead = len(found.facts) == 1 or found.facts[0].score - found.facts[1].score > SURE_AHEAD
    return found.facts[0] if ahead else None


def twin_in(text: str, found: FactMatches) -> ScoredFact | None:
    """Return the fact that says what a new one says; None if none does."""
    for each in sorted(found.facts, key=lambda fact: fact.cosine or 0.0, reverse=True):
        near = (each.cosine or 0.0) > ALIKE and not says_otherwise(text, each.fact.text)
        if near or (each.score >= 1.0 and normal_form(text) == normal_form(each.fact.text)):
            return each
    return None


def newest_first(facts: Sequence[Fact]) -> list[Fact]:
    """Return facts by when they were written down, the newest first; of those that don't tell, the last in the file."""
    return sorted(facts, key=lambda fact: (fact.created_ms or 0, fact.position), reverse=True)


def score_of(cosine: float | None, shared: float) -> float:
    """Return how near a fact is, from 0 to 1."""
    if cosine is None or shared >= 1.0 or not math.isfinite(cosine):
        return min(1.0, max(0.0, shared))
    near = min(1.0, max(0.0, cosine))
    return near + (1.0 - near) * WORDS_SHARE * shared


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return how much two sets of words share: their number over the geometric mean of the sets' sizes, below 1."""
    if not one or not other:
        return 0.0
    return min(0.99, len(one & other) / math.sqrt(len(one) * len(other)))


@lru_cache(maxsize=LINES_KEPT)
def telling_words(text: str) -> frozenset[str]:
    """Return the words of a text that carry meaning, by their stems."""
    lower = text.lower()
    words = content_keywords(text)
    stems = stem_words(" ".join(words), languages_of_text(frozenset(lower.split()), text))
    return frozenset([*map(_root, words), *stems])


def _root(word: str) -> str:
    """Return an English word without the ending that makes it a plural, a third person or a past."""
    for ending in ("ing", "ies", "ed", "es", "s", "e", "y"):
        if len(word) - len(ending) >= 4 and word.endswith(ending) and word.isascii():
            root = word.removesuffix(ending)
            doubled = ending in ("ing", "ed") and root[-1] == root[-2] and root[-1] not in "lsz"
            return root[:-1] if doubled else root
    return word


def _key(text: str) -> bytes:
    return sha256(text.encode("utf-8", "replace")).digest()
