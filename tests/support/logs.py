"""What the daemon's code logs within a test."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from memd.system.log import configure_log, structlog


class _EventStream(io.StringIO):
    """A stream whose lines are added to a list as events."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        super().__init__()
        self._events = events

    def write(self, text: str, /) -> int:
        self._events.append(json.loads(text))
        return len(text)


@contextmanager
def capture_logs() -> Iterator[list[dict[str, Any]]]:
    """Return a list that receives the events of all levels, as a reader of the log gets them."""
    events: list[dict[str, Any]] = []
    before = structlog.get_config()
    configure_log("debug", _EventStream(events))
    try:
        yield events
    finally:
        structlog.configure(**before)
