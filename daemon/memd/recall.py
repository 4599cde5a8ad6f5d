"""One search request: catch up with the files, embed the question, ask the index, check the hits.

Catching up and embedding run side by side. Whatever fails, words still answer, and the reply says why it is
less than the whole.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import trio
from numpy.typing import NDArray

from memd.clock import Clock
from memd.config import DaemonSettings
from memd.embedding.query_vectors import QueryVectors
from memd.index.connection import Database, IndexFile
from memd.index.keyword import Scope
from memd.index.vectors.vector_search import VectorSearch
from memd.index.vectors.warm import WarmVectors
from memd.openclaw import AgentConfig
from memd.search import Candidates, Found, Question, find_hits, find_meaning, find_words
from memd.sync.discover import Discovery
from memd.sync.embed import VectorFill
from memd.sync.reconcile import Changes, TextSync
from memd.sync.verify import keep_current
from memd.text.keywords import plan_match
from memd_client.errors import MemdError, QueryEmptyError
from memd_client.messages import Degraded, Pending, SearchParams, SearchReply


class Recall:
    """Answers questions to one agent's memory.

    Args:
        config: The agent's resolved settings.
        index: Its open index.
        warm: Its vectors.
        text: What keeps its text equal to the files.
        daemon: The daemon's own settings.
        clock: Wall time.
    """

    def __init__(
        self,
        config: AgentConfig,
        index: IndexFile,
        warm: WarmVectors,
        text: TextSync,
        *,
        daemon: DaemonSettings,
        clock: Clock,
    ) -> None:
        self._config = config
        self._index = index
        self._warm = warm
        self._text = text
        self._daemon = daemon
        self._clock = clock
        self._queries = QueryVectors()
        self._started_ms = clock()

    async def search(
        self, params: SearchParams, fill: VectorFill | None, degraded: Degraded | None
    ) -> SearchReply:
        """Answer a question from what is on disk now.

        Args:
            params: The request.
            fill: Who embeds and how far vectors are, or None for keyword search.
            degraded: Why answers are less than the whole before this one, if they are.

        Raises:
            QueryEmptyError: The question holds no word.
        """
        started = trio.current_time()
        if not params.query.strip():
            raise QueryEmptyError("the query is empty")
        budget_s = math.inf if params.deadline_ms is None else max(0.01, params.deadline_ms / 1000)
        question = self._prepare(params, fill)
        meaning, seen, said = _Meaning(), _Seen(), _Said()
        # Two threads, a core each: disk and words, vectors. Whichever comes last finishes: every further
        # hand-over to a thread costs time. Where files changed they are brought in, and all is found again.
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._ask_by_words, question, meaning, seen, said, budget_s)
            if fill is not None:
                await self._ask_by_meaning(question, fill, meaning, seen, said, budget_s)
        question = replace(question, vector=meaning.vector)
        found = meaning.found
        if found is None:
            found = await self._index.read(lambda db: finish(db, question, meaning, seen, said))
        behind = seen.behind
        return SearchReply(
            agent=self._config.id,
            hits=found.hits,
            mode=found.mode,
            # A question embedded just now proves the provider well, whatever failed before.
            degraded=meaning.degraded or (degraded if meaning.vector is None else None),
            abstained=found.abstained,
            took_ms=round((trio.current_time() - started) * 1000, 3),
            provider=fill.provider.id if fill is not None else "none",
            model=fill.provider.model if fill is not None else "",
            generation=found.generation,
            pending=Pending(
                files=len(behind.read) + len(behind.gone) if behind is not None else 0,
                chunks=fill.pending if fill is not None else 0,
            ),
            partial=behind is not None,
            timings={name: round(ms, 3) for name, ms in found.timings.items()} if params.explain else None,
        )

    def _prepare(self, params: SearchParams, fill: VectorFill | None) -> Question:
        """Return the search as the index wants it, settings filled in."""
        query = self._config.settings.query
        filtered = params.sources is not None or params.path is not None
        sources = tuple(params.sources) if params.sources is not None else None
        return Question(
            query=params.query,
            plan=plan_match(params.query),
            vector=None,
            space_id=fill.space.id if fill is not None else "",
            settings=query,
            max_results=query.max_results if params.max_results is None else max(1, params.max_results),
            min_score=params.min_score,
            scope=Scope(sources, params.path) if filtered else None,
            now_ms=self._clock(),
            explain=params.explain,
        )

    async def _catch_up(self, budget_s: float, seen: _Seen) -> None:
        """Bring changed files in, within the time a search may spend, and keep what is still behind."""
        if not self._config.settings.sync.on_search:
            return
        seen.disk, changes = await self._text.look()
        if not changes:
            return
        wait_s = min(self._daemon.catch_up_ms / 1000, budget_s / 2)
        if await self._text.sync(wait_s=wait_s) is not None:
            seen.disk = self._text.seen
        else:
            seen.behind = self._text.still_behind(seen.disk) or None

    async def _ask_by_words(
        self, question: Question, meaning: _Meaning, seen: _Seen, said: _Said, budget_s: float
    ) -> None:
        """Look at the disk, and find what the question's words bring up; bring changed files in first."""

        def ask(db: Database) -> None:
            if self._config.settings.sync.on_search:
                seen.disk, changes = self._text.see()
                if changes:
                    seen.changed = True
                    return
            said.candidates = find_words(db, question)
            if meaning.candidates is not None or not meaning.wanted:
                embedded = replace(question, vector=meaning.vector)
                meaning.found = finish(db, embedded, meaning, seen, said)

        await self._index.read(ask)
        if seen.changed:
            await self._catch_up(budget_s, seen)

    async def _ask_by_meaning(
        self,
        question: Question,
        fill: VectorFill,
        meaning: _Meaning,
        seen: _Seen,
        said: _Said,
        budget_s: float,
    ) -> None:
        """Find what is near to the question; without its vector the search goes on by words, and says why."""
        meaning.wanted = True
        if self._warm.count:
            meaning.vector = self._queries.find(question.query, fill.provider)
        if meaning.vector is None:
            await self._embed_question(question.query, fill, budget_s, meaning)
        if meaning.vector is None:
            return
        search = meaning.search = self._warm.searcher()
        embedded = replace(question, vector=meaning.vector)

        def ask(db: Database) -> None:
            meaning.candidates = find_meaning(db, embedded, search)
            if said.candidates is not None:
                meaning.found = finish(db, embedded, meaning, seen, said)

        await self._index.read(ask)

    async def _embed_question(self, query: str, fill: VectorFill, budget_s: float, meaning: _Meaning) -> None:
        """Find the question's vector, or why there is none."""
        if self._warm.count == 0:
            if fill.pending and fill.degraded is None:
                meaning.degraded = Degraded(
                    "vectors_pending",
                    f"vectors are being computed ({fill.pending} texts to go)",
                    self._started_ms,
                    "Nothing to do: search by meaning follows by itself.",
                )
            return
        timeout_s = min(self._daemon.query_embed_timeout_ms / 1000, budget_s * 0.8)
        try:
            meaning.vector = await self._queries.vector_of(query, fill.provider, timeout_s)
        except MemdError as error:
            meaning.degraded = fill.note_failure(error)
        else:
            fill.note_success()


class _Seen:
    """The disk as this request saw it, and what the index doesn't know of it yet."""

    def __init__(self) -> None:
        self.disk: Discovery | None = None
        self.behind: Changes | None = None
        self.changed = False


class _Meaning:
    """What became of the question's vector while the files were looked at."""

    def __init__(self) -> None:
        self.wanted = False
        self.vector: NDArray[np.float32] | None = None
        self.degraded: Degraded | None = None
        self.search: VectorSearch | None = None
        self.candidates: Candidates | None = None
        self.found: Found | None = None


class _Said:
    """What the question's words brought up."""

    def __init__(self) -> None:
        self.candidates: Candidates | None = None


def finish(db: Database, question: Question, meaning: _Meaning, seen: _Seen, said: _Said) -> Found:
    """Return the hits out of what was found so far; what the index has outrun is found again."""
    found = find_hits(db, question, meaning.search, said.candidates, meaning.candidates)
    if seen.disk is not None:
        found.hits = keep_current(found.hits, seen.disk, seen.behind)
    return found
