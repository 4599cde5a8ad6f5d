"""The programs that are given lines, and the sources of the lines, by the settings of memd and of the programs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memd.cli.hook_setup.changes import HookFiles
from memd.cli.hook_setup.entries import find_hooks
from memd.mcp import toml_edit
from memd.programs.catalog import HOOKS, MCP_CLIENTS, MCP_SERVER, PROGRAMS, Places
from memd.settings.paths import daemon_config_file
from memd.system import json_edit
from memd.system.settings_change import read_settings
from memd_client.discovery import home_directory
from memd_client.errors import MemdError

ALL, DEFAULT = "*", ""
"""Instead of an agent's id: all agents, and the default agent with `shared`."""

_AGENT = re.compile(r"--agent '?([^\s']+)")


def shown_to(title: str, agent: str) -> str:
    """Return what a program with an agent's memory will be given."""
    sources = {name: each.get("agent") or DEFAULT for name, each in _settings("sources").items()}
    sure = [name for name, owner in sources.items() if reads(agent, owner)]
    unsure = [name for name, owner in sources.items() if name not in sure and DEFAULT in (agent, owner)]
    either = (
        f"; of {', '.join(unsure)} only if {agent or 'their agent'} is the default agent" if unsure else ""
    )
    return f"{title} will be given lines of: {', '.join(['notes', *sure])}{either}"


def readers_of(owner: str, default: str) -> list[str]:
    """Return the titles of the programs that will be given lines of an agent's source."""
    readers = [*_hooked(), *_connected()]
    return list(
        dict.fromkeys(title for title, agent in readers if owner == (agent or default) or reads(agent, owner))
    )


def hook_agent(agent: str | None) -> str:
    """Return the agent of hooks that name one or none."""
    return agent or _settings("hooks").get("agent") or DEFAULT


def reads(agent: str, owner: str) -> bool:
    return agent in (ALL, owner) or (agent == DEFAULT and owner == "shared")


def _settings(section: str) -> dict[str, Any]:
    """Return a table of memd's settings; empty if it has none, or they can't be read."""
    try:
        found = toml_edit.value_of(read_settings(daemon_config_file()) or "").get(section)
    except (MemdError, json_edit.UneditableTextError):
        return {}
    return found if isinstance(found, dict) else {}


def _hooked() -> Iterator[tuple[str, str]]:
    """Yield the programs with hooks that give text, each with its agent."""
    for name, form in HOOKS.items():
        file = HookFiles(name, Path(home_directory()), os.environ).path
        try:
            hooks = find_hooks(form, read_settings(file) or "")
        except (MemdError, json_edit.UneditableTextError):
            continue
        if hooks and "prompt" in form.events:
            named = _AGENT.search(str(hooks[0][1][form.command_key]))
            yield PROGRAMS[name].title, hook_agent(named[1] if named else None)


def _connected() -> Iterator[tuple[str, str]]:
    """Yield the MCP clients that have memd's server, each with its agent."""
    for name, client in MCP_CLIENTS.items():
        file = client.file(Places(Path(home_directory()), os.environ))
        values = toml_edit.value_of if file.suffix == ".toml" else json_edit.value_of
        try:
            entry = values(read_settings(file) or "")[client.section][MCP_SERVER]
            named = _AGENT.search(" ".join(client.command_of(entry)))
        except (MemdError, json_edit.UneditableTextError, LookupError, TypeError):
            continue
        yield PROGRAMS[name].title, named[1] if named else ALL
