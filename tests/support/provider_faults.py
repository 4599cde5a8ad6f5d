"""Faults of providers, and their effect on responses."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from tests.support.provider_errors import ErrorReason

StatusFault = Literal[
    "unauthorized",
    "forbidden",
    "model_missing",
    "rate_limited",
    "quota",
    "server_error",
    "overloaded",
    "text_refused",
]
WireFault = Literal["hang", "drip", "reset", "hangup", "cut_short", "truncated", "giant", "html", "empty"]
VectorFault = Literal[
    "too_few", "too_many", "shuffled", "doubled_index", "wrong_dims", "ragged", "nan", "null", "zero"
]
FaultKind = StatusFault | WireFault | VectorFault

STATUS_FAULTS: Final[tuple[StatusFault, ...]] = get_args(StatusFault)
WIRE_FAULTS: Final[tuple[WireFault, ...]] = get_args(WireFault)
VECTOR_FAULTS: Final[tuple[VectorFault, ...]] = get_args(VectorFault)

REASON_OF_FAULT: Final[dict[str, ErrorReason]] = {
    "unauthorized": "bad_key",
    "forbidden": "forbidden",
    "model_missing": "model",
    "rate_limited": "rate",
    "quota": "quota",
    "server_error": "server",
    "overloaded": "busy",
    "text_refused": "text",
}
"""The provider's reason of each fault with a status."""

Rows = list[list[float | None]]


@dataclass(eq=False)
class Fault:
    """A fault of a provider.

    `times` is how many requests it affects, None for all. With a `marker` it affects only requests with a text that
    contains it, with `from_texts` only those of at least so many texts. `retry_after` is the pause in the response:
    seconds, or the raw header. `released` ends hanging requests; it is set when the fault is removed.
    """

    kind: FaultKind
    times: int | None = None
    marker: str = ""
    from_texts: int = 0
    retry_after: float | str | None = None
    met: int = 0
    released: threading.Event = field(default_factory=threading.Event, repr=False)

    def meets(self, texts: Sequence[str]) -> bool:
        """Return whether requests with these texts are affected, and count them; called with the server's lock held."""
        if self.released.is_set() or (self.times is not None and self.met >= self.times):
            return False
        if len(texts) < self.from_texts:
            return False
        if self.marker and not any(self.marker in text for text in texts):
            return False
        self.met += 1
        return True


def apply_fault(kind: FaultKind | None, rows: Rows, positions: list[int]) -> tuple[Rows, list[int]]:
    """Return vectors and their indexes with a fault applied."""
    size = len(rows[0]) if rows else 0
    if kind == "too_few":
        return rows[:-1], positions[:-1]
    if kind == "too_many":
        return [*rows, rows[-1]], [*positions, len(positions)]
    if kind == "shuffled":
        return rows[::-1], positions[::-1]
    if kind == "doubled_index":
        return rows, [0] * len(rows) if len(rows) > 1 else [1]
    if kind == "wrong_dims":
        return [[0.5] * (size // 2 + 1) for _ in rows], positions
    if kind == "ragged":
        return [*rows[:-1], [*rows[-1], 0.25]], positions
    worst: dict[str, Rows] = {
        "nan": [[math.nan, *rows[-1][1:]]],
        "null": [[None] * size],
        "zero": [[0.0] * size],
    }
    return (rows[:-1] + worst[kind], positions) if kind in worst else (rows, positions)
