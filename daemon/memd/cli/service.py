"""`memctl service`: the daemon as a service of systemd or launchd, or as a plain process where there is neither."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memd.cli.arguments import MAX_LOG_LINES, CommandGroup, examples, json_option
from memd.cli.connect import Session
from memd.cli.lines import dotted, row
from memd_client.discovery import log_path, socket_path
from memd_client.errors import ServiceUnavailableError

if TYPE_CHECKING:
    from memd.service.install.plan import Machine, Plan

Function = TypeVar("Function", bound=Callable[..., Any])


def dry_run_option(function: Function) -> Function:
    """Add `--dry-run` to a command."""
    text = "Only print what would be written and run."
    return click.option("--dry-run", is_flag=True, help=text)(function)


@click.group(
    "service",
    cls=CommandGroup,
    short_help="Run the daemon as a service of your user.",
    epilog=examples("memctl service install --dry-run", "memctl service install", "memctl service status"),
)
def command() -> None:
    """Run the daemon as a service: started at login, and again after a crash.

    It is a service of your own user, of systemd or launchd. Where there is neither, start, stop, restart, status
    and logs work on the plain background process.
    """


@command.command("install", epilog=examples("memctl service install", "memctl service install --dry-run"))
@dry_run_option
@click.pass_obj
def install(session: Session, dry_run: bool) -> None:
    """Install the service, enable and start it.

    Do it again after an upgrade, or when folders or memory limits changed in your settings: a file that is up to date
    stays as it is. A file that you edited is kept beside the new one, as .bak.
    """
    from memd.service.install import actions, machine

    found = _look()
    machine.check_installable(found)
    found = machine.probe_namespaces(found)
    _do(session, actions.install(machine.find_needs(), found), dry_run)


@command.command("uninstall", epilog=examples("memctl service uninstall"))
@dry_run_option
@click.pass_obj
def uninstall(session: Session, dry_run: bool) -> None:
    """Stop the service and remove its files. Memory, indexes and models stay."""
    from memd.service.install import actions, machine

    found = _look()
    machine.check_installable(found)
    _do(session, actions.uninstall(found), dry_run)


@command.command("start", epilog=examples("memctl service start"))
@dry_run_option
@click.pass_obj
def start(session: Session, dry_run: bool) -> None:
    """Start the daemon, by the service where it is installed."""
    from memd.service.install import actions

    _do(session, actions.start(_look(), socket_path()), dry_run)


@command.command("stop", epilog=examples("memctl service stop"))
@dry_run_option
@click.pass_obj
def stop(session: Session, dry_run: bool) -> None:
    """Stop the daemon. The next agent that needs it starts a plain one, unless MEMD_AUTOSTART is 0."""
    from memd.service.install import actions

    _do(session, actions.stop(_look(), socket_path()), dry_run)


@command.command(
    "restart", short_help="Stop and start the daemon.", epilog=examples("memctl service restart")
)
@dry_run_option
@click.pass_obj
def restart(session: Session, dry_run: bool) -> None:
    """Start the daemon anew; one that runs without the installed service is ended, and the service takes over."""
    from memd.service.install import actions

    _do(session, actions.restart(_look(), socket_path()), dry_run)


@command.command("status", epilog=examples("memctl service status", "memctl service status --json"))
@json_option
@click.pass_obj
def status(session: Session, as_json: bool) -> None:
    """Show whether the service is installed, and who runs the daemon."""
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
                row("file", *dotted((path, "path"), "edited by hand" if path in edited else None))
                for path in found.files
            ),
        ]
    )


@command.command("logs", epilog=examples("memctl service logs", "memctl service logs --lines 500 --follow"))
@click.option(
    "--lines", type=click.IntRange(0, MAX_LOG_LINES), default=100, show_default=True, help="How many lines."
)
@click.option("--follow", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.pass_context
def logs(ctx: click.Context, lines: int, follow: bool) -> None:
    """Show the daemon's log as it was written, one JSON object a line."""
    import subprocess

    from memd.service.install import actions

    plain = log_path(socket_path())
    argv = actions.logs(_look(), lines, follow, plain)
    if plain in argv and not os.path.exists(plain):
        raise ServiceUnavailableError(
            f"there is no log at {plain}: no daemon was started there by a client",
            hint="A daemon that runs in a terminal writes its log there.",
        )
    ctx.exit(subprocess.run(argv, check=False).returncode)


def _look() -> Machine:
    """Return how the service stands."""
    from memd.service.install import machine

    return machine.look(os.environ)


def _do(session: Session, plan: Plan, dry_run: bool) -> None:
    """Carry out a plan, or only print it."""
    from memd.service.install.carry_out import carry_out, describe

    def tell(text: str) -> None:
        session.output.text(text + "\n")

    if dry_run:
        describe(plan.steps, tell)
    else:
        carry_out(plan.steps, tell)
    for note in plan.notes:
        session.output.note(note)


def _daemon(found: Machine) -> tuple[str, ...]:
    """Return who runs the daemon."""
    if not found.holder_pid:
        return ("not running",)
    pid = f"pid {found.holder_pid}"
    if found.stray_pid:
        without = "without the service" if found.installed else "a plain process"
        return ("running", pid, without)
    return ("running", pid, "by the service")
