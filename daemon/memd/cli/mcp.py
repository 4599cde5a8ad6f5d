"""`memctl mcp`: memory for any MCP client, and the entry in its settings that starts it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from memd.cli.arguments import Choice, CommandGroup, agent_option, examples, utf8
from memd.cli.connect import Session
from memd.cli.lines import stamp
from memd.mcp.client_files import CLIENTS, McpClient
from memd_client.discovery import home_directory

PASSED_ON = ("MEMD_SOCKET", "MEMD_CONFIG", "OPENCLAW_STATE_DIR")
"""Variables that lead to another daemon than the usual one: a client's servers don't get the shell's."""


@click.group(
    "mcp",
    cls=CommandGroup,
    invoke_without_command=True,
    epilog=examples("memctl mcp install claude-code", "memctl mcp --agent main"),
)
@agent_option
@click.option(
    "--structured", is_flag=True, help="Answer as structured data too, for a program that reads it."
)
@click.pass_context
def command(ctx: click.Context, agent: str | None, structured: bool) -> None:
    """Serve memory to an MCP client on standard input and output.

    An MCP client runs this by itself once `memctl mcp install` has configured it. With --agent nothing of any other
    agent can be seen. It needs the package mcp; without it the error has the command.
    """
    if ctx.invoked_subcommand is not None:
        if agent is not None:
            raise click.UsageError(f"--agent belongs behind `{ctx.invoked_subcommand}`.")
        if structured:
            raise click.UsageError(f"--structured cannot be combined with `{ctx.invoked_subcommand}`.")
        return
    if sys.stdin is not None and sys.stdin.isatty():  # an MCP client writes to a pipe
        session: Session = ctx.obj
        session.output.text(ctx.get_help() + "\n")
        return
    from memd.mcp.sdk import SdkMissingError, load_serve

    try:
        serve = load_serve()
    except SdkMissingError as error:
        raise click.ClickException(str(error)) from None
    serve(agent, autostart=os.environ.get("MEMD_AUTOSTART") != "0", structured=structured)


@command.command(
    "install",
    epilog=examples(
        "memctl mcp install claude-code",
        "memctl mcp install codex --agent work --dry-run",
        "memctl mcp install cursor --project .",
        "memctl mcp install vscode --remove",
    ),
)
@click.argument("client", metavar="CLIENT", type=Choice(list(CLIENTS)))
@agent_option
@click.option(
    "--project", type=utf8, metavar="FOLDER", help="Configure it for this project instead of the user."
)
@click.option("--remove", is_flag=True, help="Take the entry out.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.pass_obj
def install(
    session: Session, client: str, agent: str | None, project: str | None, remove: bool, dry_run: bool
) -> None:
    """Put memd into the settings of an MCP client.

    CLIENT is claude-code, codex, cursor, vscode or claude-desktop. The rest of the file stays as it is, and what it
    was is kept beside it. Doing it again changes nothing.
    """
    from memd.mcp.installing import carry_out, plan

    chosen = CLIENTS[client]
    path = _file_of(chosen, project)
    entry = None if remove else _entry_of(chosen, agent, project)
    change = plan(chosen, path, entry)
    if change.is_none:
        held = "holds no entry for memd" if remove else "is configured already"
        session.output.text(f"{chosen.title} {held}: {path}\n")
        return
    if dry_run:
        session.output.text(change.diff())
        return
    backup = carry_out(change, stamp(session.now_ms()))
    session.output.text(f"{chosen.title} {'no longer has' if remove else 'has'} memd: {path}\n")
    if backup is not None:
        session.output.note(f"what it was: {backup}")
    if not remove:
        session.output.note(chosen.then)
        _warn_without_sdk(session)


def _file_of(client: McpClient, project: str | None) -> Path:
    """Return the file to configure."""
    if project is None:
        return client.user_file(Path(home_directory()), os.environ)
    if not client.project:
        raise click.UsageError(f"{client.title} has no settings of a project; leave --project out.")
    folder = Path(os.path.abspath(os.path.expanduser(project)))
    if not folder.is_dir():
        raise click.UsageError(f"there is no folder {folder}.")
    return folder / client.project


def _entry_of(client: McpClient, agent: str | None, project: str | None) -> dict[str, object]:
    """Return memd's entry. That of a project may be shared with others: it names no place of this machine."""
    if project is not None:
        return client.entry("memctl", agent, {})
    environ = {name: os.environ[name] for name in PASSED_ON if os.environ.get(name)}
    return client.entry(_program(), agent, environ)


def _program() -> str:
    """Return where this command line program is: a client that wasn't started by a shell doesn't know its PATH."""
    beside = Path(sys.executable).with_name("memctl")
    found = str(beside) if beside.exists() else shutil.which("memctl")
    return found or "memctl"


def _warn_without_sdk(session: Session) -> None:
    """Say so where the server couldn't start for want of its package."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        from memd.mcp.sdk import install_command

        session.output.note(f"the package mcp is not installed yet: `{install_command()}`")
