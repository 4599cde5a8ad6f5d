"""Reads the state of memd's hooks, MCP entries and skill files in the settings of the programs on this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from memd.cli.hook_setup.changes import HookFiles, installed_hooks
from memd.cli.mcp import entry_of
from memd.cli.readers import ALL, hook_agent
from memd.cli.setup.ledger import Ledger, digest
from memd.cli.setup.plan import Step
from memd.mcp import toml_edit
from memd.mcp.client_entry import plan
from memd.programs.catalog import MCP_SERVER, PROGRAMS, Mcp, Places, Program
from memd.programs.connections import agent_in
from memd.system import json_edit
from memd.system.json_edit import UneditableTextError
from memd.system.settings_change import SettingsChange, read_settings
from memd_client.discovery import home_directory
from memd_client.errors import MemdError

SKILL: Final = Path(__file__).with_name("SKILL.md")


def find_connections(agent: str | None, ledger: Ledger) -> Iterator[Step]:
    """Yield the steps for hooks, MCP entry and skill file of each program on this machine (blocking).

    Args:
        agent: The agent that hooks and MCP entries name; None: they name none.
        ledger: What an earlier setup has changed.
    """
    places = Places(Path(home_directory()), os.environ)
    for program in PROGRAMS.values():
        if not is_installed(program, places):
            continue
        try:
            if program.hooks is not None:
                yield _hooks(program, places, agent)
            if program.mcp is not None:
                yield _mcp(program, program.mcp, program.mcp.file(places), agent)
            if program.skill:
                yield _skill(program.name, places.paths([program.skill])[0], ledger)
        except OSError as error:  # a folder of its settings is not readable
            yield Step("mcp", program.name, "left", str(error), is_fault=True)


def is_installed(program: Program, places: Places) -> bool:
    """Return whether a program has files here: setup makes none for one that was never used."""
    paths = places.paths(program.conversations.places) if program.conversations else []
    settings = places.paths(program.mcp.files) if program.mcp else []
    settings += places.paths([program.hooks.file]) if program.hooks else []
    paths += [*settings, *(path.parent for path in settings)]
    return any(os.path.exists(path) for path in paths if path != places.home)


def _hooks(program: Program, places: Places, agent: str | None) -> Step:
    files = HookFiles(program.name, places.home, places.environ)
    installed = installed_hooks(files)
    state, form = installed.state, files.form
    if state == "unreadable":
        return Step("hooks", program.name, "left", installed.problem, is_fault=True)
    try:
        is_new = state == "not installed"
        owner = hook_agent(installed.agent or (agent if is_new else None))
        readers = [(program.title, owner)] if "prompt" in form.events else []
        if state == "installed":
            return Step("hooks", program.name, "present", readers=readers)
        changes = files.plan_install(installed.agent or agent)
    except MemdError as error:
        return Step("hooks", program.name, "left", error.message, is_fault=True)
    return Step("hooks", program.name, "add" if is_new else "repair", changes=changes, readers=readers)


def _mcp(program: Program, client: Mcp, path: Path, agent: str | None) -> Step:
    wanted = entry_of(client, agent, None)
    try:
        change = plan(client, path, wanted)
        entry = entry_in(client, path, change.before or "")
    except MemdError as error:
        return Step("mcp", program.name, "left", error.message, is_fault=True)
    command = command_in(client, entry)
    named = agent_in(" ".join(command))
    readers = [(program.title, named or (agent if entry is None and agent else ALL))]
    if entry is None:
        return Step("mcp", program.name, "add", changes=[change], readers=readers)
    if Path(command[0]).name != "memctl" or "mcp" not in command:
        return Step("mcp", program.name, "left", f"{path} has another server named {MCP_SERVER}")
    if shutil.which(command[0]) is None:
        return Step("mcp", program.name, "repair", changes=[change], readers=readers)
    return Step("mcp", program.name, "present", readers=readers)


def entry_in(client: Mcp, path: Path, text: str) -> Any:
    """Return memd's entry in the text of settings; None if there is none."""
    try:
        servers = (toml_edit if path.suffix == ".toml" else json_edit).value_of(text).get(client.section)
    except (UneditableTextError, AttributeError):
        return None
    return servers.get(MCP_SERVER) if isinstance(servers, dict) else None


def command_in(client: Mcp, entry: Any) -> list[str]:
    """Return the program and the arguments of an entry; one empty string if it has another form."""
    try:
        return [str(word) for word in client.command_of(entry)] or [""]
    except (LookupError, TypeError):
        return [""]


def _skill(name: str, path: Path, ledger: Ledger) -> Step:
    text = SKILL.read_text("utf-8")
    try:
        before = read_settings(path)
    except MemdError as error:
        return Step("skill", name, "left", error.message, is_fault=True)
    if before == text:
        return Step("skill", name, "present")
    written = ledger.files.get(os.path.realpath(path))
    if before is not None and (written is None or written.after != digest(before)):
        return Step("skill", name, "left", f"{path} is not the file that memd wrote")
    change = SettingsChange(path, before, text, "write the file yourself", has_backup=False)
    return Step("skill", name, "add" if before is None else "repair", changes=[change])
