"""Vector search of one agent: which provider embeds, which vectors answer, and what happens when a provider fails.

The *primary* is the configured provider. The *standby* is its configured fallback, created when the primary fails and
closed when it recovers; `transitions` decides when. The *target* is the standby if there is one, else the primary: its
vector space is being filled. Until it is complete, the previous space answers, if its provider can still embed queries.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

import numpy as np
import trio
from numpy.typing import NDArray

from memd.embedding.choose.choose import ProviderFactory
from memd.embedding.provider import EmbeddingProvider, FloatArray
from memd.embedding.query_vectors import Call, Key, SharedQueryVectors
from memd.index.cache import active_space
from memd.index.connection import IndexFile
from memd.index.files import IndexChange
from memd.index.meta import find_recipe
from memd.index.vectors.cache import VectorCache
from memd.settings.schema import MemorySearch
from memd.sync.vectors.bulk_fill import bulk_fill_of
from memd.sync.vectors.fill import CacheLimits, FillEvents, VectorFill
from memd.sync.vectors.inherit import inherit_vectors
from memd.system.clock import Clock
from memd.system.events import EVENTS
from memd.system.log import log
from memd.vector_search.active_provider import ActiveProvider
from memd.vector_search.answering_space import AnsweringSpace
from memd.vector_search.transitions import Situation, State, next_step
from memd_client.errors import MemdError, ProviderUnavailableError, ShuttingDownError
from memd_client.messages import Degradation, Fallback, FillProgress

CHECK_INTERVAL_S = 5.0
"""How often to check whether to use or leave the fallback."""

PROBE_TIMEOUT_S = 30.0
PROBE_QUERY = "memory"
"""A failing primary is probed with this query."""

MIN_TEXTS_PER_MISSING_VECTOR = 10
"""A recovered primary answers at once if fewer than one text in this many lacks a vector."""


class VectorSearchManager:
    """The providers and vectors of one agent's vector search."""

    def __init__(
        self,
        agent_id: str,
        settings: MemorySearch,
        index: IndexFile,
        cache: VectorCache,
        chooser: ProviderFactory,
        *,
        openclaw_files: Collection[Path],
        stored_space: Callable[[str, str], str],
        query_timeout_s: float,
        unused_bytes: int,
        saves_power: Callable[[], bool],
        clock: Clock,
        shared_queries: SharedQueryVectors | None = None,
    ) -> None:
        self._agent_id = agent_id
        self._settings = settings
        self._index = index
        self.vector_cache = cache
        self._chooser = chooser
        self._openclaw_files = openclaw_files
        self._stored_space = stored_space
        self._limits = CacheLimits(settings.cache.max_entries, unused_bytes)
        self._saves_power = saves_power
        self._clock = clock
        self._nursery: trio.Nursery | None = None
        self._lock = trio.Lock()
        self._changed = trio.Event()
        self._started_ms = clock()
        self._tried_ms = 0
        self._answering = AnsweringSpace(
            agent_id, index, cache, query_timeout_s=query_timeout_s, clock=clock, queries=shared_queries
        )
        self.notices: list[str] = []
        self.problem: MemdError | None = None
        self.fallback_problem: MemdError | None = None
        self.primary: ActiveProvider | None = None
        self.standby: ActiveProvider | None = None
        self.fallback: Fallback | None = None

    def __repr__(self) -> str:
        return f"<VectorSearchManager of {self._agent_id}: {self.answering!r} answers, {self.target!r} is filled>"

    # --- lifecycle ----------------------------------------------------------------------------------

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Maintain vectors and providers until cancelled; ready once a provider is chosen.

        Resources: closes every provider when it ends.
        """
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                await self.choose_again()
                task_status.started()
                while True:
                    self._changed = trio.Event()
                    await self._check()
                    with trio.move_on_after(CHECK_INTERVAL_S):
                        await self._changed.wait()
        finally:
            self._nursery = None
            for active in self._in_use:
                await active.close()

    async def choose_again(self) -> None:
        """Choose the provider again if the configured one was unavailable."""
        async with self._lock:
            if self.primary is not None or self._nursery is None:
                return
            wanted, self._tried_ms = self._settings.provider, self._clock()
            if wanted == "none":
                return
            try:
                provider = await self._chooser.make(wanted, self._settings, self._agent_id)
            except MemdError as error:
                self.problem = error
                if self.standby is None and self._has_fallback:
                    await self._fall_back(Fallback(wanted, error.code, error.message, self._clock()))
                return
            self.problem = self.fallback_problem = None
            self.primary = self._activate(provider)
            await self._return_to(self.primary)

    @property
    def state(self) -> State:
        """The state of the providers, see `transitions`."""
        if self.primary is None:
            return "off" if self.problem is None else "unavailable"
        return "primary" if self.standby is None else "standby"

    @property
    def _has_fallback(self) -> bool:
        """Whether the configured fallback is another provider than the one that fails."""
        wanted = self._settings.provider
        tried = (self.primary.provider.id, "auto") if self.primary else ("local",) if wanted == "auto" else ()
        return self._settings.fallback not in ("none", wanted, *tried)

    def _situation(self) -> Situation:
        primary = self.primary
        return Situation(
            self.state,
            failure=primary.health.degraded if primary else None,
            has_fallback=self._has_fallback,
            is_fallback_broken=self.fallback_problem is not None,
            is_admitted=primary is not None and primary.provider.retry_in_s() <= 0,
            tried_ms=self._tried_ms,
            now_ms=self._clock(),
        )

    async def _check(self) -> None:
        """Make the next step of `transitions`."""
        step, primary = next_step(self._situation()), self.primary
        if step == "choose":
            await self.choose_again()
        elif step == "probe" and primary is not None:
            await self._probe(primary)
        elif step == "return" and primary is not None:
            async with self._lock:
                await self._return_to(primary)
        elif step == "fall_back" and primary is not None and (failing := primary.health.degraded) is not None:
            async with self._lock:
                cause = Fallback(primary.provider.id, failing.code, failing.reason, failing.since_ms)
                await self._fall_back(cause)

    async def _probe(self, active: ActiveProvider) -> None:
        """Probe a failing provider; its health records the result for the next check."""
        self._tried_ms = self._clock()
        try:
            with trio.move_on_after(PROBE_TIMEOUT_S):
                await active.provider.embed_query(PROBE_QUERY)
                active.health.worked()
        except MemdError as error:
            active.health.failed(error)

    async def _fall_back(self, cause: Fallback) -> None:
        """Use the configured fallback, if it is available."""
        name, self._tried_ms = self._settings.fallback, self._clock()
        try:
            provider = await self._chooser.make(name, self._settings, self._agent_id)
        except MemdError as error:
            self.fallback_problem = error
            log.warning(
                "embedding.fallback_unusable", agent=self._agent_id, fallback=name, problem=error.message
            )
            return
        self.fallback, self.fallback_problem = cause, None
        if self.primary is not None:
            log.warning("embedding.fell_back", agent=self._agent_id, to=name, code=cause.code)
            EVENTS.publish("provider", self._agent_id, state="fell_back", provider=name, code=cause.code)
        self.standby = self._activate(provider)
        await self._start_filling(self.standby)

    async def _return_to(self, primary: ActiveProvider) -> None:
        """Return to the primary; the fallback answers on while the primary lacks many vectors."""
        standby, self.standby, self.fallback = self.standby, None, None
        await self._start_filling(primary, enough=MIN_TEXTS_PER_MISSING_VECTOR if standby is not None else 0)
        if standby is not None:
            log.info("embedding.fallback_left", agent=self._agent_id, provider=standby.provider.id)
            EVENTS.publish("provider", self._agent_id, state="returned", provider=primary.provider.id)
            if self.answering is not standby:
                await standby.close()

    # --- the space being filled and the one that answers --------------------------------------------

    def _activate(self, provider: EmbeddingProvider) -> ActiveProvider:
        """Return a provider in use."""

        def on_change() -> None:
            self._changed.set()
            _publish_health(self._agent_id, active)
            if active.health.degraded is None and active.fill is not None:
                active.fill.wake()

        active = ActiveProvider(provider, self._clock, on_change)
        return active

    async def _start_filling(self, active: ActiveProvider, *, enough: int = 0) -> None:
        """Fill a provider's space, and choose the space that answers meanwhile."""
        assert self._nursery is not None
        if active.fill is None:
            stored = partial(self._answering.on_stored, active)
            active.fill = VectorFill(
                self._agent_id,
                self._index,
                active.provider,
                health=active.health,
                limits=self._limits,
                live_spaces=lambda: self.spaces_in_use,
                clock=self._clock,
                events=FillEvents(stored, self.vector_cache.forget, partial(self._on_whole, active)),
                bulk=bulk_fill_of(active.provider, self._settings.endpoint, self._index, self._clock),
                saves_power=self._saves_power if active.provider.id == "local" else lambda: False,
            )
            space, names = active.space, {active.provider.model, self._settings.local.model_path}
            self.notices = await inherit_vectors(
                self._index,
                self._openclaw_files,
                space,
                [name for name in names if name and self._stored_space(space.provider, name) == space.id],
                self._settings.chunking,
                self._clock,
            )
            self._nursery.start_soon(active.run)
        await active.fill.load()
        await self._choose_answering(active, active.fill, enough)
        active.fill.wake()

    async def _choose_answering(self, target: ActiveProvider, fill: VectorFill, enough: int) -> None:
        """Answer from the target if it is complete, else from the previous space if its provider works."""
        stored = await self._index.read(active_space)
        ready = fill.pending == 0 or fill.pending * enough < fill.texts * bool(enough)
        if stored is None or stored.id == target.space.id or ready:
            return await self._answer_with(target)
        same = [active for active in self._in_use if active.space.id == stored.id]
        for active in same:
            if active.health.degraded is None:
                return await self._answer_with(active)
        provider = None if same else await self._rebuild(stored.id)
        return await self._answer_with(target if provider is None else self._activate(provider))

    async def _rebuild(self, space_id: str) -> EmbeddingProvider | None:
        """Return a provider that embeds queries in an earlier space, None if unavailable."""
        recipe = await self._index.read(lambda db: find_recipe(db, space_id))
        if recipe is None:
            return None
        provider = await self._chooser.rebuild(recipe, self._settings, self._agent_id)
        if provider is not None and provider.space.id != space_id:
            await provider.aclose()
            return None
        return provider

    async def _answer_with(self, active: ActiveProvider) -> None:
        await self._answering.switch_to(active, (self.primary, self.standby))

    @property
    def _in_use(self) -> list[ActiveProvider]:
        return [active for active in (self.primary, self.standby, self.answering) if active is not None]

    @property
    def spaces_in_use(self) -> set[str]:
        """The ids of the vector spaces in use; their vectors must not be trimmed."""
        return {active.space.id for active in self._in_use}

    async def _on_whole(self, active: ActiveProvider) -> None:
        """Answer from a space that is now complete, if it is the target's."""
        if active is self.target and active is not self.answering:
            async with self._lock:
                if active is self.target and active is not self.answering:
                    await self._answer_with(active)

    async def _switch_to_target(self, old: ActiveProvider) -> None:
        """Answer from the incomplete target: the provider of the previous space fails."""
        async with self._lock:
            if self.answering is old and self.target is not None and self.target is not old:
                await self._answer_with(self.target)

    def on_published(self, published: IndexChange) -> None:
        """Update the vector cache after each committed file and request vectors of new texts."""
        self.vector_cache.follow(published)
        if self.fill is not None:
            texts = len(published.added_hashes) - len(published.added_vectors)
            self._answering.unanswered += texts
            self.fill.wake(texts, published.added_characters if texts else 0)

    # --- for search and status ----------------------------------------------------------------------

    @property
    def answering(self) -> ActiveProvider | None:
        """The provider whose vectors answer; None if only keyword search is available."""
        return self._answering.active

    @property
    def target(self) -> ActiveProvider | None:
        """The provider whose space is being filled; None without a provider."""
        return self.standby or self.primary

    @property
    def fill(self) -> VectorFill | None:
        """The task that fills the target's space."""
        return self.target.fill if self.target is not None else None

    @property
    def is_followed(self) -> bool:
        """Whether new vectors are searchable at once: the space being filled is the one that answers."""
        return self.target is not None and self.target is self.answering

    @property
    def chunks_pending(self) -> int:
        """How many texts lack a vector in the answering space."""
        if self.fill is None:
            return 0
        return self.fill.pending if self.is_followed else min(self._answering.unanswered, self.fill.pending)

    @property
    def oldest_pending_ms(self) -> int | None:
        """Epoch milliseconds since when the oldest of them has been waiting; None if unknown."""
        return self.fill.oldest_ms if self.fill is not None else None

    def find_vector(self, active: ActiveProvider, query: str) -> NDArray[np.float32] | None:
        """Return a query's vector (dims,) in a provider's space if it is cached; never waits."""
        return self._answering.queries.find(query, active.provider)

    async def vector_of(self, active: ActiveProvider, query: str, timeout_s: float) -> NDArray[np.float32]:
        """Return a query's unit vector (dims,) in the space of the answering provider."""
        if self._nursery is None:
            raise ShuttingDownError("the agent is being closed")
        try:
            return await self._answering.vector_of(active, query, timeout_s, self._nursery)
        except MemdError:
            if active.health.degraded is not None and not self.is_followed and self._nursery is not None:
                self._nursery.start_soon(self._switch_to_target, active)
            raise

    async def wait_for(self, active: ActiveProvider, key: Key, call: Call, timeout_s: float) -> FloatArray:
        """Return the result of a call of a provider, see `QueryVectorCache.wait_for`."""
        if self._nursery is None:
            raise ShuttingDownError("the agent is being closed")
        return await self._answering.queries.wait_for(key, active.provider, call, timeout_s, self._nursery)

    def filling(self) -> FillProgress | None:
        """Return the progress of filling the target's space, or None if no vector is missing."""
        return self.target.filling() if self.target is not None else None

    @property
    def is_keyword_only(self) -> bool:
        """Whether keyword search is all there is to expect: no provider is configured and no model was pulled."""
        return self._settings.provider == "auto" and isinstance(self.problem, ProviderUnavailableError)

    def degraded(self) -> Degradation | None:
        """Return why vector search is degraded, or None."""
        if self.answering is None or self.target is None:
            problem = self.problem
            if problem is None:
                return None
            return Degradation(problem.code, problem.message, self._started_ms, problem.hint)
        if self.answering.health.degraded is not None:
            return self.answering.health.degraded
        return self.target.health.degraded if self.chunks_pending else None

    async def renew(self) -> None:
        """Compute all vectors of the target again, queries' included."""
        self._answering.queries.forget()
        if self.fill is not None:
            await self.fill.renew_all()


def _publish_health(agent_id: str, active: ActiveProvider) -> None:
    """Publish an event that a provider started failing or recovered."""
    problem, name = active.health.degraded, active.provider.id
    if problem is None:
        EVENTS.publish("recovered", agent_id, provider=name)
    else:
        EVENTS.publish("degraded", agent_id, provider=name, code=problem.code, reason=problem.reason)
