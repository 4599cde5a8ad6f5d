"""Which parts the suite has and where each is; a part's module is imported when it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

from benchmarks.part import Options, Part

PARTS: Final[Mapping[str, str]] = {
    "design": "benchmarks.design:measure",
    "search": "benchmarks.warm_search:measure",
    "search-profile": "benchmarks.search_profile:measure",
    "sync": "benchmarks.syncing:measure",
    "indexing": "benchmarks.indexing_profile:measure",
    "scale": "benchmarks.scale:measure",
    "load": "benchmarks.load:measure",
    "agents": "benchmarks.memory_of_agents:measure",
    "peers": "benchmarks.peers:measure",
    "reach": "benchmarks.reach:measure",
}
"""Name on the command line and on the page: `module:function`."""


def load_part(name: str) -> Callable[[Options], Part]:
    """Return the function that measures a part."""
    module, _, function = PARTS[name].partition(":")
    measure: Callable[[Options], Part] = getattr(import_module(module), function)
    return measure
