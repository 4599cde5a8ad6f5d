"""Which of our settings OpenClaw 2026.9 refuses in openclaw.json: it doesn't start over a file that holds one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from memd.settings.layers import shown_key

NEWER_FROM: Final = (2026, 9)
"""Since this release OpenClaw has `memory.search`; before, `memorySearch`."""

REFUSED_SEARCH: Final = (
    "chunking", "sync", "query.hybrid", "query.rerank", "store.driver", "store.path", "cache.maxEntries",
    "local.modelCacheDir", "remote.batch.wait", "remote.batch.concurrency", "remote.batch.pollIntervalMs",
    "remote.batch.timeoutMinutes",
)  # fmt: skip
"""Keys and groups below `memory.search`, of all agents and of one."""

REFUSED_DEFAULTS: Final = (
    "memorySearch", "compaction.reserveTokensFloor", "compaction.memoryFlush.prompt",
    "compaction.memoryFlush.systemPrompt",
)  # fmt: skip
"""Keys and groups below `agents.defaults`."""

REFUSED_AGENT: Final = ("memorySearch", "compaction", "userTimezone")
"""Keys and groups in an agent's own entry."""


def release_of(document: object) -> tuple[int, int] | None:
    """Return the release of OpenClaw that wrote a file last, as year and month, if the file says so."""
    said = re.match(r"(\d{4})\.(\d+)", str(_at(document, "meta.lastTouchedVersion") or ""))
    return None if said is None else (int(said[1]), int(said[2]))


def is_refused(key: str) -> bool:
    """Return whether OpenClaw 2026.9 refuses a key below `memory.search`, given by its dotted name."""
    return any(key == name or key.startswith(f"{name}.") for name in REFUSED_SEARCH)


def refused_keys(document: object) -> tuple[str, ...]:
    """Return the keys and groups of a file that OpenClaw 2026.9 refuses, by their dotted names."""
    if (release_of(document) or NEWER_FROM) < NEWER_FROM:
        return ()
    found = [*_held(document, "memory.search", REFUSED_SEARCH)]
    found += _held(document, "agents.defaults", REFUSED_DEFAULTS)
    listed = _at(document, "agents.list")
    agents = {
        f"agents.list[{at}]": each for at, each in enumerate(listed if isinstance(listed, list) else ())
    }
    entries = _at(document, "agents.entries")
    if isinstance(entries, Mapping):
        agents |= {f"agents.entries.{shown_key(name)}": each for name, each in entries.items()}
    for place, agent in agents.items():
        found += [f"{place}.{key}" for key in _held(agent, "", REFUSED_AGENT)]
        found += [f"{place}.{key}" for key in _held(agent, "memory.search", REFUSED_SEARCH)]
    return tuple(found)


def _held(holder: object, place: str, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the dotted names that an object holds some keys down."""
    for name in names:
        key = f"{place}.{name}".lstrip(".")
        if _at(holder, key) is not None:
            yield key


def _at(holder: object, key: str) -> object:
    """Return what is under a dotted name; None if there is nothing."""
    for name in key.split("."):
        holder = holder.get(name) if isinstance(holder, Mapping) else None
    return holder
