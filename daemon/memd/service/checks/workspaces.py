"""Checks of agents by their settings and files, without the daemon."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path

from memd.embedding.choose.choose import plan_provider
from memd.embedding.choose.local_resolver import LocalResolver
from memd.embedding.choose.remote_resolver import RemoteResolver
from memd.embedding.local.extra import is_extra_installed
from memd.embedding.local.owner import ModelOwner
from memd.programs.catalog import Places
from memd.service.checks.agents import skipped_findings
from memd.service.checks.finding import OK, WARNING, WRONG, Finding, first_paths
from memd.service.checks.imported_notes import check_imported
from memd.service.checks.installation import InstallationState
from memd.settings.agents import AgentConfig
from memd.settings.ram_budget import MB
from memd.sources.imported import find_imported
from memd.system.units import count, size
from memd_client.errors import MemdError


def check_agent(installation: InstallationState, agent: AgentConfig) -> list[Finding]:
    """Return the findings on an agent's settings, workspace and provider; a running daemon's status replaces them."""
    area = f"agent {agent.id}"
    found = [Finding(area, "settings", WRONG, each.message, each.hint) for each in agent.problems]
    if not agent.settings.enabled:
        return [*found, Finding(area, "search", OK, "off: search.enabled is false")]
    disk = installation.listings[agent.id]
    if disk.is_missing:
        quoted = shlex.quote(str(agent.workspace))
        fix = f"run `mkdir -p {quoted}`, or correct `workspace` in openclaw.json"
        found.append(Finding(area, "workspace", WRONG, f"{agent.workspace} does not exist", fix))
    else:
        total = sum(file.size for file in disk.files.values())
        text = f"{agent.workspace}, {count(len(disk.files), 'memory file')}, {size(total)}"
        found.append(Finding(area, "workspace", OK, text))
    found += skipped_findings(area, [(each.path, each.reason) for each in disk.skipped + disk.partial])
    return [*found, _check_provider(installation, agent)]


def _check_provider(installation: InstallationState, agent: AgentConfig) -> Finding:
    """Return whether the configured provider can be used, as far as known without a request."""
    settings, home, area = agent.settings, installation.home, f"agent {agent.id}"
    if settings.provider == "none":
        return Finding(area, "provider", OK, "none (turned off in the settings): keyword search only")
    remote = RemoteResolver(
        settings,
        agent.id,
        entries=home.providers,
        state_dir=home.state_dir,
        environ=installation.environ,
        keep_alive_s=int(installation.daemon.model_keep_alive_minutes * 60),
    )
    try:
        local = LocalResolver(settings, ModelOwner(), installation.models, is_extra_installed)
        plan_provider(settings.provider, local, remote)
    except MemdError as error:
        state = WARNING if settings.provider == "auto" else WRONG
        return Finding(area, "provider", state, f"{error.message}; keyword search only", error.hint)
    return Finding(area, "provider", OK, f"{settings.provider}, usable")


def check_notes(installation: InstallationState, agent: AgentConfig) -> Iterable[Finding]:
    """Yield the findings on files without read permission and on copies of other programs' notes."""
    if not agent.settings.enabled:
        return
    disk, area = installation.listings[agent.id], f"agent {agent.id}"
    places = Places(Path.home(), installation.environ, sys.platform)
    for folder in find_imported(disk.files, installation.daemon.max_file_mb * MB):
        yield check_imported(folder, agent, places)
    unreadable = sorted(path for path, found in disk.files.items() if not os.access(found.location, os.R_OK))
    if unreadable:
        text = f"{count(len(unreadable), 'file')} cannot be read: {first_paths(unreadable)}"
        fix = f"chmod -R u+r {shlex.quote(str(agent.workspace))}"
        yield Finding(area, "permissions", WRONG, text, fix)
