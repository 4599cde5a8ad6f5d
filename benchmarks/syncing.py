"""Cost of indexing files, next to the reference design.

A daemon indexes a new corpus: first its text alone, then with vectors that come over HTTP from a server in another
process, where they are nearly free. That leaves reading, chunking, keyword rows and storing vectors. In the same round,
the reference design indexes the same files with the same chunks and vectors.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.corpora import KEYWORD_SEARCH, StateError, check_all_indexed
from benchmarks.corpus import DIMS, make_corpus
from benchmarks.part import Figure, Options, Part, at_most, measured
from benchmarks.peers.endpoint import INSTANT, EndpointProcess, instant_vector
from benchmarks.processes import processor_s
from benchmarks.reference_index import ReferenceChunk, ReferenceIndex
from memd.text.cut.chunking import cut_chunks
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

BAR_CHUNK_MS: Final = 0.3


class SyncSize(NamedTuple):
    """Extent of the measurements."""

    files: int
    rounds: int


FULL: Final = SyncSize(files=600, rounds=5)
QUICK: Final = SyncSize(files=150, rounds=2)


class Cost(NamedTuple):
    """Milliseconds per chunk: wall time, and CPU time of all threads."""

    wall: float
    cpu: float


class Round(NamedTuple):
    """One index in each way."""

    chunks: int
    text: Cost
    vectors: Cost
    reference: Cost


def measure(options: Options) -> Part:
    """Measure indexing, next to the reference design."""
    size = QUICK if options.quick else FULL
    corpus = options.work / "corpus"
    with StateHome() as home:
        make_corpus(home, 2 * size.files, size.files, random.Random(7))
        shutil.move(home.workspace(), corpus)
    rounds = []
    with EndpointProcess(options.work / "endpoint.log") as endpoint:
        for number in range(size.rounds):
            options.show_progress(f"round {number + 1} of {size.rounds}: {size.files} files")
            rounds.append(take_round(corpus, endpoint.url, options.work / f"{number}.sqlite"))
    return Part(
        "Indexing files",
        list(indexing_figures(rounds)),
        notes=[
            f"{rounds[0].chunks:,} chunks of {size.files} files per round, {DIMS} numbers per vector, each time with a "
            "new daemon.",
            "“With vectors”: over the loopback interface from a server in another process; HTTP and JSON are counted "
            "for memd, and not for the reference design.",
            "The reference design gets the same chunks, free vectors, SQLite's default journal and one transaction per "
            "statement.",
        ],
    )


def take_round(corpus: Path, url: str, reference_path: Path) -> Round:
    """Index the corpus once in each way."""
    chunks, text = daemon_cost(corpus, KEYWORD_SEARCH)
    remote = {"provider": "compatible", "model": INSTANT, "remote": {"baseUrl": url}}
    embedded, vectors = daemon_cost(corpus, remote)
    if chunks != embedded:
        raise StateError(f"{chunks} chunks by text, {embedded} with vectors")
    return Round(chunks, text, vectors, reference_cost(corpus, reference_path, chunks))


def daemon_cost(corpus: Path, search: Mapping[str, Any]) -> tuple[int, Cost]:
    """Return the chunks of a new corpus, and the cost of one; the daemon checks files only on request."""
    config = {"agents": {"defaults": {"memorySearch": {**search, "sync": {"watch": False}}}}}
    with StateHome(config) as home, DaemonProcess(home) as daemon, daemon.client(timeout_s=600) as client:
        client.index()
        shutil.copytree(corpus, home.workspace(), dirs_exist_ok=True)
        before, started = processor_s([daemon.pid]), time.perf_counter()
        (agent,) = check_all_indexed(client.index())
        took_s, used_s = time.perf_counter() - started, processor_s([daemon.pid]) - before
        if agent.files != len(list(corpus.rglob("*.md"))):
            raise StateError(f"{agent.files} files indexed")
        if search["provider"] != "none" and not agent.embedded:
            raise StateError("no text was embedded")
        return agent.chunks, Cost(took_s / agent.chunks * 1000, used_s / agent.chunks * 1000)


def cut_for_reference(content: str, path: str) -> Iterator[ReferenceChunk]:
    """Yield memd's chunks for the reference design."""
    for chunk in cut_chunks(content, path):
        yield ReferenceChunk(path, chunk.start_line, chunk.end_line, chunk.text)


def reference_cost(corpus: Path, path: Path, chunks: int) -> Cost:
    """Return the cost of a chunk in the reference design."""
    vectors = {
        chunk.text: instant_vector(chunk.text)
        for file in corpus.rglob("*.md")
        for chunk in cut_for_reference(file.read_text(), "")
    }
    with ReferenceIndex(path, DIMS) as index:
        before, started = time.process_time(), time.perf_counter()
        count = index.index(corpus, cut_for_reference, vectors.__getitem__)
        took_s, used_s = time.perf_counter() - started, time.process_time() - before
    if count != chunks:
        raise StateError(f"memd made {chunks} chunks, the reference {count}")
    return Cost(took_s / chunks * 1000, used_s / chunks * 1000)


def indexing_figures(rounds: list[Round]) -> Iterator[Figure]:
    """Yield the rows of indexing."""
    text = [each.text for each in rounds]
    yield at_most(
        "sync.text.cpu",
        "text alone, per chunk: CPU time",
        [cost.cpu for cost in text],
        "ms",
        BAR_CHUNK_MS,
    )
    yield measured("sync.text.wall", "… wall time", [cost.wall for cost in text], "ms")
    for key, what, costs in (
        ("vectors", "with vectors, per chunk", [each.vectors for each in rounds]),
        ("reference", "the reference design, per chunk", [each.reference for each in rounds]),
    ):
        yield measured(f"sync.{key}.cpu", f"{what}: CPU time", [cost.cpu for cost in costs], "ms")
        yield measured(f"sync.{key}.wall", "… wall time", [cost.wall for cost in costs], "ms")
    ratios = [each.reference.wall / each.vectors.wall for each in rounds]
    yield measured("sync.ratio", "the reference design / memd with vectors, wall time", ratios, "times")
