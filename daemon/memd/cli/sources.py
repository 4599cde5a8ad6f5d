"""`memctl sources`: conversations and notes of other programs, searched in place."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memd.cli.arguments import (
    MAX_PATH_CHARS,
    MAX_SOURCE_CHARS,
    CommandGroup,
    HintedError,
    agent_option,
    at_most,
    examples,
    json_option,
)
from memd.cli.connect import CliSession
from memd.cli.lines import ago, count, size
from memd.cli.source_settings import RELOAD_S, STEP_S, plan_sources, wait_for
from memd_client.errors import AgentReloadingError

if TYPE_CHECKING:
    from memd_client.messages import SourcesReply, SourceStatus


@click.group(
    "sources",
    cls=CommandGroup,
    invoke_without_command=True,
    epilog=examples(
        "memctl sources",
        "memctl sources add claude-code --keep",
        "memctl sources add vault --path ~/Notes --agent shared",
        "memctl sources remove claude-code",
    ),
)
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Search conversations and notes of other programs in place.

    Without a command, lists the sources of all agents, and what else is found on this machine. Nothing is ever
    written to a source.
    """
    if ctx.invoked_subcommand is None:
        show(ctx.obj, as_json=as_json)


def show(session: CliSession, *, as_json: bool) -> None:
    """Print the sources of agents, and those that can be added."""
    with session.client() as client:
        reply = client.sources()
    if as_json:
        session.output.reply(reply)
        return
    every = [*reply.sources, *reply.found]
    if not every and not reply.removed and not reply.excluded:
        session.output.note(
            "found no files of other programs; add a folder with `memctl sources add NAME PATH`"
        )
        return
    heads = ("source", "kind", "agent", "files", "indexed", "size", "newest")
    rows = [_row(each, session.now_ms()) for each in every]
    session.output.table(heads, rows, shorten=("source",))
    for each in every:
        for problem in each.problems:
            session.output.note(f"{each.name}: {problem.message}")
    for each in reply.removed:
        session.output.note(remaining_copies(each))
    if reply.excluded:
        session.output.note(f"excluded: {', '.join(reply.excluded)}")
    if reply.found:
        session.output.note("to search one that has no agent: memctl sources add NAME")


def remaining_copies(source: SourceStatus) -> str:
    """Return what remains of a removed source."""
    remain = "remains" if source.retained == 1 else "remain"
    copies = f"{_copies(source.retained)} of conversations ({size(source.retained_bytes)}) {remain}"
    return (
        f"{source.name}: {copies} in {source.locations[0]}; "
        f"to delete them: memctl sources delete-copies {source.name}"
    )


def _copies(number: int) -> str:
    return "1 copy" if number == 1 else f"{number:,} copies"


def _row(source: SourceStatus, now_ms: int) -> tuple[str, ...]:
    """Return a source as a row of the table."""
    indexed = f"{count(source.sessions, 'session')}, {count(source.messages, 'message')}"
    if source.retained:
        indexed += f", {source.retained:,} deleted but kept ({size(source.retained_bytes)})"
    has_index = bool(source.agent) and source.kind == "transcripts"
    return (
        source.name,
        source.kind,
        source.agent or "-",
        f"{source.files:,}",
        indexed if has_index else "-",
        size(source.bytes),
        "-" if source.newest_ms is None else ago(source.newest_ms, now_ms),
    )


@command.command(
    "add",
    epilog=examples(
        "memctl sources add claude-code",
        "memctl sources add codex --agent shared --keep",
        "memctl sources add vault ~/Notes",
        "memctl sources add chatgpt ~/Downloads/export.zip",
        "memctl sources add work-claude --program claude-code --path ~/work/.claude/projects",
    ),
)
@click.argument("name", type=at_most(MAX_SOURCE_CHARS))
@click.argument("location", type=at_most(MAX_PATH_CHARS), metavar="[PATH]", required=False)
@agent_option
@click.option("--path", type=at_most(MAX_PATH_CHARS), metavar="PATH", help="The same as PATH.")
@click.option(
    "--program", type=at_most(MAX_SOURCE_CHARS), metavar="NAME", help="The program that writes PATH."
)
@click.option("--keep", is_flag=True, help="Keep conversations that the program deletes.")
@click.option("--subagents", is_flag=True, help="Search sessions that an agent started too.")
@click.pass_obj
def add(
    session: CliSession,
    name: str,
    location: str | None,
    agent: str | None,
    path: str | None,
    program: str | None,
    keep: bool,
    subagents: bool,
) -> None:
    """Add the source NAME to the memory of an agent.

    NAME is one that `memctl sources` lists, or any other name with the PATH of a folder of notes. For chats with
    ChatGPT (chatgpt), Claude (claude-ai) or Gemini (gemini-takeout), PATH is the archive that you downloaded; add a
    newer one to replace it. The agent `shared` is made if it doesn't exist.
    """
    _refuse_host(session, "add")
    if location is not None and path is not None:
        raise HintedError("PATH and --path are both given", "leave out one of them")
    path = path if location is None else location
    values: dict[str, Any] = {}
    if agent is not None:
        values["agent"] = agent
    if path is not None:
        values["path"] = os.path.abspath(os.path.expanduser(path))
        if not os.path.exists(values["path"]):
            raise HintedError(f"there is nothing at {values['path']}", "check the path")
    if program is not None:
        values["program"] = program
    values |= {key: True for key, is_set in (("keep", keep), ("subagents", subagents)) if is_set}
    _check_name(name, path, program)
    with session.client() as client:
        file = _edit(name, values)
        found = wait_for(client, name, present=True, path=values.get("path"))
        if found is None:
            problems = "; ".join(
                problem.message
                for problem in client.status().problems
                if f"sources.{name}" in problem.message
            )
            raise HintedError(f"the daemon did not add {name}: {problems or 'no answer yet'}", f"see {file}")
        titles = [program.title for program in client.sources().programs if found.agent in program.agents]
        readers = [f"agent {found.agent}", *dict.fromkeys(titles)]
    session.output.text(
        f"added {name} to agent {found.agent}: {count(found.files, 'file')}, {size(found.bytes)}\n"
    )
    for problem in found.problems:
        session.output.note(f"{name}: {problem.message}; {problem.hint}")
    if found.problems and not found.files:
        return
    session.output.note(f"lines of {name} will be given to: {', '.join(readers)}")
    session.output.note(
        "it is being indexed; `memctl sources` shows the progress, and searches find it already"
    )


@command.command(
    "remove",
    epilog=examples("memctl sources remove claude-code", "memctl sources remove claude-code --delete-copies"),
)
@click.argument("name", type=at_most(MAX_SOURCE_CHARS))
@click.option(
    "--delete-copies", "and_delete", is_flag=True, help="Delete memd's copies of conversations as well."
)
@click.pass_obj
def remove(session: CliSession, name: str, and_delete: bool) -> None:
    """Remove the source NAME from the memory of its agent.

    The program's files are not touched. Copies of conversations stay until you run `memctl sources delete-copies NAME`,
    unless you pass --delete-copies.
    """
    _refuse_host(session, "remove")
    with session.client() as client:
        file = _edit(name, None)
        if wait_for(client, name, present=False) is not None:
            raise HintedError(f"the daemon has not removed {name} yet", f"see {file}")
        session.output.text(f"removed {name}\n")
        remaining = [each for each in client.sources().removed if each.name == name]
        if remaining and and_delete:
            _print_deleted(session, client.sources("delete_copies", name))
        else:
            for each in remaining:
                session.output.note(remaining_copies(each))


@command.command(
    "delete-copies",
    epilog=examples(
        "memctl sources delete-copies claude-code", "memctl sources delete-copies codex --session 0199a213"
    ),
)
@click.argument("name", type=at_most(MAX_SOURCE_CHARS))
@click.option(
    "--session",
    "session_id",
    metavar="ID",
    help="Only the copy of this session; the first characters of its id are enough.",
)
@json_option
@click.pass_obj
def delete_copies(session: CliSession, name: str, session_id: str | None, as_json: bool) -> None:
    """Delete copies of deleted conversations for good.

    They are those that --keep made of conversations which the program of NAME has deleted. After `memctl sources
    remove NAME` it deletes all copies. The index is rewritten, so that no file of memd has their text.
    """
    if session_id is not None and not session_id.strip():
        raise HintedError("--session is empty", "name a session, or leave out --session to delete all")
    with session.client() as client:
        reply = client.sources("delete_copies", name, session=session_id or "")
    if as_json:
        session.output.reply(reply)
    else:
        _print_deleted(session, reply)


@command.command(
    "exclude",
    short_help="Never index a folder or project.",
    epilog=examples("memctl sources exclude ~/work/client-a", "memctl sources exclude client-a"),
)
@click.argument("folder", metavar="PATH|PROJECT", type=at_most(MAX_PATH_CHARS))
@click.pass_obj
def exclude(session: CliSession, folder: str) -> None:
    """Never index or show what belongs to a folder or project, in any program and for any agent.

    Its conversations and notes disappear from memory at once, and hooks add nothing to sessions in it. A project is
    given by the name of its folder. The programs' own files are unchanged, and so are copies of conversations that memd
    has retained. `memctl sources include` undoes the exclusion.
    """
    _refuse_host(session, "exclude")
    entry = _entry_of(folder)
    file, entries = _change_excluded(lambda entries: [*entries, *([] if entry in entries else [entry])])
    _wait_for_exclusions(session, entries, file)
    session.output.text(f"excluded {entry}\n")
    if "/" in entry and not os.path.isdir(os.path.expanduser(entry)):
        session.output.note(
            "there is no such folder on this machine now; conversations that name it are excluded"
        )


@command.command(
    "include",
    short_help="Undo an exclusion.",
    epilog=examples("memctl sources include ~/work/client-a", "memctl sources include client-a"),
)
@click.argument("folder", metavar="PATH|PROJECT", type=at_most(MAX_PATH_CHARS))
@click.pass_obj
def include(session: CliSession, folder: str) -> None:
    """Index a folder or project again that `memctl sources exclude` excluded."""
    _refuse_host(session, "include")
    entry = _entry_of(folder)

    def without(entries: list[str]) -> list[str]:
        if entry not in entries:
            listed = f"excluded are: {', '.join(entries)}" if entries else "nothing is excluded"
            raise HintedError(f"{entry} is not excluded", listed)
        return [other for other in entries if other != entry]

    file, entries = _change_excluded(without)
    _wait_for_exclusions(session, entries, file)
    session.output.text(f"included {entry}; it is being indexed again\n")


def _entry_of(folder: str) -> str:
    """Return a folder as it is written in the settings: absolute, or the name of a project."""
    is_path = "/" in folder or folder in ("~", ".", "..")
    entry = os.path.abspath(os.path.expanduser(folder)) if is_path else folder.strip()
    if entry in ("", "/") or entry == os.path.expanduser("~"):
        raise HintedError(f"{folder!r} would exclude everything", "name a folder or a project below it")
    return entry


def _change_excluded(change: Callable[[list[str]], list[str]]) -> tuple[Path, list[str]]:
    """Change the setting `exclude` in `memd.toml`; return the file and the new value."""
    from memd.mcp import toml_edit
    from memd.settings.paths import daemon_config_file
    from memd.system.json_edit import UneditableTextError
    from memd.system.settings_change import SettingsChange, carry_out, read_settings, uneditable

    file, hint = daemon_config_file(), "edit its list `exclude` yourself"
    before = read_settings(file)
    try:
        listed = toml_edit.value_of(before or "").get("exclude", [])
        if not isinstance(listed, list) or not all(isinstance(entry, str) for entry in listed):
            raise UneditableTextError("`exclude` is not a list of strings")
        entries = change(listed)
        after = toml_edit.put_value(before or "", "exclude", entries)
    except UneditableTextError as error:
        raise uneditable(file, error, hint) from None
    carry_out(SettingsChange(file, before, after, hint, has_backup=False), "")
    return file, entries


def _wait_for_exclusions(session: CliSession, entries: Sequence[str], file: Path) -> None:
    """Wait until the daemon uses the exclusions, and has removed what they concern from its indexes."""
    until = time.monotonic() + RELOAD_S
    with session.client() as client:
        while True:
            try:
                if client.sources().excluded == [*entries]:
                    return
            except AgentReloadingError:
                pass
            if time.monotonic() > until:
                raise HintedError(
                    "the daemon did not apply the exclusion yet", f"see {file}, and `memctl status`"
                )
            time.sleep(STEP_S)


def _print_deleted(session: CliSession, reply: SourcesReply) -> None:
    session.output.text(f"deleted {_copies(reply.deleted)}\n")


def _refuse_host(session: CliSession, name: str) -> None:
    """Raise if another machine is used: its settings file can't be edited from here."""
    if session.host is not None:
        from memd.cli.host import local_command_error

        raise local_command_error(session.host, f"sources {name}")


def _check_name(name: str, path: str | None, program: str | None) -> None:
    """Raise if a name is neither known nor comes with a path."""
    from memd.programs.catalog import KNOWN_SOURCES
    from memd.system.nearest_name import did_you_mean

    if program is not None and program not in KNOWN_SOURCES:
        raise HintedError(
            f"{program!r} is not a program memd reads{did_you_mean(program, KNOWN_SOURCES)}",
            f"known: {', '.join(KNOWN_SOURCES)}",
        )
    known = KNOWN_SOURCES.get(program or name)
    if path is None and known is not None and known.export:
        raise HintedError(
            f"the path of the archive that you downloaded from {known.title} is missing",
            f"{known.export}; then run `memctl sources add {name} PATH`",
        )
    if path is None and name not in KNOWN_SOURCES:
        raise HintedError(
            f"{name!r} is not a source memd knows{did_you_mean(name, KNOWN_SOURCES)}",
            "run `memctl sources` to list them, or add the folder of the notes as PATH",
        )


def _edit(name: str, values: Mapping[str, Any] | None) -> Path:
    """Write the source into `memd.toml`, or remove it for None; return the file."""
    from memd.system.settings_change import carry_out

    change = plan_sources({name: values})
    if values is None and change.is_none:
        raise HintedError(f"there is no source {name!r}", "run `memctl sources` to list them")
    carry_out(change, "")
    return change.path
