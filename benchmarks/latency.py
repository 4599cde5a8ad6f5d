"""Latency of a warm search at some 15,000 passages, beside the seeds' SQL path in the same run.

    python -m benchmarks.latency [--chunks 4400] [--files 300] [--rounds 200]

The corpus is synthetic text (20,000 words by Zipf's law) cut by the real chunker; its vectors are random and
stored, the question's vector is cached, so what is measured is everything but embedding: socket, file
check, keyword search,
vector search, fusion, snippets. The reference is what the design in OpenClaw's early releases does: JSON
embeddings in `chunks`, `ORDER BY vec_distance_cosine()` over `chunks_vec` joined to `chunks`, and an FTS5
query of all words joined with AND.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import numpy as np
import sqlite_vec

from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.homes import StateHome

DIMS = 384
WARM_UP = 5
QUERY = "why does the billing gateway retry the invoice webhook"
SUBJECT = ("billing", "gateway", "retry", "invoice", "webhook")
SYLLABLES = "ba ce di fo gu ka le mi no pu ra se ti vo zu".split()


def make_vocabulary() -> tuple[list[str], list[float]]:
    """Return 20,000 words with weights after Zipf's law; the question's words stand at ranks 100 to 1,700."""
    words = ["".join(parts) for parts in itertools.islice(itertools.product(SYLLABLES, repeat=4), 20_000)]
    for place, word in enumerate(SUBJECT):
        words[100 + 400 * place] = word
    for place, word in enumerate(("the", "why", "does")):
        words[place] = word
    return words, [1 / (rank + 2.7) for rank in range(len(words))]


def make_corpus(home: StateHome, chunks: int, files: int, rng: random.Random) -> None:
    """Write notes of about `chunks` times 1,167 characters, which make three to four passages each."""
    words, weights = make_vocabulary()
    cumulative = list(itertools.accumulate(weights))
    per_file = max(1, round(chunks / files))
    for number in range(files):
        lines = [f"# Note {number}", ""]
        size = 0
        # 1,167 fresh characters a chunk: 1,600 less what whole lines of overlap take.
        while size < per_file * 1167:
            line = "- " + " ".join(rng.choices(words, cum_weights=cumulative, k=rng.randint(8, 16)))
            lines.append(line)
            size += len(line) + 1
        home.note(f"memory/{number // 100:02d}/note-{number:04d}.md", "\n".join(lines) + "\n")


def percentiles(run: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Return (p50, p95) in milliseconds of calling something `rounds` times, warm.

    The two sides take turns and drive each other out of the processor's caches: a few calls come first, uncounted.
    """
    for _ in range(WARM_UP):
        run()
    took = []
    for _ in range(rounds):
        started = time.perf_counter()
        run()
        took.append((time.perf_counter() - started) * 1000)
    return statistics.median(took), statistics.quantiles(took, n=20)[18]


def seeds_reference(
    path: Path, rows: list[tuple[int, str, str]], rng: np.random.Generator
) -> Callable[[], object]:
    """Build the reference database and return its search."""
    db = apsw.Connection(str(path))
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    db.execute("CREATE TABLE chunks(id TEXT PRIMARY KEY, path TEXT, text TEXT, embedding TEXT)")
    db.execute(f"CREATE VIRTUAL TABLE chunks_vec USING vec0(id TEXT PRIMARY KEY, embedding float[{DIMS}])")
    db.execute("CREATE VIRTUAL TABLE chunks_fts USING fts5(text, id UNINDEXED, path UNINDEXED)")
    with db:
        for key, where, text in rows:
            vector = rng.standard_normal(DIMS).astype("<f4")
            vector /= np.linalg.norm(vector)
            packed = vector.tobytes()
            db.execute("INSERT INTO chunks VALUES (?,?,?,?)", (str(key), where, text, "[]"))
            db.execute("INSERT INTO chunks_vec VALUES (?,?)", (str(key), packed))
            db.execute("INSERT INTO chunks_fts VALUES (?,?,?)", (text, str(key), where))
    question = rng.standard_normal(DIMS).astype("<f4")
    question /= np.linalg.norm(question)
    match = " AND ".join(f'"{word}"' for word in QUERY.split())

    def search() -> object:
        nearest = db.execute(
            "SELECT c.id, c.path, c.text, vec_distance_cosine(v.embedding, ?) AS dist FROM chunks_vec v"
            " JOIN chunks c ON c.id = v.id ORDER BY dist ASC LIMIT 24",
            (question.tobytes(),),
        ).fetchall()
        words = db.execute(
            "SELECT id, path, bm25(chunks_fts) AS rank FROM chunks_fts WHERE chunks_fts MATCH ? ORDER BY rank LIMIT 24",
            (match,),
        ).fetchall()
        return nearest, words

    return search


def store_random_vectors(index: Path, rng: np.random.Generator) -> list[tuple[int, str, str]]:
    """Give every chunk of a closed index a random unit vector; return its chunks."""
    from memd.embedding.space import space_of
    from memd.index.cache import SpaceKey, set_active_space, store_vectors

    db = apsw.Connection(str(index))
    rows = list(db.execute("SELECT id, path, text, hash FROM chunks"))
    hashes = sorted({row[3] for row in rows})
    matrix = rng.standard_normal((len(hashes), DIMS)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    space = SpaceKey("local", "minilm", space_of("local", "minilm"))
    with db:
        set_active_space(db, space.id, DIMS)
        store_vectors(db, space, hashes, matrix, 0)
    db.close()
    return [(row[0], row[1], row[2]) for row in rows]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunks", type=int, default=4_400)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=200)
    arguments = parser.parse_args()
    rng = np.random.default_rng(7)
    search = {"provider": "local", "local": {"modelPath": "minilm"}}
    with StateHome({"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}) as home:
        make_corpus(home, arguments.chunks, arguments.files, random.Random(7))
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=600) as client:
            started = time.perf_counter()
            first = client.index().agents[0]
            text_s = time.perf_counter() - started
            started = time.perf_counter()
            client.index()
            idle_s = time.perf_counter() - started
        index = home.state / "memory" / "main.sqlite"
        rows = store_random_vectors(index, rng)
        home.configure({"agents": {"defaults": {"memorySearch": search}}})
        reference = seeds_reference(home.root / "seeds.sqlite", rows, rng)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            report(client, daemon, reference, arguments.rounds, len(rows), first.files, text_s, idle_s)


def report(
    client: Client,
    daemon: DaemonProcess,
    reference: Callable[[], object],
    rounds: int,
    chunks: int,
    files: int,
    text_s: float,
    idle_s: float,
) -> None:
    """Time searches of both sides in turn and print the rows."""
    begun = time.perf_counter()
    client.search(QUERY)
    first_ms = (time.perf_counter() - begun) * 1000
    found = client.search(QUERY, explain=True)
    if found.mode != "hybrid":
        sys.exit(f"search is {found.mode}: {found.degraded}")
    ours: list[float] = []
    theirs: list[float] = []
    tails: list[float] = []
    for _ in range(4):  # in turn, so that a drifting machine meets both
        p50, p95 = percentiles(lambda: client.search(QUERY), rounds // 4)
        ours.append(p50)
        tails.append(p95)
        theirs.append(percentiles(reference, max(3, rounds // 40))[0])
    p50, base = statistics.median(ours), statistics.median(theirs)
    status = client.status().agents[0]
    print(f"corpus: {chunks} chunks x {DIMS} in {files} files; vectors by {status.vector_path}")
    print(
        f"warm search over the socket   p50 {p50:7.2f} ms   p95 {statistics.median(tails):7.2f} ms   bar 5 ms"
    )
    print(f"the seeds' SQL path           p50 {base:7.2f} ms   ratio 1/{base / p50:.0f}   bar 1/20")
    print(f"first search after a start        {first_ms:7.2f} ms   (matrix and model load included)")
    print(
        f"text indexing                     {text_s / chunks * 1000:7.3f} ms a chunk   bar 0.3 ms (with vectors)"
    )
    print(
        f"sync with no change               {idle_s * 1000:7.2f} ms for {files} files   bar 100 ms at 1,300"
    )
    print(f"parts of one search: {found.timings}")


if __name__ == "__main__":
    main()
