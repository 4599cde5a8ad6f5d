"""Messages to maps and back: what a frame holds of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from .messages import (
    AccountStatus,
    AgentStatus,
    BulkJob,
    Check,
    Degraded,
    DownloadStatus,
    Fallback,
    Filling,
    Histogram,
    Hit,
    IndexedAgent,
    MemoryStatus,
    Metric,
    ModelFile,
    ModelReply,
    ModelStatus,
    Pending,
    Problem,
    RefusedText,
    Sample,
    SessionsStatus,
    Skipped,
    StatusReply,
    VacuumedAgent,
    VacuumReply,
)

T = TypeVar("T")

_NESTED: dict[str, tuple[type[Any], bool]] = {
    "hits": (Hit, True),
    "models": (ModelStatus, True),
    "problems": (Problem, True),
    "checks": (Check, True),
    "skipped": (Skipped, True),
    "degraded": (Degraded, False),
    "pending": (Pending, False),
    "error": (Problem, False),
    "sessions": (SessionsStatus, False),
    "accounts": (AccountStatus, True),
    "downloads": (DownloadStatus, True),
    "jobs": (BulkJob, True),
    "refused": (RefusedText, True),
    "filling": (Filling, False),
    "fallback": (Fallback, False),
    "memory": (MemoryStatus, False),
    "metrics": (Metric, True),
    "samples": (Sample, True),
    "histograms": (Histogram, True),
}

_AGENTS: dict[type[Any], type[Any]] = {StatusReply: AgentStatus, VacuumReply: VacuumedAgent}
"""What a row of `agents` is, by the reply; of others an `IndexedAgent`."""


def to_wire(message: Any) -> Any:
    """Return a message as maps, lists and scalars for msgpack.

    Args:
        message: A message of this module, or anything inside one.
    """
    if is_dataclass(message) and not isinstance(message, type):
        return {name: to_wire(getattr(message, name)) for name in type(message).__dataclass_fields__}
    if isinstance(message, list | tuple):
        return [to_wire(item) for item in message]
    return message


def from_wire(kind: type[T], value: Mapping[str, Any]) -> T:
    """Return the reply of a type that arrived as a map.

    Args:
        kind: The reply type, from `REQUESTS`.
        value: The map of the reply.

    Raises:
        TypeError: A field this version needs is missing.
    """
    known = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    facts: dict[str, Any] = {}
    for name, item in value.items():
        if name not in known:
            continue
        if name == "agents" and isinstance(item, list):
            row = _AGENTS.get(kind, IndexedAgent)
            facts[name] = [from_wire(row, each) for each in item]
        elif name == "models" and kind is ModelReply:
            facts[name] = [from_wire(ModelFile, each) for each in item]
        elif name in _NESTED and item is not None:
            nested, many = _NESTED[name]
            facts[name] = [from_wire(nested, each) for each in item] if many else from_wire(nested, item)
        else:
            facts[name] = item
    return kind(**facts)
