"""`memctl web`: open the page that shows the agents' memory."""

from __future__ import annotations

import os
import sys
import webbrowser

import click

from memd.cli.arguments import agent_option, examples
from memd.cli.connect import CliSession

SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""A browser is opened only if one of these is set: without a screen Python would run one in the terminal."""


@click.command("web", epilog=examples("memctl web", "memctl web --agent main --no-browser"))
@agent_option
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.pass_obj
def command(session: CliSession, agent: str | None, no_browser: bool) -> None:
    """Show the agents' memory in your browser.

    The daemon serves the page to this machine only, and only while the page is open. The address works once, within a
    minute. With --agent the page is limited to that agent.
    """
    with session.client() as client:
        reply = client.open_page(agent)
    session.output.text(f"{reply.url}\n")
    opened = not no_browser and open_browser(reply.url)
    said = "opened in your browser" if opened else "open this address in a browser on this machine"
    session.output.note(f"{said}; it works once, within {reply.expires_s} s")


def open_browser(url: str) -> bool:
    """Open an address in the user's browser; return whether that worked."""
    if sys.platform != "darwin" and not any(os.environ.get(name) for name in SCREENS):
        return False
    try:
        return webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False
