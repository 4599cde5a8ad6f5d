"""Corpora of any size, built once by a real daemon and kept: notes, and the index of them with a vector a passage."""

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
from benchmarks.indexed import StateError, all_indexed
from benchmarks.part import Options
from benchmarks.scale_growth import THOUSAND
from memd.index.schema import VERSION
from memd_client.errors import MemdError
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome, agents_config

SEED: Final = 7

PASSAGES_A_FILE: Final = 32
MOST_FILES: Final = 5_000

PASSAGES_A_CHUNK: Final = 3.25
"""`make_corpus` counts in chunks of 1,600 characters; a note's passages are smaller."""

WORDS_ONLY: Final[Mapping[str, Any]] = {"provider": "none"}
BY_MEANING: Final[Mapping[str, Any]] = {"provider": "local", "local": {"modelPath": "minilm"}}

POLL_S: Final = 0.002
"""Between two tries to reach a daemon that starts: the grain of its time."""

START_S: Final = 600.0
"""A daemon checks its indexes before it answers: with a large one that takes seconds, on a busy machine many."""

LONG_S: Final = 3_600.0
"""How long a client waits for a full index of the largest corpus."""


class Corpus(msgspec.Struct, frozen=True):
    """A corpus in the cache."""

    folder: Path
    passages: int
    files: int
    index_bytes: int

    def install(self, home: StateHome, agent: str = "main", *, index: bool = True) -> None:
        """Give an agent a copy of the notes and, unless told not to, of the index."""
        shutil.copytree(self.folder / "workspace", home.workspace(agent), dirs_exist_ok=True)
        if index:
            indexes = home.state / "memory"
            indexes.mkdir(mode=0o700, exist_ok=True)
            shutil.copyfile(self.folder / "main.sqlite", indexes / f"{agent}.memd.sqlite")


def cached_corpus(options: Options, passages: int) -> Corpus:
    """Return a corpus of about so many passages, built where the cache has none.

    Its name says what it was made of. Where the chunker has changed since, `settled_home` finds out.
    """
    files = min(MOST_FILES, max(1, round(passages / PASSAGES_A_FILE)))
    folder = options.cache / "corpora" / f"{passages}-in-{files}-seed-{SEED}-schema-{VERSION}"
    if not (folder / "corpus.json").exists():
        options.tell(f"building a corpus of {passages:,} passages")
        _build(folder, passages, files)
    facts = msgspec.json.decode((folder / "corpus.json").read_bytes(), type=dict[str, int])
    return Corpus(folder, **facts)


def _build(folder: Path, passages: int, files: int) -> None:
    """Index notes by words, give each passage a vector, and let a daemon complete what belongs to vectors."""
    with StateHome({"agents": {"defaults": {"memorySearch": dict(WORDS_ONLY)}}}) as home:
        make_corpus(home, round(passages / PASSAGES_A_CHUNK), files, random.Random(SEED))
        index_all(home)
        index = home.state / "memory" / "main.memd.sqlite"
        stored = store_random_vectors(index, np.random.default_rng(SEED))
        home.configure({"agents": {"defaults": {"memorySearch": dict(BY_MEANING)}}})
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
    """Have a daemon bring all agents of a home up to date, and end it; return each agent's passages."""
    daemon = DaemonProcess(home)
    try:
        start(daemon)
        with daemon.client(timeout_s=LONG_S) as client:
            rows = all_indexed(client.index())
    finally:
        daemon.stop()
    for row in rows:
        if row.embedded:
            raise StateError(
                f"{row.agent}: {row.embedded} texts embedded; a cached corpus may be of another chunker: remove it"
            )
    return {row.agent: row.chunks for row in rows}


def start(daemon: DaemonProcess) -> float:
    """Start a daemon and return how many milliseconds it took until it answered a client."""
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
    corpora: Mapping[str, Corpus], *, budget_mb: int | None = None, words_only: Sequence[str] = ()
) -> Iterator[StateHome]:
    """Yield a home whose agents have been brought up to date, no daemon running."""
    with StateHome() as home:
        others = [agent for agent in corpora if agent != "main"]
        config = agents_config(home.state, *others, memory_search=BY_MEANING)
        for entry in config["agents"]["list"]:
            if entry["id"] in words_only:
                entry["memorySearch"] = dict(WORDS_ONLY)
        home.configure(config)
        if budget_mb is not None:
            (home.root / "memd.toml").write_text(f"memory_budget_mb = {budget_mb}\n")
        for agent, corpus in corpora.items():
            corpus.install(home, agent, index=agent not in words_only)
        found = index_all(home)
        for agent, corpus in corpora.items():
            if found[agent] != corpus.passages:
                raise StateError(f"{agent} has {found[agent]} passages, its corpus {corpus.passages}")
        yield home
