"""Names of settings: in openclaw.json of every era, in `memd.toml` and in the plugin's config. Pure.

The last two hold the same names: `search` with the keys of OpenClaw's `memory.search`, those of `Life`, and below
`agents.<id>` all of them again for one agent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from memd.settings.fields import Field, fields_of, settings_of
from memd.settings.layers import shown_key, value_at
from memd.settings.lifecycle import Life
from memd.settings.schema import MemorySearch

SEARCH: Final = "search"
AGENTS: Final = "agents"
DEFAULTS: Final = "agents.defaults"

PLUGIN_CONFIG: Final = "plugins.entries.memd.config"
"""Where the plugin's config is in openclaw.json; it also holds settings of the plugin itself."""

LIFE_NAMES: Final = frozenset(field.key for field in fields_of(Life))

OWN_NAMES: Final = frozenset({*LIFE_NAMES, SEARCH, AGENTS})
"""Names at the head of either of memd's own places that hold memory settings."""

PLACES: Final = {field.key: field.place for field in fields_of(Life)}
"""Where openclaw.json has what is beside the search, for all agents."""

AGENT_PLACES: Final = {
    key: place.removeprefix(f"{DEFAULTS}.")
    for key, place in PLACES.items()
    if place.startswith(f"{DEFAULTS}.")
}
"""Where an agent's own entry has it."""

NEWER_FROM: Final = (2026, 9)
"""Since this release OpenClaw has `memory.search`; before, `memorySearch`."""


def _refused_in(kind: type[msgspec.Struct]) -> Iterator[str]:
    """Yield the keys and groups of a struct that OpenClaw 2026.9 refuses."""
    for field in fields_of(kind):
        if field.is_refused:
            yield field.key
        elif field.group is not None:
            yield from (f"{field.key}.{name}" for name in _refused_in(field.group))


REFUSED_SEARCH: Final = tuple(_refused_in(MemorySearch))
"""Keys and groups below `memory.search` that OpenClaw 2026.9 refuses, of all agents and of one."""

REFUSED_DEFAULTS: Final = ("memorySearch", *(name for name in _refused_in(Life)))
"""Likewise below `agents.defaults`."""

REFUSED_AGENT: Final = ("memorySearch", *(AGENT_PLACES[key] for key in sorted(AGENT_PLACES)))
"""Likewise in an agent's own entry."""


def life_settings() -> Iterator[tuple[str, str, Field]]:
    """Yield every setting beside the search: its own name, its place in openclaw.json, and its field."""
    for name, field in settings_of(Life):
        head, dot, rest = name.partition(".")
        yield name, f"{PLACES[head]}{dot}{rest}", field


def release_of(document: object) -> tuple[int, int] | None:
    """Return the release of OpenClaw that wrote a file last, as year and month, if the file says so."""
    said = re.match(r"(\d{4})\.(\d+)", str(value_at(document, "meta.lastTouchedVersion") or ""))
    return None if said is None else (int(said[1]), int(said[2]))


def is_refused(key: str) -> bool:
    """Return whether OpenClaw 2026.9 refuses a key below `memory.search`, given by its dotted name."""
    return any(key == name or key.startswith(f"{name}.") for name in REFUSED_SEARCH)


def refused_keys(document: object) -> tuple[str, ...]:
    """Return the keys and groups of a file that OpenClaw 2026.9 refuses, by their dotted names."""
    if (release_of(document) or NEWER_FROM) < NEWER_FROM:
        return ()
    found = [*_present(document, "memory.search", REFUSED_SEARCH)]
    found += _present(document, DEFAULTS, REFUSED_DEFAULTS)
    listed, entries = value_at(document, "agents.list"), value_at(document, "agents.entries")
    agents: dict[str, object] = {}
    if isinstance(listed, list):
        agents |= {f"agents.list[{at}]": each for at, each in enumerate(listed)}
    if isinstance(entries, Mapping):
        agents |= {f"agents.entries.{shown_key(name)}": each for name, each in entries.items()}
    for place, agent in agents.items():
        found += [f"{place}.{key}" for key in _present(agent, "", REFUSED_AGENT)]
        found += [f"{place}.{key}" for key in _present(agent, "memory.search", REFUSED_SEARCH)]
    return tuple(found)


def _present(holder: object, place: str, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the dotted names that an object holds below a place."""
    for name in names:
        key = f"{place}.{name}".lstrip(".")
        if value_at(holder, key) is not None:
            yield key
