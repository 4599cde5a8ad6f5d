"""One search request: catch up with the files, embed the question, ask the index, check the hits.

Catching up and embedding run side by side. Whatever fails, words still answer, and the reply says why it is
less than the whole.
"""

from __future__ import annotations

import math
from contextlib import suppress
from time import perf_counter

import numpy as np
import trio
from numpy.typing import NDArray

from memd.embedding.rerank import Reranker
from memd.index.connection import Database, IndexFile
from memd.index.keyword import Scope
from memd.search.ask import Ask
from memd.search.candidates import find_both, find_meaning, find_words
from memd.search.lexicon import Lexicon
from memd.search.line_relevance import LineRelevance, rerank
from memd.search.query import Found, Question
from memd.search.searchers.copies import Copies, Seat
from memd.settings.agents import AgentConfig
from memd.settings.schema import DaemonSettings
from memd.sync.disk.changes import count_behind
from memd.sync.disk.discover import Discovery
from memd.sync.disk.verify import check_against
from memd.sync.pending_changes import count_pending
from memd.sync.search_scheduler import SearchScheduler
from memd.sync.text.text_sync import TextSync
from memd.system.clock import Clock
from memd.vector_search.active_provider import Side
from memd.vector_search.manager import VectorSearchManager
from memd_client.errors import DeadlineExceededError, MemdError, QueryEmptyError, ShuttingDownError
from memd_client.messages import Degraded, SearchParams, SearchReply

EMBED_WAIT_S = 0.04
"""How long a search without a deadline of its own waits for new vectors: words find the new text already."""

DEADLINE_SLACK_S = 2.0
"""How long after its deadline a search is given up. Its waits keep to the deadline; what is left is processor time,
and on a busy machine a late answer is better than none."""

RESERVE = 0.2
"""Share of a request's deadline that is kept for finding what the catch-up brought in."""


class SearchService:
    """Answers the searches of one agent. `reranker`, if there is one, is the caller's to close."""

    def __init__(
        self,
        config: AgentConfig,
        index: IndexFile,
        meaning: VectorSearchManager,
        text: TextSync,
        *,
        daemon: DaemonSettings,
        clock: Clock,
        scheduler: SearchScheduler,
        reranker: Reranker | None = None,
        copies: Copies | None = None,
    ) -> None:
        self._copies = copies
        self._right_of_way = scheduler
        self._config = config
        self._index = index
        self._meaning = meaning
        self._warm = meaning.warm
        self._text = text
        self._daemon = daemon
        self._clock = clock
        self._started_ms = clock()
        self._lexicon = Lexicon()
        self._lines = LineRelevance()
        self._reranker = reranker
        self._last_look: tuple[float, Discovery] | None = None

    async def search(self, params: SearchParams) -> SearchReply:
        """Answer a question from what is on disk now."""
        deadline_ms = params.deadline_ms
        limit_s = math.inf if deadline_ms is None else deadline_ms / 1000 + DEADLINE_SLACK_S
        with trio.move_on_after(limit_s):
            return await self._search(params)
        raise DeadlineExceededError(f"the search did not end within its {deadline_ms} ms")

    async def _search(self, params: SearchParams) -> SearchReply:
        """Answer a question, however long it takes."""
        started = trio.current_time()
        if not params.query.strip():
            raise QueryEmptyError("the query is empty")
        budget_s = math.inf if params.deadline_ms is None else max(0.01, params.deadline_ms / 1000)
        degraded, side = self._meaning.degraded(), self._meaning.answering
        if params.lexical_only:  # asked for, and so no less than the whole
            degraded = side = None
        question = self._prepare(params, side, await self._asking_talk(params))
        ask = Ask(question, self._text, str(self._config.workspace), budget_s, side)
        ask.is_lexical = params.lexical_only
        # One thread does everything, but for the one statement that looks up the words where a core is free: two on two
        # cores pass Python's lock to and fro so often that they are no faster, and take a sixth more of the processor.
        # While a question is embedded its words are looked up, and whichever comes last finishes. Where files changed
        # they are brought in, and all is found again.
        if side is not None and self._warm.count:
            ask.question.vector = self._meaning.find_vector(side, params.query)
            ask.in_one = ask.question.vector is not None
        with self._right_of_way.searching():
            if ask.in_one:
                ask.search = self._warm.searcher()
                await self._ask_by_words(ask)
            else:
                await self._ask_side_by_side(ask)
            if ask.found is None and ask.search is not None and ask.has_new_vectors:
                ask.meaning, ask.search = None, self._warm.searcher()
            found = ask.found if ask.found is not None else await self._finish(ask)
            await self._read_again(ask, found, started + budget_s)
        return SearchReply(
            agent=self._config.id,
            hits=found.hits[: self._wanted(params)],
            mode=found.mode,
            # A question embedded just now proves the provider well, whatever failed before.
            degraded=ask.degraded or (degraded if ask.question.vector is None else None),
            abstained=found.abstained,
            took_ms=round((trio.current_time() - started) * 1000, 3),
            provider=ask.side.space.provider if ask.side is not None else "none",
            model=ask.side.space.model if ask.side is not None else "",
            generation=found.generation,
            pending=count_pending(
                ask.behind, self._text.rows, self._text.last_sync_ms, self._meaning, ask.question.now_ms
            ),
            partial=ask.is_cut,
            space=ask.side.space.id if ask.side is not None else "",
            filling=None if self._meaning.is_followed else self._meaning.filling(),
            fallback=self._meaning.fallback,
            timings=ask.timings(found) if params.explain else None,
        )

    async def _ask_side_by_side(self, ask: Ask) -> None:
        """Find what words bring up beside what is near in meaning."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._ask_by_words, ask)
            if self._warm.is_cold and not ask.is_lexical:
                self._warm.searcher()  # makes room in the budget
                nursery.start_soon(self._warm_up)
            if ask.side is not None:
                await self._ask_by_meaning(ask, ask.side)

    async def _warm_up(self) -> None:
        """Bring the vectors into memory while the question is embedded, which takes longer where the model is cold."""
        with suppress(MemdError):  # the search itself meets it again
            await self._index.read(self._warm.warm_up)

    async def _asking_talk(self, params: SearchParams) -> str | None:
        """Return the transcript of the session that asks, where it could be found; None leaves nothing out."""
        key, searched = params.exclude_session, params.sources or self._config.settings.sources
        if not key or "sessions" not in searched or "sessions" not in self._config.settings.sources:
            return None

        def look(_: Database) -> str | None:
            return self._text.sources.transcript_of(key)

        with suppress(MemdError):  # the search itself meets it again
            return await self._index.read(look)
        return None

    def _prepare(self, params: SearchParams, side: Side | None, asking_talk: str | None) -> Question:
        """Return the search as the index wants it, settings filled in."""
        query = self._config.settings.query
        filtered = params.sources is not None or params.path is not None or asking_talk is not None
        sources = tuple(params.sources) if params.sources is not None else None
        return Question(
            query=params.query,
            lexicon=self._lexicon,
            model=side.space.model if side is not None else "",
            space_id=side.space.id if side is not None else "",
            settings=query,
            max_results=max(self._wanted(params), query.rerank.candidates if self._reranker else 0),
            min_score=params.min_score,
            scope=Scope(sources, params.path, asking_talk) if filtered else None,
            now_ms=self._clock(),
            notes_scope=self._notes_scope(sources, params.path),
            explain=params.explain,
            active_projects=tuple(params.active_projects or ()),
            places=self._warm.places,
        )

    def _wanted(self, params: SearchParams) -> int:
        """Return how many hits are wanted."""
        most = self._config.settings.query.max_results
        return most if params.max_results is None else max(1, params.max_results)

    async def _read_again(self, ask: Ask, found: Found, until: float) -> None:
        """Have models read what was found: whether it is relevant, where that is in doubt, and in which order."""
        look, vector, side = found.closer_look, ask.question.vector, ask.side
        if look is not None and vector is not None and side is not None:
            left_s = until - trio.current_time()
            if not await self._lines.is_relevant(look, vector, side.provider, left_s):
                found.hits, found.abstained = [], True
        if self._reranker is not None and found.hits and not ask.is_lexical:
            try:
                settings = self._config.settings.query.rerank
                await rerank(found, ask.question.query, self._reranker, settings, until - trio.current_time())
            except MemdError as error:
                ask.degraded = ask.degraded or self._degraded_by(error)

    def _notes_scope(self, sources: tuple[str, ...] | None, path: str | None) -> Scope | None:
        """Return the scope of notes alone, where transcripts may be found beside them."""
        both = "sessions" in self._config.settings.sources and (sources is None or len(set(sources)) > 1)
        return Scope(("memory",), path) if both else None

    async def _ask_by_words(self, ask: Ask) -> None:
        """Look at the disk, and find what the question's words bring up; bring changed files in first."""

        is_alone = False

        def look(db: Database) -> bool:
            started = perf_counter()
            try:
                self._look(ask)
            except MemdError as error:
                ask.degraded = self._degraded_by(error)
            ask.look_ms = (perf_counter() - started) * 1000
            if ask.behind and self._config.settings.sync.on_search:
                return False
            if ask.in_one and ask.search is not None:
                beside = self._index if is_alone else None
                ask.words, ask.meaning = find_both(db, ask.question, ask.search, beside)
            else:
                ask.words = find_words(db, ask.question)
            if ask.meaning is not None or ask.side is None:
                ask.found = ask.finish(db)
            return True

        if ask.in_one:
            seat = self._seat_for(ask)
            async with self._right_of_way.turn(seat):
                is_alone = self._right_of_way.has_core_to_spare
                told = await self._ask_beside(ask, seat) if seat.is_taken else None
                is_current = await self._index.read(look) if told is None else told
        else:
            is_current = await self._index.read(look)
        if not is_current:
            with self._right_of_way.waiting():
                await self._catch_up(ask)

    async def _ask_beside(self, ask: Ask, seat: Seat) -> bool | None:
        """Look at the disk, and have another process find everything.

        Returns None where a thread has to; False where changed files have to be brought in first.
        """

        def look(_: Database) -> None:
            self._look(ask)

        last = self._last_look
        # Comparing many files takes milliseconds: that is for a thread.
        if last is None or not self._text.is_settled(last[1]) or not self._take_over_look(ask):
            started = perf_counter()
            try:
                await self._index.read(look)
            except MemdError:
                return None  # a thread meets it itself, and says so
            ask.look_ms = (perf_counter() - started) * 1000
        if ask.behind:
            return False if self._config.settings.sync.on_search else None
        ask.found = await self._find_beside(ask, seat)
        return True if ask.found is not None else None

    async def _finish(self, ask: Ask) -> Found:
        """Find everything anew, in another process where there is one: changed files have been brought in.

        A change makes all searches under way do so at once: in threads alone they would be at it until the next one.
        """
        if not ask.in_one or ask.disk is None:
            return await self._index.read(ask.finish)
        seat = self._seat_for(ask)
        async with self._right_of_way.turn(seat):
            found = await self._find_beside(ask, seat) if seat.is_taken else None
            return found if found is not None else await self._index.read(ask.finish)

    async def _find_beside(self, ask: Ask, seat: Seat) -> Found | None:
        """Return what another process finds; None where it can't, or where the text of a hit isn't on disk any more."""
        found = await seat.find(ask.question)
        assert ask.disk is not None
        is_there = check_against(ask.disk, ask.behind, self._text.sources.load)
        return found if found is not None and all(map(is_there, found.hits)) else None

    def _seat_for(self, ask: Ask) -> Seat:
        """Return a search's place in other processes, which have vectors in memory alone."""
        in_memory = ask.search is not None and ask.search.name == "memory"
        return Seat(self._copies if in_memory else None, ask.question.space_id, self._warm.needed_bytes)

    def _look(self, ask: Ask) -> None:
        """Look at the disk (blocking), or take over a look that began after the question came.

        Among searches that wait for a core a look of one is as fresh as their own would be: it sees all that was
        written before they were asked.
        """
        if not self._take_over_look(ask):
            began = perf_counter()
            ask.disk, ask.behind = self._text.see()
            self._last_look = (began, ask.disk)

    def _take_over_look(self, ask: Ask) -> bool:
        """Take over a look at the disk that began after the question came, and return whether there is one."""
        last = self._last_look
        if last is None or last[0] < ask.came_at:
            return False
        ask.disk = last[1]
        ask.behind = self._text.still_behind(ask.disk)
        return True

    async def _catch_up(self, ask: Ask) -> None:
        """Bring changed files in, within the time a search may spend, and keep what is still behind.

        A few new texts are embedded within it as well, unless the provider is failing.
        """
        assert ask.disk is not None
        assert ask.behind is not None
        patient = ask.budget_s < math.inf  # whoever names a deadline is ready to wait for it
        wait_s = ask.budget_s * (1 - RESERVE) if patient else self._daemon.catch_up_ms / 1000
        until = trio.current_time() + wait_s
        try:
            ask.behind = await self._text.catch_up(ask.disk, ask.behind, wait_s, patient=patient) or None
        except MemdError as error:  # an index that can't be written still answers; its hits are checked
            ask.degraded = self._degraded_by(error)
            return
        ask.is_cut = ask.behind is not None and count_behind(ask.behind, self._text.rows) > 0
        fill = self._meaning.fill if self._meaning.is_followed else None
        if ask.is_lexical or fill is None or not fill.pending or fill.health.degraded is not None:
            return
        if not patient:
            until = min(until, trio.current_time() + EMBED_WAIT_S)
        if fill.needs_s() <= until - trio.current_time():
            with trio.move_on_at(until) as waiting:
                await fill.settle()
            ask.is_cut = ask.is_cut or waiting.cancelled_caught
            ask.has_new_vectors = True

    def _degraded_by(self, error: MemdError) -> Degraded:
        """Return what a failure means to this answer."""
        return Degraded(error.code, error.message, self._clock(), error.hint)

    async def _ask_by_meaning(self, ask: Ask, side: Side) -> None:
        """Find what is near to the question; without its vector the search goes on by words, and says why."""
        try:
            vector = await self._vector_of(ask, side)
        except ShuttingDownError as error:  # another space answers since a moment ago
            now = self._meaning.answering
            if now is None or now is side:
                ask.degraded = self._degraded_by(error)
                return
            ask.side, ask.question.space_id, ask.question.model = now, now.space.id, now.space.model
            await self._ask_by_meaning(ask, now)
            return
        if vector is None:
            return
        search = self._warm.searcher()

        def compare(db: Database) -> None:
            ask.meaning = find_meaning(db, ask.question, search)
            if ask.words is not None:
                ask.found = ask.finish(db)

        ask.question.vector, ask.search = vector, search
        await self._index.read(compare)

    async def _vector_of(self, ask: Ask, side: Side) -> NDArray[np.float32] | None:
        """Return the question's vector, or None with the reason noted."""
        if self._warm.count == 0:
            pending = self._meaning.chunks_pending
            if pending and side.health.degraded is None:
                ask.degraded = Degraded(
                    "vectors_pending",
                    f"vectors are being computed ({pending:,} texts to go)",
                    self._started_ms,
                    "Nothing to do: search by meaning follows by itself.",
                )
            return None
        timeout_s = min(self._daemon.query_embed_timeout_ms / 1000, ask.budget_s * 0.8)
        try:
            return await self._meaning.vector_of(side, ask.question.query, timeout_s)
        except ShuttingDownError:
            raise
        except MemdError as error:
            ask.degraded = side.health.degraded or self._degraded_by(error)
            return None
