"""`memctl handoff`: a digest of a session, with which another program can continue."""

from __future__ import annotations

import os

import click

from memd.cli.arguments import (
    MAX_PATH_CHARS,
    MAX_SOURCE_CHARS,
    HintedError,
    agent_option,
    at_most,
    examples,
    json_option,
)
from memd.cli.connect import CliSession
from memd.programs.catalog import PROGRAMS


@click.command(
    "handoff",
    short_help="Continue a session in another program.",
    epilog=examples(
        "memctl handoff --to codex",
        'codex "$(memctl handoff)"',
        "memctl handoff --session 5f2c0a1e --to gemini",
        "memctl handoff --project shop",
    ),
)
@click.option("--to", type=at_most(MAX_SOURCE_CHARS), metavar="NAME", help="The program that continues.")
@click.option(
    "session_id",
    "--session",
    type=at_most(MAX_PATH_CHARS),
    metavar="ID",
    help="The session, or how its id begins.",
)
@click.option(
    "--project",
    type=at_most(MAX_PATH_CHARS),
    metavar="NAME",
    help="Name or path of a project; default: this folder's.",
)
@agent_option
@json_option
@click.pass_obj
def command(
    session: CliSession,
    to: str | None,
    session_id: str | None,
    project: str | None,
    agent: str | None,
    as_json: bool,
) -> None:
    """Print a digest of the newest session of this project, for another program.

    It has the user's requests, decisions, changed files, commands that failed, and what is open, in at most 6,000
    characters. The session may be of any program, and stays as it is. With --to, the command that starts the other
    program with the digest is printed too, on standard error.
    """
    place = project or ("" if session_id else ".")
    try:
        place = os.path.abspath(place) if os.sep in place or place in (".", "..") else place
    except FileNotFoundError:
        raise HintedError("the current folder no longer exists", "name a project with --project") from None
    with session.client() as client:
        reply = client.session_handoff(session=session_id or "", project=place, to=to or "", agent=agent)
    if as_json:
        session.output.reply(reply)
        return
    session.output.text(f"{reply.text}\n")
    if reply.start and to is not None:
        session.output.note(f"start {PROGRAMS[to].title} with it: {reply.start}")
