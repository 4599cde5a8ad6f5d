"""Layers of keys, lowest first -> typed settings.

A layer is the object one place of a settings file holds: the settings of all agents, or those of one. A value of the
wrong type is reported and the layer below keeps its word, so a slip costs one key of one agent and nothing else.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memd.settings.fields import Field, Settings, convert, describe_type, describe_value, fields_of
from memd.settings.schema import KEY_KINDS, ExtraPath, Source
from memd_client.errors import ConfigInvalidError

S = TypeVar("S", bound=Settings)

MAX_COUNT = 2**53 - 1
"""Largest whole number kept: the largest OpenClaw itself tells from its neighbour."""

MAX_KEY_CHARACTERS = 64
"""A key is shown up to this length in messages."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?(b|kb|mb|gb)?")
_UNITS = {"b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3}


@dataclass(frozen=True, slots=True)
class Layer:
    """The keys one place holds.

    Attributes:
        prefix: Its dotted name.
        values: The object.
        shared: Whether it applies to every agent.
        file: The file it is in, None for openclaw.json.
        places: Dotted places of keys below the object, for a document that has them elsewhere; other keys are not read.
        is_foreign: Whether other programs have keys here, so that unknown ones are not reported.
    """

    prefix: str
    values: Mapping[str, object]
    shared: bool
    file: Path | None = None
    places: Mapping[str, str] | None = None
    is_foreign: bool = False

    def key(self, name: str) -> str:
        """Return the dotted name of a key."""
        place = name if self.places is None else self.places.get(name, name)
        return f"{self.prefix}.{place}" if self.prefix else place

    def get(self, name: str) -> object:
        """Return the value of a key; None if there is none."""
        if self.places is None:
            return self.values.get(name)
        return value_at(self.values, self.places[name]) if name in self.places else None

    def below(self, name: str, *, shared: bool | None = None) -> Layer:
        """Return the layer of the object under a key; an empty one if there is no object."""
        found = self.get(name)
        values = found if isinstance(found, Mapping) else {}
        is_shared = self.shared if shared is None else shared
        return Layer(self.key(name), values, is_shared, self.file, is_foreign=self.is_foreign)

    def at(self, place: str) -> Layer:
        """Return the layer of the object at a dotted place; an empty one if there is no object."""
        found = value_at(self.values, place)
        return Layer(self.key(place), found if isinstance(found, Mapping) else {}, self.shared, self.file)


@dataclass(slots=True)
class Findings:
    """What is wrong with a settings file: problems of all agents, of one agent, and unknown keys."""

    file: Path
    shared: dict[str, ConfigInvalidError] = field(default_factory=dict)
    own: dict[str, ConfigInvalidError] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)

    def add_wrong(self, layer: Layer, name: str, expected: str, value: object) -> None:
        """Note a value of the wrong type under a key of a layer."""
        self.add(layer, name, f"expected {expected}, found {describe_value(value)}", expected)

    def add_unknown(self, layer: Layer, name: str) -> None:
        """Note a key of a layer that is no setting; outside openclaw.json the file is named."""
        key = layer.key(name)
        self.unknown.setdefault(key if layer.file is None else f"{layer.file.name}: {key}")

    def add(self, layer: Layer, name: str, what: str, expected: str = "") -> None:
        """Note anything else that is wrong with a key of a layer."""
        file, key = layer.file or self.file, layer.key(name)
        message = f"{file}: {key}: {what}"
        facts = {"file": str(file), "key": key} | ({"expected": expected} if expected else {})
        error = ConfigInvalidError(message, data=facts)
        (self.shared if layer.shared else self.own).setdefault(message, error)

    def object_in(self, layer: Layer, name: str, *, shared: bool | None = None) -> Layer:
        """Return the layer under a key; an empty one, and a problem noted, if its value is no object."""
        raw = layer.get(name)
        if raw is not None and not isinstance(raw, Mapping) and not layer.is_foreign:
            self.add_wrong(layer, name, "an object", raw)
        return layer.below(name, shared=shared)


def read_layers(kind: type[S], layers: Sequence[Layer], findings: Findings) -> S:
    """Return a settings struct out of the layers, and report what isn't part of it."""
    fields = {each.key: each for each in fields_of(kind) if each.derived is None}
    for layer in layers:
        if not layer.is_foreign:
            for key in layer.values.keys() - fields.keys():
                findings.add_unknown(layer, shown_key(key))
    values: dict[str, Any] = {}
    for key, known in fields.items():
        if known.group is not None:
            inner = [findings.object_in(layer, key) for layer in layers]
            values[known.name] = read_layers(known.group, inner, findings)
            continue
        for layer in layers:
            raw = layer.get(key)
            value = None if raw is None else _read_value(known, raw, layer, findings)
            if value is not None:
                lower = values.get(known.name, ())
                values[known.name] = tuple(dict.fromkeys([*lower, *value])) if key == "extraPaths" else value
    for each in fields_of(kind):
        if each.derived is not None and each.derived.fields:
            values[each.name] = any(name in values for name in each.derived.fields)
    return kind(**values)


def value_at(holder: object, place: str) -> object:
    """Return what is under a dotted name; None if there is nothing."""
    for name in place.split("."):
        holder = holder.get(name) if isinstance(holder, Mapping) else None
    return holder


def absolute_path(raw: str, *, base: Path, home: Path) -> Path:
    """Return a configured path without `~`, `.` and `..`; a relative one starts at `base`."""
    text = raw.strip()
    if text == "~" or text.startswith(("~/", "~\\")):
        text = str(home) + "/" + text[2:]
    return Path(os.path.normpath(base / text))


def is_path_text(text: str) -> bool:
    """Return whether a system can hold a path of that text: no NUL, no half characters."""
    try:
        return "\0" not in text and bool(os.fsencode(text or "."))
    except UnicodeEncodeError:
        return False


def shown_key(key: str) -> str:
    """Return a key as it may stand in a message: printable and short."""
    text = "".join(char if char.isprintable() else "?" for char in key[:MAX_KEY_CHARACTERS])
    return text + ("…" if len(key) > MAX_KEY_CHARACTERS else "")


def key_text(raw: object) -> str | None:
    """Return an API key as a text: a reference to the environment becomes `${NAME}`."""
    match raw:
        case str():
            return raw
        case {"source": "env", "id": str(name)} if _VARIABLE.fullmatch(name):
            return f"${{{name}}}"
        case _:
            return None


# --- one value -----------------------------------------------------------------------------------------


def _read_value(known: Field, raw: object, layer: Layer, findings: Findings) -> Any:
    """Return one layer's value of a setting, or None with a problem noted."""
    if (read := _READERS.get(known.name)) is not None:
        return read(known, raw, layer, findings)
    about = known.about
    value = convert(_floored(raw) if known.drops_fraction else raw, known.type)
    if value is None:
        findings.add_wrong(layer, known.key, describe_type(known.type), raw)
        return None
    if about.is_path and not is_path_text(value):
        findings.add_wrong(layer, known.key, "a path", raw)
        return None
    return _bounded(value, about.least, about.most)


def _bounded(value: Any, least: int | None, most: int | None) -> Any:
    """Return a number within its bounds, and a whole one within those of OpenClaw; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, int):
        value = max(-MAX_COUNT, min(value, MAX_COUNT))
    low = value if least is None else max(type(value)(least), value)
    return low if most is None else min(type(value)(most), low)


def _floored(raw: object) -> object:
    """Return a number without its fraction, as OpenClaw counts."""
    return math.floor(raw) if isinstance(raw, float) and math.isfinite(raw) else raw


def _read_key(known: Field, raw: object, layer: Layer, findings: Findings) -> str | None:
    """Return an API key as a text."""
    if (text := key_text(raw)) is None:
        findings.add_wrong(layer, known.key, KEY_KINDS, raw)
    return text


def _read_size(known: Field, raw: object, layer: Layer, findings: Findings) -> int | None:
    """Return a size in bytes, which may be written as OpenClaw allows, such as "2mb"."""
    size = _SIZE.fullmatch(raw.strip().lower()) if isinstance(raw, str) else None
    value: int | None = int(float(size[1]) * _UNITS[size[2] or "b"]) if size else convert(raw, known.type)
    if value is None:
        findings.add_wrong(layer, known.key, describe_type(known.type), raw)
        return None
    return min(value, MAX_COUNT)


def _read_time_zone(known: Field, raw: object, layer: Layer, findings: Findings) -> str | None:
    """Return a time zone's name if there is such a zone."""
    if not isinstance(raw, str):
        findings.add_wrong(layer, known.key, describe_type(known.type), raw)
        return None
    name = raw.strip()
    try:
        ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        expected = "the name of a time zone, as Europe/Prague"
        findings.add(layer, known.key, f"expected {expected}", expected)
        return None
    return name or None


def _read_extra_paths(
    known: Field, raw: object, layer: Layer, findings: Findings
) -> tuple[ExtraPath, ...] | None:
    """Return the usable entries of a list of paths, each once."""
    if not isinstance(raw, list):
        findings.add_wrong(layer, known.key, "a list of paths", raw)
        return None
    paths: dict[ExtraPath, None] = {}
    for position, item in enumerate(raw):
        place = f"{known.key}[{position}]"
        entry = convert(item, str | ExtraPath)
        if isinstance(entry, str):
            entry = ExtraPath(path=entry)
        elif entry is not None and isinstance(item, Mapping):
            for extra in sorted(item.keys() - {"path", "pattern"}):
                findings.add_unknown(layer, f"{place}.{shown_key(extra)}")
        if entry is None or not is_path_text(entry.path):
            findings.add_wrong(layer, place, "a path, or an object with a path and a pattern", item)
        elif entry.path.strip():
            pattern = (entry.pattern or "").strip() or None
            paths.setdefault(ExtraPath(path=entry.path.strip(), pattern=pattern))
    return tuple(paths)


def _read_sources(known: Field, raw: object, layer: Layer, findings: Findings) -> tuple[Source, ...] | None:
    """Return the known sources of a list, in the order given."""
    names: tuple[Source, ...] = get_args(Source)
    if not isinstance(raw, list):
        findings.add_wrong(layer, known.key, "a list of sources", raw)
        return None
    for position, item in enumerate(raw):
        if item not in names:
            findings.add_wrong(layer, f"{known.key}[{position}]", describe_type(Source), item)
    return tuple(source for item in raw for source in names if item == source)


def _read_models(known: Field, raw: object, layer: Layer, findings: Findings) -> tuple[str, ...] | None:
    """Return the ids in a list of models, each a text or an object with an `id`."""
    if not isinstance(raw, list):
        findings.add_wrong(layer, known.key, "a list of models", raw)
        return None
    ids = [item.get("id") if isinstance(item, Mapping) else item for item in raw]
    return tuple(name.strip() for name in ids if isinstance(name, str) and name.strip())


_READERS: dict[str, Callable[[Field, object, Layer, Findings], Any]] = {
    "api_key": _read_key,
    "extra_paths": _read_extra_paths,
    "force_flush_transcript_bytes": _read_size,
    "models": _read_models,
    "sources": _read_sources,
    "time_zone": _read_time_zone,
}
"""Settings that are read in their own way, by the names of their fields."""
