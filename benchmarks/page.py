"""The results as tables: in Markdown between the markers of the page, and on the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rich.markup import escape
from rich.table import Table

from benchmarks.part import Figure, Part
from benchmarks.results import Entry, Results

BLOCK: Final = re.compile(r"(<!-- part: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

MACHINES: Final = "machines"
"""The block that says where the parts were measured."""

NOT_HELD: Final = "not-held"
"""The block of all figures that should be better."""

PICTURES: Final = "performance"
"""The folder of the pictures, as the page sees it."""


class MissingMarkerError(Exception):
    """The page has no place for a part."""


def rewrite(page: str, results: Results) -> str:
    """Return a page whose blocks hold what the results say."""
    places = {name for _, name, _ in BLOCK.findall(page)}
    if missing := sorted(results.parts.keys() - places):
        raise MissingMarkerError(f"the page has no <!-- part: … --> for: {', '.join(missing)}")

    def block(found: re.Match[str]) -> str:
        return found[1] + "\n".join(["", *_block(found[2], results), ""]) + "\n" + found[3]

    return BLOCK.sub(block, page)


def marked_parts(page: str) -> list[str]:
    """Return the names of a page's blocks, in order."""
    return [name for _, name, _ in BLOCK.findall(page)]


def pictures(results: Results) -> Iterator[str]:
    """Yield the files of all pictures, as the page names them."""
    for entry in results.parts.values():
        for plot in entry.part.plots:
            yield f"{PICTURES}/{plot.name}.svg"


def _block(name: str, results: Results) -> list[str]:
    if name == MACHINES:
        return list(_machine_lines(results)) or ["Nothing measured yet."]
    if name == NOT_HELD:
        return list(_not_held_lines(results)) or ["Nothing of what was measured."]
    entry = results.parts.get(name)
    return ["Not measured yet."] if entry is None else list(_part_lines(entry))


def _machine_lines(results: Results) -> Iterator[str]:
    """Yield a line a machine, with the parts that ran on it."""
    by_machine: dict[str, list[str]] = {}
    for name, entry in sorted(results.parts.items()):
        by_machine.setdefault(entry.machine.sentence(), []).append(name)
    for sentence, names in by_machine.items():
        yield f"- {sentence} Parts: {', '.join(names)}."


def _not_held_lines(results: Results) -> Iterator[str]:
    """Yield a line for each figure that doesn't hold; rows that go on from the row above say so by its words."""
    for name, entry in sorted(results.parts.items()):
        above = ""
        for figure in entry.part.figures:
            above = above if figure.what.startswith("…") else figure.what
            what = figure.what if above == figure.what else f"{above} {figure.what}"
            if figure.holds is False:
                yield f"- `{name}`: {what}: {amount(figure)}; to hold: {figure.bar.strip()}."


def _part_lines(entry: Entry) -> Iterator[str]:
    part = entry.part
    if part.skipped:
        yield f"Not measured: {part.skipped}"
        return
    yield "| what | measured | least to most | to hold |"
    yield "|---|---:|---:|---|"
    for figure in part.figures:
        yield f"| {_cell(figure.what)} | {amount(figure)} | {spread(figure)} | {verdict(figure)} |"
    for plot in part.plots:
        yield ""
        yield f"![{plot.title}]({PICTURES}/{plot.name}.svg)"
    if part.notes:
        yield ""
        yield from (f"- {note}" for note in part.notes)
    yield ""
    yield _run_sentence(entry)


def _run_sentence(entry: Entry) -> str:
    how = "a quick run: small corpora, few rounds; " if entry.quick else ""
    return (
        f"Measured on {entry.date} in {entry.took_s:.0f} s ({how}other processes took "
        f"{entry.others:.0%} of the cores meanwhile)."
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def shown(value: float) -> str:
    """Return a number as people read it: three digits that mean something, thousands apart."""
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
    """Return between which values the rounds lay; nothing where there was one round."""
    if figure.low is None or figure.high is None or figure.low == figure.high:
        return ""
    return f"{shown(figure.low)} to {shown(figure.high)}"


def verdict(figure: Figure) -> str:
    """Return what was to hold, and loudly where it doesn't."""
    bar = figure.bar.strip()
    return f"{bar}; **not held**" if figure.holds is False else bar


def terminal_table(part: Part) -> Table:
    """Return a part as a table for the terminal."""
    table = Table(
        "what", "measured", "least to most", "to hold", title=escape(part.title), title_justify="left"
    )
    for figure in part.figures:
        style = "" if figure.holds is None else "green" if figure.holds else "red"
        cells = (figure.what, amount(figure), spread(figure), verdict(figure).replace("**", ""))
        table.add_row(*(escape(cell) for cell in cells), style=style)
    return table


def write_page(path: Path, results: Results) -> None:
    """Rewrite a page's blocks in its file."""
    path.write_text(rewrite(path.read_text(encoding="utf-8"), results), encoding="utf-8")
