"""Agents to import for, from the settings; used if the daemon is unreachable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memd.settings.agents import load_settings


@dataclass(frozen=True, slots=True)
class ImportedAgent:
    """The agent to import for, and the paths of its settings."""

    id: str
    workspace: Path
    config: Path
    state_dir: Path
    home: Path


def load_agents(environ: Mapping[str, str], home: Path) -> list[ImportedAgent]:
    """Return the agents whose memory is enabled, the default agent first."""
    loaded, _, _ = load_settings(environ, home)
    enabled = [each for each in loaded.agents.values() if each.settings.enabled]
    return [
        ImportedAgent(each.id, each.workspace, loaded.config_path, loaded.state_dir, home)
        for each in sorted(enabled, key=lambda each: not each.is_default)
    ]
