"""Batch APIs over a loopback server, put together as the daemon does it; time moves as the test says."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio

from memd.embedding.remote.account import Account
from memd.embedding.remote.accounts import Accounts
from memd.embedding.remote.bulk.api import BulkApi, BulkResults
from memd.embedding.remote.bulk.file_jobs import OPENAI, VOYAGE, FileJobs
from memd.embedding.remote.bulk.gemini_jobs import GeminiJobs
from memd.embedding.remote.bulk.jobs import JobRecord, records_from_json, records_to_json
from memd.embedding.remote.bulk.run import BulkRun
from memd.embedding.remote.catalog import KNOWN
from memd.embedding.remote.http import Http
from memd.embedding.remote.providers.table import APIS
from memd.settings.schema import Batch
from tests.support.provider_errors import Reply
from tests.support.provider_jobs import BatchDesk
from tests.support.provider_server import ProviderServer
from tests.support.remotes import MovableClock, endpoint_of

SPACE = "5pace00000000000"


def items_of(count: int, word: str = "text") -> list[tuple[str, str]]:
    """Return that many different texts with their hashes."""
    texts = [f"{word} number {at} of the memory" for at in range(count)]
    return [(hashlib.sha256(text.encode()).hexdigest(), text) for text in texts]


def hashes_of(items: Sequence[tuple[str, str]]) -> list[str]:
    """Return the hashes of some texts."""
    return [digest for digest, _ in items]


def desk_of(server: ProviderServer) -> BatchDesk:
    """Return the batch API of a server that has one."""
    assert server.batches is not None
    return server.batches


def sent(server: ProviderServer, method: str, end: str) -> list[bytes]:
    """Return the bodies of the requests with that method whose path ends so."""
    return [
        call.asked.body
        for call in server.requests
        if call.asked.method == method and call.asked.path.endswith(end)
    ]


class KeptJobs:
    """A store of jobs as the index is one: what is saved goes through JSON. `saves` are the ids, save by save."""

    def __init__(self) -> None:
        self.text = "[]"
        self.saves: list[list[str]] = []
        self.on_save: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint

    @property
    def jobs(self) -> list[JobRecord]:
        """The jobs that are kept."""
        return records_from_json(self.text)

    async def load(self) -> list[JobRecord]:
        """Return what was saved last."""
        await trio.lowlevel.checkpoint()
        return self.jobs

    async def save(self, jobs: Sequence[JobRecord]) -> None:
        """Keep these and no others."""
        await self.on_save()
        self.text = records_to_json(jobs)
        self.saves.append([job.id for job in jobs])


@dataclass
class Bench:
    """One daemon's life with one batch API. `got` are the results handed on, job by job."""

    server: ProviderServer
    api: BulkApi
    account: Account
    accounts: Accounts
    http: Http
    clock: MovableClock
    store: KeptJobs
    got: list[BulkResults] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    on_pause: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint

    async def take(self, results: BulkResults) -> None:
        """Take results, as the index does."""
        await trio.lowlevel.checkpoint()
        self.got.append(results)

    async def pause(self, seconds: float) -> None:
        """Let time pass, and do what the test wants done meanwhile."""
        self.pauses.append(seconds)
        await self.clock.pause(seconds)
        await self.on_pause()

    def run(self, **settings: Any) -> BulkRun:
        """Return a run over the API; `settings` are those of `remote.batch`."""
        return BulkRun(
            self.api,
            Batch(**settings),
            self.store,
            space=SPACE,
            clock=self.clock,
            pause=self.pause,
            on_results=self.take,
        )

    @property
    def vectors(self) -> dict[str, Any]:
        """All vectors that were handed on."""
        return {digest: vector for results in self.got for digest, vector in results.vectors.items()}


@asynccontextmanager
async def bench(
    server: ProviderServer,
    *,
    store: KeptJobs | None = None,
    clock: MovableClock | None = None,
    prefix: str = "",
    daily_budget: int = 0,
    **endpoint: Any,
) -> AsyncIterator[Bench]:
    """Run a daemon's worth of it inside the block."""
    clock = clock or MovableClock()
    http, accounts = Http(), Accounts(None, clock, daily_budget)
    where = endpoint_of(server, **endpoint)
    account = accounts.of(where, KNOWN[server.dialect].limits)
    api = APIS[server.dialect](where)
    jobs: BulkApi
    if server.dialect == "gemini":
        jobs = GeminiJobs(api, http, account, prefix=prefix, pause=clock.pause)
    else:
        manner = VOYAGE if server.dialect == "voyage" else OPENAI
        jobs = FileJobs(api, http, account, manner, prefix=prefix, pause=clock.pause)
    try:
        with trio.fail_after(60):
            yield Bench(server, jobs, account, accounts, http, clock, store or KeptJobs())
    finally:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + 5):
            await http.aclose()


def played(server: ProviderServer, play: Callable[[Bench], Awaitable[Any]], **options: Any) -> Any:
    """Run a play with the batch API of a server, as one daemon's life; return what it returns."""

    async def main() -> Any:
        async with bench(server, **options) as stage:
            return await play(stage)

    return trio.run(main)


async def harvest(stage: Bench, items: list[tuple[str, str]]) -> BulkResults:
    """Submit texts, look until they are done, and return their results."""
    job_id = await stage.api.submit(items)
    while (await stage.api.look(job_id)).state == "running":
        pass
    return await stage.api.results(job_id, hashes_of(items))


def small_jobs(stage: Bench, max_texts: int) -> None:
    """Have jobs hold that many texts at most."""
    stage.api.max_texts = max_texts


def jobs_made(server: ProviderServer) -> int:
    """Return how many jobs a server was asked for."""
    return len(sent(server, "POST", "/batches")) + len(sent(server, "POST", ":asyncBatchEmbedContent"))


def answering(
    server: ProviderServer, patch: pytest.MonkeyPatch, answer: Callable[[str, str], Reply | None]
) -> None:
    """Have a server answer its batch API so, by method and path; None for what it would say itself."""
    own = desk_of(server)._answer
    patch.setattr(desk_of(server), "_answer", lambda asked: answer(asked.method, asked.path) or own(asked))
