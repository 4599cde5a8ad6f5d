"""`memctl show`: open the page that shows what agents remember."""

from __future__ import annotations

import os
import sys
import webbrowser
from typing import TYPE_CHECKING

import click

from memd.cli.arguments import agent_option, examples
from memd.cli.connect import Session

if TYPE_CHECKING:
    pass

SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""One of these is set where a browser can be opened; without a screen Python would run one in the terminal."""


@click.command("show", epilog=examples("memctl show", "memctl show --agent main --no-browser"))
@agent_option
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.pass_obj
def command(session: Session, agent: str | None, no_browser: bool) -> None:
    """Show what the agents remember, as a page in your browser.

    The daemon serves it on this machine alone, and only while it is open. Its address works once, within a minute:
    whoever opens it first gets the page. With --agent it shows that agent and no other.
    """
    with session.client() as client:
        reply = client.show(agent)
    session.output.text(f"{reply.url}\n")
    opened = not no_browser and open_browser(reply.url)
    said = "Opened in your browser" if opened else "Open it in a browser of this machine"
    session.output.note(f"{said}; the address works once, within {reply.expires_s} s.")


def open_browser(url: str) -> bool:
    """Open an address in the user's browser; return whether one was found."""
    if sys.platform != "darwin" and not any(os.environ.get(name) for name in SCREENS):
        return False
    try:
        return webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False
