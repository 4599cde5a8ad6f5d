"""memd's own places for the memory settings of agents: `memd.toml`, and the plugin's config in openclaw.json.

Both hold the same names: `search` with the keys of OpenClaw's `memory.search`, the groups of `life_settings`, and below
`agents.<id>` all of them again for one agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from memd.settings.layers import NOT_FROM_FILE, Findings, Layer, shown_key
from memd.settings.lifecycle import OWN_GROUPS

SEARCH: Final = "search"
AGENTS: Final = "agents"

PLUGIN_CONFIG: Final = ("plugins", "entries", "memd", "config")
"""Where the plugin's config is in openclaw.json; it also holds settings of the plugin itself."""

LIFE_NAMES: Final = frozenset(
    f"{group}.{field.encode_name}".lstrip(".")
    for kind, group in OWN_GROUPS.items()
    for field in msgspec.structs.fields(kind)
    if field.name not in NOT_FROM_FILE
)
"""Dotted names of the settings beside `search`."""

GROUPS: Final = frozenset({SEARCH, "compaction", *OWN_GROUPS.values()} - {""})

OWN_NAMES: Final = frozenset(name.partition(".")[0] for name in {*LIFE_NAMES, *GROUPS, AGENTS})
"""Names at the head of either place that hold memory settings."""


def check_names(layer: Layer, findings: Findings, *, is_root: bool) -> None:
    """Report what is no setting, and what should be an object and isn't. `search` is checked where it is read."""
    _check_group(layer, "", findings, is_root=is_root)


def _check_group(layer: Layer, group: str, findings: Findings, *, is_root: bool) -> None:
    for key, value in layer.values.items():
        name = f"{group}.{key}".lstrip(".")
        if name in GROUPS or (is_root and name == AGENTS):
            if not isinstance(value, Mapping):
                findings.wrong(layer, key, "an object", value)
            elif name not in (SEARCH, AGENTS):
                _check_group(layer.below(key), name, findings, is_root=False)
        elif name not in LIFE_NAMES and not is_root:
            findings.add_unknown(layer, shown_key(key))
