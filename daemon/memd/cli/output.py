"""The only place that prints: plain text for a pipe, colour and wrapping for a terminal, JSON on request.

rich is imported where a terminal is written to and nowhere else: a pipe must not wait for it.
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

from memd.cli.lines import Line, Piece, line
from memd.cli.tables import shorten_middle, table_lines
from memd.cli.wording import cells, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from memd.cli.progress import SplitDetail
    from memd_client.messages import Progress

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
        if self.terminal:
            self.lines(table_lines(heads, rows, self.console.width, shorten))
        else:
            self.write(_plain_table(heads, rows))

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


def _plain_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text with columns two spaces apart."""
    grid = [[printable(cell, "") for cell in each] for each in (heads, *rows)]
    widths = [max(cells(each[place]) for each in grid) for place in range(len(heads))]
    return "".join("  ".join(_fitted(each, widths)).rstrip() + "\n" for each in grid)


def _fitted(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return a row's cells filled up to their widths: the first on its right, the others on their left."""
    gaps = [" " * (width - cells(cell)) for cell, width in zip(row, widths, strict=True)]
    return [row[0] + gaps[0], *(gap + cell for gap, cell in zip(gaps[1:], row[1:], strict=True))]


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
