"""Corpora of any size, built once by a real daemon and cached."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from benchmarks.corpus import make_corpus, store_random_vectors
from benchmarks.part import Options
from benchmarks.scale_growth import THOUSAND
from benchmarks.sync_checks import StateError, check_all_indexed
from memd.index.schema import VERSION
from memd_client.errors import MemdError
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome, agents_config

SEED: Final = 7

CHUNKS_PER_FILE: Final = 32
MOST_FILES: Final = 5_000

CHUNKS_PER_BLOCK: Final = 3.25
"""Chunks of one block of 1,600 characters, in which `make_corpus` counts."""

KEYWORD_SEARCH: Final[Mapping[str, Any]] = {"provider": "none"}
VECTOR_SEARCH: Final[Mapping[str, Any]] = {"provider": "local", "local": {"modelPath": "minilm"}}

POLL_S: Final = 0.002
"""Time between attempts to reach a starting daemon: the resolution of start times."""

START_S: Final = 600.0
"""A daemon checks its indexes before it answers; large ones take seconds, on a busy machine many."""

LONG_S: Final = 3_600.0
"""Timeout of a full index of the largest corpus."""


class CachedCorpus(msgspec.Struct, frozen=True):
    """A corpus in the cache."""

    folder: Path
    chunks: int
    files: int
    index_bytes: int

    def install(self, home: StateHome, agent: str = "main", *, index: bool = True) -> None:
        """Copy the notes and, by default, the index to an agent."""
        shutil.copytree(self.folder / "workspace", home.workspace(agent), dirs_exist_ok=True)
        if index:
            indexes = home.state / "memory"
            indexes.mkdir(mode=0o700, exist_ok=True)
            shutil.copyfile(self.folder / "main.sqlite", indexes / f"{agent}.memd.sqlite")


def cached_corpus(options: Options, chunks: int) -> CachedCorpus:
    """Return a corpus of about so many chunks; build it if it is not in the cache.

    The folder is named after its parameters. `settled_home` notices if the chunker has changed since.
    """
    files = min(MOST_FILES, max(1, round(chunks / CHUNKS_PER_FILE)))
    folder = options.cache / "corpora" / f"{chunks}-in-{files}-seed-{SEED}-schema-{VERSION}"
    if not (folder / "corpus.json").exists():
        options.show_progress(f"building a corpus of {chunks:,} chunks")
        _build(folder, chunks, files)
    facts = msgspec.json.decode((folder / "corpus.json").read_bytes(), type=dict[str, int])
    return CachedCorpus(folder, facts["passages"], facts["files"], facts["index_bytes"])


def _build(folder: Path, chunks: int, files: int) -> None:
    """Index notes, give each chunk a vector, and let a daemon complete the rest."""
    with StateHome({"agents": {"defaults": {"memorySearch": dict(KEYWORD_SEARCH)}}}) as home:
        make_corpus(home, round(chunks / CHUNKS_PER_BLOCK), files, random.Random(SEED))
        index_all(home)
        index = home.state / "memory" / "main.memd.sqlite"
        stored = store_random_vectors(index, np.random.default_rng(SEED))
        home.configure({"agents": {"defaults": {"memorySearch": dict(VECTOR_SEARCH)}}})
        index_all(home)
        facts = {"passages": len(stored), "files": files, "index_bytes": index.stat().st_size}
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        shutil.copytree(home.workspace(), unfinished / "workspace")
        shutil.copyfile(index, unfinished / "main.sqlite")
        (unfinished / "corpus.json").write_bytes(msgspec.json.encode(facts))
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)


def index_all(home: StateHome) -> dict[str, int]:
    """Sync all agents of a home with a daemon of its own; return the chunks of each agent."""
    daemon = DaemonProcess(home)
    try:
        start(daemon)
        with daemon.client(timeout_s=LONG_S) as client:
            rows = check_all_indexed(client.index())
    finally:
        daemon.stop()
    for row in rows:
        if row.embedded:
            raise StateError(
                f"{row.agent}: {row.embedded} texts embedded; a cached corpus may be of another chunker: remove it"
            )
    return {row.agent: row.chunks for row in rows}


def start(daemon: DaemonProcess) -> float:
    """Start a daemon; return the milliseconds until it answers a client."""
    began = time.perf_counter()
    daemon.start(wait=False)
    while time.perf_counter() - began < START_S:
        with suppress(MemdError), daemon.client() as client:
            client.hello()
            return (time.perf_counter() - began) * THOUSAND
        time.sleep(POLL_S)
    raise StateError(f"the daemon is not ready:\n{daemon.log_tail()}")


@contextmanager
def settled_home(
    corpora: Mapping[str, CachedCorpus], *, budget_mb: int | None = None, keyword_only: Sequence[str] = ()
) -> Iterator[StateHome]:
    """Yield a home whose agents are up to date; no daemon is running."""
    with StateHome() as home:
        others = [agent for agent in corpora if agent != "main"]
        config = agents_config(home.state, *others, memory_search=VECTOR_SEARCH)
        for entry in config["agents"]["list"]:
            if entry["id"] in keyword_only:
                entry["memorySearch"] = dict(KEYWORD_SEARCH)
        home.configure(config)
        if budget_mb is not None:
            (home.root / "memd.toml").write_text(f"vector_ram_mb = {budget_mb}\n")
        for agent, corpus in corpora.items():
            corpus.install(home, agent, index=agent not in keyword_only)
        found = index_all(home)
        for agent, corpus in corpora.items():
            if found[agent] != corpus.chunks:
                raise StateError(f"{agent} has {found[agent]} chunks, its corpus {corpus.chunks}")
        yield home
