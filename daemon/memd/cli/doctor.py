"""`memctl doctor`: everything that can be wrong, whether or not a daemon runs, each with its way out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memd.cli.arguments import examples, json_option
from memd.cli.checks.installation import OK, WARNING, WRONG, Finding
from memd.cli.connect import Session
from memd.cli.lines import BLANK, Line, count, line, shortenable

if TYPE_CHECKING:
    from memd.cli.checks.daemon import Place

MARKS = {OK: ("✓", "good"), WARNING: ("!", "warn"), WRONG: ("✗", "bad")}
PLAIN_MARKS = {OK: "ok", WARNING: "!", WRONG: "x"}
"""For an output that can't show the others."""

INDENT = 20
"""Columns before what was found."""

PLACE_S = 60.0
"""How long everything about the socket may take: its parts have shorter deadlines of their own."""

FILES_S = 5.0
"""How long a look at a few files of the system may take."""


@click.command(
    "doctor", epilog=examples("memctl doctor", "memctl doctor --start", "memctl doctor --json | jq .findings")
)
@click.option("--start", is_flag=True, help="Start the daemon first where none runs.")
@json_option
@click.pass_obj
@click.pass_context
def command(ctx: click.Context, session: Session, start: bool, as_json: bool) -> None:
    """Look for everything that can be wrong, and say how to mend it.

    Works whether or not the daemon runs, and starts none unless told to. Ends with 1 where something is
    wrong; a warning alone is no reason for that.
    """
    from memd_client.discovery import home_directory

    findings = _start(session) if start else []
    findings += examine(os.environ, Path(home_directory()), session.now_ms())
    wrong = [each for each in findings if each.state == WRONG]
    warnings = [each for each in findings if each.state == WARNING]
    if as_json:
        document = {
            "ok": not wrong,
            "wrong": len(wrong),
            "warnings": len(warnings),
            "findings": [asdict(each) for each in findings],
        }
        session.output.document(document)
    else:
        encoding = getattr(session.output.out.file, "encoding", None) or "utf-8"
        session.output.lines(finding_lines(findings, plain=not _can_show("✓✗", encoding)))
    if wrong:
        ctx.exit(1)


def _start(session: Session) -> list[Finding]:
    """Start the daemon where none runs; return what stood in the way."""
    from memd_client.errors import MemdError

    try:
        with session.client() as client:
            client.status()
    except MemdError as error:
        return [Finding("daemon", "start", WRONG, error.message, error.hint)]
    return []


def examine(environ: Mapping[str, str], home: Path, now_ms: int) -> list[Finding]:
    """Return everything that was looked at, in the order it is shown.

    Every part has a deadline, so that a disk, a daemon or a library that hangs is a finding like any other. The daemon
    makes the report on the installation if it can: its modules are loaded, a process for it needs 0.5 s of CPU.
    """
    from memd.cli.checks.agents import check_memory
    from memd.cli.checks.daemon import check_config_socket, within
    from memd.cli.checks.installation import (
        check_clock,
        check_descriptors,
        check_folders,
        check_leftovers,
        check_programs,
        check_service,
        check_settings,
        check_watches,
    )

    socket, place = _look_at_place(environ)
    report, findings = (place.report, []) if place.report else _ask_engine("settings")
    if report:
        findings += [*check_programs(report), *check_settings(report)]
        configured = report["daemon_config"]["socket"]
        findings += check_config_socket(socket, configured, bool(environ.get("MEMD_SOCKET")))
    findings += place.findings
    findings += within(
        FILES_S,
        lambda: check_service(environ, home),
        lambda: [
            Finding("service", "files", WRONG, "the files of the service can't be looked at: they hang")
        ],
    )
    indexes: dict[str, Any] = {}
    if not place.is_running:  # a writer in the midst of something would look like damage
        indexes, failed = _ask_engine("indexes")
        findings += failed
    if report:
        findings += check_watches(report)
        findings += [check_descriptors(place.pid), check_clock(report, now_ms)]
        findings += [*check_folders(report), *check_leftovers(report)]
    return findings + check_memory(report, indexes, place.status)


def _ask_engine(what: str) -> tuple[dict[str, Any], list[Finding]]:
    """Return the report a process of its own makes; see `ask_engine`, which imports what only it needs."""
    from memd.cli.checks.installation import ask_engine

    return ask_engine(what)


def _look_at_place(environ: Mapping[str, str]) -> tuple[str, Place]:
    """Return where the socket is, empty where it can't be anywhere, and how the daemon there is."""
    from memd.cli.checks.daemon import Place, check_place, within
    from memd_client.discovery import socket_path
    from memd_client.errors import SocketPathError

    def hangs() -> Place:
        found = f"looking at {os.path.dirname(socket)} did not end within {PLACE_S:g} s"
        hint = "Set MEMD_SOCKET to a path on a disk that doesn't hang."
        return Place([Finding("daemon", "socket", WRONG, found, hint)], is_running=True)

    try:
        socket = socket_path(environ)
    except SocketPathError as error:
        return "", Place([Finding("daemon", "socket", WRONG, error.message, error.hint)])
    return socket, within(PLACE_S, lambda: check_place(socket), hangs)


def finding_lines(findings: Iterable[Finding], *, plain: bool = False) -> list[Line]:
    """Return findings as lines, by area, with what they come to at the end."""
    areas: dict[str, list[Finding]] = {}
    for each in findings:
        areas.setdefault(each.area, []).append(each)
    lines: list[Line] = []
    for area, rows in areas.items():
        lines.append(line((area, "title")))
        for each in rows:
            mark, style = MARKS[each.state]
            mark = PLAIN_MARKS[each.state] if plain else mark
            shown = shortenable(each.found, "" if each.state == OK else style)
            lines.append(Line(shown, INDENT, (f"  {mark} {each.name} ", style)))
            if each.fix:
                lines.append(line(("try: ", "label"), each.fix, indent=INDENT))
        lines.append(BLANK)
    return [*lines, _sum(list(areas.values()))]


def _sum(areas: list[list[Finding]]) -> Line:
    """Return the last line: how many things were looked at, and what they came to."""
    states = [each.state for rows in areas for each in rows]
    wrong, warnings = states.count(WRONG), states.count(WARNING)
    if not wrong and not warnings:
        return line((f"All is well: {count(len(states), 'check')}.", "good"))
    verdict = (
        f"{count(wrong, 'thing')} {'is' if wrong == 1 else 'are'} wrong" if wrong else "Nothing is wrong"
    )
    return line(
        (verdict, "bad" if wrong else "good"),
        f", {count(warnings, 'warning')}, {count(len(states), 'check')}.",
    )


def _can_show(text: str, encoding: str) -> bool:
    """Return whether an encoding has the characters of a text."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
