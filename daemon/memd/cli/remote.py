"""`memctl remote`: the same memory on several machines, by git."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import click

from memd.cli.arguments import MAX_PATH_CHARS, CommandGroup, agent_option, at_most, examples, json_option
from memd.cli.connect import CliSession
from memd.cli.lines import count
from memd.cli.remote_lines import remote_lines
from memd_client.errors import BadParamsError

if TYPE_CHECKING:
    from memd_client.messages import RemoteReply

MAX_URL_CHARS = 2_048


@click.group(
    "remote",
    cls=CommandGroup,
    invoke_without_command=True,
    epilog=examples(
        "memctl remote add me@server:memory.git",
        "memctl remote",
        "memctl remote sync",
        "memctl remote clone me@server:memory.git",
    ),
)
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Have the same memory on several machines.

    The Markdown of agents is replicated through a git repository that all machines reach: a bare repository on your
    server, or a private repository of a forge. Each machine indexes for itself. Without a command, shows the remotes.
    """
    if ctx.invoked_subcommand is None:
        _show(ctx.obj, None, as_json=as_json)


@command.command(
    "add", epilog=examples("memctl remote add me@server:memory.git", "memctl remote add ~/usb/memory.git")
)
@click.argument("url", type=at_most(MAX_URL_CHARS))
@agent_option
@json_option
@click.pass_obj
def add(session: CliSession, url: str, agent: str | None, as_json: bool) -> None:
    """Replicate an agent's notes to the git repository at URL.

    URL is anything git takes. Several agents can share a repository. git runs with your own ssh keys and credential
    helpers, and never asks for a password.
    """
    with session.client() as client:
        reply = client.remote("add", url=_address(session, url), agent=agent)
    _print(session, reply, as_json=as_json)
    if not as_json:
        session.output.note(f"on another machine, run: memctl remote clone {url}")


@command.command("status", epilog=examples("memctl remote status", "memctl remote status --json"))
@agent_option
@json_option
@click.pass_obj
def status(session: CliSession, agent: str | None, as_json: bool) -> None:
    """Show the remotes: state, machines, and conflicts."""
    _show(session, agent, as_json=as_json)


@command.command("sync", epilog=examples("memctl remote sync", "memctl remote sync --accept-rewrite"))
@agent_option
@click.option(
    "--accept-rewrite", "accept_rewrite", is_flag=True, help="Accept a remote whose history was rewritten."
)
@json_option
@click.pass_obj
def sync(session: CliSession, agent: str | None, accept_rewrite: bool, as_json: bool) -> None:
    """Send and receive changes now.

    With --accept-rewrite, the history of the remote replaces the history on this machine. Notes that were changed here
    and not sent yet are kept.
    """
    with session.client() as client:
        reply = client.remote("sync", agent=agent, accept_rewrite=accept_rewrite)
    _print(session, reply, as_json=as_json)


@command.command("pause", epilog=examples("memctl remote pause"))
@agent_option
@click.pass_obj
def pause(session: CliSession, agent: str | None) -> None:
    """Stop sending and receiving, until `memctl remote resume`."""
    with session.client() as client:
        reply = client.remote("pause", agent=agent)
    session.output.text(f"paused {count(len(reply.remotes), 'remote')}\n")


@command.command("resume", epilog=examples("memctl remote resume", "memctl remote resume --restore"))
@agent_option
@click.option(
    "--delete-missing", "missing", flag_value="delete", help="Delete missing files on all machines."
)
@click.option("--restore", "missing", flag_value="restore", help="Restore missing files, here and elsewhere.")
@click.pass_obj
def resume(session: CliSession, agent: str | None, missing: str | None) -> None:
    """Send and receive again after `memctl remote pause`.

    If a folder lost most of its files, memd deletes them nowhere else until you decide with one of the options, for the
    default agent or the one of --agent. It continues when the files are back.
    """
    with session.client() as client:
        reply = client.remote("resume", agent=agent, missing=missing or "")
    session.output.text(f"resumed {count(len(reply.remotes), 'remote')}\n")


@command.command("remove", epilog=examples("memctl remote remove", "memctl remote remove --agent ops"))
@agent_option
@click.pass_obj
def remove(session: CliSession, agent: str | None) -> None:
    """Disconnect an agent from its remote, without deleting any notes."""
    with session.client() as client:
        reply = client.remote("remove", agent=agent)
    for each in reply.remotes:
        session.output.text(f"removed the remote of agent {each.agent}: {each.url}\n")


@command.command("resolve", epilog=examples("memctl remote resolve", "memctl remote resolve --all"))
@click.argument("files", nargs=-1, type=at_most(MAX_PATH_CHARS))
@agent_option
@click.option("--all", "is_all", is_flag=True, help="Resolve all conflicts.")
@json_option
@click.pass_obj
def resolve(
    session: CliSession, files: tuple[str, ...], agent: str | None, is_all: bool, as_json: bool
) -> None:
    """Delete the FILES in memory/conflicts that you are done with.

    If two machines changed the same lines of a note, the note has the lines of one, and a file in memory/conflicts has
    those of the other. Copy what is true into the note first. Without FILES, lists the conflicts.
    """
    if not files and not is_all:
        _show_conflicts(session, agent, as_json=as_json)
        return
    with session.client() as client:
        reply = client.remote("resolve", agent=agent, paths=files)
    if as_json:
        session.output.reply(reply)
        return
    for path in reply.resolved:
        session.output.text(f"resolved {path}\n")
    if not reply.resolved:
        session.output.note("there are no conflicts")


@command.command("purge", epilog=examples("memctl remote purge memory/2026-03-05.md"))
@click.argument("file", type=at_most(MAX_PATH_CHARS))
@agent_option
@click.pass_obj
def purge(session: CliSession, file: str, agent: str | None) -> None:
    """Remove earlier contents of FILE from the history, everywhere.

    FILE may be a folder. Delete the secret from the file first: the present contents stay. Names that FILE had before,
    and copies of its earlier contents, are included and listed. The other machines receive the new history. A server
    may keep the old objects until it runs `git gc`. Change a secret that was ever sent anyway.
    """
    with session.client() as client:
        reply = client.remote("purge", path=file, agent=agent)
    session.output.text(f"removed earlier contents of {file} from {count(reply.commits, 'commit')}\n")
    for path in reply.purged:
        if path != file:
            session.output.text(f"including {path}\n")
    session.output.note(
        "the server may keep the old objects until `git gc --prune=now` runs there; change the secret"
    )


@command.command(
    "clone",
    epilog=examples(
        "memctl remote clone me@server:memory.git", "memctl remote clone ~/usb/memory.git --agent main"
    ),
)
@click.argument("url", type=at_most(MAX_URL_CHARS))
@agent_option
@click.option("--yes", is_flag=True, help="Don't ask before creating more than 10 agents.")
@json_option
@click.pass_obj
def clone(session: CliSession, url: str, agent: str | None, yes: bool, as_json: bool) -> None:
    """Fetch the memory at URL to this machine, and keep it in sync.

    URL is a git repository that `memctl remote add` has filled. All agents with memory there are connected, or only
    the one of --agent; agents that are missing here are created. Notes that this machine has already are kept and
    merged.
    """
    with session.client() as client:
        address = _address(session, url)
        try:
            reply = client.remote("clone", url=address, agent=agent, confirmed=yes)
        except BadParamsError as error:
            if "agents" not in error.data or sys.stdin is None or not sys.stdin.isatty():
                raise
            click.confirm(f"Create {error.data['agents']} agents?", abort=True, err=True)
            reply = client.remote("clone", url=address, agent=agent, confirmed=True)
    _print(session, reply, as_json=as_json)


def _show(session: CliSession, agent: str | None, *, as_json: bool) -> None:
    """Print the remotes of one agent or all."""
    with session.client() as client:
        reply = client.remote("status", agent=agent)
    _print(session, reply, as_json=as_json)
    if not reply.remotes and not as_json:
        session.output.note("no agent has a remote; connect one with `memctl remote add URL`")


def _print(session: CliSession, reply: RemoteReply, *, as_json: bool) -> None:
    """Print the remotes of a reply."""
    if as_json:
        session.output.reply(reply)
        return
    for each in reply.remotes:
        session.output.lines(remote_lines(each, session.now_ms(), with_agent=True))


def _show_conflicts(session: CliSession, agent: str | None, *, as_json: bool) -> None:
    """Print the conflicts of one agent or all."""
    with session.client() as client:
        reply = client.remote("status", agent=agent)
    if as_json:
        session.output.reply(reply)
        return
    conflicts = [each for remote in reply.remotes for each in remote.conflicts]
    for each in conflicts:
        session.output.text(f"{each.path}\n")
        session.output.note(f"lines of {each.machine} that conflict with {each.note}, since {each.date}")
    if conflicts:
        session.output.note(
            "copy what is true into the note, then run `memctl remote resolve FILE`, or `--all`"
        )
    else:
        session.output.note("there are no conflicts")


def _address(session: CliSession, url: str) -> str:
    """Return an address; a folder of this machine as an absolute path, since the daemon runs in another folder."""
    if session.host is not None or "://" in url or re.match(r"[^/]*:", url):
        return url
    return os.path.abspath(os.path.expanduser(url))
