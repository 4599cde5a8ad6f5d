"""Batch APIs of a loopback server with the daemon's client, on a clock that tests move."""

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
from memd.embedding.remote.bulk.runner import BulkRunner
from memd.embedding.remote.catalog import KNOWN
from memd.embedding.remote.http import HttpClient
from memd.embedding.remote.providers.table import APIS
from memd.settings.endpoints import Batch
from tests.support.provider_errors import ProviderReply
from tests.support.provider_jobs import FakeBatchApi
from tests.support.provider_server import ProviderServer
from tests.support.remote_fixture import MovableClock, endpoint_of

SPACE = "5pace00000000000"


def items_of(count: int, word: str = "text") -> list[tuple[str, str]]:
    """Return some different texts with their hashes."""
    texts = [f"{word} number {at} of the memory" for at in range(count)]
    return [(hashlib.sha256(text.encode()).hexdigest(), text) for text in texts]


def hashes_of(items: Sequence[tuple[str, str]]) -> list[str]:
    """Return the hashes of some texts."""
    return [digest for digest, _ in items]


def batch_api_of(server: ProviderServer) -> FakeBatchApi:
    """Return the batch API of a server."""
    assert server.batches is not None
    return server.batches


def sent_bodies(server: ProviderServer, method: str, end: str) -> list[bytes]:
    """Return the bodies of requests with that method and end of the path."""
    return [
        call.asked.body
        for call in server.requests
        if call.asked.method == method and call.asked.path.endswith(end)
    ]


class JsonJobStore:
    """A job store that serializes jobs as JSON, as the index does. `saves` are the ids of each save."""

    def __init__(self) -> None:
        self.text = "[]"
        self.saves: list[list[str]] = []
        self.on_save: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint

    @property
    def jobs(self) -> list[JobRecord]:
        """The stored jobs."""
        return records_from_json(self.text)

    async def load(self) -> list[JobRecord]:
        """Return the jobs saved last."""
        await trio.lowlevel.checkpoint()
        return self.jobs

    async def save(self, jobs: Sequence[JobRecord]) -> None:
        """Replace the stored jobs."""
        await self.on_save()
        self.text = records_to_json(jobs)
        self.saves.append([job.id for job in jobs])


@dataclass
class BulkFixture:
    """One daemon run with one batch API. `got` are the results delivered, job by job."""

    server: ProviderServer
    api: BulkApi
    account: Account
    accounts: Accounts
    http: HttpClient
    clock: MovableClock
    store: JsonJobStore
    got: list[BulkResults] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    on_pause: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint

    async def take(self, results: BulkResults) -> None:
        """Receive results, as the index does."""
        await trio.lowlevel.checkpoint()
        self.got.append(results)

    async def pause(self, seconds: float) -> None:
        """Move the clock, and run the test's `on_pause`."""
        self.pauses.append(seconds)
        await self.clock.pause(seconds)
        await self.on_pause()

    def run(self, **settings: Any) -> BulkRunner:
        """Return a run over the API; `settings` are those of `remote.batch`."""
        return BulkRunner(
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
        """All vectors delivered."""
        return {digest: vector for results in self.got for digest, vector in results.vectors.items()}


@asynccontextmanager
async def bulk_fixture(
    server: ProviderServer,
    *,
    store: JsonJobStore | None = None,
    clock: MovableClock | None = None,
    prefix: str = "",
    daily_budget: int = 0,
    **endpoint: Any,
) -> AsyncIterator[BulkFixture]:
    """Run the parts of a daemon that use batch jobs inside the block."""
    clock = clock or MovableClock()
    http, accounts = HttpClient(), Accounts(None, clock, daily_budget)
    where = endpoint_of(server, **endpoint)
    account = accounts.account_for(where, KNOWN[server.dialect].limits)
    api = APIS[server.dialect](where)
    jobs: BulkApi
    if server.dialect == "gemini":
        jobs = GeminiJobs(api, http, account, prefix=prefix, pause=clock.pause)
    else:
        manner = VOYAGE if server.dialect == "voyage" else OPENAI
        jobs = FileJobs(api, http, account, manner, prefix=prefix, pause=clock.pause)
    try:
        with trio.fail_after(120):
            yield BulkFixture(server, jobs, account, accounts, http, clock, store or JsonJobStore())
    finally:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + 5):
            await http.aclose()


def run_bulk(server: ProviderServer, play: Callable[[BulkFixture], Awaitable[Any]], **options: Any) -> Any:
    """Run a function with the batch API of a server, as one daemon run; return its result."""

    async def main() -> Any:
        async with bulk_fixture(server, **options) as stage:
            return await play(stage)

    return trio.run(main)


async def collect_results(stage: BulkFixture, items: list[tuple[str, str]]) -> BulkResults:
    """Submit texts, poll until they are done, and return their results."""
    job_id = await stage.api.submit(items)
    while (await stage.api.poll(job_id)).state == "running":
        pass
    return await stage.api.results(job_id, hashes_of(items))


def limit_job_size(stage: BulkFixture, max_texts: int) -> None:
    """Limit the texts per job."""
    stage.api.max_texts = max_texts


def jobs_made(server: ProviderServer) -> int:
    """Return how many jobs were created on a server."""
    return len(sent_bodies(server, "POST", "/batches")) + len(
        sent_bodies(server, "POST", ":asyncBatchEmbedContent")
    )


def override_replies(
    server: ProviderServer, patch: pytest.MonkeyPatch, answer: Callable[[str, str], ProviderReply | None]
) -> None:
    """Replace replies of a server's batch API by method and path; None keeps the server's own."""
    own = batch_api_of(server)._answer
    patch.setattr(
        batch_api_of(server), "_answer", lambda asked: answer(asked.method, asked.path) or own(asked)
    )
