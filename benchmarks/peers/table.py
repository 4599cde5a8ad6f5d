"""Rounds as figures, and each peer's as a multiple of memd's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from benchmarks.part import Figure, at_least, measured
from benchmarks.peers.child import ProcessRun
from benchmarks.peers.memd_system import MemdSystem
from benchmarks.peers.rounds import SearchTurn, WarmRound
from benchmarks.peers.system import IndexingRun

SHELL_BAR: Final = 20.0
WARM_BAR: Final = 5.0

T = TypeVar("T")


def side_figures(
    key: str,
    what: str,
    unit: str,
    rounds: Sequence[Mapping[str, T]],
    number: Callable[[T], float],
    bar: float | None = None,
) -> Iterator[Figure]:
    """Yield the figure of each side, and of each peer as a multiple of memd's."""
    names = dict.fromkeys(name for done in rounds for name in done)
    peers = sorted(names.keys() - {MemdSystem.name}, reverse=True)
    for name in (MemdSystem.name, *peers):
        values = [number(done[name]) for done in rounds if name in done]
        yield measured(f"{key}.{name}", f"{what}, {name}", values, unit)
    for name in peers:
        times = [
            number(done[name]) / number(done[MemdSystem.name])
            for done in rounds
            if name in done and MemdSystem.name in done
        ]
        words = f"{what}, {name} / memd"
        if bar is None:
            yield measured(f"{key}.{name}.times", words, times, "times")
        else:
            yield at_least(f"{key}.{name}.times", words, times, "times", bar)


def warm_figures(key: str, what: str, rounds: Sequence[WarmRound], bar: float | None) -> Iterator[Figure]:
    """Yield the figures of searches in a running process, with the embedding and without it."""
    turns: list[dict[str, SearchTurn]] = [done.turns for done in rounds]
    yield from side_figures(f"{key}.warm", f"new query{what}", "ms", turns, lambda turn: turn.whole, bar)
    yield from side_figures(
        f"{key}.bare", f"new query without embedding{what}", "ms", turns, lambda turn: turn.bare
    )
    yield from side_figures(f"{key}.cpu", f"new query{what}, CPU time", "ms", turns, lambda turn: turn.cpu)
    for name in dict.fromkeys(name for done in turns for name in done):
        fetched = [done[name].fetched for done in turns if name in done]
        yield measured(
            f"{key}.fetched.{name}", f"embedding requests per search{what}, {name}", fetched, "requests"
        )
    cached = [done.cached for done in rounds]
    yield measured(f"{key}.cached.memd", f"the same query again{what}, memd", cached, "ms")
    request = [done.request for done in rounds]
    yield measured(f"{key}.request", f"one embedding request{what}, bare HTTP client", request, "ms")


def shell_figures(rounds: Sequence[Mapping[str, ProcessRun]]) -> Iterator[Figure]:
    """Yield the figures of searches from the shell."""
    what = "search from the shell"
    yield from side_figures("peers.shell", what, "ms", rounds, lambda run: run.ms, SHELL_BAR)
    yield from side_figures("peers.shell_cpu", f"{what}, CPU time", "ms", rounds, lambda run: run.cpu_ms)
    yield from side_figures("peers.shell_peak", f"{what}, peak RAM", "MB", rounds, lambda run: run.peak_mb)


def index_figures(key: str, what: str, done: Mapping[str, IndexingRun]) -> Iterator[Figure]:
    """Yield the figures of indexing: a chunk as each side cuts them, and the whole corpus."""
    for name, indexed in done.items():
        words = f"indexing{what}, per chunk (of {indexed.chunks:,}), {name}"
        yield measured(f"{key}.index_chunk.{name}", words, [indexed.ms / indexed.chunks], "ms")
    yield from side_figures(
        f"{key}.index", f"indexing{what}, all notes", "s", [done], lambda one: one.ms / 1000
    )
