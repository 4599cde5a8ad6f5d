"""The only place that prints: plain text for a pipe, colour and wrapping for a terminal, JSON on request.

rich is imported only if a terminal is written to: a pipe must not wait for it.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from memd.cli.lines import DOT, Line, Piece, cells, dotted, line, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from memd.cli.progress import SplitDetail
    from memd_client.messages import Progress


GAP = 2
"""Columns between two cells."""

MIN_PATH_WIDTH = 16
"""Columns a shortened path keeps in a table: `/home/…/notes.md` names the place and the file."""

ELLIPSIS = "…"

_WORDS = re.compile(r"(?<!\d)\s+")
"""Between words; a number and its unit are one."""


def shorten_middle(text: str, width: int) -> str:
    """Return text of at most `width` columns; a longer one has `…` in its middle, and more of its end is kept."""
    if cells(text) <= width:
        return text
    begin = _first_cells(text, (width - 1) // 3)
    end = _first_cells(text[::-1], width - 1 - cells(begin))[::-1]
    return begin + ELLIPSIS + end


def _first_cells(text: str, width: int) -> str:
    """Return the beginning of a text that takes at most so many columns."""
    taken = 0
    for place, char in enumerate(text):
        taken += cells(char)
        if taken > width:
            return text[:place]
    return text


def table_lines(
    heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, shorten: Collection[str] = ()
) -> list[Line]:
    """Return a table as lines of at most `width` columns: the first column is a name, the others are figures."""
    grid = [[printable(cell, "") for cell in each] for each in rows]
    widths = _fitting_widths(heads, grid, width, shorten)
    if widths is None:
        return [each for row in grid for each in _block(heads, row, width)]
    lines = [line((text, "heads")) for text in _grid_row(heads, widths)]
    for row in grid:
        lines += [line(text) for text in _grid_row(row, widths)]
    return lines


def _fitting_widths(
    heads: Sequence[str], grid: Sequence[Sequence[str]], width: int, shorten: Collection[str]
) -> list[int] | None:
    """Return the columns' widths; None if the table doesn't fit.

    Columns that may be shortened give way first, down to `MIN_PATH_WIDTH`, then the widest, down to its longest word.
    """
    columns = [[head, *(row[place] for row in grid)] for place, head in enumerate(heads)]
    widths = [max(map(cells, column)) for column in columns]
    least = [max(cells(word) for cell in column for word in _WORDS.split(cell)) for column in columns]
    for place, head in enumerate(heads):
        if head in shorten:
            least[place] = min(least[place], max(MIN_PATH_WIDTH, cells(head)))
    room = width - GAP * (len(heads) - 1)
    if sum(least) > room:
        return None
    while sum(widths) > room:
        wider = [place for place in range(len(widths)) if widths[place] > least[place]]
        widths[max(wider, key=lambda place: (heads[place] in shorten, widths[place]))] -= 1
    return widths


def _grid_row(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return a row as lines of text: the first cell on its left, the others on their right."""
    wrapped = [_wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
    height = max(map(len, wrapped))
    texts = []
    for number in range(height):
        parts = [part[number] if number < len(part) else "" for part in wrapped]
        gaps = [" " * (width - cells(part)) for part, width in zip(parts, widths, strict=True)]
        filled = [parts[0] + gaps[0], *(gap + part for gap, part in zip(gaps[1:], parts[1:], strict=True))]
        texts.append((" " * GAP).join(filled).rstrip())
    return texts


def _wrap(cell: str, width: int) -> list[str]:
    """Return a cell's lines, wrapped between words; a word that is wider is shortened."""
    if cells(cell) <= width:
        return [cell]
    lines = [""]
    for word in _WORDS.split(cell):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cells(joined) <= width:
            lines[-1] = joined
        elif lines[-1]:
            lines.append(shorten_middle(word, width))
        else:
            lines[-1] = shorten_middle(word, width)
    return lines


def _block(heads: Sequence[str], row: Sequence[str], width: int) -> list[Line]:
    """Return a row of a table that doesn't fit: its name, and below it every other cell with its head."""
    room = width - GAP
    name = shorten_middle(row[0], width - cells(heads[0]) - 1)
    lines = [line((f"{heads[0]} ", "label"), (name, "title"))]
    parts: list[str] = []
    for head, cell in zip(heads[1:], row[1:], strict=True):
        if not cell:
            continue
        part = " ".join([head, *(shorten_middle(word, room) for word in cell.split())])
        if parts and cells(DOT.join([*parts, part])) > room:
            lines.append(Line(dotted(*parts), GAP))
            parts = []
        parts.append(part)
    return [*lines, Line(dotted(*parts), GAP)]


STYLES = {
    "title": "bold",
    "heads": "bold",
    "label": "dim",
    "quiet": "dim",
    "path": "cyan",
    "place": "",
    "good": "green",
    "warn": "yellow",
    "bad": "red",
    "match": "bold yellow",
}
"""What the style names of `lines.Piece` look like on a terminal."""

SHORTENED = frozenset({"path", "place", "title"})
"""Styles of pieces (paths, and ids as titles) that are shortened in their middle if they are wider than the line."""

MIN_TEXT_WIDTH = 28
"""Columns: if a terminal has fewer beside a line's head, the text goes below the head."""

NARROW_INDENT = 4
"""Columns before a text that goes below its head."""


class ReaderGoneError(Exception):
    """Whoever read the output has closed it, as `head` does; nothing is wrong."""


class OutputFailedError(Exception):
    """The output can't be written, as on a full disk; the text says why."""


MESSAGES = ("error: ", "note: ", "try: ")
"""What begins a line that may name a command to paste."""


class Stream:
    """One text stream and what it can show."""

    def __init__(
        self,
        file: TextIO,
        *,
        terminal: bool | None = None,
        colour: bool | None = None,
        width: int | None = None,
    ) -> None:
        self.file = file
        self.terminal = file.isatty() if terminal is None else terminal
        wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.colour = self.terminal and (wanted if colour is None else colour)
        self._width = width
        self._console: Console | None = None
        if isinstance(file, io.TextIOWrapper):
            file.reconfigure(errors="backslashreplace")

    @property
    def console(self) -> Console:
        """The rich console of a terminal, made on first use."""
        if self._console is None:
            from rich.console import Console

            self._console = Console(
                file=self.file,
                force_terminal=True,
                color_system="standard" if self.colour else None,
                width=self._width,
                highlight=False,
                markup=False,
                emoji=False,
            )
        return self._console

    def lines(self, lines: Iterable[Line]) -> None:
        """Print lines: wrapped and coloured on a terminal, one each in plain text elsewhere."""
        if self.terminal:
            for each in lines:
                self._print_wrapped(each)
        else:
            self.write("".join(f"{_plain(each)}\n" for each in lines))

    def table(
        self, heads: Sequence[str], rows: Sequence[Sequence[str]], shorten: Collection[str] = ()
    ) -> None:
        """Print a table: the first column is a name, the others are figures; see `tables.table_lines`."""
        width = self.console.width if self.terminal else sys.maxsize
        self.lines(table_lines(heads, rows, width, shorten))

    def write(self, text: str) -> None:
        """Write text as it is."""
        with self._guarded():
            self.file.write(text)
            self.file.flush()

    def write_bytes_of(self, text: str) -> None:
        """Write text byte for byte, also where the stream's encoding couldn't hold it."""
        buffer = getattr(self.file, "buffer", None)
        if buffer is None:
            self.write(text)
            return
        try:
            octets = text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            octets = text.encode("utf-8", "backslashreplace")
        with self._guarded():
            self.file.flush()
            buffer.write(octets)
            buffer.flush()

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn a failed write into an error of ours, and keep the interpreter's last flush quiet."""
        try:
            yield
        except OSError as error:
            with contextlib.suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self.file.fileno())
                os.close(nowhere)
            if isinstance(error, BrokenPipeError):
                raise ReaderGoneError from None
            raise OutputFailedError(error.strerror) from None

    def _print_wrapped(self, each: Line) -> None:
        """Print a line on a terminal: wrapped to its width below the line's indent, paths shortened to fit.

        A message whose command in backticks would be cut is left for the terminal to fold: pasted, it stays whole.
        """
        from rich.text import Text

        head, indent = _styled([each.head]), each.indent
        if indent > NARROW_INDENT and self.console.width - indent < MIN_TEXT_WIDTH:
            indent = NARROW_INDENT
        if head.cell_len > indent or (head and indent < each.indent):
            self.console.print(head, soft_wrap=True)
            head = Text()
        head.pad_right(indent - head.cell_len)
        width = max(1, self.console.width - indent)
        text = _styled([_shortened(piece, width) for piece in each.pieces])
        parts = list(text.wrap(self.console, width, tab_size=4)) or [Text()]
        if text.plain.startswith(MESSAGES) and any(part.plain.count("`") % 2 for part in parts):
            parts = [text]
        for place, part in enumerate(parts):
            start = head if place == 0 else Text(" " * indent)
            whole = Text.assemble(start, part)
            whole.rstrip()
            self.console.print(whole, soft_wrap=True)


class Output:
    """Everything a command can say: answers to standard output, the rest to standard error."""

    def __init__(self, out: Stream, err: Stream, now_s: Callable[[], float]) -> None:
        self.out = out
        self.err = err
        self._now_s = now_s

    def lines(self, lines: Iterable[Line]) -> None:
        """Print lines of an answer."""
        self.out.lines(lines)

    def table(
        self, heads: Sequence[str], rows: Sequence[Sequence[str]], shorten: Collection[str] = ()
    ) -> None:
        """Print a table of an answer; a narrow terminal gets the cells below the heads in `shorten` shortened."""
        self.out.table(heads, rows, shorten)

    def document(self, value: object) -> None:
        """Print a value of maps, lists and scalars as one JSON document in ASCII.

        On a terminal it is indented, elsewhere it is one line. Numbers JSON doesn't have become null.
        """
        indent = 2 if self.out.terminal else None
        self.out.write(json.dumps(_finite(value), indent=indent, allow_nan=False) + "\n")

    def reply(self, reply: object) -> None:
        """Print a reply of the daemon field by field, as `document` does."""
        from memd_client.wire import to_wire

        self.document(to_wire(reply))

    def text(self, text: str) -> None:
        """Print text unchanged; a terminal gets it made harmless and ended with a newline."""
        if not self.out.terminal:
            self.out.write_bytes_of(text)
            return
        shown = printable(text.replace("\r\n", "\n"))
        self.out.write(shown if shown.endswith("\n") or not shown else shown + "\n")

    def note(self, text: str) -> None:
        """Tell something beside the answer, on standard error."""
        self.err.lines([line(("note: ", "warn"), text)])

    def error(self, message: str, hint: str, code: str) -> None:
        """Tell what went wrong and the way out, on standard error."""
        said = [line(("error: ", "bad"), message or code, indent=0)]
        if hint:
            said.append(line(("try: ", "label"), hint, indent=2))
        said.append(line(("code: ", "label"), code, indent=2))
        self.err.lines(said)

    @contextlib.contextmanager
    def progress(self, split: SplitDetail, *, quiet: bool) -> Iterator[Callable[[Progress], None]]:
        """Show how far a request is, on standard error, until the block ends.

        A terminal gets bars, anything else at most one line a second and stage.
        """
        from memd.cli.progress import Bars, ProgressLines, ignore

        if self.err.terminal:
            with Bars(split, self.err.console) as bars:
                yield bars.show
        elif quiet:
            yield ignore
        else:
            yield ProgressLines(split, self.err.write, self._now_s).show


def _text_of(piece: Piece) -> str:
    """Return a piece's text, on one line and harmless."""
    return printable(piece if isinstance(piece, str) else piece[0], "\t")


def _shortened(piece: Piece, width: int) -> Piece:
    """Return a piece; a path that is as wide as the line is shortened, with a column left for what follows it."""
    if isinstance(piece, str) or piece[1] not in SHORTENED:
        return piece
    return shorten_middle(_text_of(piece), width - 1), piece[1]


def _plain(each: Line) -> str:
    """Return a line without any style."""
    head = _text_of(each.head)
    gap = " " * (each.indent - cells(head))
    return (head + gap + "".join(_text_of(piece) for piece in each.pieces)).rstrip()


def _styled(pieces: Iterable[Piece]) -> Text:
    """Return pieces as one rich text."""
    from rich.text import Text

    text = Text()
    for piece in pieces:
        text.append(_text_of(piece), "" if isinstance(piece, str) else STYLES[piece[1]])
    return text


def _finite(value: Any) -> Any:
    """Return a value with null in place of numbers that JSON doesn't have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def standard_output(now_s: Callable[[], float]) -> Output:
    """Return the output of this process; a stream the process was started without leads nowhere."""
    return Output(Stream(sys.stdout or io.StringIO()), Stream(sys.stderr or io.StringIO()), now_s)
