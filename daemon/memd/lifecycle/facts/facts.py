"""An agent's facts: storing, recalling, forgetting, adding to a prompt, and capturing from conversations.

Facts are lines of a Markdown file in the agent's workspace: users can read and edit them, searches find them, and they
don't depend on the index.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import msgspec
import trio
from msgspec.structs import replace

from memd.agents.agent import Agent
from memd.agents.origins import current_origins, origin_of
from memd.lifecycle.facts import lines as fact_lines
from memd.lifecycle.facts.capture import CaptureDecision, category_of, judge_message
from memd.lifecycle.facts.files import FactFiles
from memd.lifecycle.facts.lines import Fact, one_line
from memd.lifecycle.facts.search import (
    MAX_VECTORS,
    FactMatches,
    FactSearch,
    ScoredFact,
    Target,
    clear_match,
    duplicate_in,
    newest_first,
    superseded_in,
)
from memd.system.clock import Clock
from memd.system.events import EVENTS
from memd.system.log import log
from memd.system.untrusted import block
from memd.text.transcripts.scaffolding import without_headers
from memd.text.trust.origins import LineOrigins
from memd_client.errors import BadParamsError, MemdError, MemoryDisabledError
from memd_client.escaping import OUTSIDE
from memd_client.facts import (
    CapturedMessage,
    CaptureFactsParams,
    CaptureFactsReply,
    FactRow,
    FactsForPromptParams,
    FactsForPromptReply,
    FactsParams,
    FactsReply,
    MemoryEditParams,
    MemoryEditReply,
    MemoryForgetParams,
    MemoryForgetReply,
    MemoryRecallParams,
    MemoryRecallReply,
    MemoryStoreParams,
    MemoryStoreReply,
    SkippedMessage,
)

JUDGING_S = 0.2
"""How long a request waits for an index that is being opened: without it, facts have no origin but `agent`."""

MAX_CANDIDATES, MIN_CANDIDATE_SCORE = 5, 0.3
"""Limit and lowest score of the candidates for a query without a clear match."""

MAX_CAPTURED = 3
"""Facts captured per request."""

MAX_QUERY_CHARS = 2_000
"""Characters of a query or prompt that are compared: its subject is at its start."""

MAX_PROMPT_CHARS = 200_000
"""Characters in which headers and blocks before the prompt's own text are removed."""

BLOCK = "relevant-memories"
"""Name of the block before a prompt: indexing and capturing skip blocks of this name in transcripts."""


class Facts:
    """The facts of one agent.

    Every call raises `MemoryDisabledError` if the agent's memory is off, and the errors of
    `memd.lifecycle.files.writing` if a file can't be read or written. Writes are atomic, also under cancellation.
    """

    def __init__(self, agent: Agent, clock: Clock) -> None:
        self._agent = agent
        self._clock = clock
        self._search = FactSearch(agent)
        self._lock = trio.Lock()

    async def store(self, params: MemoryStoreParams) -> MemoryStoreReply:
        """Store a fact, unless it is a duplicate."""
        self._require_enabled()
        text = one_line(params.text)
        if not re.search(r"\w", text):
            raise BadParamsError("memory_store: `text` has no word", data={"field": "text"})
        if self._agent.forgotten().has(text):
            raise BadParamsError(
                "memory_store: the user has forgotten this text",
                hint="run `memctl forget --undo` to allow it again",
                data={"field": "text"},
            )
        now_ms = self._clock()
        fact = Fact(
            id=params.id or fact_lines.new_id(now_ms),
            text=text,
            importance=fact_lines.DEFAULT_IMPORTANCE if params.importance is None else params.importance,
            named_category=params.category or category_of(text),
            created_ms=now_ms - now_ms % 1000 if params.created_ms is None else params.created_ms,
        )
        used = False
        if params.vector is not None:
            used = await self._agent.keep_vector(text, params.vector_model, params.vector)
        target, reason = await self._search.prepare(text, "document", await self._load(), MAX_VECTORS)
        # Serialized: two concurrent calls with the same text would both find no duplicate.
        async with self._lock:
            return msgspec.structs.replace(await self._store(fact, target, reason), vector_used=used)

    async def recall(self, params: MemoryRecallParams) -> MemoryRecallReply:
        """Return the facts nearest to a query; for a blank one all facts, newest first."""
        facts = await self._judged(await self._load())
        query = params.query[:MAX_QUERY_CHARS].strip()
        if not query:
            listed = [ScoredFact(fact, 0.0) for fact in newest_first(facts)[: params.limit]]
            return MemoryRecallReply(self._agent.agent_id, _rows(listed), "none", len(facts))
        found, near = await self._nearest(query, facts, params.min_score, params.limit)
        return MemoryRecallReply(
            self._agent.agent_id, _rows(near), found.compared, len(facts), found.without_vectors, found.reason
        )

    async def list_all(self, params: FactsParams) -> FactsReply:
        """Return a page of all facts, newest first."""
        facts = newest_first(await self._judged(await self._load()))
        page = facts[params.offset : params.offset + params.limit]
        return FactsReply(self._agent.agent_id, _rows([ScoredFact(fact, 0.0) for fact in page]), len(facts))

    async def edit(self, params: MemoryEditParams) -> MemoryEditReply:
        """Change the text of a fact in its line, unless that would duplicate another fact."""
        self._require_enabled()
        if not re.search(r"\w", one_line(params.text)):
            raise BadParamsError("memory_edit: `text` has no word", data={"field": "text"})
        async with self._lock:
            done, changed = await trio.to_thread.run_sync(self._files.edit, params)
        fact, twin = done.fact, done.twin
        if changed:
            EVENTS.publish("fact", self._agent.agent_id, state="edited", id=fact.id)
        return MemoryEditReply(
            agent=self._agent.agent_id,
            id=fact.id,
            stored=twin is None,
            category=fact.category,
            path=fact.path,
            line=fact.line,
            duplicate_of=None if twin is None else twin.id,
            duplicate_text="" if twin is None else twin.text,
        )

    async def forget(self, params: MemoryForgetParams) -> MemoryForgetReply:
        """Remove the fact with an id, or the only clear match of a query; else return candidates."""
        if params.id:
            return MemoryForgetReply(self._agent.agent_id, await self._remove(params.id))
        facts = await self._judged(await self._load())
        found = await self._search.find((params.query or "")[:MAX_QUERY_CHARS].strip(), facts)
        meant = clear_match(found)
        forgotten = await self._remove(meant.fact.id, meant) if meant is not None else None
        near = [] if forgotten else [each for each in found.facts if each.score >= MIN_CANDIDATE_SCORE]
        return MemoryForgetReply(
            self._agent.agent_id, forgotten, _rows(near[:MAX_CANDIDATES]), found.compared
        )

    async def facts_for_prompt(self, params: FactsForPromptParams) -> FactsForPromptReply:
        """Return the facts nearest to a prompt, as a block to put before it."""
        self._require_enabled()
        agent, settings = self._agent.agent_id, self._agent.config.life.facts
        if not (params.force or settings.auto_recall):
            return FactsForPromptReply(agent, "", "off")
        said = await trio.to_thread.run_sync(without_headers, params.prompt[:MAX_PROMPT_CHARS])
        query = said[:MAX_QUERY_CHARS].strip()
        if not query:
            return FactsForPromptReply(agent, "", "blank")
        facts = await self._load()
        if not facts:
            return FactsForPromptReply(agent, "", "no_facts")
        facts = [fact for fact in await self._judged(facts) if fact.origin[0] != OUTSIDE]
        _, near = await self._nearest(query, facts, settings.recall_min_score, settings.recall_limit)
        text = block(BLOCK, [f"[{_label(each.fact)}] {each.fact.text}" for each in near])
        return FactsForPromptReply(
            agent, f"{text}\n\n" if near else "", "" if near else "nothing_near", _rows(near)
        )

    async def capture(self, params: CaptureFactsParams) -> CaptureFactsReply:
        """Store lasting statements of the user in a conversation, at most `MAX_CAPTURED` facts."""
        self._require_enabled()
        agent, settings = self._agent.agent_id, self._agent.config.life.facts
        if not (params.force or settings.auto_capture):
            return CaptureFactsReply(agent, [], [], "off")
        judge = partial(_judge_all, params.messages, settings.capture_max_chars)
        stored: list[CapturedMessage] = []
        skipped: list[SkippedMessage] = []
        for index, verdict in enumerate(await trio.to_thread.run_sync(judge)):
            if not verdict.captured or len(stored) == MAX_CAPTURED:
                skipped.append(SkippedMessage(index, verdict.reason or "limit"))
                continue
            kept = await self.store(MemoryStoreParams(verdict.text, category=verdict.category))
            if kept.stored:
                text = one_line(verdict.text)
                stored.append(CapturedMessage(index, kept.id, text, kept.category, kept.path, kept.line))
            else:
                skipped.append(SkippedMessage(index, "duplicate", kept.duplicate_of))
        log.debug("facts.captured", agent=agent, stored=len(stored), skipped=len(skipped))
        return CaptureFactsReply(agent, stored, skipped)

    async def _nearest(
        self, query: str, facts: list[Fact], min_score: float, limit: int
    ) -> tuple[FactMatches, list[ScoredFact]]:
        """Return the facts by their score for a query, and the nearest of them."""
        found = await self._search.find(query, facts, 0 if min_score else limit)
        return found, [each for each in found.facts if each.score >= min_score][:limit]

    async def _store(self, fact: Fact, target: Target | None, reason: str) -> MemoryStoreReply:
        """Append a fact's line, unless there is a duplicate."""
        facts = await self._load()
        known = next((each for each in facts if each.id == fact.id), None)
        if known is not None:
            (known,) = await self._judged([known])
            return self._reply(known, FactMatches([], "id"), twin=known)
        found = await self._search.find_duplicates(fact.text, target, reason, facts)
        twin = duplicate_in(fact.text, found)
        if twin is not None:
            (same,) = await self._judged([twin.fact])
            return self._reply(same, found, twin=same, similarity=twin.cosine)
        earlier = superseded_in(fact, found)
        if earlier is not None:
            fact = replace(fact, supersedes=earlier.id)
            (earlier,) = await self._judged([earlier])
        stored, is_new = await trio.to_thread.run_sync(self._files.append, fact)
        if not is_new:  # another process wrote it meanwhile
            return self._reply(stored, found, twin=stored)
        EVENTS.publish("fact", self._agent.agent_id, state="stored", id=fact.id)
        reply = self._reply(stored, found)
        return (
            reply
            if earlier is None
            else msgspec.structs.replace(reply, supersedes=_row(ScoredFact(earlier, 0.0)))
        )

    async def _remove(self, fact_id: str, scored: ScoredFact | None = None) -> FactRow | None:
        """Remove a fact's line from the file and return the fact; None if it isn't there."""
        self._require_enabled()
        async with self._lock:
            gone = await trio.to_thread.run_sync(self._files.remove, fact_id)
        if gone is None:
            return None
        EVENTS.publish("fact", self._agent.agent_id, state="forgotten", id=fact_id)
        return _row(ScoredFact(gone, 1.0 if scored is None else scored.score))

    async def _load(self) -> list[Fact]:
        self._require_enabled()
        return await trio.to_thread.run_sync(self._files.load)

    async def _judged(self, facts: Sequence[Fact]) -> list[Fact]:
        """Return facts with their origins; if the index can't be read, as they are."""
        origins = dict[str, LineOrigins]()
        with suppress(MemdError), trio.move_on_after(JUDGING_S):
            paths = {fact.path for fact in facts}
            origins = await self._agent.perform(partial(current_origins, paths=paths))
        return [
            replace(fact, origin=origin_of(origins[fact.path], fact.line)) if fact.path in origins else fact
            for fact in facts
        ]

    @property
    def _files(self) -> FactFiles:
        return FactFiles(self._agent.config.workspace, self._agent.limits, self._agent.forgotten)

    def _reply(
        self,
        fact: Fact,
        found: FactMatches,
        *,
        twin: Fact | None = None,
        similarity: float | None = None,
    ) -> MemoryStoreReply:
        return MemoryStoreReply(
            agent=self._agent.agent_id,
            id=fact.id,
            stored=twin is None,
            category=fact.category,
            path=fact.path,
            line=fact.line,
            compared=found.compared,
            duplicate_of=None if twin is None else twin.id,
            duplicate_text="" if twin is None else twin.text,
            similarity=None if similarity is None else round(similarity, 4),
            reason=found.reason,
            origin=fact.origin[0],
            origin_reason=fact.origin[1],
        )

    def _require_enabled(self) -> None:
        if not self._agent.config.settings.enabled:
            raise MemoryDisabledError(f"memory search is off for agent {self._agent.agent_id}")


def _judge_all(messages: Sequence[dict[str, object]], most_chars: int) -> list[CaptureDecision]:
    return [judge_message(message, most_chars) for message in messages]


def _rows(scored: Sequence[ScoredFact]) -> list[FactRow]:
    return [_row(each) for each in scored]


def _row(each: ScoredFact) -> FactRow:
    fact = each.fact
    score = round(each.score, 4)
    place = fact.path, fact.line, *fact.origin
    return FactRow(fact.id, fact.text, fact.importance, fact.category, fact.created_ms, score, *place)


def _label(fact: Fact) -> str:
    return fact.category if fact.origin[0] == "agent" else f"{fact.category}, {fact.origin[0]}"
