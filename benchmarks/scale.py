"""Growth of latency, start, RAM and disk by corpus size and agents.

Corpora are synthetic notes indexed by a real daemon, with a random unit vector of 384 numbers per chunk; they are
cached. All figures are of real daemons over their sockets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Final

from benchmarks.part import Curve, Figure, Options, Part, Plot, at_most, measured
from benchmarks.scale_agents import AgentsMeasurement, measure_agents
from benchmarks.scale_corpora import cached_corpus
from benchmarks.scale_growth import THOUSAND, fit_growth, share_of
from benchmarks.scale_sizes import (
    BUDGET_MB,
    QUERY_COUNT,
    SizeMeasurement,
    index_mb,
    measure_size,
    progress_line,
)

SIZES: Final = (1_000, 15_000, 100_000, 300_000)
QUICK_SIZES: Final = (1_000, 4_000, 15_000)

LARGEST: Final = 300_000
LARGEST_MS: Final = 60.0
"""Bar of the median search in the largest corpus, with a repeated query."""

AGENT_COUNTS: Final = (1, 20, 100)
QUICK_AGENT_COUNTS: Final = (1, 5, 20)
SMALL: Final = 1_000

HEAVY_AGENTS: Final = 20
HEAVY: Final = 15_000
FIRST_MS: Final = 300.0
"""Bar of the first search after a start with `HEAVY_AGENTS` of `HEAVY` chunks each."""

QUICK_HEAVY: Final = (5, 4_000)

Values = Callable[[SizeMeasurement], Sequence[float]]

LINES: Final[tuple[tuple[str, str, str, Values], ...]] = (
    ("warm.p50", "repeated query, p50", "ms", lambda found: found.warm_at(50)),
    ("warm.p95", "repeated query, p95", "ms", lambda found: found.warm_at(95)),
    ("warm.cpu", "repeated query, the daemon's CPU time", "ms", lambda found: found.daemon_ms),
    ("cold.p50", "new query, p50", "ms", lambda found: [share_of(found.cold, 50)]),
    ("cold.p95", "search with new query, p95", "ms", lambda found: [share_of(found.cold, 95)]),
    ("start", "process start until the socket answers", "ms", lambda found: found.start_ms),
    ("start.cpu", "start, the daemon's CPU time", "ms", lambda found: found.start_cpu_ms),
    ("first", "first search after a start", "ms", lambda found: found.first_ms),
    ("second", "second search after a start", "ms", lambda found: found.second_ms),
    ("sync", "sync without changes", "ms", lambda found: found.sync_ms),
    ("rss.idle", "daemon's RAM after a start", "MB", lambda found: found.idle_mb),
    ("rss.searched", "daemon's RAM after all searches", "MB", lambda found: [found.searched_mb]),
    ("index", "index on disk", "MB", lambda found: [index_mb(found.corpus)]),
)
"""Figures of each size: end of the key, label, unit, values."""


def measure(options: Options) -> Part:
    """Measure growth by chunks, then by agents."""
    starts, rounds = (2, 2) if options.quick else (5, 4)
    sizes = []
    for chunks in QUICK_SIZES if options.quick else SIZES:
        found = measure_size(
            cached_corpus(options, chunks), starts=starts, rounds=rounds, rests=not options.quick
        )
        options.show_progress(progress_line(found))
        sizes.append(found)
    crowds = [
        _measure_agents(options, count, SMALL, starts)
        for count in (QUICK_AGENT_COUNTS if options.quick else AGENT_COUNTS)
    ]
    heavy = _measure_agents(options, *(QUICK_HEAVY if options.quick else (HEAVY_AGENTS, HEAVY)), starts)
    figures = [figure for found in sizes for figure in size_figures(found)]
    figures += [figure for found in [*crowds, heavy] for figure in agents_figures(found)]
    laws, plots = growth(sizes, crowds)
    return Part(
        name="scale",
        title="Growth by chunks and agents",
        figures=[*figures, *laws],
        plots=plots,
        notes=_notes(sizes, [*crowds, heavy]),
    )


def _measure_agents(options: Options, count: int, chunks: int, starts: int) -> AgentsMeasurement:
    """Measure a number of agents and print a line of progress."""
    found = measure_agents(
        cached_corpus(options, chunks), count, starts=min(starts, 3), rests=not options.quick
    )
    options.show_progress(
        f"{count} agents of {found.corpus.chunks:,} chunks: ready in {median(found.start_ms):.0f} ms, first "
        f"search {median(found.first_ms):.0f} ms, {median(found.idle_mb):.0f} MB, "
        f"{median(found.searched_mb):.0f} MB when all were searched"
    )
    return found


def size_figures(found: SizeMeasurement) -> list[Figure]:
    """Return the figures of one size."""
    rows = found.corpus.chunks
    name, size = f"scale.{_short(rows)}", f"{rows:,} chunks"
    figures = []
    for key, what, unit, values in LINES:
        full, said = f"{name}.{key}", f"{size}: {what}"
        if key == "warm.p50" and rows >= LARGEST * 0.9:
            figures.append(at_most(full, said, values(found), unit, LARGEST_MS))
        else:
            figures.append(measured(full, said, values(found), unit))
    if found.rested_mb is not None:
        said = f"{size}: daemon's RAM a minute after all searches"
        figures.append(measured(f"{name}.rss.rested", said, [found.rested_mb], "MB"))
    per_chunk = found.corpus.index_bytes / rows / THOUSAND
    figures.append(measured(f"{name}.index.passage", f"{size}: index on disk, per chunk", [per_chunk], "kB"))
    return figures


def agents_figures(found: AgentsMeasurement) -> list[Figure]:
    """Return the figures of a number of agents."""
    rows, plural = found.corpus.chunks, "s" * (found.agents > 1)
    name, size = (
        f"scale.agents.{found.agents}x{_short(rows)}",
        f"{found.agents} agent{plural} of {rows:,} chunks",
    )
    is_judged = found.agents >= HEAVY_AGENTS and rows >= HEAVY * 0.9
    first = (f"{name}.first", f"{size}: first search after a start, from the socket's first reply on")
    figures = [
        measured(f"{name}.start", f"{size}: process start until the socket answers", found.start_ms, "ms"),
        measured(f"{name}.start.cpu", f"{size}: start, the daemon's CPU time", found.start_cpu_ms, "ms"),
        at_most(*first, found.first_ms, "ms", FIRST_MS)
        if is_judged
        else measured(*first, found.first_ms, "ms"),
        measured(f"{name}.spawn", f"{size}: process start until the first reply", found.spawn_ms, "ms"),
        measured(f"{name}.rss.idle", f"{size}: daemon's RAM before any search", found.idle_mb, "MB"),
        measured(
            f"{name}.rss.searched", f"{size}: daemon's RAM after a search in each", found.searched_mb, "MB"
        ),
        measured(f"{name}.rss.model", f"{size}: model process", found.model_mb, "MB"),
    ]
    if found.rested_mb:
        what = f"{size}: daemon's RAM a minute after a search in each"
        figures.append(measured(f"{name}.rss.rested", what, found.rested_mb, "MB"))
    if found.next_ms:
        what = f"{size}: first search in a further agent"
        figures.append(measured(f"{name}.next", what, found.next_ms, "ms"))
    return figures


def growth(
    sizes: Sequence[SizeMeasurement], crowds: Sequence[AgentsMeasurement]
) -> tuple[list[Figure], list[Plot]]:
    """Return the fitted growth as figures (per 1,000 chunks or per agent), and the plots."""
    rows = [float(found.corpus.chunks) for found in sizes]
    figures, curves = [], {}
    for key, what, unit, values in LINES:
        points = [median(values(found)) for found in sizes]
        law = fit_growth(rows, points)
        curves[key] = Curve(what, rows, points, law.describe(unit, per=THOUSAND, of="k"))
        added = f"{what}: growth per 1,000 chunks"
        figures.append(measured(f"scale.law.{key}", added, [law.slope * THOUSAND], f"{unit}/k"))
    counts = [float(found.agents) for found in crowds]
    for key, what, unit, each in (
        ("agents.start", "start until the socket answers", "ms", [found.start_ms for found in crowds]),
        ("agents.start.cpu", "start, CPU time", "ms", [found.start_cpu_ms for found in crowds]),
        ("agents.rss.idle", "RAM before any search", "MB", [found.idle_mb for found in crowds]),
        ("agents.rss.searched", "RAM after a search in each", "MB", [found.searched_mb for found in crowds]),
    ):
        points = [median(values) for values in each]
        law = fit_growth(counts, points)
        curves[key] = Curve(what, counts, points, law.describe(unit, of="agent"))
        added = f"{what}: growth per agent of 1,000 chunks"
        figures.append(measured(f"scale.law.{key}", added, [law.slope], f"{unit}/agent"))
    return figures, _plots(curves)


def _plots(curves: dict[str, Curve]) -> list[Plot]:
    """Return the plots of all curves."""

    def plot(name: str, title: str, x: str, y: str, *keys: str, log: bool = True) -> Plot:
        return Plot(name, title, x, y, [curves[key] for key in keys], log)

    return [
        plot(
            "scale-search",
            "Search latency by corpus size",
            "chunks",
            "ms",
            "warm.p50",
            "warm.p95",
            "warm.cpu",
            "cold.p50",
        ),
        plot(
            "scale-start",
            "Start by corpus size",
            "chunks",
            "ms",
            "start",
            "start.cpu",
            "first",
            "second",
            "sync",
        ),
        plot(
            "scale-memory", "RAM and disk by corpus size", "chunks", "MB", "rss.idle", "rss.searched", "index"
        ),
        plot(
            "scale-agents-start",
            "Start by number of agents",
            "agents",
            "ms",
            "agents.start",
            "agents.start.cpu",
            log=False,
        ),
        plot(
            "scale-agents-memory",
            "Daemon's RAM by agents of 1,000 chunks",
            "agents",
            "MB",
            "agents.rss.idle",
            "agents.rss.searched",
            log=False,
        ),
    ]


def _notes(sizes: Sequence[SizeMeasurement], crowds: Sequence[AgentsMeasurement]) -> list[str]:
    """Return notes on the method."""
    paths = ", ".join(f"{found.corpus.chunks:,}: {found.path}" for found in sizes)
    reading = ", ".join(f"{found.corpus.chunks:,}: {found.model_ms:.2f}" for found in sizes)
    searches = sum(found.less for found in sizes) + sum(found.less for found in crowds)
    return [
        f"Budget of vectors: {BUDGET_MB} MB. Vector search by number of chunks: {paths}.",
        f"Repeated queries: {QUERY_COUNT} distinct ones, each searched once before, so that their vectors are known. "
        f"CPU time of the model process per search, by number of chunks, in ms: {reading} (lines embedded to judge "
        "relevance; the vectors of 1,000 lines are kept).",
        "Vectors of queries are kept in RAM only: after a start every query is embedded again, and the first one waits "
        "until the model is loaded.",
        "Agents' corpora are copies of one another; each has its own files and index.",
        f"Degraded searches: {searches}.",
        "Fits: a least-squares line and, after it, the exponent of a power law fitted to logarithms.",
    ]


def _short(chunks: int) -> str:
    """Return the requested size nearest to a number of chunks, for keys: `15k`."""
    asked = min({*SIZES, *QUICK_SIZES}, key=lambda size: abs(size - chunks))
    return f"{asked // THOUSAND}k"
