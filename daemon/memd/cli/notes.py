"""`memctl note` and `get`: append to a note, print lines of a memory file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memd.cli.arguments import (
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
from memd_client.escaping import show_unseen, text_of_get
from memd_client.locations import MAX_LINE, split_location

if TYPE_CHECKING:
    from memd_client.messages import GetReply


@click.command(
    "note",
    cls=CommandWithArguments,
    short_help="Append to an agent's note of today.",
    epilog=examples(
        "memctl note the lease was renewed until June",
        "git log -1 --format=%B | memctl note --agent work",
        "memctl note --date yesterday 'Dentist at ten'",
        "memctl note --key backup-2026-05-08 the backup was verified",
    ),
)
@click.argument("text", nargs=-1, type=utf8)
@agent_option
@click.option("--date", type=day, metavar="DAY", help="The note's date or weekday; default: today.")
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

    Without TEXT, or with `-`, reads standard input. Prints the path and lines of the entry, which `memctl get` accepts.
    """
    entry = note_text(text)
    with session.client() as client:
        reply = client.append_note(entry, agent=agent, date=date, key=key)
    if as_json:
        session.output.reply(reply)
        return
    place = f"{reply.path}:{reply.start_line}-{reply.end_line}"
    session.output.text(f"{'added to' if reply.appended else 'already in'} {place}\n")


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
    """Print lines of a file or a conversation.

    PATH may include lines, as printed by `memctl search`: memory/notes.md:12-18. Text of a file is unchanged. Lines of
    a conversation are those of its transcript, and each message is printed on one line.
    """
    if from_line is None and lines is None:
        try:
            path, from_line, lines = split_location(path)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="PATH") from None
    with session.client() as client:
        reply = client.get(
            path, agent=agent, from_line=from_line or 1, lines=lines, include_conversations=True
        )
    if as_json:
        session.output.reply(reply)
        return
    session.output.text("\r\n".join(map(show_unseen, text_of_get(reply).split("\r\n"))))
    if not reply.lines:
        session.output.note(_no_lines(reply))
    if reply.truncated:
        after = (reply.line_numbers or [reply.from_line + reply.lines - 1])[-1] + 1
        session.output.note(
            f"truncated before line {after:,} of {reply.total_lines:,}; continue with --from {after}"
        )


def _no_lines(reply: GetReply) -> str:
    """Return why a reply has no lines."""
    if reply.from_line <= reply.total_lines:
        return f"no message of {reply.path} is in these lines; its last one is in line {reply.total_lines:,}"
    if not reply.total_lines:
        return f"{reply.path} is empty"
    return f"{reply.path} has no line {reply.from_line:,}, only {count(reply.total_lines, 'line')}"
