"""The figures the design promises and no other part measures.

They are of clients, the idle daemon, searches beside a full index, local embedding and recall. The LoCoMo row needs
an evaluation set: the environment's MEMD_EVAL names its folder.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from benchmarks import embedding, freshness, idle, retrieval
from benchmarks.built import build, home_of
from benchmarks.corpus import QUERY
from benchmarks.indexed import only_indexed
from benchmarks.part import Figure, Options, Part, at_least, at_most, measured
from benchmarks.quiet import undisturbed
from tests.support.daemon import DaemonProcess

BAR_CLIENT_MS: Final = 40.0
BAR_MEMCTL_MS: Final = 120.0
BAR_RECALL: Final = 0.80

MAX_RESULTS: Final = 6

PATIENCE_S: Final = 2.0
"""How long a round of processes that others disturbed is taken again."""

FIRST_SEARCH: Final = """
import sys
from memd_client import Client
with Client(sys.argv[1]) as client:
    sys.exit(0 if client.search(sys.argv[2]).mode == "hybrid" else 1)
"""


@dataclass(frozen=True)
class Size:
    """How much is done."""

    passages: int
    files: int
    rounds: int
    idle_agents: int
    idle_s: float
    busy: freshness.Sizes
    embedding_rounds: int
    embedding_s: float


FULL: Final = Size(15_000, 300, 25, 20, 60.0, freshness.Sizes(), 8, 300.0)
QUICK: Final = Size(3_000, 60, 7, 5, 8.0, freshness.Sizes(chunks=2_000, busy_s=4.0), 3, 20.0)


class Turns(NamedTuple):
    """Milliseconds of three processes, one after the other: empty, with a client's first search, `memctl search`."""

    bare: float
    fresh: float
    command: float


def measure(options: Options) -> Part:
    """Measure each row, one after the other."""
    size = QUICK if options.quick else FULL
    figures: list[Figure] = []
    notes: list[str] = []
    options.tell("clients in fresh processes")
    figures += client_figures(options, size)
    options.tell("the daemon at idle")
    figures += idle_figures(size)
    options.tell("searches beside a full index")
    figures += busy_figures(size)
    options.tell("local embedding against llama-cpp-python")
    figures += embedding_figures(options, size)
    folder = retrieval.default_eval()
    if folder is None:
        notes.append("LoCoMo recall wasn't measured: MEMD_EVAL names no evaluation set.")
    else:
        options.tell("LoCoMo recall")
        lines = retrieval.run_set(folder, retrieval.WITH_MODEL, MAX_RESULTS)
        figures += recall_figures(retrieval.scores(folder, lines, None, MAX_RESULTS))
    notes.append(
        "Client and `memctl`: whole processes, in turn with a bare `python -c pass`, each difference of one round; the "
        "daemon is warm and the question's vector known."
    )
    notes.append(
        "Embedding: rounds that others disturbed don't count, unless all were; see “Local embedding” below."
    )
    return Part("design", "What the design promises beyond search", figures, notes=notes)


def client_figures(options: Options, size: Size) -> Iterator[Figure]:
    """Yield what a client and the command line cost in a fresh process, over a bare interpreter."""
    built = build(options, size.passages, size.files)
    with home_of(built) as home, DaemonProcess(home) as daemon, daemon.client(timeout_s=600) as client:
        only_indexed(client.index(), built.files)
        client.search(QUERY)

        def take_turns() -> Turns:
            return Turns(
                bare=process_ms("-c", "pass"),
                fresh=process_ms("-c", FIRST_SEARCH, str(home.socket), QUERY),
                command=milliseconds(lambda: daemon.memctl("search", QUERY).check_returncode()),
            )

        rounds = [undisturbed(take_turns, time.perf_counter() + PATIENCE_S)[0] for _ in range(size.rounds)]
    over = [each.fresh - each.bare for each in rounds]
    yield at_most(
        "design.client",
        "client: import, connect, first search in a fresh interpreter over a bare one, "
        f"{built.passages:,} passages",
        over,
        "ms",
        BAR_CLIENT_MS,
    )
    yield measured("design.bare", "… `python -c pass`", [each.bare for each in rounds], "ms")
    command = [each.command for each in rounds]
    yield at_most("design.memctl", "`memctl search`, cold process, warm daemon", command, "ms", BAR_MEMCTL_MS)


def process_ms(*arguments: str) -> float:
    """Return how long an interpreter takes from its start to its end."""
    return milliseconds(lambda: subprocess.run([sys.executable, *arguments], check=True))


def milliseconds(run: Callable[[], object]) -> float:
    """Return how long something takes."""
    started = time.perf_counter()
    run()
    return (time.perf_counter() - started) * 1000


def idle_figures(size: Size) -> Iterator[Figure]:
    """Yield what a daemon costs that has nothing to do."""
    for agents in (1, size.idle_agents):
        found = idle.measure(agents, 50, size.idle_s)
        who = "1 agent" if agents == 1 else f"{agents} agents"
        what = f"daemon at idle, no model loaded, {who}"
        key, memory = f"design.idle.{agents}", [found.rss_mb]
        if agents == 1:
            yield at_most(f"{key}.rss", f"{what}: resident memory", memory, "MB", idle.BAR_MB)
        else:
            yield measured(f"{key}.rss", f"{what}: resident memory", memory, "MB")
        yield at_most(f"{key}.cpu", "… processor time", [found.cpu_percent], "%", idle.BAR_CPU_PERCENT)


def busy_figures(size: Size) -> Iterator[Figure]:
    """Yield searches while a full index runs, against the same before it."""
    for mode in ("keyword", "meaning"):
        rows = list(freshness.measure_full(mode, size.busy))
        for before, beside in zip(rows[::2], rows[1::2], strict=True):
            key = f"design.busy.{mode}.{'hybrid' if 'hybrid' in beside.name else 'keyword'}"
            yield Figure(f"{key}.idle", f"search p95, {before.name}", before.p95, "ms")
            yield at_most(f"{key}.p95", f"… {beside.name}", [beside.p95], "ms", freshness.BAR_BUSY_MS)
            ratio = beside.p95 / before.p95
            yield at_most(f"{key}.ratio", "… busy against idle", [ratio], "times", freshness.BAR_RATIO)


def embedding_figures(options: Options, size: Size) -> Iterator[Figure]:
    """Yield the local provider against the best direct setting of llama-cpp-python of the same run."""
    compared = embedding.compare(size.embedding_rounds, size.embedding_s, quick=options.quick)
    for work in compared.works:
        yield at_least(
            f"design.embedding.{work.name}",
            f"local embedding against the best direct setting, {work.name} texts",
            compared.against_best(work),
            "times",
            embedding.BAR_BEST,
        )
        rates = compared.table.rates(work, embedding.PROVIDER.name)
        yield measured(f"design.embedding.{work.name}.rate", "… memd's provider", rates, "texts/s")


def recall_figures(table: str) -> Iterator[Figure]:
    """Yield the scorer's line over all questions that have an answer."""
    line = next(line for line in table.splitlines() if line.startswith("ALL "))
    found = dict(re.findall(r"(\w+)=\s*([\d.]+)", line))
    recall, characters = float(found["seen_recall"]), float(found["chars"])
    what = f"LoCoMo `seen_recall` at {MAX_RESULTS} results, MiniLM, {found['n']} questions"
    yield at_least("design.recall", what, [recall], "", BAR_RECALL)
    yield at_most("design.recall.characters", "… characters a reply", [characters], "characters", 4_200)
