"""Throughput of the local model: memd compared with llama-cpp-python.

    python -m benchmarks.embedding [--rounds 8] [--quick] [--json]

First, every setting of a sweep embeds a few texts. The fastest become finalists, for long texts (about 400 estimated
tokens, a full chunk) and for short ones (60). Then, in each round, the defaults, the finalists, memd's provider, and a
complete daemon that indexes the texts as notes embed the same texts in random order. The last table has ratios within
the rounds, because the machine's speed drifts more than the sides differ. A turn that other processes disturb is
repeated for a while; if it stays disturbed, the round does not count, unless all were.

Every setting has a process of its own with the `minilm` model, which is downloaded if it is missing. The texts come
from `docs/`. A run takes about three minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import trio

from benchmarks.embedding_processes import (
    CHUNK_TOKENS,
    EmbeddingOptions,
    EmbeddingProcess,
    EmbeddingProcessError,
    timed,
)
from benchmarks.other_processes import QUIET_SHARE, run_undisturbed
from memd.embedding.local.fit import load_physical_cores
from memd.embedding.local.process import SPIN_COUNT
from memd.embedding.local.pull import pull_model
from memd.settings.paths import models_dir
from memd.text.tokens import UNITS_PER_TOKEN, estimate_tokens
from memd_client import Client
from memd_client.errors import MemdError
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome, agents_config

DOCS = Path(__file__).resolve().parents[1] / "docs"
LONG_TOKENS = CHUNK_TOKENS - 10
"""Few enough that the chunker makes one chunk of a note."""

SHORT_TOKENS = 60
MODEL_TOKENS = 510
"""MiniLM's limit with some margin: longer texts would be different work for each side."""

BAR_BEST = 0.9
BAR_DEFAULTS = 2.0
SWEEP_MEASUREMENT_S = 0.5
MEASUREMENT_S = 1.5
"""How long a disturbed turn is repeated."""

FEWEST_ROUNDS = 3
FINALISTS = 2
"""Settings of each text length that the rounds compare."""

ONE_BY_ONE = EmbeddingOptions("defaults, a text per call", {}, together=0)
ONE_LIST = EmbeddingOptions("defaults, all texts in one call", {}, together=1000)
PROVIDER = EmbeddingOptions("memd, provider")
DAEMON = EmbeddingOptions("memd, whole daemon")


@dataclass(frozen=True)
class TextSet:
    """Texts of one length: `few` for the sweep, `turn` for each round, `notes` for the daemon."""

    name: str
    few: list[str]
    turn: list[str]
    notes: list[str]


@dataclass(frozen=True)
class EmbeddingTurn:
    """Texts per second of one side, and other processes' share of the cores."""

    rate: float
    others: float

    @property
    def is_quiet(self) -> bool:
        """Whether other processes left the machine alone."""
        return self.others <= QUIET_SHARE


@dataclass
class RateTable:
    """Turns by text length and side, one per round."""

    rows: dict[str, dict[str, list[EmbeddingTurn]]] = field(default_factory=dict)

    def add(self, work: TextSet, side: str, run: Callable[[], float], patience_s: float) -> None:
        """Take a turn; repeat it while other processes disturb it."""
        turn = EmbeddingTurn(*run_undisturbed(run, time.perf_counter() + patience_s))
        self.rows.setdefault(work.name, {}).setdefault(side, []).append(turn)

    def rates(self, work: TextSet, side: str) -> list[float]:
        """Return the texts per second of the turns that count."""
        turns = self.rows[work.name][side]
        return [turn.rate for turn in turns if turn.is_quiet] or [turn.rate for turn in turns]

    def by_speed(self, work: TextSet, among: Container[str] | None = None) -> list[str]:
        """Return the sides by their medians, the fastest first."""
        sides = [side for side in self.rows[work.name] if among is None or side in among]
        return sorted(sides, key=lambda side: -statistics.median(self.rates(work, side)))

    def ratio(self, work: TextSet, side: str, other: str) -> tuple[float, int]:
        """Return the median ratio, and the number of quiet rounds."""
        found, quiet = self.ratios(work, side, other)
        return statistics.median(found), quiet

    def ratios(self, work: TextSet, side: str, other: str) -> tuple[list[float], int]:
        """Return the ratios of quiet rounds (of all if none was), and their number."""
        rows = self.rows[work.name]
        pairs = list(zip(rows[side], rows[other], strict=True))
        quiet = [pair for pair in pairs if pair[0].is_quiet and pair[1].is_quiet]
        return [ours.rate / theirs.rate for ours, theirs in quiet or pairs], len(quiet)


@dataclass(frozen=True)
class EmbeddingComparison:
    """A run: the sweep, the finalists, and the rounds."""

    works: list[TextSet]
    swept: RateTable
    finalists: list[EmbeddingOptions]
    table: RateTable

    def against_best(self, work: TextSet) -> list[float]:
        """Return the provider's rate / the best direct setting's, one for each round that counts."""
        direct = [setting.name for setting in (*self.finalists, ONE_BY_ONE, ONE_LIST)]
        best = self.table.by_speed(work, direct)[0]
        return self.table.ratios(work, PROVIDER.name, best)[0]


def sweep(cores: int) -> Iterator[EmbeddingOptions]:
    """Yield the settings of llama-cpp-python to try."""
    threads = sorted({1, 2, cores // 2 or 1, cores})
    for spin in (None, SPIN_COUNT):
        for count in threads:
            for flash in (False, True):
                if count > 1 or spin is None:  # one thread never waits for another
                    yield _all_cores(count, flash=flash, spin=spin)
        options = {"n_threads": 1, "n_threads_batch": cores, "flash_attn": True}
        for size in (256, 1024):
            yield _setting({**options, **_sizes(size)}, 0, spin)
        for size, together in ((512, 4), (1024, 4), (2048, 8), (2048, 16)):
            yield _setting({**options, **_sizes(size)}, together, spin)
        yield _setting({**options, **_sizes(2048), "flash_attn": False}, 8, spin)


def _all_cores(cores: int, *, flash: bool = True, spin: str | None) -> EmbeddingOptions:
    """Return the obvious setting, which is always a finalist."""
    return _setting({"n_threads": cores, "n_threads_batch": cores, "flash_attn": flash}, 0, spin)


def _sizes(tokens: int) -> dict[str, int]:
    return {"n_ctx": tokens, "n_batch": tokens, "n_ubatch": tokens}


def _setting(options: Mapping[str, object], together: int, spin: str | None) -> EmbeddingOptions:
    flash = "flash" if options["flash_attn"] else "no flash"
    parts = [f"threads {options['n_threads_batch']}", flash, f"size {options.get('n_batch', 512)}"]
    parts += [f"lists of {together}" if together else "one per call", f"spin {spin or '-'}"]
    return EmbeddingOptions(", ".join(parts), {**options, "verbose": False}, together, spin)


def cut_texts(tokens: int, count: int) -> list[str]:
    """Return texts of about that many estimated tokens from the documentation."""
    lines = list(_prose())
    texts = []
    for number in range(count):
        place, text = number * len(lines) // count, ""
        while len(text) + len(lines[place % len(lines)]) < tokens * UNITS_PER_TOKEN:
            text += lines[place % len(lines)] + "\n"
            place += 1
        texts.append(text + lines[place % len(lines)][: tokens * UNITS_PER_TOKEN - len(text) - 1])
    return texts


def _prose() -> Iterator[str]:
    """Yield lines of the documentation that are not tables, code or titles."""
    for path in sorted(DOCS.glob("*.md")):
        in_code = False
        for line in path.read_text(encoding="utf-8").splitlines():
            in_code ^= line.startswith("```")
            if line.strip() and not in_code and not line.startswith(("|", "#", "```", "    ")):
                yield line


def make_text_sets(model: Path, few: int) -> list[TextSet]:
    """Return the texts, without those that are too long for the model."""
    counter = EmbeddingProcess(ONE_BY_ONE, model)
    works = []
    for name, tokens, turn, notes in (("long", LONG_TOKENS, 8, 32), ("short", SHORT_TOKENS, 32, 128)):
        # Wide characters count more, so that such a text could be two chunks.
        texts = [text for text in cut_texts(tokens, 2 * notes) if estimate_tokens(text) <= tokens]
        counts = [counter.tokens(text) for text in texts]
        fitting = [text for text, count in zip(texts, counts, strict=True) if count <= MODEL_TOKENS][:notes]
        most = max(count for count in counts if count <= MODEL_TOKENS)
        facts = f"the model's tokens of one: median {statistics.median(counts):.0f}, most {most}"
        print(f"{name} texts: {len(fitting)}, {facts}", file=sys.stderr)
        works.append(TextSet(name, fitting[: turn * few // 8], fitting[:turn], fitting))
    counter.close()
    return works


def run_sweep(model: Path, works: list[TextSet], rounds: int) -> tuple[RateTable, list[EmbeddingOptions]]:
    """Embed a few texts with every setting; return the rates and the finalists."""
    table, settings = RateTable(), list(sweep(load_physical_cores()))
    for setting in settings:
        side = EmbeddingProcess(setting, model)
        try:
            for work in works:
                measure_sweep(table, side, work, rounds)
        finally:
            side.close()
    names = [setting.name for setting in settings]
    chosen = {name for work in works for name in table.by_speed(work, names)[:FINALISTS]}
    chosen.add(_all_cores(load_physical_cores(), spin=None).name)
    return table, [setting for setting in settings if setting.name in chosen]


def measure_sweep(table: RateTable, side: EmbeddingProcess, work: TextSet, rounds: int) -> None:
    """Time one setting; print an error instead if it cannot embed the texts."""
    try:
        side.rate(work.few[:1])
        for _ in range(rounds):
            table.add(work, side.setting.name, partial(side.rate, work.few), SWEEP_MEASUREMENT_S)
    except EmbeddingProcessError as error:
        print(f"  {work.name:<6} {side.setting.name:<55} {str(error).splitlines()[0]}", file=sys.stderr)


@contextmanager
def running_daemon(works: list[TextSet]) -> Iterator[DaemonProcess]:
    """Run a daemon with one agent per text length, its notes embedded once."""
    with StateHome() as home:
        search = {
            "provider": "local",
            "local": {"modelPath": "minilm"},
            "chunking": {"tokens": CHUNK_TOKENS, "overlap": 0},  # one chunk per note, as for the other sides
            "sync": {"watch": False},
        }
        home.configure(agents_config(home.state, *(work.name for work in works), memory_search=search))
        for work in works:
            for number, text in enumerate(work.notes):
                home.note(f"memory/{number:04d}.md", text, work.name)
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=600) as client:
            client.index()
            yield daemon


def index_rate(client: Client, work: TextSet) -> float:
    """Return the chunks per second of a full index, as of `memctl index --force`."""
    reply, took_s = timed(lambda: client.index(work.name, force=True))
    agent = reply.agents[0]
    if agent.error or agent.degraded or agent.embedded != len(work.notes) or agent.chunks != len(work.notes):
        raise EmbeddingProcessError(f"{work.name}: {agent}")
    return agent.embedded / took_s


def run_rounds(
    model: Path, works: list[TextSet], finalists: list[EmbeddingOptions], rounds: int, until: float
) -> RateTable:
    """Embed the same texts with all sides in turn."""
    table, chance = RateTable(), random.Random(3)
    with ExitStack() as stack, running_daemon(works) as daemon, daemon.client(timeout_s=600) as client:
        sides = [EmbeddingProcess(setting, model) for setting in (ONE_BY_ONE, ONE_LIST, PROVIDER, *finalists)]
        for side in sides:
            stack.callback(side.close)
            side.rate([works[-1].few[0]])
        for number in range(rounds):
            if number >= FEWEST_ROUNDS and time.perf_counter() > until:
                break
            for work in works:
                turns = [(DAEMON.name, partial(index_rate, client, work))]
                turns += [
                    (side.setting.name, partial(side.rate, work.turn))
                    for side in sides
                    if side.can(work.turn)
                ]
                chance.shuffle(turns)
                for name, rate in turns:
                    table.add(work, name, rate, MEASUREMENT_S)
    return table


def ratios(
    table: RateTable, work: TextSet, finalists: list[EmbeddingOptions]
) -> Iterator[tuple[str, str, float]]:
    """Yield (side, compared side, bar)."""
    settings = [setting.name for setting in (*finalists, ONE_BY_ONE, ONE_LIST)]
    best = table.by_speed(work, settings)[0]
    for side in (PROVIDER.name, DAEMON.name):
        yield side, best, BAR_BEST
        yield side, ONE_BY_ONE.name, BAR_DEFAULTS
        yield side, ONE_LIST.name, BAR_DEFAULTS


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=200.0, help="start no round after that")
    parser.add_argument("--quick", action="store_true", help="a short sweep, for a first impression")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    wanted = parser.parse_args()
    try:
        report(compare(wanted.rounds, wanted.seconds, quick=wanted.quick), as_json=wanted.json)
    except MemdError as error:
        sys.exit(f"minilm is not available: {error.message}")


def compare(rounds: int, seconds: float, *, quick: bool) -> EmbeddingComparison:
    """Run the sweep, then the rounds."""
    model = trio.run(pull_model, "minilm", models_dir(), lambda *_: None)
    until = time.perf_counter() + seconds
    works = make_text_sets(model, 1 if quick else 2)
    swept, finalists = run_sweep(model, works, 1 if quick else 2)
    return EmbeddingComparison(works, swept, finalists, run_rounds(model, works, finalists, rounds, until))


def report(compared: EmbeddingComparison, *, as_json: bool) -> None:
    """Print the sweep, the rounds and the ratios."""
    works, table, finalists = compared.works, compared.table, compared.finalists
    for title, part in (("sweep", compared.swept), ("rounds", table)):
        for work in works:
            if not as_json:
                print(f"--- {title}, {work.name} texts: texts per second, median (slowest to fastest)")
            for name in part.by_speed(work):
                rates = part.rates(work, name)
                median, facts = statistics.median(rates), {"part": title, "texts": work.name, "side": name}
                line = f"{name:<58} {median:7.1f}  ({min(rates):.1f} to {max(rates):.1f})"
                print(json.dumps({**facts, "rates": rates}) if as_json else line)
    for work in works:
        for side, other, bar in ratios(table, work, finalists):
            ratio, rounds = table.ratio(work, side, other)
            facts = {"texts": work.name, "side": side, "against": other}
            of = f"{rounds} quiet rounds" if rounds else "no quiet round"
            line = f"{work.name:<6} {side:<18} / {other:<55} {ratio:5.2f}   bar {bar}   {of}"
            print(json.dumps({**facts, "ratio": ratio, "quiet_rounds": rounds}) if as_json else line)


if __name__ == "__main__":
    main()
