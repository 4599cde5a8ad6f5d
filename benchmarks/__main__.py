"""The benchmark suite.

Runs the named parts, or all of them, and prints their figures as Markdown tables.
"""

from __future__ import annotations

import os
import platform
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Final

import apsw
import click
import msgspec
import platformdirs

from benchmarks.part import Figure, Options, Part

PARTS: Final[Mapping[str, str]] = {
    "search": "benchmarks.warm_search",
    "sync": "benchmarks.syncing",
    "freshness": "benchmarks.freshness",
    "load": "benchmarks.load",
    "agents": "benchmarks.agents_ram",
    "design": "benchmarks.design",
    "transcripts": "benchmarks.transcripts",
    "hooks": "benchmarks.hooks",
    "currency": "benchmarks.currency",
    "remotes": "benchmarks.remotes",
    "peers": "benchmarks.peers.comparison",
}
"""Modules by the name on the command line; a part's module is imported when it runs."""


class Entry(msgspec.Struct, frozen=True):
    """One run of a part; `load` is the load average of the last five minutes."""

    date: str
    quick: bool
    took_s: float
    load: float
    machine: str
    part: Part


@click.command(help=__doc__)
@click.argument("parts", nargs=-1, metavar="[PART]...", type=click.Choice(list(PARTS)))
@click.option("--quick", is_flag=True, help="Small corpora and few rounds: for a first impression.")
@click.option("--list", "listing", is_flag=True, help="List the parts and exit.")
@click.option("--json", "report", type=click.Path(path_type=Path), help="Write this run's results to a file.")
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    default=platformdirs.user_cache_path("memd") / "benchmarks",
    show_default="the user's cache directory",
    help="Folder for corpora and peers, kept between runs.",
)
@click.pass_context
def main(
    context: click.Context,
    parts: tuple[str, ...],
    quick: bool,
    listing: bool,
    report: Path | None,
    cache: Path,
) -> None:
    """Run parts and print their figures."""
    if listing:
        for name, module in PARTS.items():
            click.echo(f"{name:<16}{module}")
        return
    # Daemons are in sessions of their own: SIGTERM to the suite has to unwind the blocks that stop them.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    context.call_on_close(lambda: signal.signal(signal.SIGTERM, before))
    cache.mkdir(parents=True, exist_ok=True)
    entries: dict[str, Entry] = {}
    names = list(dict.fromkeys(parts or PARTS))
    for name in names:
        entry = run_part(name, quick, cache)
        if entry is not None:
            entries[name] = entry
            click.echo("\n".join(report_lines(entry)) + "\n")
    if report is not None:
        report.write_bytes(msgspec.json.format(msgspec.json.encode(entries), indent=1) + b"\n")
    failed = [name for name in names if name not in entries]
    if failed:
        click.echo(f"failed: {', '.join(failed)}", err=True)
        context.exit(1)


def run_part(name: str, quick: bool, cache: Path) -> Entry | None:
    """Run one part; return None if it raised, after printing the error."""
    started = time.perf_counter()

    def show_progress(line: str) -> None:
        click.echo(f"{name} {time.perf_counter() - started:6.1f} s  {line}", err=True)

    try:
        with tempfile.TemporaryDirectory(prefix="memd-bench-") as work:
            measure: Callable[[Options], Part] = import_module(PARTS[name]).measure
            part = measure(Options(quick=quick, work=Path(work), cache=cache, show_progress=show_progress))
    except Exception:  # noqa: BLE001 - the other parts run whatever it was
        click.echo(f"{name} failed\n{traceback.format_exc()}", err=True)
        return None
    return Entry(
        date=datetime.now(UTC).date().isoformat(),
        quick=quick,
        took_s=round(time.perf_counter() - started, 1),
        load=round(os.getloadavg()[1], 1),
        machine=machine(),
        part=part,
    )


def machine() -> str:
    """Return what figures depend on besides the code."""
    memory_gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1024**3
    return (
        f"{os.cpu_count()} cores, {memory_gib:.0f} GiB, {platform.platform()}, Python {platform.python_version()}, "
        f"SQLite {apsw.sqlite_lib_version()}, memd {version('memd-daemon')}"
    )


def report_lines(entry: Entry) -> Iterator[str]:
    """Yield a run as benchmarks/REPORT.md has it."""
    yield f"## {entry.part.title}\n"
    if entry.part.skipped:
        yield f"Not measured: {entry.part.skipped}"
        return
    yield "| figure | median | least to most | bar |"
    yield "|---|---:|---:|---|"
    for figure in entry.part.figures:
        yield f"| {figure.what} | {amount(figure)} | {spread(figure)} | {verdict(figure)} |"
    yield ""
    yield from (f"- {note}" for note in entry.part.notes)
    how = ", a quick run with small corpora and few rounds" if entry.quick else ""
    yield f"\nMeasured on {entry.date} in {entry.took_s:.0f} s{how}; load average {entry.load:g}; {entry.machine}."


def amount(figure: Figure) -> str:
    """Return a figure's value with its unit."""
    return f"{shown(figure.value)} {figure.unit}".rstrip()


def spread(figure: Figure) -> str:
    """Return the least and the greatest value of the rounds; nothing if there was one round."""
    if figure.low is None or figure.high is None or figure.low == figure.high:
        return ""
    return f"{shown(figure.low)} to {shown(figure.high)}"


def verdict(figure: Figure) -> str:
    """Return a figure's bar, marked if the figure misses it."""
    return f"{figure.bar.strip()}; **missed**" if figure.holds is False else figure.bar.strip()


def shown(value: float) -> str:
    """Return a number with three significant digits and thousands separated."""
    if value == 0:
        return "0"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    if whole >= 3:
        return f"{value:,.0f}"
    text = f"{value:.{3 - whole}f}" if whole else f"{value:.3g}"
    return text if "e" not in text else f"{value:.6f}"


if __name__ == "__main__":
    main()
