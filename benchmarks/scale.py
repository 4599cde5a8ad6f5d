"""How memd grows: a search, a start, memory and disk, by the size of a corpus and by the number of agents.

Corpora are synthetic notes indexed by a real daemon, with a random unit vector of 384 numbers a passage; they are kept
in the cache. Every figure is of a real daemon, over its socket.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Final

from benchmarks.part import Curve, Figure, Options, Part, Plot, at_most, measured
from benchmarks.scale_agents import AgentsFound, measure_agents
from benchmarks.scale_corpora import cached_corpus
from benchmarks.scale_growth import THOUSAND, fit_growth, share_of
from benchmarks.scale_sizes import BUDGET_MB, QUESTIONS, SizeFound, in_words, index_mb, measure_size

SIZES: Final = (1_000, 15_000, 100_000, 300_000)
QUICK_SIZES: Final = (1_000, 4_000, 15_000)

LARGEST: Final = 300_000
LARGEST_MS: Final = 60.0
"""Bar of a warm search in the largest corpus, by its median."""

CROWDS: Final = (1, 20, 100)
QUICK_CROWDS: Final = (1, 5, 20)
SMALL: Final = 1_000

HEAVY_AGENTS: Final = 20
HEAVY: Final = 15_000
FIRST_MS: Final = 300.0
"""Bar of the first search after a start, with `HEAVY_AGENTS` of `HEAVY` passages each."""

QUICK_HEAVY: Final = (5, 4_000)

Values = Callable[[SizeFound], Sequence[float]]

LINES: Final[tuple[tuple[str, str, str, Values], ...]] = (
    ("warm.p50", "warm search, p50", "ms", lambda found: found.warm_at(50)),
    ("warm.p95", "warm search, p95", "ms", lambda found: found.warm_at(95)),
    ("warm.cpu", "warm search, the daemon's processor time", "ms", lambda found: found.daemon_ms),
    ("cold.p50", "search with a new question, p50", "ms", lambda found: [share_of(found.cold, 50)]),
    ("cold.p95", "search with a new question, p95", "ms", lambda found: [share_of(found.cold, 95)]),
    ("start", "start of the process until the socket answers", "ms", lambda found: found.start_ms),
    ("start.cpu", "start, the daemon's processor time", "ms", lambda found: found.start_cpu_ms),
    ("first", "first search after a start, model not loaded", "ms", lambda found: found.first_ms),
    ("second", "second search after a start, a new question", "ms", lambda found: found.second_ms),
    ("sync", "sync with no change", "ms", lambda found: found.sync_ms),
    ("rss.idle", "daemon's memory right after a start", "MB", lambda found: found.idle_mb),
    ("rss.searched", "daemon's memory right after all searches", "MB", lambda found: [found.searched_mb]),
    ("index", "index on disk", "MB", lambda found: [index_mb(found.corpus)]),
)
"""Of each size: end of the key, what it is, unit, values."""


def measure(options: Options) -> Part:
    """Measure growth by passages, then by agents."""
    starts, rounds = (2, 2) if options.quick else (5, 4)
    sizes = []
    for passages in QUICK_SIZES if options.quick else SIZES:
        found = measure_size(
            cached_corpus(options, passages), starts=starts, rounds=rounds, rests=not options.quick
        )
        options.tell(in_words(found))
        sizes.append(found)
    crowds = [_crowd(options, count, SMALL, starts) for count in (QUICK_CROWDS if options.quick else CROWDS)]
    heavy = _crowd(options, *(QUICK_HEAVY if options.quick else (HEAVY_AGENTS, HEAVY)), starts)
    figures = [figure for found in sizes for figure in size_figures(found)]
    figures += [figure for found in [*crowds, heavy] for figure in crowd_figures(found)]
    laws, plots = growth(sizes, crowds)
    return Part(
        name="scale",
        title="Growth: passages and agents",
        figures=[*figures, *laws],
        plots=plots,
        notes=_notes(sizes, [*crowds, heavy]),
    )


def _crowd(options: Options, count: int, passages: int, starts: int) -> AgentsFound:
    """Measure a number of agents and say so."""
    found = measure_agents(
        cached_corpus(options, passages), count, starts=min(starts, 3), rests=not options.quick
    )
    options.tell(
        f"{count} agents of {found.corpus.passages:,} passages: ready in {median(found.start_ms):.0f} ms, first "
        f"search {median(found.first_ms):.0f} ms, {median(found.idle_mb):.0f} MB, "
        f"{median(found.searched_mb):.0f} MB when all were searched"
    )
    return found


def size_figures(found: SizeFound) -> list[Figure]:
    """Return the figures of one size."""
    rows = found.corpus.passages
    name, size = f"scale.{_short(rows)}", f"{rows:,} passages"
    figures = []
    for key, what, unit, values in LINES:
        full, said = f"{name}.{key}", f"{size}: {what}"
        if key == "warm.p50" and rows >= LARGEST * 0.9:
            figures.append(at_most(full, said, values(found), unit, LARGEST_MS))
        else:
            figures.append(measured(full, said, values(found), unit))
    if found.rested_mb is not None:
        said = f"{size}: daemon's memory a minute after all searches"
        figures.append(measured(f"{name}.rss.rested", said, [found.rested_mb], "MB"))
    a_passage = found.corpus.index_bytes / rows / THOUSAND
    figures.append(measured(f"{name}.index.passage", f"{size}: index on disk, a passage", [a_passage], "kB"))
    return figures


def crowd_figures(found: AgentsFound) -> list[Figure]:
    """Return the figures of a number of agents."""
    rows = found.corpus.passages
    name, size = f"scale.agents.{found.agents}x{_short(rows)}", f"{found.agents} agents of {rows:,} passages"
    is_judged = found.agents >= HEAVY_AGENTS and rows >= HEAVY * 0.9
    first = (f"{name}.first", f"{size}: first search after a start, from the socket's first answer on")
    figures = [
        measured(
            f"{name}.start", f"{size}: start of the process until the socket answers", found.start_ms, "ms"
        ),
        measured(
            f"{name}.start.cpu", f"{size}: start, the daemon's processor time", found.start_cpu_ms, "ms"
        ),
        at_most(*first, found.first_ms, "ms", FIRST_MS)
        if is_judged
        else measured(*first, found.first_ms, "ms"),
        measured(
            f"{name}.spawn", f"{size}: start of the process until the first reply", found.spawn_ms, "ms"
        ),
        measured(f"{name}.rss.idle", f"{size}: daemon's memory, nothing searched", found.idle_mb, "MB"),
        measured(f"{name}.rss.searched", f"{size}: daemon's memory, each searched", found.searched_mb, "MB"),
        measured(f"{name}.rss.model", f"{size}: the model's process", found.model_mb, "MB"),
    ]
    if found.rested_mb:
        what = f"{size}: daemon's memory a minute after each was searched"
        figures.append(measured(f"{name}.rss.rested", what, found.rested_mb, "MB"))
    if found.next_ms:
        what = f"{size}: first search of a further agent"
        figures.append(measured(f"{name}.next", what, found.next_ms, "ms"))
    return figures


def growth(sizes: Sequence[SizeFound], crowds: Sequence[AgentsFound]) -> tuple[list[Figure], list[Plot]]:
    """Return the laws as figures (what a thousand passages or one agent add), and the pictures."""
    rows = [float(found.corpus.passages) for found in sizes]
    figures, curves = [], {}
    for key, what, unit, values in LINES:
        points = [median(values(found)) for found in sizes]
        law = fit_growth(rows, points)
        curves[key] = Curve(what, rows, points, law.describe(unit, per=THOUSAND, of="k"))
        added = f"{what}: what 1,000 passages add"
        figures.append(measured(f"scale.law.{key}", added, [law.slope * THOUSAND], f"{unit}/k"))
    counts = [float(found.agents) for found in crowds]
    for key, what, unit, each in (
        ("agents.start", "start until the socket answers", "ms", [found.start_ms for found in crowds]),
        ("agents.start.cpu", "start, processor time", "ms", [found.start_cpu_ms for found in crowds]),
        ("agents.rss.idle", "nothing searched", "MB", [found.idle_mb for found in crowds]),
        ("agents.rss.searched", "each searched", "MB", [found.searched_mb for found in crowds]),
    ):
        points = [median(values) for values in each]
        law = fit_growth(counts, points)
        curves[key] = Curve(what, counts, points, law.describe(unit, of="agent"))
        added = f"{what}: what an agent of 1,000 passages adds"
        figures.append(measured(f"scale.law.{key}", added, [law.slope], f"{unit}/agent"))
    return figures, _plots(curves)


def _plots(curves: dict[str, Curve]) -> list[Plot]:
    """Return the pictures of all curves."""

    def plot(name: str, title: str, x: str, y: str, *keys: str, log: bool = True) -> Plot:
        return Plot(name, title, x, y, [curves[key] for key in keys], log)

    return [
        plot(
            "scale-search",
            "Search by corpus",
            "passages",
            "ms",
            "warm.p50",
            "warm.p95",
            "warm.cpu",
            "cold.p50",
        ),
        plot(
            "scale-start",
            "Start by corpus",
            "passages",
            "ms",
            "start",
            "start.cpu",
            "first",
            "second",
            "sync",
        ),
        plot(
            "scale-memory", "Memory and disk by corpus", "passages", "MB", "rss.idle", "rss.searched", "index"
        ),
        plot(
            "scale-agents-start",
            "Start by agents",
            "agents",
            "ms",
            "agents.start",
            "agents.start.cpu",
            log=False,
        ),
        plot(
            "scale-agents-memory",
            "Daemon's memory by agents of 1,000 passages",
            "agents",
            "MB",
            "agents.rss.idle",
            "agents.rss.searched",
            log=False,
        ),
    ]


def _notes(sizes: Sequence[SizeFound], crowds: Sequence[AgentsFound]) -> list[str]:
    """Return what is to be known of how it was measured."""
    paths = ", ".join(f"{found.corpus.passages:,}: {found.path}" for found in sizes)
    reading = ", ".join(f"{found.corpus.passages:,}: {found.model_ms:.2f}" for found in sizes)
    searches = sum(found.less for found in sizes) + sum(found.less for found in crowds)
    return [
        f"Vectors may take {BUDGET_MB} MB; the path that answered by number of passages: {paths}.",
        f"Warm searches are {QUESTIONS} different questions, each asked once before: their vectors are known. Of a "
        f"warm search the model's process took, in ms of processor time: {reading} (lines read to be sure of "
        "relevance; as many as 1,000 lines' vectors are kept).",
        "Vectors of questions are kept in memory alone: after a start every question is embedded anew, and the first "
        "one waits for the model to be loaded.",
        "Agents' corpora are copies of one another; each has its own files and index.",
        f"Searches that were answered without vectors or with a part of the text: {searches}.",
        "Laws are a line by least squares and, after it, the exponent of a power law fitted to logarithms.",
    ]


def _short(passages: int) -> str:
    """Return a size for keys, stable while it is of the same thousand: `15k`, rounded to what was asked for."""
    asked = min({*SIZES, *QUICK_SIZES}, key=lambda size: abs(size - passages))
    return f"{asked // THOUSAND}k"
