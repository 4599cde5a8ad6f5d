"""`memctl service`: the daemon as a systemd or launchd service, or as a background process without either."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memd.cli.arguments import MAX_LOG_LINES, CommandGroup, examples, json_option
from memd.cli.connect import CliSession
from memd.cli.lines import dotted, row
from memd_client.discovery import socket_path

if TYPE_CHECKING:
    from memd.service.install.plan import InstallPlan, Machine

Function = TypeVar("Function", bound=Callable[..., Any])


def dry_run_option(function: Function) -> Function:
    """Add `--dry-run` to a command."""
    text = "Show what would be done, without doing it."
    return click.option("--dry-run", is_flag=True, help=text)(function)


@click.group(
    "service",
    cls=CommandGroup,
    short_help="Run the daemon as a user service.",
    epilog=examples("memctl service install --dry-run", "memctl service install", "memctl service status"),
)
def command() -> None:
    """Run the daemon as a user service, started at login and after a crash.

    Supports systemd and launchd. Without either, start, stop, restart, status and logs manage a background process.
    """


@command.command("install", epilog=examples("memctl service install", "memctl service install --dry-run"))
@dry_run_option
@click.pass_obj
def install(session: CliSession, dry_run: bool) -> None:
    """Install, enable and start the service.

    Run it again after an upgrade, or after changing folders or RAM limits in your settings. Files that are up to date
    are unchanged; a file that you edited is kept as .bak.
    """
    from memd.service.install import actions, machine

    found = _look()
    machine.check_installable(found)
    found = machine.probe_namespaces(found)
    _do(session, actions.install(machine.find_needs(), found), dry_run)


@command.command("uninstall", epilog=examples("memctl service uninstall"))
@dry_run_option
@click.pass_obj
def uninstall(session: CliSession, dry_run: bool) -> None:
    """Stop the service and remove its files. Memory, indexes and models are kept."""
    from memd.service.install import actions, machine

    found = _look()
    machine.check_installable(found)
    _do(session, actions.uninstall(found), dry_run)


@command.command("start", epilog=examples("memctl service start"))
@dry_run_option
@click.pass_obj
def start(session: CliSession, dry_run: bool) -> None:
    """Start the daemon, as a service if it is installed."""
    from memd.service.install import actions

    _do(session, actions.start(_look(), socket_path()), dry_run)


@command.command("stop", epilog=examples("memctl service stop"))
@dry_run_option
@click.pass_obj
def stop(session: CliSession, dry_run: bool) -> None:
    """Stop the daemon. The next request of a client starts it again, unless MEMD_AUTOSTART is 0."""
    from memd.service.install import actions

    _do(session, actions.stop(_look(), socket_path()), dry_run)


@command.command(
    "restart", short_help="Stop and start the daemon.", epilog=examples("memctl service restart")
)
@dry_run_option
@click.pass_obj
def restart(session: CliSession, dry_run: bool) -> None:
    """Restart the daemon. If the service is installed, a daemon that runs without it is replaced by the service."""
    from memd.service.install import actions

    _do(session, actions.restart(_look(), socket_path()), dry_run)


@command.command("status", epilog=examples("memctl service status", "memctl service status --json"))
@json_option
@click.pass_obj
def status(session: CliSession, as_json: bool) -> None:
    """Show whether the service is installed and runs the daemon."""
    from memd.service.install.plan import is_ours

    found = _look()
    edited = [path for path, text in found.files.items() if not is_ours(text)]
    if as_json:
        session.output.document(
            {
                "manager": found.kind,
                "installed": found.installed,
                "state": found.state,
                "service_pid": found.service_pid or None,
                "daemon_pid": found.holder_pid or None,
                "socket": socket_path(),
                "files": list(found.files),
                "edited": edited,
            }
        )
        return
    installed = ("installed", "good") if found.installed else ("not installed", "warn")
    manager = found.kind if found.kind != "none" else "no systemd or launchd for this user"
    session.output.lines(
        [
            row("service", *dotted(manager, installed, found.state)),
            row("daemon", *dotted(*_daemon(found))),
            row("socket", (socket_path(), "path")),
            *(
                row("file", *dotted((path, "path"), "edited by a user" if path in edited else None))
                for path in found.files
            ),
        ]
    )


@command.command("logs", epilog=examples("memctl service logs", "memctl service logs --lines 500 --follow"))
@click.option(
    "--lines", type=click.IntRange(0, MAX_LOG_LINES), default=100, show_default=True, help="Number of lines."
)
@click.option("--follow", is_flag=True, help="Follow new lines until Ctrl-C.")
@click.pass_obj
def logs(session: CliSession, lines: int, follow: bool) -> None:
    """Show the daemon's log unformatted, one JSON object per line."""
    from memd.cli.logs import load_records

    for record in load_records(lines, follow=follow):
        session.output.out.write(record.text + "\n")


def _look() -> Machine:
    """Return the state of the service."""
    from memd.service.install import machine

    return machine.inspect_machine(os.environ)


def _do(session: CliSession, plan: InstallPlan, dry_run: bool) -> None:
    """Execute a plan, or only print it."""
    from memd.service.install.carry_out import carry_out, print_steps

    def print_line(text: str) -> None:
        session.output.text(text + "\n")

    if dry_run:
        print_steps(plan.steps, print_line)
    else:
        carry_out(plan.steps, print_line)
    for note in plan.notes:
        session.output.note(note)


def _daemon(found: Machine) -> tuple[str, ...]:
    """Return whether the daemon runs, and whether as a service."""
    if not found.holder_pid:
        return ("not running",)
    pid = f"pid {found.holder_pid}"
    if found.unmanaged_pid:
        how = "not as the service" if found.installed else "background process"
        return ("running", pid, how)
    return ("running", pid, "as the service")
