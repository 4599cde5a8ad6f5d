"""`memctl note` and `get`: append to a note, print lines of a memory file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from memd.cli.arguments import (
    MAX_LINE,
    MAX_PATH_CHARS,
    CommandWithArguments,
    agent_option,
    at_most,
    day,
    examples,
    json_option,
    note_key,
    note_text,
    utf8,
)
from memd.cli.connect import CliSession
from memd.cli.lines import count

if TYPE_CHECKING:
    from memd_client.messages import GetReply


@click.command(
    "note",
    cls=CommandWithArguments,
    short_help="Append to an agent's note of today.",
    epilog=examples(
        "memctl note the lease was renewed until June",
        "git log -1 --format=%B | memctl note - --agent work",
        "memctl note --date 2026-05-08 'Dentist at ten'",
        "memctl note --key backup-2026-05-08 the backup was verified",
    ),
)
@click.argument("text", nargs=-1, required=True, type=utf8)
@agent_option
@click.option("--date", type=day, metavar="YYYY-MM-DD", help="The date of the note; default: today.")
@click.option(
    "--key", type=note_key, metavar="KEY", help="Append only if the note has no entry with this key."
)
@json_option
@click.pass_obj
def note(
    session: CliSession,
    text: tuple[str, ...],
    agent: str | None,
    date: str | None,
    key: str | None,
    as_json: bool,
) -> None:
    """Append TEXT to today's note, memory/YYYY-MM-DD.md in the agent's workspace.

    TEXT `-` reads standard input. Prints the path and lines of the entry, which `memctl get` accepts.
    """
    entry = note_text(text)
    with session.client() as client:
        reply = client.append_note(entry, agent=agent, date=date, key=key)
    if as_json:
        session.output.reply(reply)
        return
    place = f"{reply.path}:{reply.start_line}-{reply.end_line}"
    session.output.text(f"{'added to' if reply.appended else 'already in'} {place}\n")


LOCATION = re.compile(r"(?P<path>.+\.md)(?::|#L)(?P<first>[1-9]\d*)(?:-L?(?P<last>[1-9]\d*))?", re.DOTALL)
"""A path with lines, as printed by `memctl search` (`a.md:3-9`) or in a citation (`a.md#L3-L9`)."""


@click.command(
    "get",
    epilog=examples(
        "memctl get MEMORY.md",
        "memctl get memory/2026-05-08.md:12-18",
        "memctl get memory/2026-05-08.md --from 12 --lines 7 --agent main",
    ),
)
@click.argument("path", type=at_most(MAX_PATH_CHARS))
@agent_option
@click.option("from_line", "--from", type=click.IntRange(1, MAX_LINE), metavar="N", help="The first line.")
@click.option("--lines", type=click.IntRange(1, MAX_LINE), metavar="N", help="Number of lines; default: all.")
@json_option
@click.pass_obj
def get(
    session: CliSession, path: str, agent: str | None, from_line: int | None, lines: int | None, as_json: bool
) -> None:
    """Print lines of the file PATH, unchanged.

    PATH may include lines, as printed by `memctl search`: memory/notes.md:12-18.
    """
    if from_line is None and lines is None:
        path, from_line, lines = split_location(path)
    with session.client() as client:
        reply = client.get(path, agent=agent, from_line=from_line or 1, lines=lines)
    if as_json:
        session.output.reply(reply)
        return
    session.output.text(reply.text)
    if not reply.lines:
        session.output.note(_no_lines(reply))
    if reply.truncated:
        after = reply.from_line + reply.lines
        session.output.note(
            f"truncated before line {after:,} of {reply.total_lines:,}; continue with --from {after}"
        )


def _no_lines(reply: GetReply) -> str:
    """Return why a reply has no lines."""
    if not reply.total_lines:
        return f"{reply.path} is empty"
    return f"{reply.path} has no line {reply.from_line:,}, only {count(reply.total_lines, 'line')}"


def split_location(location: str) -> tuple[str, int | None, int | None]:
    """Return the path, the first line and the number of lines of a location such as `memory/a.md:3-9`."""
    match = LOCATION.fullmatch(location)
    if match is None:
        return location, None, None
    numbers = [match["first"], match["last"] or match["first"]]
    for number in numbers:
        if len(number) > len(str(MAX_LINE)) or int(number) > MAX_LINE:
            reason = f"line {number[:20]} is not in the range 1<=x<={MAX_LINE}"
            raise click.BadParameter(reason, param_hint="PATH")
    first, last = map(int, numbers)
    if last < first:
        raise click.BadParameter(f"line {last} is before line {first}", param_hint="PATH")
    return match["path"], first, last - first + 1
