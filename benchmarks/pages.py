"""Results as tables: in benchmarks/REPORT.md, in docs/performance.md and on the terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from rich.markup import escape
from rich.table import Table

from benchmarks.part import Figure, Part, Plot
from benchmarks.results import Entry, Results

RESULTS: Final = PurePosixPath("benchmarks/results.json")
REPORT: Final = PurePosixPath("benchmarks/REPORT.md")
OVERVIEW: Final = PurePosixPath("docs/performance.md")
"""Paths from the root of the repository; the report has all tables, the overview those it needs."""

OVERVIEW_PLOTS: Final = frozenset({"scale-search"})

MACHINES: Final = "machines"
MISSED: Final = "missed"
"""Blocks of the report that belong to no part: the machines of the parts, and figures that miss their bars."""

BLOCK: Final = re.compile(r"(<!-- part: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

NOT_MEASURED: Final = "not measured"

HEADLINES: Final[Mapping[str, tuple[str, str, str]]] = {
    "one search with a new query, embedding included": (
        "peers.warm.memd",
        "peers.warm.openclaw",
        "peers.warm.memsearch",
    ),
    "one search in a corpus four times as large, embedding nearly free": (
        "peers.large.warm.memd",
        "peers.large.warm.openclaw",
        "",
    ),
    "one search from the shell, a whole process": (
        "peers.shell.memd",
        "peers.shell.openclaw",
        "peers.shell.memsearch",
    ),
    "indexing all notes, embedding nearly free": (
        "peers.index.memd",
        "peers.index.openclaw",
        "peers.index.memsearch",
    ),
    "RAM of 20 agents that have searched (PSS)": (
        "agents.1k.pss.daemon",
        "agents.openclaw.pss",
        "agents.memsearch.pss",
    ),
}
"""Rows of the overview's first table: the keys of memd's figure, OpenClaw's and memsearch's."""

SIZING: Final[Mapping[str, str]] = {
    "repeated query, p50": "warm.p50",
    "new query, p50": "cold.p50",
    "first search after a start": "first",
    "RAM after searches": "rss.searched",
    "RAM a minute later": "rss.rested",
    "index on disk": "index",
}
"""Columns of the overview's second table: ends of keys of `scale`."""

SIZES: Final = ("1k", "15k", "100k", "300k")


class MissingMarkerError(Exception):
    """The report has no block for a part."""


def rewrite_report(page: str, results: Results) -> str:
    """Return the report with its blocks filled from the results."""
    if missing := sorted(results.parts.keys() - set(marked_parts(page))):
        raise MissingMarkerError(f"the report has no <!-- part: … --> for: {', '.join(missing)}")
    return _fill(page, lambda name: _report_block(name, results))


def rewrite_overview(page: str, results: Results) -> str:
    """Return the overview with its tables filled from the results."""
    figures = {figure.key: figure for entry in results.parts.values() for figure in entry.part.figures}
    tables = {"headlines": _headline_lines, "sizing": _sizing_lines}
    return _fill(page, lambda name: tables[name](figures))


def marked_parts(page: str) -> list[str]:
    """Return the names of a page's blocks, in order."""
    return [name for _, name, _ in BLOCK.findall(page)]


def picture_path(plot: Plot) -> PurePosixPath:
    """Return the path of a plot's picture from the root of the repository."""
    folder = "docs/performance" if plot.name in OVERVIEW_PLOTS else "benchmarks/images"
    return PurePosixPath(folder, f"{plot.name}.svg")


def plots_of(entries: Iterable[Entry]) -> Iterator[Plot]:
    """Yield the plots of some entries."""
    for entry in entries:
        yield from entry.part.plots


def write_pages(root: Path, results: Results) -> None:
    """Rewrite the blocks of both pages."""
    for page, rewrite in ((root / REPORT, rewrite_report), (root / OVERVIEW, rewrite_overview)):
        page.write_text(rewrite(page.read_text(encoding="utf-8"), results), encoding="utf-8")


def _fill(page: str, lines_of: Callable[[str], Iterable[str]]) -> str:
    def block(found: re.Match[str]) -> str:
        return found[1] + "\n".join(["", *lines_of(found[2]), ""]) + "\n" + found[3]

    return BLOCK.sub(block, page)


def _report_block(name: str, results: Results) -> list[str]:
    if name == MACHINES:
        return list(_machine_lines(results)) or ["Nothing measured yet."]
    if name == MISSED:
        return list(_missed_lines(results)) or ["None."]
    entry = results.parts.get(name)
    return ["Not measured yet."] if entry is None else list(_part_lines(entry))


def _machine_lines(results: Results) -> Iterator[str]:
    """Yield a line for each machine, with the parts that ran on it."""
    by_machine: dict[str, list[str]] = {}
    for name, entry in sorted(results.parts.items()):
        by_machine.setdefault(entry.machine.sentence(), []).append(name)
    for sentence, names in by_machine.items():
        yield f"- {sentence} Parts: {', '.join(names)}."


def _missed_lines(results: Results) -> Iterator[str]:
    """Yield a line for each missed bar; continued rows include the row above."""
    for name, entry in sorted(results.parts.items()):
        above = ""
        for figure in entry.part.figures:
            above = above if figure.what.startswith("…") else figure.what
            what = figure.what if above == figure.what else f"{above} {figure.what}"
            if figure.holds is False:
                yield f"- `{name}`: {what}: {amount(figure)}; bar: {figure.bar.strip()}."


def _part_lines(entry: Entry) -> Iterator[str]:
    part = entry.part
    if part.skipped:
        yield f"Not measured: {part.skipped}"
        return
    yield "| figure | median | least to most | bar |"
    yield "|---|---:|---:|---|"
    for figure in part.figures:
        yield f"| {_cell(figure.what)} | {amount(figure)} | {spread(figure)} | {verdict(figure)} |"
    for plot in part.plots:
        yield ""
        yield f"![{plot.title}]({os.path.relpath(picture_path(plot), REPORT.parent)})"
    if part.notes:
        yield ""
        yield from (f"- {note}" for note in part.notes)
    yield ""
    yield _run_sentence(entry)


def _run_sentence(entry: Entry) -> str:
    how = "a quick run: small corpora, few rounds; " if entry.quick else ""
    return (
        f"Measured on {entry.date} in {entry.took_s:.0f} s ({how}other processes used "
        f"{entry.others:.0%} of the cores meanwhile)."
    )


def _headline_lines(figures: Mapping[str, Figure]) -> Iterator[str]:
    yield "| figure | memd | OpenClaw | memsearch |"
    yield "|---|---:|---:|---:|"
    for what, keys in HEADLINES.items():
        ours, *theirs = (figures.get(key) for key in keys)
        cells = [NOT_MEASURED if ours is None else amount(ours)]
        cells += [_compared(each, ours) for each in theirs]
        yield f"| {what} | {' | '.join(cells)} |"


def _compared(theirs: Figure | None, ours: Figure | None) -> str:
    """Return another program's figure, and how many times memd's it is."""
    if theirs is None:
        return NOT_MEASURED
    times = "" if ours is None else f" ({theirs.value / ours.value:.0f} ×)"
    return amount(theirs) + times


def _sizing_lines(figures: Mapping[str, Figure]) -> Iterator[str]:
    yield f"| chunks | {' | '.join(SIZING)} |"
    yield f"|---:|{'---:|' * len(SIZING)}"
    for size in SIZES:
        found = [figures.get(f"scale.{size}.{end}") for end in SIZING.values()]
        cells = [NOT_MEASURED if figure is None else amount(figure) for figure in found]
        yield f"| {size.removesuffix('k')},000 | {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def shown(value: float) -> str:
    """Return a number with three significant digits and thousands separated."""
    if value == 0:
        return "0"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    if whole >= 3:
        return f"{value:,.0f}"
    text = f"{value:.{3 - whole}f}" if whole else f"{value:.3g}"
    return text if "e" not in text else f"{value:.6f}"


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
    bar = figure.bar.strip()
    return f"{bar}; **missed**" if figure.holds is False else bar


def terminal_table(part: Part) -> Table:
    """Return a part as a table for the terminal."""
    table = Table("figure", "median", "least to most", "bar", title=escape(part.title), title_justify="left")
    for figure in part.figures:
        style = "" if figure.holds is None else "green" if figure.holds else "red"
        cells = (figure.what, amount(figure), spread(figure), verdict(figure).replace("**", ""))
        table.add_row(*(escape(cell) for cell in cells), style=style)
    return table
