"""`memctl hooks`: install memd's hooks in other agents' programs, and see what they did."""

from __future__ import annotations

import os
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click

from memd.cli.arguments import ArgumentChoice, CommandGroup, agent_option, examples, json_option
from memd.cli.connect import CliSession, change_settings
from memd.cli.hook_setup.changes import HookFiles, installed_hooks
from memd.cli.lines import Line, dotted, line
from memd.programs.catalog import HOOKS, PROGRAMS
from memd.programs.connections import ProgramConnection
from memd_client.discovery import home_directory
from memd_client.hooks import HookLogEntry

STYLES = {"installed": "good", "not installed": "quiet"}
"""Styles of states; the other ones need attention."""

_program = click.argument("program", metavar="PROGRAM", type=ArgumentChoice(list(HOOKS)))
_dry_run = click.option("--dry-run", is_flag=True, help="Show the change without making it.")


@click.group(
    "hooks",
    cls=CommandGroup,
    epilog=examples("memctl hooks install claude-code", "memctl hooks list", "memctl hooks log"),
)
def command() -> None:
    """Let other agents' programs use memory by hooks.

    A hook reports the start of a session, a prompt, a command, an edit, a compaction and the end of a session to the
    daemon. At a compaction and the end, the session is indexed. At the others the daemon may return memory that the
    program adds to its model's context. Without a daemon a hook does nothing.
    """


@command.command(
    "install",
    short_help="Install the hooks in a program's settings.",
    epilog=examples(
        "memctl hooks install claude-code",
        "memctl hooks install codex --agent work",
        "memctl hooks install gemini --dry-run",
    ),
)
@_program
@agent_option
@_dry_run
@click.pass_obj
def install(session: CliSession, program: str, agent: str | None, dry_run: bool) -> None:
    """Install memd's hooks in the settings of a program.

    PROGRAM is claude-code, codex, gemini, qwen, copilot or cursor. Other hooks and settings are unchanged, and a
    backup is kept next to the file. Running the command again changes nothing. If OPENCLAW_STATE_DIR is set, hooks
    use the memory of that directory, unless the program runs with a directory of its own.
    """
    from memd.cli.readers import hook_agent, shown_to

    files, title = _files_of(program), PROGRAMS[program].title
    changes = files.plan_install(agent)
    if "prompt" in files.form.events:
        session.output.note(shown_to(title, hook_agent(agent)))
    unchanged = f"hooks are installed in {title} already: {files.path}"
    changed = f"installed hooks in {title}: {files.path}"
    if change_settings(session, changes, dry_run=dry_run, unchanged=unchanged, changed=changed):
        session.output.note(files.form.next_step)


@command.command(
    "uninstall",
    short_help="Remove the hooks from a program's settings.",
    epilog=examples("memctl hooks uninstall claude-code", "memctl hooks uninstall codex --dry-run"),
)
@_program
@_dry_run
@click.pass_obj
def uninstall(session: CliSession, program: str, dry_run: bool) -> None:
    """Remove memd's hooks from the settings of a program.

    If nothing else has changed since they were installed, the file is again what it was, byte for byte. Other hooks
    and settings are unchanged in any case.
    """
    files, title = _files_of(program), PROGRAMS[program].title
    unchanged = f"{title} has no hooks of memd: {files.path}"
    changed = f"removed hooks from {title}: {files.path}"
    if change_settings(
        session, files.plan_uninstall(), dry_run=dry_run, unchanged=unchanged, changed=changed
    ):
        files.remove_empty_folders()


@command.command(
    "list", short_help="List the programs and their hooks.", epilog=examples("memctl hooks list")
)
@json_option
@click.pass_obj
def list_hooks(session: CliSession, as_json: bool) -> None:
    """List the programs, whether memd's hooks are installed in them, and whether their command still exists."""
    found = [installed_hooks(_files_of(name)) for name in HOOKS]
    if as_json:
        session.output.document([asdict(each) for each in found])
        return
    session.output.lines(each for one in found for each in _installed_lines(one))
    for each in found:
        if each.state in ("command missing", "incomplete"):
            session.output.note(f"run `memctl hooks install {each.program}` to install them again")


def _installed_lines(found: ProgramConnection) -> list[Line]:
    """Return the lines about a program."""
    state = (found.state, STYLES.get(found.state, "warn"))
    lines = [line((found.program, "title"), "  ", state, "  ", (found.path, "path"))]
    if found.events:
        lines.append(line(", ".join(found.events), indent=2))
    if found.problem:
        lines.append(line(found.problem, indent=2))
    return lines


@command.command(
    "log",
    short_help="Show what the hooks added, and why not.",
    epilog=examples("memctl hooks log", "memctl hooks log --limit 5 --session 5f2c81"),
)
@click.option(
    "--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="The most entries."
)
@click.option("--session", "session_id", metavar="PREFIX", help="Only the session whose id begins with it.")
@json_option
@click.pass_obj
def log(session: CliSession, limit: int, session_id: str | None, as_json: bool) -> None:
    """Show the newest decisions of the hooks, newest first.

    Each entry has the time (UTC), the program, the event, the decision, the first words of the prompt and, if memory
    was added, its characters and the places of its hits. Otherwise it has the place of the best candidate and what
    that lacked. The entries are part of the log that `memctl usage` reads. A hook that finds no daemon isn't in it.
    """
    with session.client() as client:
        reply = client.hook_log(limit=limit, session_id=session_id)
    if as_json:
        session.output.reply(reply)
        return
    if not reply.entries:
        session.output.text("no entries\n")
        return
    session.output.lines(each for entry in reply.entries for each in _entry_lines(entry))


def _entry_lines(entry: HookLogEntry) -> list[Line]:
    """Return an entry as lines: what happened, the prompt, then the places of the hits, or why there are none."""
    state = (entry.decision, "good" if entry.decision in ("injected", "related") else "quiet")
    chars = f"{entry.chars} characters" if entry.chars else ""
    about = dotted(entry.program, entry.event, chars, entry.session_id)
    moment = datetime.fromtimestamp(entry.time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    lines = [line((moment, "label"), "  ", state, "  ", *about)]
    if entry.prompt:
        lines.append(line((f'"{entry.prompt}"', "quiet"), indent=2))
    if entry.lacks:
        best = ("best candidate: ", (entry.candidate, "path"), " · ") if entry.candidate else ()
        lines.append(line(*best, entry.lacks, indent=2))
    return [*lines, *(line((place, "path"), indent=2) for place in entry.places)]


def _files_of(program: str) -> HookFiles:
    """Return the files of a program, by the user's home folder and environment."""
    return HookFiles(program, Path(home_directory()), os.environ)
