"""Whose memory can be written into, as the settings say: for where no daemon can be asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memd.settings.agents import load_settings


@dataclass(frozen=True, slots=True)
class Agent:
    """Whose memory is written, and where its settings are."""

    id: str
    workspace: Path
    config: Path
    state_dir: Path
    home: Path


def load_agents(environ: Mapping[str, str], home: Path) -> list[Agent]:
    """Return the agents that have memory, the default one first."""
    loaded, _, _ = load_settings(environ, home)
    enabled = [each for each in loaded.agents.values() if each.settings.enabled]
    return [
        Agent(each.id, each.workspace, loaded.config_path, loaded.state_dir, home)
        for each in sorted(enabled, key=lambda each: not each.is_default)
    ]
