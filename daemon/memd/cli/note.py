"""`memctl note`: a line or more for an agent's note of today."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

import click

from memd.cli.connect import MemoryClient, Session
from memd.cli.groups import CommandWithArguments
from memd.cli.options import agent_option, examples, json_option, utf8
from memd.cli.texts import day, note_key, note_text

if TYPE_CHECKING:
    from memd_client.messages import AppendNoteReply


class NoteClient(MemoryClient, Protocol):
    """The part of `memd_client.Client` that writes notes."""

    def append_note(
        self, text: str, *, agent: str | None = None, date: str | None = None, key: str | None = None
    ) -> AppendNoteReply:
        """Append an entry to the note of a day."""


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
def command(
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
        reply = cast(NoteClient, client).append_note(entry, agent=agent, date=date, key=key)
    if as_json:
        from memd_client.wire import to_wire

        session.output.document(to_wire(reply))
        return
    session.output.text(f"{reply.path}:{reply.start_line}-{reply.end_line}\n")
    if not reply.appended:
        session.output.note("nothing was appended: the note had an entry with this key already")
