"""The sources of the lines that a program will be given, by the settings of memd."""

from __future__ import annotations

from typing import Any

from memd.mcp import toml_edit
from memd.settings.paths import daemon_config_file
from memd.system import json_edit
from memd.system.settings_change import read_settings
from memd_client.errors import MemdError

ALL, DEFAULT = "*", ""
"""Instead of an agent's id: all agents, and the default agent with `shared`."""


def shown_to(title: str, agent: str) -> str:
    """Return what a program with an agent's memory will be given."""
    sources = {name: each.get("agent") or DEFAULT for name, each in _settings("sources").items()}
    sure = [name for name, owner in sources.items() if reads(agent, owner)]
    unsure = [name for name, owner in sources.items() if name not in sure and DEFAULT in (agent, owner)]
    either = (
        f"; of {', '.join(unsure)} only if {agent or 'their agent'} is the default agent" if unsure else ""
    )
    return f"{title} will be given lines of: {', '.join(['notes', *sure])}{either}"


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
