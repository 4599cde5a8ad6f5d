"""CPU time of reading a provider's reply, compared with `json.loads` of the same numbers."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from benchmarks.part import Figure, at_most
from memd.embedding.remote.endpoint import Endpoint
from memd.embedding.remote.providers.api import EmbeddingApi
from memd.embedding.remote.providers.table import APIS

TEXTS: Final = 100
DIMS: Final = 1_536
BAR: Final = 0.5
READS: Final = 9
"""Reads per round; the fastest counts."""


def reading_figures(rounds: int) -> Iterator[Figure]:
    """Yield a figure for each reply format: its reading time / plain JSON's."""
    rows = np.random.default_rng(1).normal(0, 0.03, (TEXTS, DIMS)).astype(np.float32)
    spelled = [[float(f"{number:.9g}") for number in row] for row in rows]
    encoded = [base64.b64encode(row.tobytes()).decode() for row in rows]
    plain = json.dumps(spelled).encode()
    bodies: dict[str, Any] = {
        "openai": {"data": [{"index": at, "embedding": row} for at, row in enumerate(encoded)]},
        "compatible": {"data": [{"index": at, "embedding": row} for at, row in enumerate(spelled)]},
        "gemini": {"embeddings": [{"values": row} for row in spelled]},
        "ollama": {"embeddings": spelled},
    }
    for name, value in bodies.items():
        body, api = json.dumps(value).encode(), _api(name)
        shares = [
            _least_s(lambda api=api, body=body: api.parse(body, TEXTS)) / _least_s(lambda: json.loads(plain))  # type: ignore[misc]
            for _ in range(rounds)
        ]
        what = f"reading a reply of {TEXTS} vectors, {name}, against plain JSON"
        yield at_most(f"indexing.reading.{name}", what, shares, "times", BAR)


def _api(name: str) -> EmbeddingApi:
    return APIS[name](Endpoint(name, "a-model", "https://host.test/v1"))


def _least_s(run: Callable[[], object]) -> float:
    """Return the least CPU seconds of several runs in this thread."""
    least_s = float("inf")
    for _ in range(READS):
        began_s = time.thread_time()
        run()
        least_s = min(least_s, time.thread_time() - began_s)
    return least_s
