"""Cost of indexing files beyond embedding, and of a sync without changes.

A daemon indexes a new corpus: first its text alone, then with vectors that come over HTTP from a server in another
process, which has them ready. That leaves reading, chunking, keyword rows and storing vectors. In the same round, the
reference design indexes the same files with the same chunks and vectors.
"""

from __future__ import annotations

import random
import shutil
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import trio

from benchmarks.corpus import DIMS, make_corpus
from benchmarks.part import Figure, Options, Part, at_least, at_most, measured
from benchmarks.reference_index import ReferenceChunk, ReferenceIndex
from benchmarks.scale_process import processor_s
from benchmarks.sync_checks import StateError, check_one_indexed
from benchmarks.vector_server import MODEL, running_server, vector_of
from memd.embedding.remote.accounts import Accounts
from memd.embedding.remote.batches import take_batch
from memd.embedding.remote.catalog import KNOWN
from memd.embedding.remote.endpoint import Endpoint
from memd.embedding.remote.http import HttpClient
from memd.embedding.secret import Secret
from memd.text.cut.chunking import cut_chunks, embedded_text
from tests.support.daemon import DaemonProcess
from tests.support.remote_fixture import MovableClock, provider_over
from tests.support.state_homes import StateHome, agents_config

BAR_CHUNK_MS: Final = 0.3
BAR_TIMES: Final = 20.0
BAR_UNCHANGED_MS: Final = 100.0

LEAST_MS: Final = 0.001
"""Minimum of a difference of two times, which noise could make negative."""

KEY: Final = "any"
"""The provider requires a key, the server does not."""


@dataclass(frozen=True)
class SyncSize:
    """Extent of the measurements."""

    files: int
    unchanged_files: int
    rounds: int
    repeats: int


FULL: Final = SyncSize(files=600, unchanged_files=1_300, rounds=5, repeats=40)
QUICK: Final = SyncSize(files=150, unchanged_files=1_300, rounds=2, repeats=10)


@dataclass(frozen=True)
class Cost:
    """Milliseconds per chunk: wall time, and CPU time of all threads."""

    wall: float
    cpu: float


@dataclass
class Rounds:
    """Measurements, one item per round."""

    text: list[Cost] = field(default_factory=list)
    whole: list[Cost] = field(default_factory=list)
    provider: list[Cost] = field(default_factory=list)
    seeds: list[Cost] = field(default_factory=list)
    chunks: int = 0

    @property
    def beyond(self) -> list[float]:
        """CPU milliseconds per chunk without those of the provider."""
        return [whole.cpu - alone.cpu for whole, alone in zip(self.whole, self.provider, strict=True)]

    @property
    def beyond_wall(self) -> list[float]:
        """Milliseconds per chunk that indexing adds to embedding."""
        pairs = zip(self.whole, self.provider, strict=True)
        return [max(LEAST_MS, whole.wall - alone.wall) for whole, alone in pairs]


def measure(options: Options) -> Part:
    """Measure indexing and syncs without changes, next to the reference design."""
    size = QUICK if options.quick else FULL
    corpus = options.work / "corpus"
    with StateHome() as home:
        make_corpus(home, 2 * size.files, size.files, random.Random(7))
        shutil.move(home.workspace(), corpus)
    rounds = Rounds()
    with running_server() as url:
        for number in range(size.rounds):
            options.show_progress(f"round {number + 1} of {size.rounds}: {size.files} files")
            take_round(rounds, corpus, url, options.work / f"seeds-{number}.sqlite")
    options.show_progress(f"no change in {size.unchanged_files} files")
    ours, theirs = unchanged(size, options.work)
    return Part(
        "sync",
        "Indexing files, beyond embedding",
        [*indexing_figures(rounds), *unchanged_figures(size, ours, theirs)],
        notes=[
            f"{rounds.chunks:,} chunks of {size.files} files per round, {DIMS} numbers per vector, each time with a "
            "new daemon.",
            "“With vectors”: over the loopback interface from a server in another process that has them ready. The "
            "provider's part (HTTP, JSON, unit length) is memd's own provider with the same server, texts and batches, "
            "without storing; its time in the same round is subtracted.",
            "The reference design gets the same chunks, free vectors, SQLite's default journal and one transaction per "
            "statement.",
        ],
    )


def take_round(rounds: Rounds, corpus: Path, url: str, reference_path: Path) -> None:
    """Index the corpus once in each way."""
    chunks, text = daemon_cost(corpus, {"provider": "none"})
    remote = {"provider": "openai", "model": MODEL, "remote": {"baseUrl": url, "apiKey": KEY}}
    embedded, whole = daemon_cost(corpus, remote)
    if chunks != embedded:
        raise StateError(f"{chunks} chunks by text, {embedded} with vectors")
    rounds.chunks = chunks
    rounds.text.append(text)
    rounds.whole.append(whole)
    rounds.provider.append(provider_cost(corpus, url))
    rounds.seeds.append(reference_cost(corpus, reference_path, chunks))


@contextmanager
def waiting_daemon(search: Mapping[str, Any]) -> Iterator[tuple[StateHome, DaemonProcess]]:
    """Run a daemon over an empty memory; it checks files only on request."""
    with StateHome() as home:
        home.configure(agents_config(home.state, memory_search={**search, "sync": {"watch": False}}))
        home.workspace().mkdir()
        with DaemonProcess(home) as daemon:
            daemon.wait_for(lambda status: all(agent.files == 0 for agent in status.agents))
            yield home, daemon


def daemon_cost(corpus: Path, search: Mapping[str, Any]) -> tuple[int, Cost]:
    """Return the chunks of a new corpus, and the cost of one."""
    with waiting_daemon(search) as (home, daemon), daemon.client(timeout_s=600) as client:
        client.index()
        shutil.copytree(corpus, home.workspace(), dirs_exist_ok=True)
        before, started = processor_s([daemon.pid]), time.perf_counter()
        reply = client.index()
        took_s, used_s = time.perf_counter() - started, processor_s([daemon.pid]) - before
        agent = check_one_indexed(reply, len(list(corpus.rglob("*.md"))))
        if search["provider"] != "none" and not agent.embedded:
            raise StateError("no text was embedded")
        return agent.chunks, Cost(took_s / agent.chunks * 1000, used_s / agent.chunks * 1000)


def provider_cost(corpus: Path, url: str) -> Cost:
    """Return the cost of embedding alone: memd's provider in this process, nothing stored."""
    texts = list(
        dict.fromkeys(
            embedded_text(chunk.text.rstrip(), chunk.context)
            for path in sorted(corpus.rglob("*.md"))
            for chunk in cut_chunks(path.read_text(), path.relative_to(corpus).as_posix())
        )
    )
    trio.run(embed_all, texts[:1], url)
    before, started = time.process_time(), time.perf_counter()
    trio.run(embed_all, texts, url)
    took_s, used_s = time.perf_counter() - started, time.process_time() - before
    return Cost(took_s / len(texts) * 1000, used_s / len(texts) * 1000)


async def embed_all(texts: Sequence[str], url: str) -> None:
    """Embed texts with a sync's batches and concurrency."""
    known = KNOWN["compatible"]
    endpoint = Endpoint("openai", MODEL, url, Secret(KEY))
    clock = MovableClock()
    http, accounts = HttpClient(), Accounts(None, clock, 0)
    waiting = deque(("", text) for text in texts)
    async with trio.open_nursery() as nursery:
        await nursery.start(accounts.run)
        provider = provider_over(
            endpoint, "compatible", http, accounts.account_for(endpoint, known.limits), clock
        )

        async def work() -> None:
            while waiting:
                await provider.embed_batch([text for _, text in take_batch(waiting, provider.limits)])

        async with trio.open_nursery() as workers:
            for _ in range(known.limits.concurrency):
                workers.start_soon(work)
        await provider.aclose()
        await http.aclose()
        nursery.cancel_scope.cancel()


def cut_for_reference(content: str, path: str) -> Iterator[ReferenceChunk]:
    """Yield memd's chunks for the reference design."""
    for chunk in cut_chunks(content, path):
        yield ReferenceChunk(path, chunk.start_line, chunk.end_line, chunk.text)


def reference_cost(corpus: Path, path: Path, chunks: int) -> Cost:
    """Return the cost of a chunk in the reference design."""
    vector_of("")  # makes the pool, which is not part of the cost
    with ReferenceIndex(path, DIMS) as index:
        before, started = time.process_time(), time.perf_counter()
        done = index.sync(corpus, cut_for_reference, vector_of)
        took_s, used_s = time.perf_counter() - started, time.process_time() - before
    if done.chunks != chunks:
        raise StateError(f"memd made {chunks} chunks, the reference {done.chunks}")
    return Cost(took_s / chunks * 1000, used_s / chunks * 1000)


def unchanged(size: SyncSize, work: Path) -> tuple[list[float], list[float]]:
    """Return milliseconds of syncs without changes: memd's, the reference's."""
    ours: list[float] = []
    theirs: list[float] = []
    with waiting_daemon({"provider": "none"}) as (home, daemon), daemon.client(timeout_s=600) as client:
        make_corpus(home, size.unchanged_files, size.unchanged_files, random.Random(8))
        for _ in range(2):
            check_one_indexed(client.index(), size.unchanged_files)
        with ReferenceIndex(work / "unchanged.sqlite", DIMS) as index:
            # One chunk per file: a sync without changes reads the files and the table `files` only.
            index.sync(
                home.workspace(), lambda text, path: [ReferenceChunk(path, 1, 1, text[:200])], vector_of
            )
            for _ in range(size.repeats):
                started = time.perf_counter()
                client.index()
                ours.append((time.perf_counter() - started) * 1000)
                started = time.perf_counter()
                index.sync(home.workspace(), cut_for_reference, vector_of)
                theirs.append((time.perf_counter() - started) * 1000)
    return ours, theirs


def indexing_figures(rounds: Rounds) -> Iterator[Figure]:
    """Yield the rows of indexing."""
    text, whole, seeds = rounds.text, rounds.whole, rounds.seeds
    yield at_most(
        "sync.beyond.cpu",
        "indexing beyond embedding, per chunk, with vectors: CPU time without the provider's",
        rounds.beyond,
        "ms",
        BAR_CHUNK_MS,
    )
    yield measured("sync.vectors.cpu", "… with the provider's", [each.cpu for each in whole], "ms")
    yield measured(
        "sync.vectors.wall",
        "… wall time, with the provider's",
        [each.wall for each in whole],
        "ms",
    )
    yield measured("sync.provider.cpu", "… the provider's part", [each.cpu for each in rounds.provider], "ms")
    yield measured("sync.text.cpu", "text alone, per chunk: CPU time", [each.cpu for each in text], "ms")
    yield measured("sync.text.wall", "… wall time", [each.wall for each in text], "ms")
    yield measured(
        "sync.seeds.cpu",
        "the reference design, per chunk: CPU time",
        [each.cpu for each in seeds],
        "ms",
    )
    yield measured("sync.seeds.wall", "… wall time", [each.wall for each in seeds], "ms")
    yield measured(
        "sync.beyond.wall", "memd beyond embedding, per chunk, wall time", rounds.beyond_wall, "ms"
    )
    yield at_least(
        "sync.seeds.wall_ratio",
        "the reference design / memd, both beyond embedding, wall time",
        [theirs.wall / ours for theirs, ours in zip(seeds, rounds.beyond_wall, strict=True)],
        "times",
        BAR_TIMES,
    )
    yield measured(
        "sync.seeds.whole_ratio",
        "… with HTTP counted for memd",
        [theirs.wall / ours.wall for theirs, ours in zip(seeds, whole, strict=True)],
        "times",
    )
    yield measured(
        "sync.seeds.cpu_ratio",
        "… CPU time beyond embedding",
        [theirs.cpu / ours for theirs, ours in zip(seeds, rounds.beyond, strict=True)],
        "times",
    )


def unchanged_figures(size: SyncSize, ours: list[float], theirs: list[float]) -> Iterator[Figure]:
    """Yield the rows of syncs without changes."""
    files = f"{size.unchanged_files:,} files"
    yield at_most("sync.unchanged", f"sync without changes, {files}", ours, "ms", BAR_UNCHANGED_MS)
    yield measured("sync.seeds.unchanged", f"… the reference design, {files}", theirs, "ms")
    ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
    yield measured("sync.seeds.unchanged_ratio", "… the reference design / memd", ratios, "times")
