"""The parts of the suite; the module of a part is imported when it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

from benchmarks.part import Options, Part

PARTS: Final[Mapping[str, str]] = {
    "design": "benchmarks.design:measure",
    "search": "benchmarks.warm_search:measure",
    "sync": "benchmarks.syncing:measure",
    "scale": "benchmarks.scale:measure",
    "load": "benchmarks.load:measure",
    "agents": "benchmarks.agents_ram:measure",
    "peers": "benchmarks.peers:measure",
    "transcripts": "benchmarks.transcripts:measure",
    "hooks": "benchmarks.hooks:measure",
    "remotes": "benchmarks.remotes:measure",
}
"""`module:function` by the name on the command line and in the report."""


def load_part(name: str) -> Callable[[Options], Part]:
    """Return the function of a part."""
    module, _, function = PARTS[name].partition(":")
    measure: Callable[[Options], Part] = getattr(import_module(module), function)
    return measure
