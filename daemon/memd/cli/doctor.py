"""`memctl doctor`: checks of the installation and the daemon, each problem with its fix."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import asdict

from memd.cli.arguments import examples, json_option
from memd.cli.connect import CliSession
from memd.cli.lines import BLANK, Line, count, line, shortenable
from memd.service.checks.finding import OK, WARNING, WRONG, Finding

if TYPE_CHECKING:
    from memd.service.checks.daemon import DaemonProbe

MARKS = {OK: ("✓", "good"), WARNING: ("!", "warn"), WRONG: ("✗", "bad")}
PLAIN_MARKS = {OK: "ok", WARNING: "!", WRONG: "x"}
"""For an output whose encoding lacks the symbols."""

AREAS = ("installation", "settings", "daemon", "service", "machine", "disk", "hooks")
"""Headings in the order in which they are shown; then follow the agents."""

INDENT = 20
"""Columns before the result of a check."""

PROBE_TIMEOUT_S = 60.0
"""Deadline of all checks of the daemon together; each has a shorter one."""

FILES_TIMEOUT_S = 5.0
"""Deadline for reading the service's files."""


@click.command(
    "doctor", epilog=examples("memctl doctor", "memctl doctor --start", "memctl doctor --json | jq .findings")
)
@click.option("--start", is_flag=True, help="Start the daemon first, if it does not run.")
@json_option
@click.pass_obj
@click.pass_context
def command(ctx: click.Context, session: CliSession, start: bool, as_json: bool) -> None:
    """Check the installation, and show how to fix problems.

    Works whether or not the daemon runs, and starts it only with --start. Exits with 1 if there is a problem; warnings
    alone exit with 0.
    """
    from memd_client.discovery import home_directory

    findings = _start(session) if start else []
    findings += examine(os.environ, Path(home_directory()))
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


def _start(session: CliSession) -> list[Finding]:
    """Start the daemon if none runs; return a finding if that fails."""
    from memd_client.errors import MemdError

    try:
        with session.client() as client:
            client.status()
    except MemdError as error:
        return [Finding("daemon", "start", WRONG, error.message, error.hint)]
    return []


def examine(environ: Mapping[str, str], home: Path) -> list[Finding]:
    """Return the findings of all checks, in the order they are shown.

    Every check has a deadline, so that a disk, a daemon or a library that hangs becomes a finding. The running daemon
    makes the report on the installation, because its modules are loaded already; else a new process does.
    """
    from memd.service.checks.agents import check_agents
    from memd.service.checks.daemon import check_config_file, check_config_socket
    from memd.service.checks.deadlines import run_report, run_with_timeout
    from memd.service.checks.finding import load_findings
    from memd.service.checks.service_files import check_service
    from memd_client.state_folder import USUAL_NAME, daemon_name

    socket, probe = _probe_daemon(environ)
    report, findings = (probe.report, []) if probe.report else run_report("settings", probe.pid)
    findings += load_findings(report.get("findings", ()))
    if report and daemon_name(environ, lambda: str(home)) == USUAL_NAME and not environ.get("MEMD_SOCKET"):
        findings += check_config_socket(socket, report["daemon_config"]["socket"])
    findings += probe.findings
    if probe.status is not None:
        findings += check_config_file(environ, home, probe.status.config_path)
    findings += run_with_timeout(
        FILES_TIMEOUT_S,
        lambda: check_service(environ, home),
        lambda: [Finding("service", "files", WRONG, "reading the files of the service timed out")],
    )
    findings += [*check_hooks(home, environ), *check_agents(report, probe.status)]
    if not probe.is_running:  # a write in progress would look like damage
        indexes, failed = run_report("indexes")
        findings += [*failed, *load_findings(indexes.get("findings", ()))]
    return sorted(findings, key=lambda each: AREAS.index(each.area) if each.area in AREAS else len(AREAS))


def check_hooks(home: Path, environ: Mapping[str, str]) -> list[Finding]:
    """Return a finding for each program whose hooks are not those of this release."""
    from memd.cli.hook_setup.changes import HookFiles, installed_hooks
    from memd.programs.catalog import HOOKS

    states = [installed_hooks(HookFiles(program, home, environ)) for program in HOOKS]
    return [
        Finding(
            "hooks",
            each.program,
            WARNING,
            each.problem or each.state,
            f"run `memctl hooks install {each.program}`",
        )
        for each in states
        if each.state in ("incomplete", "command missing")
    ]


def _probe_daemon(environ: Mapping[str, str]) -> tuple[str, DaemonProbe]:
    """Return the socket's path, empty if it is invalid, and the findings on the daemon."""
    from memd.service.checks.daemon import DaemonProbe, probe_daemon
    from memd.service.checks.deadlines import run_with_timeout
    from memd_client.discovery import socket_path, state_folder
    from memd_client.errors import ConfigInvalidError, SocketPathError

    def hangs() -> DaemonProbe:
        found = f"check of {os.path.dirname(socket)} timed out after {PROBE_TIMEOUT_S:g} s"
        hint = "set MEMD_SOCKET to a path on a local disk"
        return DaemonProbe([Finding("daemon", "socket", WRONG, found, hint)], is_running=True)

    try:
        socket, state_dir = socket_path(environ), state_folder(environ)
    except (ConfigInvalidError, SocketPathError) as error:
        return "", DaemonProbe([Finding("daemon", "socket", WRONG, error.message, error.hint)])
    return socket, run_with_timeout(PROBE_TIMEOUT_S, lambda: probe_daemon(socket, state_dir), hangs)


def finding_lines(findings: Iterable[Finding], *, plain: bool = False) -> list[Line]:
    """Return findings as lines, grouped by area, with a summary at the end."""
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
                lines.append(line(("hint: ", "label"), each.fix, indent=INDENT))
        lines.append(BLANK)
    return [*lines, _summary_line(list(areas.values()))]


def _summary_line(areas: list[list[Finding]]) -> Line:
    """Return the number of problems, warnings and checks."""
    states = [each.state for rows in areas for each in rows]
    wrong, warnings = states.count(WRONG), states.count(WARNING)
    problems = count(wrong, "problem") if wrong else "no problems"
    return line(
        (problems, "bad" if wrong else "good"),
        f", {count(warnings, 'warning')}" if warnings else "",
        f", {count(len(states), 'check')}",
    )


def _can_show(text: str, encoding: str) -> bool:
    """Return whether an encoding can represent a text."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
