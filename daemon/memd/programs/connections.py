"""Programs that are given memory: memd's hooks and MCP server in their settings, which are only read."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memd.programs.catalog import HOOKS, MCP_CLIENTS, MCP_SERVER, Hooks, Places
from memd.system import json_edit
from memd.system.json_edit import UneditableTextError
from memd.system.settings_change import read_settings
from memd_client.errors import MemdError

HOOK_FILE = "memd_client/hook.py"
"""The end of the path in a command by which memd's hooks are recognised."""

Place = tuple[str | int, ...]

IF_INSTALLED = 'test -x "$0" && test -f "$3" && "$0" "$@" 2>/dev/null; exit 0'
"""Runs the hook. It succeeds silently if memd, its Python or a library of it is gone: its hooks may outlive it."""

_AGENT = re.compile(r"--agent '?([^\s']+)")


def find_hooks(form: Hooks, text: str) -> list[tuple[Place, dict[str, Any]]]:
    """Return memd's hooks, each with its path of keys.

    Raises:
        UneditableTextError: The text is not JSON, or its hooks have another form.
    """
    return list(_ours(form, json_edit.value_of(text)))


def _ours(form: Hooks, settings: Any) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield memd's hooks, each with its path of keys."""
    if not isinstance(settings, dict):
        raise UneditableTextError("the top level is not an object")
    events = settings.get("hooks", {})
    if not isinstance(events, dict):
        raise UneditableTextError("hooks is not an object")
    for name, items in events.items():
        if not isinstance(items, list):
            if name in form.events.values():
                raise UneditableTextError(f"hooks.{name} is not a list")
            continue
        for at, item in enumerate(items):
            inner = item.get("hooks") if isinstance(item, dict) else None
            if not form.is_grouped and _is_ours(form, item):
                yield ("hooks", name, at), item
            elif form.is_grouped and isinstance(inner, list):
                hooks = [(number, each) for number, each in enumerate(inner) if _is_ours(form, each)]
                yield from ((("hooks", name, at, "hooks", number), each) for number, each in hooks)


def _is_ours(form: Hooks, hook: Any) -> bool:
    command = hook.get(form.command_key) if isinstance(hook, dict) else None
    return isinstance(command, str) and HOOK_FILE in command


@dataclass(frozen=True, slots=True)
class ProgramConnection:
    """What is installed for a program.

    Attributes:
        program: Its name.
        state: `installed`, `not installed`, `incomplete` (of another release), `command missing` or `unreadable`.
        events: The events with a hook, in the program's words.
        path: The file.
        problem: Why, if the state is `command missing` or `unreadable`.
        agent: The agent whose memory it is given; empty if the settings name none.
        way: `hooks` or `mcp`.
    """

    program: str
    state: str
    events: list[str]
    path: str
    problem: str = ""
    agent: str = ""
    way: str = "hooks"


def read_hooks(program: str, file: Path) -> ProgramConnection:
    """Return what is installed in a program's file of hooks, and whether its command still exists (blocking)."""
    form, path = HOOKS[program], str(file)
    try:
        hooks = find_hooks(form, read_settings(file) or "")
    except (UneditableTextError, MemdError) as error:
        return ProgramConnection(program, "unreadable", [], path, str(error))
    events = [str(place[1]) for place, _ in hooks]
    commands = [str(hook[form.command_key]) for _, hook in hooks]
    missing = [name for command in commands if (name := _missing_file(command))]
    if missing:
        agent, problem = agent_in(commands[0]), f"there is no {missing[0]}"
        return ProgramConnection(program, "command missing", events, path, problem, agent)
    if not hooks:
        return ProgramConnection(program, "not installed", [], path)
    is_whole = set(events) == set(form.events.values()) and all(IF_INSTALLED in line for line in commands)
    state = "installed" if is_whole else "incomplete"
    return ProgramConnection(program, state, events, path, agent=agent_in(commands[0]))


def _missing_file(command: str) -> str:
    """Return the file of a command that doesn't exist; empty if all exist. Both are in earlier releases' form too."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    at = next((at for at, word in enumerate(words) if word.endswith(HOOK_FILE)), 0)
    return next((each for each in (words[max(at - 3, 0)], words[at]) if not os.path.isfile(each)), "")


def find_connections(places: Places) -> Iterator[ProgramConnection]:
    """Yield the hooks and the MCP servers of all programs, also those without memd (blocking)."""
    for name, form in HOOKS.items():
        yield read_hooks(name, places.paths([form.file])[0])
    for name, client in MCP_CLIENTS.items():
        file, state, agent, problem = client.file(places), "not installed", "", ""
        try:
            text = read_settings(file) or ""
            values = tomllib.loads(text) if file.suffix == ".toml" else json_edit.value_of(text)
            agent = agent_in(" ".join(client.command_of(values[client.section][MCP_SERVER])))
            state = "installed"
        except (UneditableTextError, MemdError, tomllib.TOMLDecodeError) as error:
            state, problem = "unreadable", str(error)
        except (LookupError, TypeError):  # no entry, or one of another form
            pass
        yield ProgramConnection(name, state, [], str(file), problem, agent, "mcp")


def agent_in(command: str) -> str:
    """Return the agent that a command names; empty if it names none."""
    named = _AGENT.search(command)
    return named[1] if named else ""
