"""`memctl mcp`: the MCP server, and the entry in an MCP client's settings that starts it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from memd.cli.arguments import ArgumentChoice, CommandGroup, HintedError, agent_option, examples, utf8
from memd.cli.connect import CliSession, change_settings
from memd.programs.catalog import MCP_CLIENTS, PROGRAMS, Mcp, Places
from memd_client.discovery import home_directory

PASSED_ON = ("MEMD_SOCKET", "MEMD_CONFIG", "OPENCLAW_STATE_DIR", "OPENCLAW_HOME", "OPENCLAW_CONFIG_PATH")
"""Variables written into the entry: an MCP client doesn't pass the shell's environment to its servers."""


@click.group(
    "mcp",
    cls=CommandGroup,
    invoke_without_command=True,
    epilog=examples("memctl mcp install claude-code", "memctl mcp --agent main"),
)
@agent_option
@click.option("--structured", is_flag=True, help="Also return results as structured data, for programs.")
@click.pass_context
def command(ctx: click.Context, agent: str | None, structured: bool) -> None:
    """Serve memory to an MCP client on standard input and output.

    An MCP client starts this command once `memctl mcp install` has configured it. With --agent the server is limited to
    that agent.
    """
    if ctx.invoked_subcommand is not None:
        if agent is not None:
            raise click.UsageError(f"--agent must follow `{ctx.invoked_subcommand}`")
        if structured:
            raise click.UsageError(f"--structured cannot be combined with `{ctx.invoked_subcommand}`")
        return
    if sys.stdin is not None and sys.stdin.isatty():  # an MCP client writes to a pipe
        session: CliSession = ctx.obj
        session.output.text(ctx.get_help() + "\n")
        return
    from memd.mcp.server import serve

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
@click.argument("client", metavar="CLIENT", type=ArgumentChoice(list(MCP_CLIENTS)))
@agent_option
@click.option(
    "--project",
    type=utf8,
    metavar="FOLDER",
    help="Configure the client for this project instead of the user.",
)
@click.option("--remove", is_flag=True, help="Remove the entry.")
@click.option("--dry-run", is_flag=True, help="Show the change without making it.")
@click.pass_obj
def install(
    session: CliSession, client: str, agent: str | None, project: str | None, remove: bool, dry_run: bool
) -> None:
    """Add memd to the settings of an MCP client.

    CLIENT is the name of a program, such as claude-code, codex or cursor; a wrong name lists all of them. The rest of
    the file is unchanged, and a backup is kept next to it. Before anything is written, the server is run once as the
    client would run it. Running the command again changes nothing.
    """
    from memd.cli.readers import ALL, shown_to
    from memd.mcp.client_entry import plan
    from memd.mcp.trial import TrialFailedError, try_server

    chosen, title = MCP_CLIENTS[client], PROGRAMS[client].title
    path = _file_of(client, project)
    entry = None if remove else entry_of(chosen, agent, project)
    change = plan(chosen, path, entry)
    if not remove:
        session.output.note(shown_to(title, agent or ALL))
    if entry is not None and not dry_run:
        try:
            try_server(chosen, entry)
        except TrialFailedError as error:
            raise HintedError(f"{error}; {path} is unchanged", error.hint) from None
    unchanged = f"{title} {'has no entry for memd' if remove else 'is configured already'}: {path}"
    changed = f"{'removed memd from' if remove else 'added memd to'} {title}: {path}"
    is_changed = change_settings(session, [change], dry_run=dry_run, unchanged=unchanged, changed=changed)
    if is_changed and not remove:
        session.output.note(chosen.next_step)


def _file_of(name: str, project: str | None) -> Path:
    """Return the file to configure."""
    client = MCP_CLIENTS[name]
    if project is None:
        return client.file(Places(Path(home_directory()), os.environ))
    if not client.project:
        raise click.UsageError(f"{PROGRAMS[name].title} has no project settings; omit --project")
    folder = Path(os.path.abspath(os.path.expanduser(project)))
    if not folder.is_dir():
        raise click.UsageError(f"no folder {folder}")
    return folder / client.project


def entry_of(client: Mcp, agent: str | None, project: str | None) -> dict[str, object]:
    """Return memd's entry; a project's entry has no paths of this machine, as other users may share it."""
    if project is not None:
        return client.entry("memctl", agent, {})
    named = {name: value for name in PASSED_ON if (value := os.environ.get(name, "").strip())}
    # A client starts the server in any folder; `~` is a matter of the variables together.
    environ = {name: value if value[0] in "/~" else os.path.abspath(value) for name, value in named.items()}
    return client.entry(_program(), agent, environ)


def _program() -> str:
    """Return the path of `memctl`: a client that wasn't started by a shell lacks the shell's PATH."""
    installed = Path(sys.executable).with_name("memctl")
    found = str(installed) if installed.exists() else shutil.which("memctl")
    return found or "memctl"
