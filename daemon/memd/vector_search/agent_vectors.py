"""Search by meaning for one agent: which provider embeds, which vectors answer, and what happens when one fails.

Three providers may be at work. The *primary* is the one the settings want. The *spare* is the configured fallback,
made when the primary fails and left when it works again. One of them is the *target*: its vector space is being
filled. Until that is whole, the space that answered before goes on answering, if its provider can still embed
questions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import structlog
import trio
from numpy.typing import NDArray

from memd.embedding.choose.choose import Selection
from memd.embedding.provider import EmbeddingProvider
from memd.embedding.query_vectors import SharedQueries
from memd.index.cache import active_space
from memd.index.connection import IndexFile
from memd.index.files import Published
from memd.index.meta import find_recipe
from memd.index.vectors.cache import VectorCache
from memd.settings.schema import MemorySearch
from memd.sync.vectors.bulk_fill import bulk_fill_of
from memd.sync.vectors.fill import VectorFill
from memd.sync.vectors.vector_writer import CacheLimits, FillEvents, inherit_vectors
from memd.system.clock import Clock, has_passed
from memd.system.events import EVENTS
from memd.vector_search.active_provider import ActiveProvider
from memd.vector_search.answering_space import AnsweringSpace
from memd.vector_search.provider_chooser import Chooser, is_time_to_fall_back
from memd_client.errors import MemdError, ShuttingDownError
from memd_client.messages import Degraded, Fallback, Filling

log = structlog.get_logger(__name__)

LOOK_S = 5.0
"""How often it is looked whether a fallback is to be used, or left."""

CHOOSE_AGAIN_MS = 60_000
"""How often a provider that could not be made is tried to be made: a key or a model file may have come."""

PROBE_EVERY_MS = 10_000
PROBE_S = 30.0
PROBE = "memory"
"""A failing primary is asked for one vector so often, where its breaker lets it be asked, and given so long."""

NEARLY_WHOLE = 10
"""A primary that works again answers at once where less than one text in so many has no vector yet."""


class VectorSearchManager:
    """What an agent's search by meaning is made of."""

    def __init__(
        self,
        agent_id: str,
        settings: MemorySearch,
        index: IndexFile,
        cache: VectorCache,
        chooser: Chooser,
        *,
        openclaw_database: Path,
        query_timeout_s: float,
        unused_bytes: int,
        saves_power: Callable[[], bool],
        clock: Clock,
        shared_queries: SharedQueries | None = None,
    ) -> None:
        self._agent_id = agent_id
        self._settings = settings
        self._index = index
        self.vector_cache = cache
        self._chooser = chooser
        self._openclaw_database = openclaw_database
        self._limits = CacheLimits(settings.cache.max_entries, unused_bytes)
        self._saves_power = saves_power
        self._clock = clock
        self._nursery: trio.Nursery | None = None
        self._turn = trio.Lock()
        self._changed = trio.Event()
        self._started_ms = clock()
        self._chosen_ms = 0
        self._probed_ms = 0
        self._answering = AnsweringSpace(
            agent_id, index, cache, query_timeout_s=query_timeout_s, clock=clock, queries=shared_queries
        )
        self.notices: list[str] = []
        self.selection = Selection(settings.provider, None)
        self.spare_problem: MemdError | None = None
        self.primary: ActiveProvider | None = None
        self.spare: ActiveProvider | None = None
        self.target: ActiveProvider | None = None
        self.fallback: Fallback | None = None

    def __repr__(self) -> str:
        return f"<Meaning of {self._agent_id}: {self.answering!r} answers, {self.target!r} is filled>"

    # --- life ---------------------------------------------------------------------------------------

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep vectors and providers until cancelled; ready once a provider is chosen.

        Resources: closes every provider when it ends, however it ends.
        """
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                await self.choose_again()
                task_status.started()
                while True:
                    self._changed = trio.Event()
                    await self._look()
                    with trio.move_on_after(LOOK_S):
                        await self._changed.wait()
        finally:
            self._nursery = None
            for side in (self.primary, self.spare, self.answering):
                if side is not None:
                    await side.close()

    async def choose_again(self) -> None:
        """Choose the provider anew, where the one that is wanted could not be had."""
        async with self._turn:
            if self.primary is not None or self._nursery is None:
                return
            self._chosen_ms = self._clock()
            self.selection = selection = await self._chooser.choose(self._settings, self._agent_id)
            provider, problem = selection.provider, selection.problem
            self.spare_problem = selection.fallback_problem
            if provider is None:
                return
            if problem is None:
                self.primary = self._side(provider)
                await self._return_to(self.primary)
            elif self.spare is None:
                self.fallback = Fallback(selection.wanted, problem.code, problem.message, self._clock())
                self.spare = self._side(provider)
                await self._aim_at(self.spare)
            else:
                await provider.aclose()

    async def _look(self) -> None:
        """Choose, fall back or return, as the state asks."""
        now_ms, primary = self._clock(), self.primary
        if primary is None:
            if self.selection.problem is not None and has_passed(CHOOSE_AGAIN_MS, self._chosen_ms, now_ms):
                await self.choose_again()
            return
        failing = primary.health.degraded
        if self.target is not primary:
            if failing is None:
                async with self._turn:
                    await self._return_to(primary)
            elif has_passed(PROBE_EVERY_MS, self._probed_ms, now_ms) and primary.provider.retry_in_s() <= 0:
                self._probed_ms = now_ms
                await self._probe(primary)
        elif failing is not None and is_time_to_fall_back(failing, now_ms):
            async with self._turn:
                await self._fall_back(primary, failing)

    async def _probe(self, side: ActiveProvider) -> None:
        """Ask a failing provider for one vector; its health takes note, and the next look acts on it."""
        try:
            with trio.move_on_after(PROBE_S):
                await side.provider.embed_query(PROBE)
                side.health.worked()
        except MemdError as error:
            side.health.failed(error)

    async def _fall_back(self, primary: ActiveProvider, failing: Degraded) -> None:
        """Use the configured fallback, where there is one that can be made."""
        name, now_ms = self._settings.fallback, self._clock()
        if name in ("none", "auto", self._settings.provider, primary.provider.id):
            return
        if self.spare_problem is not None and not has_passed(CHOOSE_AGAIN_MS, self._chosen_ms, now_ms):
            return
        self._chosen_ms = now_ms
        try:
            provider = await self._chooser.make(name, self._settings, self._agent_id)
        except MemdError as error:
            self.spare_problem = error
            log.warning(
                "embedding.fallback_unusable", agent=self._agent_id, fallback=name, problem=error.message
            )
            return
        self.spare_problem = None
        self.fallback = Fallback(primary.provider.id, failing.code, failing.reason, failing.since_ms)
        log.warning("embedding.fell_back", agent=self._agent_id, to=name, code=failing.code)
        EVENTS.publish("provider", self._agent_id, state="fell_back", provider=name, code=failing.code)
        self.spare = self._side(provider)
        self._probed_ms = self._clock()
        await self._aim_at(self.spare)

    async def _return_to(self, primary: ActiveProvider) -> None:
        """Have the primary at work; the fallback answers on only while the primary lacks many vectors."""
        spare, self.spare, self.fallback = self.spare, None, None
        await self._aim_at(primary, enough=NEARLY_WHOLE if spare is not None else 0)
        if spare is not None:
            log.info("embedding.fallback_left", agent=self._agent_id, provider=spare.provider.id)
            EVENTS.publish("provider", self._agent_id, state="returned", provider=primary.provider.id)
            if self.answering is not spare:
                await spare.close()

    # --- which space is filled, which one answers ---------------------------------------------------

    def _side(self, provider: EmbeddingProvider) -> ActiveProvider:
        """Return a provider at work."""

        def on_change() -> None:
            self._changed.set()
            _tell_of(self._agent_id, side)
            if side.health.degraded is None and side.fill is not None:
                side.fill.wake()

        side = ActiveProvider(provider, self._clock, on_change)
        return side

    async def _aim_at(self, side: ActiveProvider, *, enough: int = 0) -> None:
        """Have a side's space filled, and let the right one answer meanwhile."""
        assert self._nursery is not None
        if side.fill is None:
            stored = partial(self._answering.on_stored, side)
            side.fill = VectorFill(
                self._agent_id,
                self._index,
                side.provider,
                health=side.health,
                limits=self._limits,
                live_spaces=self._live_spaces,
                clock=self._clock,
                events=FillEvents(stored, self.vector_cache.forget, partial(self._on_whole, side)),
                bulk=bulk_fill_of(side.provider, self._settings.remote, self._index, self._clock),
                saves_power=self._saves_power if side.provider.id == "local" else lambda: False,
            )
            names = (side.provider.model, self._settings.local.model_path or side.provider.model)
            self.notices = await inherit_vectors(
                self._index, self._openclaw_database, side.space, names, self._settings.chunking, self._clock
            )
            self._nursery.start_soon(side.run)
        await side.fill.load()
        self.target = side
        await self._choose_answering(side, side.fill, enough)
        side.fill.wake()

    async def _choose_answering(self, target: ActiveProvider, fill: VectorFill, enough: int) -> None:
        """Let the target answer where it is whole, else the space that answered before where it still can."""
        active = await self._index.read(active_space)
        ready = fill.pending == 0 or fill.pending * enough < fill.texts * bool(enough)
        if active is None or active.id == target.space.id or ready:
            return await self._answer_with(target)
        known = [side for side in (self.primary, self.spare, self.answering) if side is not None]
        same = [side for side in known if side.space.id == active.id]
        for side in same:
            if side.health.degraded is None:
                return await self._answer_with(side)
        provider = None if same else await self._rebuild(active.id)
        return await self._answer_with(target if provider is None else self._side(provider))

    async def _rebuild(self, space_id: str) -> EmbeddingProvider | None:
        """Return a provider that embeds questions in an earlier space, None where that can't be had."""
        recipe = await self._index.read(lambda db: find_recipe(db, space_id))
        if recipe is None:
            return None
        provider = await self._chooser.rebuild(recipe, self._settings, self._agent_id)
        if provider is not None and provider.space.id != space_id:
            await provider.aclose()
            return None
        return provider

    async def _answer_with(self, side: ActiveProvider) -> None:
        """Let a side's space answer."""
        await self._answering.switch_to(side, (self.primary, self.spare, self.target))

    def _live_spaces(self) -> set[str]:
        """Return the spaces whose vectors are in use."""
        return {side.space.id for side in (self.primary, self.target, self.answering) if side is not None}

    async def _on_whole(self, side: ActiveProvider) -> None:
        """A fill has nothing left to do: its space answers from now on."""
        if side is self.target and side is not self.answering:
            async with self._turn:
                if side is self.target and side is not self.answering:
                    await self._answer_with(side)

    def on_published(self, published: Published) -> None:
        """Keep the vector cache equal to the rows after each committed file; have new texts embedded."""
        self.vector_cache.follow(published)
        if self.fill is not None:
            texts = len(published.added_hashes) - len(published.added_vectors)
            self._answering.unanswered += texts
            self.fill.wake(texts, published.added_characters if texts else 0)

    # --- what search and status ask -----------------------------------------------------------------

    @property
    def answering(self) -> ActiveProvider | None:
        """Whose vectors answer; None where search is by words alone."""
        return self._answering.side

    @property
    def fill(self) -> VectorFill | None:
        """Who fills the target's space."""
        return self.target.fill if self.target is not None else None

    @property
    def is_followed(self) -> bool:
        """Whether vectors stored now are found at once: the space being filled is the one that answers."""
        return self.target is not None and self.target is self.answering

    @property
    def chunks_pending(self) -> int:
        """How many texts have no vector in the space that answers."""
        if self.fill is None:
            return 0
        return self.fill.pending if self.is_followed else min(self._answering.unanswered, self.fill.pending)

    @property
    def oldest_pending_ms(self) -> int | None:
        """Since when the oldest of them has waited, in epoch milliseconds; None if that is unknown."""
        return self.fill.oldest_ms if self.fill is not None else None

    def find_vector(self, side: ActiveProvider, query: str) -> NDArray[np.float32] | None:
        """Return a question's vector (dims,) in a side's space where it is known; never waits."""
        return self._answering.find_vector(side, query)

    async def vector_of(self, side: ActiveProvider, query: str, timeout_s: float) -> NDArray[np.float32]:
        """Return a question's unit vector (dims,) in the space of the side that answers."""
        if self._nursery is None:
            raise ShuttingDownError("the memory is being closed")
        try:
            return await self._answering.vector_of(side, query, timeout_s, self._nursery)
        except MemdError:
            if side.health.degraded is not None and not self.is_followed and self._nursery is not None:
                self._nursery.start_soon(self._give_up, side)
            raise

    async def _give_up(self, old: ActiveProvider) -> None:
        """Let the target answer, though it isn't whole: the provider of the old space fails."""
        async with self._turn:
            if self.answering is old and self.target is not None and self.target is not old:
                await self._answer_with(self.target)

    def filling(self) -> Filling | None:
        """Return how far the space being filled is, or None where nothing is missing."""
        return self.target.filling() if self.target is not None else None

    def degraded(self) -> Degraded | None:
        """Return why answers are less than the whole, if they are."""
        if self.answering is None or self.target is None:
            problem = self.selection.problem
            if problem is None:
                return None
            return Degraded(problem.code, problem.message, self._started_ms, problem.hint)
        if self.answering.health.degraded is not None:
            return self.answering.health.degraded
        return self.target.health.degraded if self.chunks_pending else None

    async def renew(self) -> None:
        """Have every vector of the target made anew, questions' too."""
        self._answering.forget_queries()
        if self.fill is not None:
            await self.fill.renew_all()


def _tell_of(agent_id: str, side: ActiveProvider) -> None:
    """Tell those who listen that a provider began to fail, or works again."""
    problem, name = side.health.degraded, side.provider.id
    if problem is None:
        EVENTS.publish("recovered", agent_id, provider=name)
    else:
        EVENTS.publish("degraded", agent_id, provider=name, code=problem.code, reason=problem.reason)
