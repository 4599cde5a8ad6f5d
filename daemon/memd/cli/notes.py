"""`memctl note` and `get`: append to a note, print lines of a file of memory."""

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
from memd.cli.connect import Session
from memd.cli.lines import count

if TYPE_CHECKING:
    from memd_client.messages import GetReply


@click.command(
    "note",
    cls=CommandWithArguments,
    short_help="Append to today's note of an agent.",
    epilog=examples(
        "memctl note the lease was renewed until June",
        "git log -1 --format=%B | memctl note - --agent work",
        "memctl note --date 2026-05-08 'Dentist at ten'",
        "memctl note --key backup-2026-05-08 the backup was verified",
    ),
)
@click.argument("text", nargs=-1, required=True, type=utf8)
@agent_option
@click.option("--date", type=day, metavar="YYYY-MM-DD", help="The day of the note; today if left out.")
@click.option(
    "--key", type=note_key, metavar="KEY", help="Append only if nothing was appended with this key."
)
@json_option
@click.pass_obj
def note(
    session: Session,
    text: tuple[str, ...],
    agent: str | None,
    date: str | None,
    key: str | None,
    as_json: bool,
) -> None:
    """Append TEXT to the note of today, memory/YYYY-MM-DD.md of the agent's workspace.

    TEXT is `-` for the text on standard input. Prints the lines where it is, as `memctl get` takes them.
    """
    entry = note_text(text)
    with session.client() as client:
        reply = client.append_note(entry, agent=agent, date=date, key=key)
    if as_json:
        session.output.reply(reply)
        return
    session.output.text(f"{reply.path}:{reply.start_line}-{reply.end_line}\n")
    if not reply.appended:
        session.output.note("nothing was appended: the note had an entry with this key already")


PLACE = re.compile(r"(?P<path>.+\.md)(?::|#L)(?P<first>[1-9]\d*)(?:-L?(?P<last>[1-9]\d*))?", re.DOTALL)
"""A path with lines, as `memctl search` prints it (`a.md:3-9`) or as a citation has it (`a.md#L3-L9`)."""


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
@click.option("from_line", "--from", type=click.IntRange(1, MAX_LINE), metavar="N", help="First line.")
@click.option(
    "--lines", type=click.IntRange(1, MAX_LINE), metavar="N", help="How many lines; all if left out."
)
@json_option
@click.pass_obj
def get(
    session: Session, path: str, agent: str | None, from_line: int | None, lines: int | None, as_json: bool
) -> None:
    """Print lines of the file PATH, unchanged.

    PATH may end in lines, as `memctl search` prints them: memory/notes.md:12-18.
    """
    if from_line is None and lines is None:
        path, from_line, lines = split_place(path)
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
        session.output.note(f"cut before line {after} of {reply.total_lines}; go on with --from {after}")


def _no_lines(reply: GetReply) -> str:
    """Return why a reply holds no lines."""
    if not reply.total_lines:
        return f"{reply.path} is empty"
    return f"no line {reply.from_line:,}: {reply.path} has {count(reply.total_lines, 'line')}"


def split_place(place: str) -> tuple[str, int | None, int | None]:
    """Return the path, the first line and the number of lines of a place such as `memory/a.md:3-9`."""
    match = PLACE.fullmatch(place)
    if match is None:
        return place, None, None
    numbers = [match["first"], match["last"] or match["first"]]
    for number in numbers:
        if len(number) > len(str(MAX_LINE)) or int(number) > MAX_LINE:
            reason = f"line {number[:20]} is not in the range 1<=x<={MAX_LINE}."
            raise click.BadParameter(reason, param_hint="PATH")
    first, last = map(int, numbers)
    if last < first:
        raise click.BadParameter(f"line {last} is before line {first}.", param_hint="PATH")
    return match["path"], first, last - first + 1
