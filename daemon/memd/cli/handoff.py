"""`memctl handoff`: a digest of a session, with which another program can continue."""

from __future__ import annotations

import click

from memd.cli.arguments import (
    MAX_PATH_CHARS,
    MAX_SOURCE_CHARS,
    agent_option,
    at_most,
    examples,
    json_option,
)
from memd.cli.connect import CliSession
from memd.cli.work import folder_of, project_option
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
@project_option
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
    place = folder_of(project) if project or not session_id else ""
    with session.client() as client:
        reply = client.session_handoff(session=session_id or "", project=place, to=to or "", agent=agent)
    if as_json:
        session.output.reply(reply)
        return
    session.output.text(f"{reply.text}\n")
    if reply.start and to is not None:
        session.output.note(f"start {PROGRAMS[to].title} with it: {reply.start}")
