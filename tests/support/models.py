"""The real small model for tests, and model owners."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from memd.embedding.choose.local_resolver import LocalResolver
from memd.embedding.local.engine import find_engine
from memd.embedding.local.model_files import lock_models
from memd.embedding.local.owner import ModelOwner
from memd.embedding.local.process import ModelSettings
from memd.embedding.local.provider import LocalProvider
from memd.embedding.local.pull import fetch_sources, pull_model
from memd.settings.local import Local
from memd.settings.paths import models_dir
from memd.settings.schema import Chunking, MemorySearch
from memd_client.errors import MemdError

WAIT_SECONDS = 120.0
"""How long a test waits for a state: processes start slowly on a busy machine."""


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _silent(stage: str, done: int, total: int, detail: str) -> None:
    """Ignore progress."""


@functools.cache
def _named_model(name: str, directory: Path) -> Path:
    """Return a model with a short name, downloaded once by memd's code; skip the test if it is unavailable."""
    if find_engine() is None:
        pytest.skip("llama.cpp is not installed")
    try:
        return trio.run(pull_model, name, directory, _silent)
    except MemdError as error:
        pytest.skip(f"{name} can't be had: {error.message}")


def minilm_path() -> Path:
    """Return the minilm model; skip the test if it is unavailable."""
    return _named_model("minilm", models_dir())


def e5_path() -> Path:
    """Return the e5 model; skip the test if it is unavailable."""
    return _named_model("e5", models_dir())


@functools.cache
def model_sources(name: str) -> Path:
    """Return the directory of a model's source files, retained between runs; skip the test if unavailable."""
    directory = _cache() / "memd-tests" / f"{name}-source"

    async def fetch() -> None:
        async with lock_models(directory, _silent):
            await fetch_sources(name, directory, _silent)

    try:
        trio.run(fetch)
    except MemdError as error:
        pytest.skip(f"the sources of {name} can't be had: {error.message}")
    return directory


@asynccontextmanager
async def running_owner(settings: ModelSettings | None = None) -> AsyncIterator[ModelOwner]:
    """Run a model owner inside the block."""
    owner = ModelOwner(settings)
    async with trio.open_nursery() as nursery:
        await nursery.start(owner.run)
        yield owner
        nursery.cancel_scope.cancel()


def local_provider(owner: ModelOwner, path: Path, *, chunk_tokens: int = 400) -> LocalProvider:
    """Return memd's provider of a model file named in the settings."""
    local, chunking = Local(model_path=str(path)), Chunking(tokens=chunk_tokens)
    settings = MemorySearch(provider="local", local=local, chunking=chunking)
    resolver = LocalResolver(settings, owner, path.parent, has_extra=lambda: True)
    return resolver.resolve(resolver.reference)


async def wait_until(state: Callable[[], bool]) -> None:
    """Return when a condition is true; fail after a timeout."""
    with trio.fail_after(WAIT_SECONDS):
        while not state():  # noqa: ASYNC110 - the state is another process's
            await trio.sleep(0.005)


def is_running(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def children_of(pid: int) -> list[int]:
    """Return the running children of a process, of all its threads; empty if it is gone."""
    children: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread ended meanwhile
            children += map(int, task.read_text().split())
    return [child for child in children if is_running(child)]
