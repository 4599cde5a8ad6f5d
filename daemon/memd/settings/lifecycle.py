"""Settings of an agent's life beside its search: citations, the flush before compaction, session notes, facts.

They are read in openclaw.json, among OpenClaw's other keys, of which only known ones are looked at, and in memd's own
places (`own_places`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from memd.settings.layers import Findings, Layer, read_layers
from memd.settings.schema import AtLeast0, AtLeast1, Settings

_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?(b|kb|mb|gb)?")
_UNITS = {"b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3}

S = TypeVar("S", bound=Settings)

Citations = Literal["auto", "on", "off"]


class Flush(Settings, frozen=True, kw_only=True):
    """The turn before compaction in which an agent writes down what should last.

    It is due `soft_threshold_tokens` before the part of the context kept free, or once a transcript has
    `force_flush_transcript_bytes` (0: never for that). Prompts left out are ours. `reserve_tokens_floor`, the part
    kept free, stands one level up in the file.
    """

    enabled: bool = True
    soft_threshold_tokens: AtLeast0 = 4_000
    force_flush_transcript_bytes: AtLeast0 = 2 * 1024 * 1024
    prompt: str | None = None
    system_prompt: str | None = None
    reserve_tokens_floor: AtLeast0 = 20_000


class SessionNote(Settings, frozen=True, kw_only=True):
    """The note a session leaves when it ends: of its last `messages`, named by `slug_model` where one is given."""

    enabled: bool = True
    messages: AtLeast1 = 15
    slug_model: str | None = None


class Facts(Settings, frozen=True, kw_only=True):
    """Facts brought to a prompt, and taken from what users say: neither unless it is asked for."""

    auto_capture: bool = False
    auto_recall: bool = False
    capture_max_chars: AtLeast1 = 500
    recall_limit: AtLeast1 = 3
    recall_min_score: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.3


class Life(Settings, frozen=True, kw_only=True):
    """All of them, of one agent. `time_zone` is the user's, by its IANA name; None stands for the machine's."""

    citations: Citations = "auto"
    time_zone: str | None = None
    flush: Flush = Flush()
    session_note: SessionNote = SessionNote()
    facts: Facts = Facts()


class OfAgent(Settings, frozen=True, kw_only=True):
    """What is an agent's own beside its memory: the time zone of its user."""

    user_timezone: str | None = None


class OfCompaction(Settings, frozen=True, kw_only=True):
    """What `compaction` says itself: the part of the context kept free."""

    floor: AtLeast0 = msgspec.field(name="reserveTokensFloor", default=20_000)


class OfMemory(Settings, frozen=True, kw_only=True):
    """What `memory` says beside `search`."""

    citations: Citations = "auto"


PLACES: dict[str, type[Settings]] = {
    "memory": OfMemory,
    "agents.defaults": OfAgent,
    "agents.defaults.compaction": OfCompaction,
    "agents.defaults.compaction.memoryFlush": Flush,
    "hooks.internal.entries.session-memory": SessionNote,
    "plugins.entries.memory-lancedb.config": Facts,
}
"""Where each is in openclaw.json; what is below `agents.defaults` may also be in an agent's own entry."""

OWN_GROUPS: dict[type[Settings], str] = {
    OfMemory: "",
    OfAgent: "",
    OfCompaction: "compaction",
    Flush: "compaction.memoryFlush",
    SessionNote: "sessionNote",
    Facts: "facts",
}
"""Where each is in memd's own places, for all agents and for one."""


def resolve_life(
    document: object,
    entries: Sequence[tuple[str, object]],
    findings: Findings,
    own: Sequence[Layer] = (),
) -> Life:
    """Return one agent's settings of its life."""
    defaults = "agents.defaults"
    holders = [(defaults, _at(document, "agents", "defaults")), *entries]

    def layers_of(kind: type[Settings]) -> list[Layer]:
        place = next(place for place, each in PLACES.items() if each is kind)
        if place.startswith(defaults):
            keys = [key for key in place.removeprefix(defaults).split(".") if key]
            layers = [
                Layer(".".join([name, *keys]), _at(holder, *keys), name == defaults)
                for name, holder in holders
            ]
        else:
            layers = [Layer(place, _at(document, *place.split(".")), True)]
        layers += [layer.below(*filter(None, OWN_GROUPS[kind].split("."))) for layer in own]
        return sorted(layers, key=lambda layer: not layer.shared)

    def read(kind: type[S]) -> S:
        return _known(kind, layers_of(kind), findings)

    floor = read(OfCompaction).floor
    return Life(
        citations=read(OfMemory).citations,
        time_zone=_existing(read(OfAgent).user_timezone, layers_of(OfAgent), findings),
        flush=msgspec.structs.replace(read(Flush), reserve_tokens_floor=floor),
        session_note=read(SessionNote),
        facts=read(Facts),
    )


def _known(kind: type[S], layers: Sequence[Layer], findings: Findings) -> S:
    """Return a struct out of layers whose other keys belong to somebody else."""
    names = {each.encode_name for each in msgspec.structs.fields(kind)}
    ours = [
        Layer(
            layer.prefix,
            {key: _in_bytes(key, value) for key, value in layer.values.items() if key in names},
            layer.shared,
            layer.file,
        )
        for layer in layers
    ]
    return read_layers(kind, ours, findings)


def _in_bytes(key: str, value: object) -> object:
    """Return a size that is written as OpenClaw allows, such as "2mb", in bytes; anything else as it is."""
    size = (
        _SIZE.fullmatch(value.strip().lower()) if key.endswith("Bytes") and isinstance(value, str) else None
    )
    return value if size is None else int(float(size[1]) * _UNITS[size[2] or "b"])


def _at(holder: Any, *keys: str) -> Mapping[str, object]:
    """Return the object some keys down, an empty one where there is none."""
    for key in keys:
        holder = holder.get(key) if isinstance(holder, Mapping) else None
    return holder if isinstance(holder, Mapping) else {}


def _existing(zone: str | None, layers: Sequence[Layer], findings: Findings) -> str | None:
    """Return a time zone's name if there is such a zone; else None, and a problem noted."""
    name = (zone or "").strip()
    if not name:
        return None
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        expected = "the name of a time zone, as Europe/Prague"
        key = "userTimezone"
        place = next(layer for layer in reversed(layers) if layer.values.get(key) == zone)
        findings.say(
            place.key(key), f"expected {expected}", expected=expected, shared=place.shared, file=place.file
        )
        return None
    return name
