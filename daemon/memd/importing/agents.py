"""Whose memory can be written into, as the settings say: for where no daemon can be asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memd.importing.vault import Agent
from memd.settings.agents import load_settings


def load_agents(environ: Mapping[str, str], home: Path) -> list[Agent]:
    """Return the agents that have memory, the default one first."""
    loaded, _, _ = load_settings(environ, home)
    enabled = [each for each in loaded.agents.values() if each.settings.enabled]
    return [
        Agent(each.id, each.workspace, loaded.config_path, loaded.state_dir, home)
        for each in sorted(enabled, key=lambda each: not each.is_default)
    ]
