"""Corpora of any size, built once by a real daemon and cached: 100,000 chunks take a minute."""

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
from memd.index.schema import VERSION
from memd_client.errors import MemdError
from memd_client.messages import IndexedAgent, IndexReply
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome, agents_config

SEED: Final = 7

CHUNKS_PER_FILE: Final = 50
CHUNKS_PER_BLOCK: Final = 3.25
"""Chunks of one block of 1,600 characters, in which `make_corpus` counts."""

KEYWORD_SEARCH: Final[Mapping[str, Any]] = {"provider": "none"}
VECTOR_SEARCH: Final[Mapping[str, Any]] = {"provider": "local", "local": {"modelPath": "minilm"}}
"""The local model embeds queries; the notes' vectors are random."""

POLL_S: Final = 0.002
"""Time between attempts to reach a starting daemon: the resolution of start times."""

START_S: Final = 600.0
"""A daemon checks its indexes before it answers; large ones take seconds, on a busy machine many."""

LONG_S: Final = 3_600.0
"""Timeout of a full index of the largest corpus."""


class StateError(Exception):
    """The daemon is not in the state to be measured."""


class CachedCorpus(msgspec.Struct, frozen=True):
    """A corpus in the cache: `workspace` and `main.sqlite` below `folder`."""

    folder: Path
    chunks: int
    files: int

    @property
    def index(self) -> Path:
        """Its index, with vectors."""
        return self.folder / "main.sqlite"

    def install(self, home: StateHome, agent: str, *, index: bool = True) -> None:
        """Copy the notes and, by default, the index to an agent."""
        shutil.copytree(self.folder / "workspace", home.workspace(agent), dirs_exist_ok=True)
        if index:
            indexes = home.state / "memory"
            indexes.mkdir(mode=0o700, exist_ok=True)
            shutil.copyfile(self.index, indexes / f"{agent}.memd.sqlite")


def cached_corpus(options: Options, chunks: int) -> CachedCorpus:
    """Return a corpus of about so many chunks; build it if it is not in the cache.

    The folder is named after its parameters. `settled_home` notices if the chunker has changed since.
    """
    files = max(1, round(chunks / CHUNKS_PER_FILE))
    folder = options.cache.absolute() / "corpora" / f"{chunks}-in-{files}-seed-{SEED}-schema-{VERSION}"
    if not folder.exists():
        options.show_progress(f"building a corpus of {chunks:,} chunks")
        scratch = options.work / folder.name
        with StateHome(KEYWORD_ONLY) as home:
            make_corpus(home, round(chunks / CHUNKS_PER_BLOCK), files, random.Random(SEED))
            index_all(home)
            index = home.state / "memory" / "main.memd.sqlite"
            count = store_random_vectors(index, np.random.default_rng(SEED))
            home.configure({"agents": {"defaults": {"memorySearch": dict(VECTOR_SEARCH)}}})
            index_all(home)
            shutil.copytree(home.workspace(), scratch / "workspace")
            shutil.copyfile(index, scratch / "main.sqlite")
        (scratch / "chunks").write_text(str(count))
        folder.parent.mkdir(exist_ok=True)
        shutil.move(scratch, folder)
    return CachedCorpus(folder, int((folder / "chunks").read_text()), files)


def index_all(home: StateHome) -> dict[str, int]:
    """Sync all agents of a home with a daemon of its own; return the chunks of each agent."""
    with started(home) as daemon, daemon.client(timeout_s=LONG_S) as client:
        rows = check_all_indexed(client.index())
    for row in rows:
        if row.embedded:
            raise StateError(
                f"{row.agent}: {row.embedded} texts embedded; a cached corpus may be of another chunker: remove it"
            )
    return {row.agent: row.chunks for row in rows}


@contextmanager
def started(
    home: StateHome, environ: Mapping[str, str] | None = None, *, fresh: bool = False
) -> Iterator[DaemonProcess]:
    """Run a daemon until it answers and afterwards; the first start over large indexes checks the complete files.

    A fresh one is a new process that imports its modules, as a user's.
    """
    daemon, began = DaemonProcess(home, dict(environ or {}), fresh=fresh), time.perf_counter()
    try:
        daemon.start(wait=False)
        while time.perf_counter() - began < START_S:
            with suppress(MemdError), daemon.client() as client:
                client.hello()
                break
            time.sleep(POLL_S)
        else:
            raise StateError(f"the daemon is not ready:\n{daemon.log_tail()}")
        yield daemon
    finally:
        daemon.stop()


@contextmanager
def settled_home(
    corpora: Mapping[str, CachedCorpus], *, keyword_only: Sequence[str] = ()
) -> Iterator[StateHome]:
    """Yield a home whose agents, `main` among them, are up to date; no daemon is running."""
    with StateHome() as home:
        others = [agent for agent in corpora if agent != "main"]
        config = agents_config(home.state, *others, memory_search=VECTOR_SEARCH)
        for entry in config["agents"]["list"]:
            if entry["id"] in keyword_only:
                entry["memorySearch"] = dict(KEYWORD_SEARCH)
        home.configure(config)
        for agent, corpus in corpora.items():
            corpus.install(home, agent, index=agent not in keyword_only)
        counts = index_all(home)
        for agent, corpus in corpora.items():
            if counts[agent] != corpus.chunks:
                raise StateError(f"{agent} has {counts[agent]} chunks, its corpus {corpus.chunks}")
        yield home


def check_all_indexed(reply: IndexReply) -> list[IndexedAgent]:
    """Return a sync's agents; raise if one has an error, so that a failed sync is no figure."""
    for agent in reply.agents:
        if agent.error or agent.degraded:
            raise StateError(f"{agent.agent}: {agent.error or agent.degraded}")
    return reply.agents
