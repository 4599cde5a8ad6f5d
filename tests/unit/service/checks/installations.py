"""Installations for tests of checks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memd.service.checks.installation import InstallationState
from memd.settings.agents import resolve
from memd.settings.schema import DaemonSettings
from memd.sources.notes import WorkspaceNotes

NOW_MS = 1_800_000_000_000


def installation(
    folder: Path,
    search: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    pid: int = 0,
    now_ms: int = NOW_MS,
) -> InstallationState:
    """Return an installation in a folder, with one agent that has these settings of search."""
    document = {"agents": {"defaults": {"memorySearch": search}}} if search else {}
    home = resolve(document, config_path=folder / "openclaw.json", state_dir=folder, home=folder)
    agent = home.agents["main"]
    listing = WorkspaceNotes(agent.workspace, agent.settings.extra_paths, 1_000_000).find()
    listings = {agent.id: listing} if agent.settings.enabled else {}
    toml, models = folder / "memd.toml", folder / "models"
    return InstallationState(home, DaemonSettings(), (), toml, models, environ or {}, listings, pid, now_ms)
