"""Something shown again and again in place, until `q` or Ctrl-C; it outlives the daemon it asks."""

from __future__ import annotations

import contextlib
import io
import os
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from memd.cli.connect import Session
from memd.cli.lines import BLANK, line
from memd.cli.output import Output, Stream
from memd_client.errors import MemdError

if TYPE_CHECKING:
    from memd_client import Client

Paint = Callable[["Client", Output], None]
"""Asks the client and prints what is to be seen."""

Wait = Callable[[float], bool]
"""Waits so many seconds; returns true, and sooner, where the reader wants to leave."""


def watch(session: Session, every_s: float, paint: Paint, wait: Wait | None = None) -> None:
    """Show what `paint` prints, anew every few seconds, on the whole terminal.

    A daemon that goes away leaves what was seen last, with a word about it, and is asked again. Ctrl-C and `q` leave
    the terminal as it was.
    """
    from rich.live import Live
    from rich.text import Text

    out = session.output.out
    with session.client() as client:
        shown = _painted(session, lambda output: paint(client, output))
    with (
        session.watcher() as watcher,
        _listening(wait) as is_over,
        Live(console=out.console, screen=True, auto_refresh=False) as live,
    ):
        live.update(Text.from_ansi(shown), refresh=True)
        while not is_over(every_s):
            head = ""
            try:
                shown = _painted(session, lambda output: paint(watcher, output))
            except MemdError as error:
                head = _painted(session, _absence(error))
            live.update(Text.from_ansi(head + shown), refresh=True)


def _absence(error: MemdError) -> Callable[[Output], None]:
    """Return what prints that the daemon doesn't answer."""

    def say(output: Output) -> None:
        said = line(("the daemon is away: ", "warn"), error.message, (f" ({error.wire_code})", "quiet"))
        output.lines([said, line(("what follows is what was seen last", "quiet")), BLANK])

    return say


def _painted(session: Session, paint: Callable[[Output], None]) -> str:
    """Return what is printed, as it would look on the session's terminal."""
    out = session.output.out
    canvas = io.StringIO()
    stream = Stream(canvas, terminal=True, colour=out.colour, width=out.console.width)
    paint(Output(stream, stream, time.monotonic))
    return canvas.getvalue()


@contextlib.contextmanager
def _listening(wait: Wait | None) -> Iterator[Wait]:
    """Yield what waits: as given, or for a key; the keyboard is set back when the block ends."""
    if wait is not None:
        yield wait
    elif sys.stdin is None or not sys.stdin.isatty():
        yield lambda seconds: threading.Event().wait(seconds)
    else:
        import termios
        import tty

        keyboard = sys.stdin.fileno()
        before = termios.tcgetattr(keyboard)
        try:
            tty.setcbreak(keyboard)
            yield lambda seconds: was_q_pressed(keyboard, seconds)
        finally:
            termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def was_q_pressed(keyboard: int, seconds: float) -> bool:
    """Wait for a while; return true as soon as `q` is pressed, or nobody can press anything any more."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if select.select([keyboard], [], [], left)[0]:
            pressed = os.read(keyboard, 64)
            if not pressed or b"q" in pressed.lower():
                return True
    return False
