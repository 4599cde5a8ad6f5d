"""A view that refreshes in place until `q` or Ctrl-C, and survives restarts of the daemon."""

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

from memd.cli.connect import CliSession
from memd.cli.lines import BLANK, line
from memd.cli.output import Output, OutputStream
from memd_client.errors import MemdError

if TYPE_CHECKING:
    from memd_client import Client

Paint = Callable[["Client", Output], None]
"""Requests data from the client and prints it."""

Wait = Callable[[float], bool]
"""Waits the given seconds; returns true, without waiting longer, if the user quits."""


def watch(session: CliSession, every_s: float, paint: Paint, wait: Wait | None = None) -> None:
    """Show the output of `paint` on the whole terminal, and refresh it every `every_s` seconds.

    If the daemon stops responding, the last data stays with a notice, and requests continue. `q` and Ctrl-C restore
    the terminal.
    """
    from rich.live import Live
    from rich.text import Text

    out = session.output.out
    with session.client() as client:
        shown = _rendered(session, lambda output: paint(client, output))
    with (
        session.passive_client() as client,
        _key_listener(wait) as wait_for_quit,
        Live(console=out.console, screen=True, auto_refresh=False) as live,
    ):
        live.update(Text.from_ansi(shown), refresh=True)
        while not wait_for_quit(every_s):
            head = ""
            try:
                shown = _rendered(session, lambda output: paint(client, output))
            except MemdError as error:
                head = _rendered(session, _stale_notice(error))
            live.update(Text.from_ansi(head + shown), refresh=True)


def _stale_notice(error: MemdError) -> Callable[[Output], None]:
    """Return a function that prints that the data is old, and why."""

    def say(output: Output) -> None:
        output.lines(
            [
                line(("daemon not responding; showing the last data", "warn")),
                line((f"{error.message} ({error.wire_code})", "quiet")),
                BLANK,
            ]
        )

    return say


def _rendered(session: CliSession, paint: Callable[[Output], None]) -> str:
    """Return the printed output as the session's terminal would show it."""
    out = session.output.out
    canvas = io.StringIO()
    stream = OutputStream(canvas, terminal=True, colour=out.colour, width=out.console.width)
    paint(Output(stream, stream, time.monotonic))
    return canvas.getvalue()


@contextlib.contextmanager
def _key_listener(wait: Wait | None) -> Iterator[Wait]:
    """Yield the function that waits, by default for a key; restore the keyboard afterwards."""
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
    """Wait; return true as soon as `q` is pressed or the input is closed."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if select.select([keyboard], [], [], left)[0]:
            pressed = os.read(keyboard, 64)
            if not pressed or b"q" in pressed.lower():
                return True
    return False
