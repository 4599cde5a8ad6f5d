"""What every import does before and after it writes: ask, and have the agent indexed."""

from __future__ import annotations

import sys
from typing import Any

import click

from memd.cli.connect import Session
from memd.cli.import_place import Place
from memd.cli.index import print_reply
from memd.cli.progress import of_agent
from memd_client.wire import to_wire

UNANSWERED = 2
"""The exit code where something was to be written and nobody said that it may."""


def ask(session: Session, question: str, *, yes: bool) -> tuple[bool, int]:
    """Return whether something may be written, and the exit code where it may not."""
    if yes:
        return True, 0
    if sys.stdin is None or not sys.stdin.isatty():
        session.output.note("nothing was written: there is no terminal to ask on; give --yes to write")
        return False, UNANSWERED
    click.confirm(question, abort=True, err=True)
    return True, 0


def index(session: Session, place: Place, *, quiet: bool) -> dict[str, Any] | None:
    """Have the agent indexed and say how to search; None where there is no daemon, which is said too."""
    name = place.agent.id
    if place.away:
        session.output.note(
            f"no daemon answers ({place.away}): what was written can be searched as soon as one runs"
        )
        return None
    with session.client() as client, session.output.progress(of_agent(name), quiet=quiet) as show:
        reply = client.index(agent=name, on_progress=show)
    if not quiet:
        print_reply(click.get_current_context(), session, reply, as_json=False)
        session.output.text(f"search it: memctl search --agent {name} WORDS\n")
    document: dict[str, Any] = to_wire(reply)
    return document
