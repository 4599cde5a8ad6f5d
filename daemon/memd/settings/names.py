"""Names of settings in openclaw.json of all releases, in `memd.toml` and in the plugin's config. Pure.

The last two have the same names: `search` with the keys of OpenClaw's `memory.search`, those of
`LifecycleSettings`, and the same below `agents.<id>` for one agent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from memd.settings.fields import Field, fields_of, settings_of
from memd.settings.layers import NAMES_IN_OPENCLAW, shown_key, snake_case, value_at
from memd.settings.lifecycle import LifecycleSettings
from memd.settings.schema import MemorySearch

SEARCH: Final = "search"
AGENTS: Final = "agents"
DEFAULTS: Final = "agents.defaults"

SOURCES: Final = "sources"
"""The table of added sources in `memd.toml`."""

PLUGIN_CONFIG: Final = "plugins.entries.memd.config"
"""Key of the plugin's config in openclaw.json, which also has settings of the plugin itself."""

LIFE_NAMES: Final = frozenset(field.key for field in fields_of(LifecycleSettings))

OWN_NAMES: Final = frozenset({*LIFE_NAMES, SEARCH, AGENTS})
"""Top-level names of memory settings in the plugin's config."""

TOML_NAMES: Final = OWN_NAMES | set(map(snake_case, LIFE_NAMES))
"""Top-level names of memory settings in `memd.toml`, in both spellings."""

PLACES: Final = {field.key: field.place for field in fields_of(LifecycleSettings)}
"""Keys in openclaw.json of the settings in `LifecycleSettings`, for all agents."""

AGENT_PLACES: Final = {
    key: place.removeprefix(f"{DEFAULTS}.")
    for key, place in PLACES.items()
    if place.startswith(f"{DEFAULTS}.")
}
"""The same in an agent's own entry."""

NEWER_FROM: Final = (2026, 9)
"""First release of OpenClaw with `memory.search`; older ones have `memorySearch`."""


def _refused_in(kind: type[msgspec.Struct]) -> Iterator[str]:
    """Yield the keys and groups of a struct that OpenClaw 2026.9 refuses."""
    for field in fields_of(kind):
        if field.is_refused:
            yield field.key
        elif field.group is not None:
            yield from (f"{field.key}.{name}" for name in _refused_in(field.group))


def openclaw_key(key: str) -> str:
    """Return OpenClaw's name of a dotted key below `memory.search`."""
    head, dot, rest = key.partition(".")
    return f"{NAMES_IN_OPENCLAW.get(head, head)}{dot}{rest}"


REFUSED_SEARCH: Final = (*map(openclaw_key, _refused_in(MemorySearch)), *NAMES_IN_OPENCLAW)
"""Keys and groups below `memory.search` that OpenClaw 2026.9 refuses, for all agents and for one."""

REFUSED_DEFAULTS: Final = ("memorySearch", *(name for name in _refused_in(LifecycleSettings)))
"""The same below `agents.defaults`."""

REFUSED_AGENT: Final = ("memorySearch", *(AGENT_PLACES[key] for key in sorted(AGENT_PLACES)))
"""The same in an agent's own entry."""


def life_settings() -> Iterator[tuple[str, str, Field]]:
    """Yield every setting in `LifecycleSettings`: its name, its key in openclaw.json, and its field."""
    for name, field in settings_of(LifecycleSettings):
        head, dot, rest = name.partition(".")
        yield name, f"{PLACES[head]}{dot}{rest}", field


def release_of(document: object) -> tuple[int, int] | None:
    """Return the release of OpenClaw that last wrote a file, as year and month; None if unknown."""
    version = re.match(r"(\d{4})\.(\d+)", str(value_at(document, "meta.lastTouchedVersion") or ""))
    return None if version is None else (int(version[1]), int(version[2]))


def remembers_conversations(document: Mapping[str, object]) -> bool:
    """Return whether OpenClaw looks into an agent's other conversations by default, and memd answers it.

    It does if direct conversations share one session, because they are then of one person.
    """
    bindings = document.get("bindings")
    scopes = [value_at(each, "session.dmScope") for each in (bindings if isinstance(bindings, list) else ())]
    is_shared = value_at(document, "session.dmScope") in (None, "main") and not any(scopes)
    return is_shared and value_at(document, "plugins.slots.memory") == "memd"


def is_refused(key: str) -> bool:
    """Return whether OpenClaw 2026.9 refuses a dotted key below `memory.search`."""
    return any(key == name or key.startswith(f"{name}.") for name in REFUSED_SEARCH)


def refused_keys(document: object) -> tuple[str, ...]:
    """Return the dotted keys and groups of a file that OpenClaw 2026.9 refuses."""
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
    """Yield the dotted names that are set below a key of an object."""
    for name in names:
        key = f"{place}.{name}".lstrip(".")
        if value_at(holder, key) is not None:
            yield key
