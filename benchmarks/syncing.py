"""What it costs to bring files into the index beyond embedding them, and to find that nothing changed.

A daemon takes in a corpus it has never seen: its text alone, then with vectors that come over real HTTP from a server
in another process which has them ready. What is left is reading, cutting, words, rows and vectors. The early design's
path takes in the same files, cut the same way, with vectors of the same pool, in the same round.
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
from benchmarks.indexed import StateError, only_indexed
from benchmarks.part import Figure, Options, Part, at_least, at_most, measured
from benchmarks.scale_process import processor_s
from benchmarks.seeds import SeedsChunk, SeedsIndex
from benchmarks.vector_server import MODEL, running_server, vector_of
from memd.embedding.remote.accounts import Accounts
from memd.embedding.remote.batches import take_batch
from memd.embedding.remote.catalog import KNOWN
from memd.embedding.remote.endpoint import Endpoint
from memd.embedding.remote.http import Http
from memd.embedding.secret import Secret
from memd.text.cut.chunking import cut_chunks, embedded_text
from tests.support.daemon import DaemonProcess
from tests.support.remote_fixture import MovableClock, provider_over
from tests.support.state_homes import StateHome, agents_config

BAR_CHUNK_MS: Final = 0.3
BAR_TIMES: Final = 20.0
BAR_UNCHANGED_MS: Final = 100.0

LEAST_MS: Final = 0.001
"""A difference of two times is at least this: on a noisy machine it may come out negative."""

KEY: Final = "any"
"""The server asks for none, the provider wants one."""


@dataclass(frozen=True)
class Size:
    """How much is done."""

    files: int
    unchanged_files: int
    rounds: int
    repeats: int


FULL: Final = Size(files=600, unchanged_files=1_300, rounds=5, repeats=40)
QUICK: Final = Size(files=150, unchanged_files=1_300, rounds=2, repeats=10)


@dataclass(frozen=True)
class Cost:
    """Milliseconds a chunk: on the clock, and of the processor (user and system, all threads)."""

    wall: float
    cpu: float


@dataclass
class Rounds:
    """What was found, an item a round."""

    text: list[Cost] = field(default_factory=list)
    whole: list[Cost] = field(default_factory=list)
    provider: list[Cost] = field(default_factory=list)
    seeds: list[Cost] = field(default_factory=list)
    chunks: int = 0

    @property
    def beyond(self) -> list[float]:
        """Processor milliseconds a chunk of the whole way less those of the provider alone."""
        return [whole.cpu - alone.cpu for whole, alone in zip(self.whole, self.provider, strict=True)]

    @property
    def beyond_wall(self) -> list[float]:
        """Milliseconds a chunk that indexing adds to the time embedding takes by itself."""
        pairs = zip(self.whole, self.provider, strict=True)
        return [max(LEAST_MS, whole.wall - alone.wall) for whole, alone in pairs]


def measure(options: Options) -> Part:
    """Measure indexing beyond embedding and a sync without a change, memd and the early design in turn."""
    size = QUICK if options.quick else FULL
    corpus = options.work / "corpus"
    with StateHome() as home:
        make_corpus(home, 2 * size.files, size.files, random.Random(7))
        shutil.move(home.workspace(), corpus)
    rounds = Rounds()
    with running_server() as url:
        for number in range(size.rounds):
            options.tell(f"round {number + 1} of {size.rounds}: {size.files} files")
            take_round(rounds, corpus, url, options.work / f"seeds-{number}.sqlite")
    options.tell(f"no change in {size.unchanged_files} files")
    ours, theirs = unchanged(size, options.work)
    return Part(
        "sync",
        "Files into the index, beyond embedding",
        [*indexing_figures(rounds), *unchanged_figures(size, ours, theirs)],
        notes=[
            f"{rounds.chunks:,} passages of {size.files} files a round, {DIMS} numbers a vector, each time to a daemon "
            "that never saw them.",
            "“With vectors”: over the loopback interface from a server in another process that has them ready. The "
            "provider's share (HTTP, JSON, unit length) is memd's own provider asking the same server for the "
            "same texts in the same batches and storing nothing: what that took in the same round is taken off.",
            "The early design gets the same passages, vectors for nothing, SQLite's default journal and a transaction "
            "a statement; its cutter is ours.",
        ],
    )


def take_round(rounds: Rounds, corpus: Path, url: str, seeds_path: Path) -> None:
    """Index the corpus each way once."""
    chunks, text = daemon_cost(corpus, {"provider": "none"})
    remote = {"provider": "openai", "model": MODEL, "remote": {"baseUrl": url, "apiKey": KEY}}
    embedded, whole = daemon_cost(corpus, remote)
    if chunks != embedded:
        raise StateError(f"{chunks} passages by text, {embedded} with vectors")
    rounds.chunks = chunks
    rounds.text.append(text)
    rounds.whole.append(whole)
    rounds.provider.append(provider_cost(corpus, url))
    rounds.seeds.append(seeds_cost(corpus, seeds_path, chunks))


@contextmanager
def waiting_daemon(search: Mapping[str, Any]) -> Iterator[tuple[StateHome, DaemonProcess]]:
    """Run a daemon over an empty memory; nothing but a request makes it look at the files."""
    with StateHome() as home:
        home.configure(agents_config(home.state, memory_search={**search, "sync": {"watch": False}}))
        home.workspace().mkdir()
        with DaemonProcess(home) as daemon:
            daemon.wait_for(lambda status: all(agent.files == 0 for agent in status.agents))
            yield home, daemon


def daemon_cost(corpus: Path, search: Mapping[str, Any]) -> tuple[int, Cost]:
    """Return how many passages a daemon made of a corpus it had never seen, and what one cost."""
    with waiting_daemon(search) as (home, daemon), daemon.client(timeout_s=600) as client:
        client.index()
        shutil.copytree(corpus, home.workspace(), dirs_exist_ok=True)
        before, started = processor_s([daemon.pid]), time.perf_counter()
        reply = client.index()
        took_s, used_s = time.perf_counter() - started, processor_s([daemon.pid]) - before
        agent = only_indexed(reply, len(list(corpus.rglob("*.md"))))
        if search["provider"] != "none" and not agent.embedded:
            raise StateError("no text was embedded")
        return agent.chunks, Cost(took_s / agent.chunks * 1000, used_s / agent.chunks * 1000)


def provider_cost(corpus: Path, url: str) -> Cost:
    """Return what embedding alone costs a passage: memd's provider in this process, nothing stored."""
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
    """Embed texts as a sync does: in its batches, as many at a time as a server takes that isn't OpenAI's own."""
    known = KNOWN["compatible"]
    endpoint = Endpoint("openai", MODEL, url, Secret(KEY))
    clock = MovableClock()
    http, accounts = Http(), Accounts(None, clock, 0)
    waiting = deque(("", text) for text in texts)
    async with trio.open_nursery() as nursery:
        await nursery.start(accounts.run)
        provider = provider_over(endpoint, "compatible", http, accounts.of(endpoint, known.limits), clock)

        async def work() -> None:
            while waiting:
                await provider.embed_batch([text for _, text in take_batch(waiting, provider.limits)])

        async with trio.open_nursery() as workers:
            for _ in range(known.limits.concurrency):
                workers.start_soon(work)
        await provider.aclose()
        await http.aclose()
        nursery.cancel_scope.cancel()


def cut_for_seeds(content: str, path: str) -> Iterator[SeedsChunk]:
    """Yield our passages as the early design's chunks."""
    for chunk in cut_chunks(content, path):
        yield SeedsChunk(path, chunk.start_line, chunk.end_line, chunk.text)


def seeds_cost(corpus: Path, path: Path, chunks: int) -> Cost:
    """Return what a passage costs on the early design's way."""
    vector_of("")  # the pool is made once, before
    with SeedsIndex(path, DIMS) as index:
        before, started = time.process_time(), time.perf_counter()
        done = index.sync(corpus, cut_for_seeds, vector_of)
        took_s, used_s = time.perf_counter() - started, time.process_time() - before
    if done.chunks != chunks:
        raise StateError(f"memd made {chunks} passages, the reference {done.chunks}")
    return Cost(took_s / chunks * 1000, used_s / chunks * 1000)


def unchanged(size: Size, work: Path) -> tuple[list[float], list[float]]:
    """Return the milliseconds of syncs without a change, memd's and the early design's, in turn."""
    ours: list[float] = []
    theirs: list[float] = []
    with waiting_daemon({"provider": "none"}) as (home, daemon), daemon.client(timeout_s=600) as client:
        make_corpus(home, size.unchanged_files, size.unchanged_files, random.Random(8))
        for _ in range(2):
            only_indexed(client.index(), size.unchanged_files)
        with SeedsIndex(work / "unchanged.sqlite", DIMS) as index:
            # One chunk a file: what a sync without a change reads is the files and `files`.
            index.sync(home.workspace(), lambda text, path: [SeedsChunk(path, 1, 1, text[:200])], vector_of)
            for _ in range(size.repeats):
                started = time.perf_counter()
                client.index()
                ours.append((time.perf_counter() - started) * 1000)
                started = time.perf_counter()
                index.sync(home.workspace(), cut_for_seeds, vector_of)
                theirs.append((time.perf_counter() - started) * 1000)
    return ours, theirs


def indexing_figures(rounds: Rounds) -> Iterator[Figure]:
    """Yield the rows of indexing."""
    text, whole, seeds = rounds.text, rounds.whole, rounds.seeds
    yield at_most(
        "sync.beyond.cpu",
        "indexing beyond embedding, a chunk, with vectors: processor time less the provider's",
        rounds.beyond,
        "ms",
        BAR_CHUNK_MS,
    )
    yield measured("sync.vectors.cpu", "… the provider's share included", [each.cpu for each in whole], "ms")
    yield measured(
        "sync.vectors.wall",
        "… on the clock, the provider's share included",
        [each.wall for each in whole],
        "ms",
    )
    yield measured("sync.provider.cpu", "… the provider alone", [each.cpu for each in rounds.provider], "ms")
    yield measured("sync.text.cpu", "text alone, a chunk: processor time", [each.cpu for each in text], "ms")
    yield measured("sync.text.wall", "… on the clock", [each.wall for each in text], "ms")
    yield measured(
        "sync.seeds.cpu",
        "the early design's path, a chunk: processor time",
        [each.cpu for each in seeds],
        "ms",
    )
    yield measured("sync.seeds.wall", "… on the clock", [each.wall for each in seeds], "ms")
    yield measured(
        "sync.beyond.wall", "memd beyond embedding, a chunk, on the clock", rounds.beyond_wall, "ms"
    )
    yield at_least(
        "sync.seeds.wall_ratio",
        "the early design against memd, both beyond embedding, on the clock",
        [theirs.wall / ours for theirs, ours in zip(seeds, rounds.beyond_wall, strict=True)],
        "times",
        BAR_TIMES,
    )
    yield measured(
        "sync.seeds.whole_ratio",
        "… with HTTP on memd's side alone",
        [theirs.wall / ours.wall for theirs, ours in zip(seeds, whole, strict=True)],
        "times",
    )
    yield measured(
        "sync.seeds.cpu_ratio",
        "… processor time beyond embedding",
        [theirs.cpu / ours for theirs, ours in zip(seeds, rounds.beyond, strict=True)],
        "times",
    )


def unchanged_figures(size: Size, ours: list[float], theirs: list[float]) -> Iterator[Figure]:
    """Yield the rows of syncs without a change."""
    files = f"{size.unchanged_files:,} files"
    yield at_most("sync.unchanged", f"sync without a change, {files}", ours, "ms", BAR_UNCHANGED_MS)
    yield measured("sync.seeds.unchanged", f"… the early design's path, {files}", theirs, "ms")
    ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
    yield measured("sync.seeds.unchanged_ratio", "… the early design against memd", ratios, "times")
