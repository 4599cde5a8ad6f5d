"""The benchmark suite.

Runs parts (all of them where none is named) and prints what each found. With --write the results are kept in
docs/performance/results.json, beside those of parts that didn't run, and docs/performance.md and its pictures follow.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path

import click
import platformdirs
from rich.console import Console
from rich.markup import escape

from benchmarks.machine import this_machine
from benchmarks.page import terminal_table, write_page
from benchmarks.part import Options
from benchmarks.quiet import Neighbours
from benchmarks.registry import PARTS, load_part
from benchmarks.results import Entry, Results, load_results, rounded, save_results

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
FOLDER = ROOT / "docs" / "performance"

console = Console(highlight=False)


@click.command(help=__doc__)
@click.argument("parts", nargs=-1, metavar="[PART]...", type=click.Choice(list(PARTS)))
@click.option("--quick", is_flag=True, help="Small corpora and few rounds: for a look, not for figures.")
@click.option("--list", "listing", is_flag=True, help="Name the parts and end.")
@click.option("--json", "report", type=click.Path(path_type=Path), help="Write this run's results to a file.")
@click.option("--write", is_flag=True, help="Keep the results and rewrite the page and its pictures.")
@click.option("--draw", is_flag=True, help="Draw the pictures of the kept results, run nothing, and end.")
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    default=platformdirs.user_cache_path("memd") / "benchmarks",
    show_default="the user's cache directory",
    help="Where corpora and peers are kept between runs.",
)
@click.pass_context
def main(
    context: click.Context,
    parts: tuple[str, ...],
    quick: bool,
    listing: bool,
    report: Path | None,
    write: bool,
    draw: bool,
    cache: Path,
) -> None:
    """Run parts, print them, and keep them where that is asked for."""
    if listing:
        for name, where in PARTS.items():
            console.print(f"{name:<16}{where}")
        return
    if draw:
        draw_pictures(load_results(FOLDER / "results.json").parts)
        return
    # Daemons are sessions of their own: whoever ends the suite wants them ended, too.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    context.call_on_close(lambda: signal.signal(signal.SIGTERM, before))
    cache.mkdir(parents=True, exist_ok=True)
    found: dict[str, Entry] = {}
    wanted = parts or tuple(PARTS)
    for name in dict.fromkeys(wanted):
        entry = run_part(name, quick, cache)
        if entry is not None:
            found[name] = entry
            show(entry)
            if write:  # at once: what an hour measured shouldn't hang on the next hour
                keep({name: entry})
    if report is not None:
        save_results(report, Results(found))
    failed = [name for name in dict.fromkeys(wanted) if name not in found]
    if failed:
        console.print(f"[red]failed: {', '.join(failed)}[/red]")
        context.exit(1)


def run_part(name: str, quick: bool, cache: Path) -> Entry | None:
    """Run one part; return None where it raised, after saying why."""
    neighbours, started = Neighbours(), time.perf_counter()

    def tell(line: str) -> None:
        console.print(f"[dim]{name} {time.perf_counter() - started:6.1f} s  {escape(line)}[/dim]")

    try:
        with tempfile.TemporaryDirectory(prefix="memd-bench-") as work:
            part = load_part(name)(Options(quick=quick, work=Path(work), cache=cache, tell=tell))
    except Exception:  # noqa: BLE001 - whatever it was, the other parts go on
        console.print(f"[red]{name} failed[/red]\n{escape(traceback.format_exc())}")
        return None
    return Entry(
        date=datetime.now(UTC).date().isoformat(),
        quick=quick,
        took_s=round(time.perf_counter() - started, 1),
        others=round(neighbours.share(), 3),
        machine=this_machine(),
        part=rounded(part),
    )


def show(entry: Entry) -> None:
    """Print what a part found."""
    part = entry.part
    if part.skipped:
        console.print(f"{escape(part.title)}: not measured: {escape(part.skipped)}")
        return
    console.print(terminal_table(part))
    for note in part.notes:
        console.print(f"  {escape(note)}")
    console.print(f"  {entry.took_s:.0f} s; other processes took {entry.others:.0%} of the cores\n")


def keep(found: dict[str, Entry]) -> None:
    """Merge new entries into the kept results; draw their pictures and rewrite the page."""
    results = load_results(FOLDER / "results.json").merged(found)
    save_results(FOLDER / "results.json", results)
    draw_pictures(found)
    write_page(PAGE, results)


def draw_pictures(entries: dict[str, Entry]) -> None:
    """Draw the pictures of some entries."""
    from benchmarks.plots import draw_plot  # a second of imports that a run without pictures doesn't need

    for entry in entries.values():
        for plot in entry.part.plots:
            draw_plot(plot, FOLDER)


if __name__ == "__main__":
    main()
