"""The benchmark suite.

Runs the named parts, or all of them, and prints their figures. --write also keeps them in benchmarks/results.json (the
entries of other parts stay) and updates benchmarks/REPORT.md, docs/performance.md and their pictures.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import click
import platformdirs
from rich.console import Console
from rich.markup import escape

from benchmarks.machine import this_machine
from benchmarks.other_processes import OtherProcesses
from benchmarks.pages import RESULTS, picture_path, plots_of, terminal_table, write_pages
from benchmarks.part import Options
from benchmarks.registry import PARTS, load_part
from benchmarks.results import Entry, Results, load_results, rounded, save_results

ROOT = Path(__file__).resolve().parents[1]

console = Console(highlight=False)


@click.command(help=__doc__)
@click.argument("parts", nargs=-1, metavar="[PART]...", type=click.Choice(list(PARTS)))
@click.option("--quick", is_flag=True, help="Small corpora and few rounds: for a first impression.")
@click.option("--list", "listing", is_flag=True, help="List the parts and exit.")
@click.option("--json", "report", type=click.Path(path_type=Path), help="Write this run's results to a file.")
@click.option("--write", is_flag=True, help="Keep the results; update pages and pictures.")
@click.option("--draw", is_flag=True, help="Update pages and pictures from the kept results; run nothing.")
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
    write: bool,
    draw: bool,
    cache: Path,
) -> None:
    """Run parts, print their figures, and keep them with --write."""
    if listing:
        for name, function in PARTS.items():
            console.print(f"{name:<16}{function}")
        return
    if draw:
        results = load_results(ROOT / RESULTS)
        draw_pictures(results.parts.values())
        write_pages(ROOT, results)
        return
    # Daemons are in sessions of their own: SIGTERM to the suite has to unwind the blocks that stop them.
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
            if write:  # at once: a later failure must not lose this part's figures
                keep({name: entry})
    if report is not None:
        save_results(report, Results(found))
    failed = [name for name in dict.fromkeys(wanted) if name not in found]
    if failed:
        console.print(f"[red]failed: {', '.join(failed)}[/red]")
        context.exit(1)


def run_part(name: str, quick: bool, cache: Path) -> Entry | None:
    """Run one part; return None if it raised, after printing the error."""
    neighbours, started = OtherProcesses(), time.perf_counter()

    def show_progress(line: str) -> None:
        console.print(f"[dim]{name} {time.perf_counter() - started:6.1f} s  {escape(line)}[/dim]")

    try:
        with tempfile.TemporaryDirectory(prefix="memd-bench-") as work:
            part = load_part(name)(
                Options(quick=quick, work=Path(work), cache=cache, show_progress=show_progress)
            )
    except Exception:  # noqa: BLE001 - the other parts run whatever it was
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
    """Print the figures of a part."""
    part = entry.part
    if part.skipped:
        console.print(f"{escape(part.title)}: not measured: {escape(part.skipped)}")
        return
    console.print(terminal_table(part))
    for note in part.notes:
        console.print(f"  {escape(note)}")
    console.print(f"  {entry.took_s:.0f} s; other processes used {entry.others:.0%} of the cores\n")


def keep(found: dict[str, Entry]) -> None:
    """Merge entries into the kept results; update their pictures and the pages."""
    results = load_results(ROOT / RESULTS).merged(found)
    save_results(ROOT / RESULTS, results)
    draw_pictures(found.values())
    write_pages(ROOT, results)


def draw_pictures(entries: Iterable[Entry]) -> None:
    """Draw the pictures of some entries."""
    from benchmarks.plots import draw_plot  # matplotlib takes a second to import

    for plot in plots_of(entries):
        draw_plot(plot, (ROOT / picture_path(plot)).parent)


if __name__ == "__main__":
    main()
