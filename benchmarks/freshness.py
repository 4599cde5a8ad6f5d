"""Cost of freshness: a search after a random edit among many files, and a sync and a search without changes.

With vectors, the local MiniLM model embeds queries and texts written during the run; the vectors of the initial corpus
are random, because embedding it would take minutes. Every query is new, so its vector is computed, and each edit waits
until no vector is missing. The watcher is off: only the search can notice a change.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.corpora import KEYWORD_SEARCH, VECTOR_SEARCH, check_all_indexed
from benchmarks.corpus import make_corpus, make_vocabulary, store_random_vectors
from benchmarks.part import Figure, Options, Part, at_most, measured, milliseconds
from memd_client import Client
from memd_client.messages import Hit, SearchReply
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome, agents_config

BAR_WRITE_MS: Final = 60.0
BAR_UNCHANGED_MS: Final = 100.0

FILES, QUICK_FILES = 1_300, 300
TRIALS, QUICK_TRIALS = 1_000, 60

WARM_UP: Final = 5
"""Calls before the first that counts, for the caches of CPU and SQLite."""


class RandomQueries:
    """An endless supply of queries: some words from a range of ranks."""

    def __init__(self, words: int = 5, ranks: tuple[int, int] = (50, 3000)) -> None:
        self._words = make_vocabulary()[0][slice(*ranks)]
        self._count = words
        self._chance = random.Random(11)

    def __call__(self) -> str:
        return " ".join(self._chance.choices(self._words, k=self._count))


@dataclass(frozen=True)
class Trial:
    """One edit and the search after it; `stale` describes what the answer missed, if anything."""

    took_ms: float
    reply: SearchReply
    stale: str


class EditTrials:
    """Edits of a workspace: new, extended, rewritten, renamed and deleted notes."""

    def __init__(self, workspace: Path, chance: random.Random) -> None:
        self._workspace = workspace
        self._chance = chance
        self._text = RandomQueries()
        self._frequent = RandomQueries(2, (10, 50))  # matches that cost time but do not outweigh a rare word
        self._number = 0
        self._words: dict[Path, str] = {}
        for path in sorted((workspace / "memory").rglob("*.md")):
            self._append(path)

    def one(self, client: Client) -> Trial:
        """Do one edit, search for it, and compare the answer with the disk."""
        kind = self._chance.choice(("new", "append", "rewrite", "rename", "delete"))
        path = self._chance.choice(list(self._words))
        gone = self._words[path] if kind in ("rewrite", "delete") else None
        if kind == "new":
            path = self._workspace / "memory" / "new" / f"{self._number:06d}.md"
            path.parent.mkdir(exist_ok=True)
        elif kind == "rename":
            word = self._words.pop(path)
            path = path.rename(path.with_name(f"moved-{self._number:06d}.md"))
            self._words[path] = word
        elif kind == "delete":
            path.unlink()
            del self._words[path]
        elif kind == "rewrite":
            path.write_text("")
        if kind in ("new", "append", "rewrite"):
            self._append(path)
        return self._ask(client, path, self._words.get(path), gone)

    def _append(self, path: Path) -> None:
        self._number += 1
        word = self._words[path] = f"zq{self._number:06d}zq"
        with path.open("a") as file:
            file.write(f"\nDecided: the {word} goes to {self._text()}.\n")

    def _ask(self, client: Client, path: Path, word: str | None, gone: str | None) -> Trial:
        query = f"{word or gone} {self._frequent()}"
        started = time.perf_counter()
        reply = client.search(query, explain=True)
        took_ms = (time.perf_counter() - started) * 1000
        name = path.relative_to(self._workspace).as_posix()
        hits = [hit for hit in reply.hits if hit.path == name and _holds(hit, path, word)]
        stale = []
        if bool(hits) != (word is not None):
            stale.append(f"{word} is not found, {reply.pending}")
        stale += [f"{hit.path} is gone" for hit in reply.hits if not (self._workspace / hit.path).is_file()]
        if gone is not None and any(gone in hit.snippet for hit in client.search(gone).hits):
            stale.append(f"{gone} is still found")
        return Trial(took_ms, reply, "; ".join(stale))


def _holds(hit: Hit, path: Path, word: str | None) -> bool:
    """Return whether the chunk of a hit has a word of its file."""
    line = 0 if word is None else path.read_text().partition(word)[0].count("\n") + 1
    first, last = (hit.explain or {})["chunk_lines"]
    return bool(first <= line <= last)


def measure(options: Options) -> Part:
    """Measure edits and unchanged files, by keywords alone and with vectors."""
    files, count = (QUICK_FILES, QUICK_TRIALS) if options.quick else (FILES, TRIALS)
    figures: list[Figure] = []
    notes = [f"{files:,} files; the watcher is off, so that only the search can notice a change."]
    for mode in ("keyword", "hybrid"):
        options.show_progress(f"{mode}: {count} edits, then no change")
        with prepared(mode, files) as (edits, client):
            trials = [edits.one(client) for _ in range(count) if settled(client)]
            for trial in trials:
                if trial.stale:
                    options.show_progress(f"stale: {trial.stale}")
            figures += edit_figures(mode, trials)
            figures += unchanged_figures(mode, client)
        degraded = sum(trial.reply.degraded is not None for trial in trials)
        notes.append(f"{mode}: {degraded} of {count} searches after an edit were degraded.")
    return Part("Freshness", figures, notes=notes)


@contextmanager
def prepared(mode: str, files: int) -> Iterator[tuple[EditTrials, Client]]:
    """Run a daemon over an indexed home, in `hybrid` mode with a vector for every chunk."""

    def configure(search: Any) -> None:
        home.configure(agents_config(home.state, memory_search={**search, "sync": {"watch": False}}))

    with StateHome() as home:
        configure(KEYWORD_SEARCH)
        make_corpus(home, 2 * files, files, random.Random(7))
        edits = EditTrials(home.workspace(), random.Random(5))
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=600) as client:
            check_all_indexed(client.index())
        if mode == "hybrid":
            store_random_vectors(home.state / "memory" / "main.memd.sqlite", np.random.default_rng(7))
            configure(VECTOR_SEARCH)
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=600) as client:
            check_all_indexed(client.index())
            yield edits, client


def settled(client: Client) -> bool:
    """Wait until no vector is missing; return True."""
    while client.status().agents[0].chunks_pending:
        time.sleep(0.01)
    return True


def edit_figures(mode: str, trials: list[Trial]) -> Iterator[Figure]:
    """Yield the rows of searches after edits."""
    p50, p95 = cuts([trial.took_ms for trial in trials])
    stale = [sum(bool(trial.stale) for trial in trials)]
    yield measured(f"freshness.{mode}.edit.p50", f"{mode}: search after an edit, p50", [p50], "ms")
    yield at_most(f"freshness.{mode}.edit.p95", "… p95", [p95], "ms", BAR_WRITE_MS)
    yield at_most(f"freshness.{mode}.stale", f"… stale answers of {len(trials)}", stale, "", 0)


def unchanged_figures(mode: str, client: Client) -> Iterator[Figure]:
    """Yield the rows of a sync and a search without changes."""
    ask = RandomQueries()
    p50, p95 = cuts(repeated(client.index, 60))
    yield measured(f"freshness.{mode}.sync.p50", f"{mode}: sync without changes, p50", [p50], "ms")
    yield at_most(f"freshness.{mode}.sync.p95", "… p95", [p95], "ms", BAR_UNCHANGED_MS)
    p50, p95 = cuts(repeated(lambda: client.search(ask()), 200))
    yield measured(
        f"freshness.{mode}.new.p50", f"{mode}: search without a change, new query, p50", [p50], "ms"
    )
    yield measured(f"freshness.{mode}.new.p95", "… p95", [p95], "ms")


def repeated(run: Callable[[], object], rounds: int) -> list[float]:
    """Return the milliseconds of several calls, after a few uncounted ones."""
    for _ in range(WARM_UP):
        run()
    return [milliseconds(run) for _ in range(rounds)]


def cuts(took_ms: list[float]) -> tuple[float, float]:
    """Return p50 and p95."""
    percentiles = statistics.quantiles(took_ms, n=20, method="inclusive")
    return percentiles[9], percentiles[18]
