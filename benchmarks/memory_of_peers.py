"""The memory of engines people have today: OpenClaw's and memsearch's, one in each agent's process.

Each has notes and an index of its own, and has answered a question. Neither loads a model: both ask an endpoint for
vectors, in a process that isn't counted, while memd's side of the comparison has its model in it. Their notes are
fewer than memd's.
"""

from __future__ import annotations

import random
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import trio

from benchmarks.part import Options
from benchmarks.peers.child import ChildError
from benchmarks.peers.comparison import install_peers
from benchmarks.peers.endpoint import Endpoint
from benchmarks.peers.notes import write_notes
from benchmarks.peers.peer_sides import PeerSide
from benchmarks.peers.server import INSTANT
from benchmarks.peers.side import Corner
from benchmarks.scale_process import Memory, memory_of
from memd.embedding.model.pull import pull_model
from memd.paths import models_dir

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
            corners = [
                Corner(_folder(root / f"{name}-{number}"), notes, endpoint.url(name), INSTANT)
                for number in range(agents)
            ]
            with ExitStack() as stack:
                pids = []
                try:
                    for corner in corners:
                        side = make(corner)
                        if not isinstance(side, PeerSide):
                            break
                        stack.enter_context(side)
                        side.index()
                        side.search("which words come before all others")
                        pids.append(side.pid)
                except ChildError as error:
                    missing.append(f"{name}: {error}")
                    continue
                if pids:
                    taken[name] = memory_of(pids)
                    options.tell(f"{agents} processes of {name}: {taken[name].pss:.0f} MB (PSS)")
    return taken, missing


def _folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path
