"""RAM of existing engines: OpenClaw's and memsearch's, one in each agent's process.

Each has notes and an index of its own and has answered a query. Neither loads a model: both get vectors from an
endpoint whose process is not counted, while memd's side includes its model. Their notes are fewer than memd's.
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
from benchmarks.peers.endpoint import EndpointProcess
from benchmarks.peers.memd_system import MemdSystem
from benchmarks.peers.notes import write_notes
from benchmarks.peers.server import INSTANT
from benchmarks.peers.system import ComparedSystem, SystemSetup
from benchmarks.scale_process import RamUse, ram_of
from memd.embedding.local.pull import pull_model
from memd.settings.paths import models_dir

NOTES_CHUNKS: Final = 100
"""Size of the notes of each agent, in blocks of 1,600 characters: the runtime has most of a process's RAM."""


def measure_peers(options: Options, agents: int) -> tuple[dict[str, RamUse], list[str]]:
    """Return the peers' RAM by name, and why a peer is missing."""
    cache = options.cache / "peers"
    cache.mkdir(parents=True, exist_ok=True)
    makers, missing = install_peers(cache, options.show_progress)
    root = options.work / "peers"
    notes = root / "notes"
    write_notes(notes, NOTES_CHUNKS, random.Random(17))
    model = trio.run(pull_model, "minilm", models_dir(), lambda *_: None)
    taken: dict[str, RamUse] = {}
    with EndpointProcess(model, cache / "minilm-256.sqlite", root / "endpoint.log") as endpoint:
        for name, make in makers.items():
            if name == MemdSystem.name:
                continue
            setups = [
                SystemSetup(_folder(root / f"{name}-{number}"), notes, endpoint.url(name), INSTANT)
                for number in range(agents)
            ]
            try:
                taken[name] = _ram_of_sides([make(setup) for setup in setups])
            except ChildError as error:
                missing.append(f"{name}: {error}")
            else:
                options.show_progress(f"{agents} processes of {name}: {taken[name].pss:.0f} MB (PSS)")
    return taken, missing


def _ram_of_sides(sides: Sequence[ComparedSystem]) -> RamUse:
    """Return the RAM of all sides after one search each."""
    with ExitStack() as stack:
        for side in sides:
            stack.enter_context(side)
            side.index()
            side.search("which words come before all others")
        return ram_of([side.pid for side in sides])


def _folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path
