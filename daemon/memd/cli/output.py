"""All output of `memctl`: plain text for a pipe, colour and wrapping for a terminal, JSON on request.

rich is imported only for a terminal, because importing it is slow.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from memd.cli.lines import DOT, Line, Piece, cells, line, printable, shortenable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from memd.cli.progress import SplitDetail
    from memd_client.messages import Progress


GAP = 2
"""Columns between two cells."""

MIN_PATH_WIDTH = 16
"""Minimum columns of a shortened path in a table, such as `/home/…/notes.md`."""

ELLIPSIS = "…"


def shorten_middle(text: str, width: int) -> str:
    """Return text of at most `width` columns; longer text gets `…` in its middle and keeps more of its end."""
    if cells(text) <= width:
        return text
    begin = _first_cells(text, (width - 1) // 3)
    end = _first_cells(text[::-1], width - 1 - cells(begin))[::-1]
    return begin + ELLIPSIS + end


def _first_cells(text: str, width: int) -> str:
    """Return the beginning of a text, at most `width` columns."""
    taken = 0
    for place, char in enumerate(text):
        taken += cells(char)
        if taken > width:
            return text[:place]
    return text


def table_lines(
    heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, shorten: Collection[str] = ()
) -> list[Line]:
    """Return a table as lines of at most `width` columns; the first column is left-aligned.

    The cells of columns in `shorten` shrink to `MIN_PATH_WIDTH`. If that doesn't suffice, each row becomes a block.
    """
    grid = [list(heads), *([printable(cell, "") for cell in row] for row in rows)]
    widths = [max(map(cells, column)) for column in zip(*grid, strict=True)]
    for place, head in enumerate(heads):
        excess = sum(widths) + GAP * (len(heads) - 1) - width
        if head in shorten and excess > 0:
            widths[place] = min(widths[place], max(MIN_PATH_WIDTH, cells(head), widths[place] - excess))
    if sum(widths) + GAP * (len(heads) - 1) > width:
        return [each for row in grid[1:] for each in _block(heads, row)]
    texts = [_aligned(row, widths) for row in grid]
    return [line((texts[0], "heads")), *map(line, texts[1:])]


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    """Return a row as text: the first cell left-aligned, the others right-aligned."""
    shown = [shorten_middle(cell, width) for cell, width in zip(row, widths, strict=True)]
    gaps = [" " * (width - cells(cell)) for cell, width in zip(shown, widths, strict=True)]
    first, *others = zip(shown, gaps, strict=True)
    return (" " * GAP).join(["".join(first), *(gap + cell for cell, gap in others)]).rstrip()


def _block(heads: Sequence[str], row: Sequence[str]) -> list[Line]:
    """Return a row of a table that doesn't fit: its name, and the other cells with their heads below."""
    pieces: list[Piece] = []
    for head, cell in zip(heads[1:], row[1:], strict=True):
        if cell:
            pieces += [(DOT, "quiet"), *shortenable(f"{head} {cell}")]
    return [line((f"{heads[0]} ", "label"), (row[0], "title")), Line(tuple(pieces[1:]), GAP)]


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
"""Terminal styles by the style names of `lines.Piece`."""

SHORTENED = frozenset({"path", "place", "title"})
"""Styles of pieces (paths and ids) that are shortened in the middle if wider than the line."""

MIN_TEXT_WIDTH = 28
"""If a terminal has fewer columns to the right of a line's head, the text goes below the head."""

NARROW_INDENT = 4
"""Columns before a text that goes below its head."""


class ReaderGoneError(Exception):
    """The reader closed the output, as `head` does; not a failure."""


class OutputFailedError(Exception):
    """The output cannot be written, as on a full disk; the text is the reason."""


MESSAGES = ("error: ", "note: ", "hint: ")
"""Beginnings of lines that may contain a command to copy."""


class OutputStream:
    """A text stream and the capabilities of its terminal."""

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
        """The rich console of a terminal, created on first use."""
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
        """Print lines: wrapped and coloured on a terminal, plain elsewhere."""
        if self.terminal:
            for each in lines:
                self._print_wrapped(each)
        else:
            self.write("".join(f"{_plain(each)}\n" for each in lines))

    def table(
        self, heads: Sequence[str], rows: Sequence[Sequence[str]], shorten: Collection[str] = ()
    ) -> None:
        """Print a table; see `table_lines`."""
        width = self.console.width if self.terminal else sys.maxsize
        self.lines(table_lines(heads, rows, width, shorten))

    def write(self, text: str) -> None:
        """Write text unchanged."""
        with self._guarded():
            self.file.write(text)
            self.file.flush()

    def write_bytes_of(self, text: str) -> None:
        """Write text as bytes, even if the stream's encoding can't represent it."""
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
        """Convert a failed write to an error, and keep the interpreter's final flush silent."""
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

        A message whose command in backticks would be split is left to the terminal to wrap, so that it can be copied.
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
    """The output of a command: results to standard output, the rest to standard error."""

    def __init__(self, out: OutputStream, err: OutputStream, now_s: Callable[[], float]) -> None:
        self.out = out
        self.err = err
        self._now_s = now_s

    def lines(self, lines: Iterable[Line]) -> None:
        """Print lines of a result."""
        self.out.lines(lines)

    def table(
        self, heads: Sequence[str], rows: Sequence[Sequence[str]], shorten: Collection[str] = ()
    ) -> None:
        """Print a table; on a narrow terminal the columns in `shorten` are shortened."""
        self.out.table(heads, rows, shorten)

    def document(self, value: object) -> None:
        """Print a value as one JSON document in ASCII, indented on a terminal and one line elsewhere.

        Numbers that JSON lacks become null.
        """
        indent = 2 if self.out.terminal else None
        self.out.write(json.dumps(_finite(value), indent=indent, allow_nan=False) + "\n")

    def reply(self, reply: object) -> None:
        """Print a reply of the daemon as JSON."""
        from memd_client.schema import to_wire

        self.document(to_wire(reply))

    def text(self, text: str) -> None:
        """Print text unchanged; on a terminal, with control characters escaped and a final newline."""
        if not self.out.terminal:
            self.out.write_bytes_of(text)
            return
        shown = printable(text.replace("\r\n", "\n"))
        self.out.write(shown if shown.endswith("\n") or not shown else shown + "\n")

    def note(self, text: str) -> None:
        """Print a note on standard error."""
        self.err.lines([line(("note: ", "warn"), text)])

    def error(self, message: str, hint: str, code: str) -> None:
        """Print an error, its hint and its code on standard error."""
        lines = [line(("error: ", "bad"), message or code, indent=0)]
        if hint:
            lines.append(line(("hint: ", "label"), hint, indent=2))
        lines.append(line(("code: ", "label"), code, indent=2))
        self.err.lines(lines)

    @contextlib.contextmanager
    def progress(self, split: SplitDetail, *, quiet: bool) -> Iterator[Callable[[Progress], None]]:
        """Show a request's progress on standard error until the block ends.

        A terminal gets bars; anything else at most one line per second and stage.
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
    """Return a piece's text on one line, with control characters escaped."""
    return printable(piece if isinstance(piece, str) else piece[0], "\t")


def _shortened(piece: Piece, width: int) -> Piece:
    """Return a piece, shortened if it is a path as wide as the line."""
    if isinstance(piece, str) or piece[1] not in SHORTENED:
        return piece
    return shorten_middle(_text_of(piece), width - 1), piece[1]


def _plain(each: Line) -> str:
    """Return a line as plain text."""
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
    """Return a value with None in place of numbers that JSON lacks."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def standard_output(now_s: Callable[[], float]) -> Output:
    """Return the output of this process; output to a closed stream is discarded."""
    return Output(OutputStream(sys.stdout or io.StringIO()), OutputStream(sys.stderr or io.StringIO()), now_s)
