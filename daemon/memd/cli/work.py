"""`memctl how`, `fix`, `blame` and `files`: questions about what agents did."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import click

from memd.cli.arguments import (
    MAX_PATH_CHARS,
    CommandWithArguments,
    Function,
    HintedError,
    agent_option,
    at_most,
    error_output,
    examples,
    json_option,
    search_text,
    utf8,
)
from memd.cli.connect import CliSession
from memd.cli.lines import BLANK, Line, line
from memd_client.locations import split_location

if TYPE_CHECKING:
    from memd_client.work_text import WorkReply

MAX_ANSWERS = 100

_STYLES = {"head": "title", "code": "match", "about": "quiet", "place": "path", "note": "warn"}

_PROJECT = partial(click.option, "--project", type=at_most(MAX_PATH_CHARS), metavar="NAME")

project_option = _PROJECT(help="Name or path of a project; default: this folder's.")


def answer_options(function: Function) -> Function:
    """Add `--limit`, `--agent` and `--json` to a command."""
    numbers = click.IntRange(1, MAX_ANSWERS)
    limit = click.option("--limit", type=numbers, metavar="N", help="Number of answers.")
    return cast(Function, limit(agent_option(json_option(click.pass_obj(function)))))


@click.command(
    "how",
    short_help="Show how a command really runs here.",
    epilog=examples("memctl how pytest", "memctl how cargo test", "memctl how 'run the integration tests'"),
)
@click.argument("command", nargs=-1, required=True, type=utf8)
@click.option("--failed", is_flag=True, help="Also show invocations that only ever failed.")
@project_option
@answer_options
def how(
    session: CliSession, command: tuple[str, ...], failed: bool, project: str | None, **options: Any
) -> None:
    """Show the invocations of COMMAND that succeeded here, with their folders and flags.

    COMMAND is a program, a command line or a description. Agents ran these commands; the newest and most frequent
    ones come first, and those of this folder's project before others.
    """
    with session.client() as client:
        reply = client.how(
            search_text(command), project=folder_of(project), include_failed=failed, **_limits(options)
        )
    _print(session, reply, options, "show them with --failed" if reply.only_failed and not failed else "")


@click.command(
    "fix",
    cls=CommandWithArguments,
    short_help="Show what fixed an error before.",
    epilog=examples(
        """memctl fix "ModuleNotFoundError: No module named 'stripe'\"""",
        "cargo build 2>&1 | memctl fix",
        "memctl fix 'the port is already in use'",
    ),
)
@click.argument("error", nargs=-1, type=utf8)
@project_option
@answer_options
def fix(session: CliSession, error: tuple[str, ...], project: str | None, **options: Any) -> None:
    """Show what fixed ERROR in earlier sessions: the failed command, what was changed, and its own next success.

    ERROR is the output of a command, a part of it, or a description in any language. Without ERROR, or with -, it is
    read from standard input.
    """
    text = error_output(error)
    with session.client() as client:
        reply = client.fix(text, project=folder_of(project), **_limits(options))
    _print(
        session,
        reply,
        options,
        "" if reply.fixes else "try the line that names the error, or `memctl search`",
    )


@click.command(
    "blame",
    short_help="Show which sessions touched a file, and why.",
    epilog=examples("memctl blame src/queue.py", "memctl blame src/queue.py:42"),
)
@click.argument("file", type=at_most(MAX_PATH_CHARS))
@answer_options
def blame(session: CliSession, file: str, **options: Any) -> None:
    """Show which sessions touched FILE (or its line, FILE:LINE), what you requested, and what was decided.

    The newest session comes first. Earlier names of the file are found by git.
    """
    path, number = (file, None) if os.path.exists(file) else split_location(file)[:2]
    with session.client() as client:
        reply = client.blame(os.path.abspath(path), line=number, **_limits(options))
    is_whole = number is not None and reply.matched == "file" and reply.sessions
    _print(
        session, reply, options, f"none of them is known to have changed line {number}" if is_whole else ""
    )


@click.command(
    "files",
    short_help="Show which files the work on a subject touched.",
    epilog=examples("memctl files retry of order mails", "memctl files --project shop checkout"),
)
@click.argument("topic", nargs=-1, required=True, type=utf8)
@_PROJECT(help="Only work in this project, by its name or path.")
@answer_options
def files(session: CliSession, topic: tuple[str, ...], project: str | None, **options: Any) -> None:
    """Show which files the work on TOPIC touched, in all sessions."""
    with session.client() as client:
        folder = folder_of(project) if project else ""
        reply = client.work_files(search_text(topic), project=folder, **_limits(options))
    _print(session, reply, options)


def folder_of(project: str | None) -> str:
    """Return a project as requests take it: a name, or an absolute path; None is the current folder."""
    place = project or "."
    try:
        return os.path.abspath(place) if os.sep in place or place in (".", "..") else place
    except FileNotFoundError:
        raise HintedError("the current folder no longer exists", "name a project with --project") from None


def _limits(options: dict[str, Any]) -> dict[str, Any]:
    """Return the agent and the number of answers, if they are given."""
    return {name: options[name] for name in ("agent", "limit") if options[name] is not None}


def _print(session: CliSession, reply: WorkReply, options: dict[str, Any], hint: str = "") -> None:
    if options["as_json"]:
        session.output.reply(reply)
        return
    from memd_client.work_text import work_lines

    lines = [
        BLANK if part.kind == "gap" else Line(((part.text, _STYLES[part.kind]),), part.indent)
        for part in work_lines(reply)
    ]
    session.output.lines([*lines, *([line(("hint: ", "label"), hint, indent=2)] if hint else [])])
