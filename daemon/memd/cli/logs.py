"""`memctl logs`: what the daemon noted, wherever its log is kept."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import click

from memd.cli.connect import Session
from memd.cli.log_records import LEVELS, Record, record_lines
from memd.cli.log_sources import find_log
from memd.cli.options import MAX_LOG_LINES, Choice, examples


@click.command(
    "logs",
    epilog=examples(
        "memctl logs",
        "memctl logs -n 20 --level warning",
        "memctl logs --follow",
        "memctl logs --json | jq .event",
    ),
)
@click.option(
    "number",
    "-n",
    "--lines",
    type=click.IntRange(0, MAX_LOG_LINES),
    default=100,
    show_default=True,
    metavar="N",
    help="How many of the last lines.",
)
@click.option("--follow", "-f", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option("--level", type=Choice(LEVELS[:4]), default="debug", help="Only what is at least this serious.")
@click.option("as_json", "--json", is_flag=True, help="Print each line as a JSON object of its own.")
@click.pass_obj
def command(session: Session, number: int, follow: bool, level: str, as_json: bool) -> None:
    """Show the daemon's log.

    It is read from the journal where systemd runs the daemon, else from the files beside its socket. Lines that
    are no events, such as a traceback, are shown at every level. No daemon is started for this.
    """
    from memd.cli.checks.unit import find_launchd_log, has_systemd_unit
    from memd_client.discovery import home_directory, socket_path

    source = find_log(
        socket_path(), has_unit=has_systemd_unit(), agent_log=find_launchd_log(Path(home_directory()))
    )

    def is_wanted(record: Record) -> bool:
        return record.is_at_least(level)

    records = source.last(number, is_wanted)
    for record in records:
        _show(session, record, as_json=as_json)
    if number and not records and not follow:
        session.output.note(f"the log has no line of level {level} or above")
    if follow:
        for record in source.follow(is_wanted, _wait):
            _show(session, record, as_json=as_json)


def _wait(seconds: float) -> None:
    """Wait for a moment, in which Ctrl-C is heard."""
    threading.Event().wait(seconds)


def _show(session: Session, record: Record, *, as_json: bool) -> None:
    """Print a record."""
    if as_json:
        session.output.out.write(json.dumps(record.as_document()) + "\n")
    else:
        session.output.lines(record_lines(record))
