"""An agent with a loopback provider in this process: real files, index and HTTP, and a clock that tests move."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

import numpy as np
import trio
from numpy.typing import NDArray

from memd.agents.agent import Agent
from memd.agents.registry import AgentRegistry
from memd.embedding.choose.choose import ProviderFactory
from memd.embedding.local.downloads import Downloads
from memd.embedding.local.owner import ModelOwner
from memd.embedding.local.process import ModelSettings
from memd.embedding.provider import EmbeddingProvider
from memd.embedding.remote.accounts import Accounts
from memd.embedding.remote.catalog import KNOWN
from memd.embedding.remote.endpoint import ApiRequest, HttpReply, Timeouts
from memd.embedding.remote.http import MAX_BYTES, HttpClient
from memd.index.connection import IndexFile
from memd.settings.agents import load_home
from memd.settings.schema import DaemonSettings, MemorySearch
from memd_client.messages import SearchParams, SearchReply
from tests.support.indexes import EXTENSION
from tests.support.provider_server import ProviderServer
from tests.support.remote_fixture import MovableClock, endpoint_of, provider_over
from tests.support.state_homes import StateHome

PAUSE_DIVISOR = 50
"""How many times shorter pauses between attempts are than the provider's own."""


@dataclass(frozen=True)
class SearchTimeouts:
    """Timeouts of a provider: a query's vector in a search, a query, and a batch."""

    search_ms: int
    question_s: float
    batch: Timeouts


NORMAL_TIMEOUTS = SearchTimeouts(
    2_000, 20.0, Timeouts(connect_s=10.0, read_s=20.0, write_s=20.0, total_s=20.0)
)
SHORT_TIMEOUTS = SearchTimeouts(1_000, 2.5, Timeouts(connect_s=5.0, read_s=1.0, write_s=5.0, total_s=1.5))
"""Timeouts for providers that never answer: tests wait for all of them."""

STATE_TIMEOUT_S = 120.0
"""How long a test waits for a state before it fails."""

DOCUMENT_KIND = {"gemini": "RETRIEVAL_DOCUMENT", "voyage": "document"}
"""The input type of documents, in the providers that distinguish them from queries."""


class NarrowHttp(HttpClient):
    """Limits bodies to 1 MiB, so that too large ones are fast."""

    async def send(self, request: ApiRequest, timeouts: Timeouts, *, max_bytes: int = MAX_BYTES) -> HttpReply:
        """Return the reply to a request; see `HttpClient`."""
        return await super().send(request, timeouts, max_bytes=max_bytes // 64)


class LoopbackChooser:
    """Returns the provider of one server for any settings."""

    def __init__(
        self,
        server: ProviderServer,
        http: HttpClient,
        accounts: Accounts,
        clock: MovableClock,
        waits: SearchTimeouts,
    ) -> None:
        self._server = server
        self._http = http
        self._accounts = accounts
        self._clock = clock
        self._waits = waits

    async def make(self, name: str, settings: MemorySearch, agent_id: str) -> EmbeddingProvider:
        """Return the server's provider."""
        await trio.lowlevel.checkpoint()
        endpoint = endpoint_of(self._server)
        account = self._accounts.account_for(endpoint, KNOWN[self._server.dialect].limits)
        return provider_over(
            endpoint,
            self._server.dialect,
            self._http,
            account,
            self._clock,
            pause=_hurried,
            query_timeout_s=self._waits.question_s,
            batch_timeouts=self._waits.batch,
        )

    async def rebuild(
        self, recipe: Mapping[str, str], settings: MemorySearch, agent_id: str
    ) -> EmbeddingProvider | None:
        """Return None: there is no other provider."""
        await trio.lowlevel.checkpoint()
        return None


async def _hurried(seconds: float) -> None:
    await trio.sleep(seconds / PAUSE_DIVISOR)


class RemoteMemory:
    """One agent and its provider."""

    def __init__(
        self, registry: AgentRegistry, home: StateHome, server: ProviderServer, clock: MovableClock
    ) -> None:
        self.registry = registry
        self.agent: Agent = registry.agent("main")
        self.home = home
        self.server = server
        self.clock = clock

    @property
    def index_file(self) -> IndexFile:
        """The agent's index."""
        assert self.agent.opened is not None
        return self.agent.opened.index_file

    async def search(self, query: str, deadline_ms: int | None = None) -> SearchReply:
        """Search, and check that a reply arrives."""
        with trio.fail_after(STATE_TIMEOUT_S):
            return await self.agent.search(SearchParams(query=query, deadline_ms=deadline_ms))

    async def index(self, *, force: bool = False) -> None:
        """Bring text and vectors up to date, as far as the provider works."""
        with trio.fail_after(STATE_TIMEOUT_S):
            await self.agent.index(force, lambda stage, done, total, path: None)

    async def check_stored(self) -> int:
        """Fail if a stored vector differs from the provider's; return the number of vectors."""
        kind = DOCUMENT_KIND.get(self.server.dialect, "")
        rows = await self.index_file.read(
            lambda db: db.execute(
                """SELECT e.embedding, e.dims, c.text FROM embedding_cache AS e
                   JOIN chunks AS c ON c.hash = e.hash"""
            ).fetchall()
        )
        for blob, dims, text in rows:
            assert isinstance(blob, bytes)
            vector: NDArray[np.float32] = np.frombuffer(blob, dtype="<f4")
            assert (dims, vector.shape) == (self.server.dims, (self.server.dims,))
            assert np.isfinite(vector).all()
            assert abs(float(np.linalg.norm(vector)) - 1.0) < 1e-5
            assert np.allclose(vector, self.server.vector(str(text), kind), atol=1e-5)
        count = await self.index_file.read(
            lambda db: db.execute("SELECT count(*) FROM embedding_cache").fetchall()
        )
        assert count == [(len(rows),)], "a vector without a text"
        return len(rows)


@asynccontextmanager
async def remote_memory(
    home: StateHome, server: ProviderServer, waits: SearchTimeouts = NORMAL_TIMEOUTS
) -> AsyncIterator[RemoteMemory]:
    """Run an agent inside the block."""
    clock, http = MovableClock(), NarrowHttp()
    accounts = Accounts(home.state / "memory" / "accounts.json", clock, 0)
    models, downloads = ModelOwner(ModelSettings()), Downloads()
    registry = AgentRegistry(
        await trio.to_thread.run_sync(load_home, home.environ(), home.root),
        daemon=DaemonSettings(query_embed_timeout_ms=waits.search_ms),
        extension=lambda config: EXTENSION,
        models=models,
        models_dir=home.root / "models",
        downloads=downloads,
        chooser=cast(ProviderFactory, LoopbackChooser(server, http, accounts, clock, waits)),
        accounts=accounts,
        problems=[],
        clock=clock,
    )
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(accounts.run)
            await nursery.start(registry.run)
            yield RemoteMemory(registry, home, server, clock)
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            await http.aclose()
