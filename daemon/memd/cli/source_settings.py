"""Changes of the sources in `memd.toml`, and waiting until the daemon has read them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memd.mcp import toml_edit
from memd.settings.paths import daemon_config_file
from memd.system.json_edit import UneditableTextError
from memd.system.settings_change import SettingsChange, read_settings, uneditable
from memd_client.errors import AgentReloadingError

if TYPE_CHECKING:
    from memd_client import Client
    from memd_client.messages import SourceStatus

HINT = "edit its table [sources] yourself; see docs/sources.md"

RELOAD_S = 15.0
"""How long a command waits until the daemon has read the settings."""

STEP_S = 0.2


def plan_sources(sources: Mapping[str, Mapping[str, Any] | None]) -> SettingsChange:
    """Return the change that writes sources into `memd.toml`, or removes those that are None."""
    file = daemon_config_file()
    before = read_settings(file)
    after = before or ""
    try:
        for name, settings in sources.items():
            if settings is None:
                after = toml_edit.remove(after, "sources", name)
            else:
                after = toml_edit.put(after, "sources", name, settings)
    except UneditableTextError as error:
        raise uneditable(file, error, HINT) from None
    return SettingsChange(file, before, after, HINT, has_backup=False)


def wait_for(client: Client, name: str, *, present: bool, path: str | None = None) -> SourceStatus | None:
    """Return a source once the daemon has added it (at `path`, if given) or removed it; None without it."""
    until = time.monotonic() + RELOAD_S
    while True:
        try:
            source = next((source for source in client.sources().sources if source.name == name), None)
            is_read = source is None or path is None or source.locations == [path]
            if ((source is not None) == present and is_read) or time.monotonic() > until:
                return source
        except AgentReloadingError:  # its agent is being closed or opened again
            if time.monotonic() > until:
                raise
        time.sleep(STEP_S)
