"""How long a request over HTTP may take, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of any status. `headers` have lower-case names; `body` is decompressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Patience:
    """How long each phase of a request may take, in seconds, and all of it together.

    `read_s` and `write_s` count from one piece to the next, so `total_s` is what ends a slow drip.
    """

    connect_s: float = 5.0
    read_s: float = 60.0
    write_s: float = 30.0
    total_s: float = 120.0
