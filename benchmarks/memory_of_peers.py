"""The memory of engines people have today: OpenClaw's and memsearch's, one in each agent's process.

Each has notes and an index of its own, and has answered a question. Neither loads a model: both ask an endpoint for
vectors, in a process that isn't counted, while memd's side of the comparison has its model in it. Their notes are
fewer than memd's.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import trio

from benchmarks.part import Options
from benchmarks.peers.child import ChildError
from benchmarks.peers.comparison import install_peers
from benchmarks.peers.endpoint import Endpoint
from benchmarks.peers.memd_side import MemdSide
from benchmarks.peers.notes import write_notes
from benchmarks.peers.server import INSTANT
from benchmarks.peers.side import Corner, Side
from benchmarks.scale_process import Memory, memory_of
from memd.embedding.local.pull import pull_model
from memd.settings.paths import models_dir

NOTES_CHUNKS: Final = 100
"""Notes of each peer's agent: what a process takes is mostly its runtime."""


def measure_peers(options: Options, agents: int) -> tuple[dict[str, Memory], list[str]]:
    """Return what as many processes of each peer take together, by its name; and why one isn't among them."""
    cache = options.cache / "peers"
    cache.mkdir(parents=True, exist_ok=True)
    makers, missing = install_peers(cache, options.tell)
    root = options.work / "peers"
    notes = root / "notes"
    write_notes(notes, NOTES_CHUNKS, random.Random(17))
    model = trio.run(pull_model, "minilm", models_dir(), lambda *_: None)
    taken: dict[str, Memory] = {}
    with Endpoint(model, cache / "minilm-256.sqlite", root / "endpoint.log") as endpoint:
        for name, make in makers.items():
            if name == MemdSide.name:
                continue
            corners = [
                Corner(_folder(root / f"{name}-{number}"), notes, endpoint.url(name), INSTANT)
                for number in range(agents)
            ]
            try:
                taken[name] = _memory_of([make(corner) for corner in corners])
            except ChildError as error:
                missing.append(f"{name}: {error}")
            else:
                options.tell(f"{agents} processes of {name}: {taken[name].pss:.0f} MB (PSS)")
    return taken, missing


def _memory_of(sides: Sequence[Side]) -> Memory:
    """Return what all sides take together once each has answered a question."""
    with ExitStack() as stack:
        for side in sides:
            stack.enter_context(side)
            side.index()
            side.search("which words come before all others")
        return memory_of([side.pid for side in sides])


def _folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path
