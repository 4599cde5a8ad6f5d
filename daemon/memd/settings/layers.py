"""Typed settings from layers of keys, lowest first.

A layer is one object in a settings file, with settings of all agents or of one. A value of the wrong type is reported,
and the value of the layer below is used: only that key of that agent is affected.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct, field

from memd.settings.endpoints import KEY_KINDS
from memd.settings.fields import Field, Settings, convert, describe_type, describe_value, fields_of
from memd.settings.schema import ExtraPath, Source
from memd.system.nearest_name import did_you_mean
from memd_client.errors import ConfigInvalidError

S = TypeVar("S", bound=Settings)

NAMES_IN_OPENCLAW = {"endpoint": "remote"}
"""Keys that OpenClaw calls otherwise, by memd's name; both names are read."""

MAX_COUNT = 2**53 - 1
"""Largest whole number, the largest that OpenClaw represents exactly."""

MAX_KEY_CHARACTERS = 64
"""Characters of a key shown in messages."""

_UPPER = re.compile(r"[A-Z]")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?(b|kb|mb|gb)?")
_UNITS = {"b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3}


class Layer(Struct, frozen=True):
    """The keys of one object in a settings file.

    Attributes:
        prefix: Dotted name of the object.
        values: The object.
        shared: Whether it applies to every agent.
        file: The file that contains it; None for openclaw.json.
        places: Dotted names of keys below the object, if they differ from the settings' names; other keys are not read.
        is_foreign: Whether other programs have keys here, so that unknown keys are not reported.
    """

    prefix: str
    values: Mapping[str, object]
    shared: bool
    file: Path | None = None
    places: Mapping[str, str] | None = None
    is_foreign: bool = False

    def key(self, name: str) -> str:
        """Return the dotted name of a key."""
        place = self._spelled(name) if self.places is None else self.places.get(name, name)
        return f"{self.prefix}.{place}" if self.prefix else place

    def get(self, name: str) -> object:
        """Return the value of a key; None if there is none."""
        if self.places is None:
            return self.values.get(self._spelled(name))
        return value_at(self.values, self.places[name]) if name in self.places else None

    def _spelled(self, name: str) -> str:
        """Return a key as the object spells it: as OpenClaw, or outside openclaw.json in snake_case."""
        snake = snake_case(name) if self.file is not None else name
        spellings = (name, snake, NAMES_IN_OPENCLAW.get(name, name))
        return next((spelling for spelling in spellings if spelling in self.values), name)

    def below(self, name: str, *, shared: bool | None = None) -> Layer:
        """Return the layer of the object under a key; an empty one if there is no object."""
        found = self.get(name)
        values = found if isinstance(found, Mapping) else {}
        is_shared = self.shared if shared is None else shared
        return Layer(self.key(name), values, is_shared, self.file, is_foreign=self.is_foreign)

    def at(self, place: str) -> Layer:
        """Return the layer of the object at a dotted name; an empty one if there is no object."""
        found = value_at(self.values, place)
        return Layer(self.key(place), found if isinstance(found, Mapping) else {}, self.shared, self.file)


class Findings(Struct):
    """Problems of a settings file, for all agents and for one agent, and unknown keys."""

    file: Path
    shared: dict[str, ConfigInvalidError] = field(default_factory=dict)
    own: dict[str, ConfigInvalidError] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    typos: dict[str, ConfigInvalidError] = field(default_factory=dict)

    def add_wrong(self, layer: Layer, name: str, expected: str, value: object) -> None:
        """Add the problem that a key has a value of the wrong type."""
        self.add(layer, name, f"expected {expected}, found {describe_value(value)}", expected)

    def add_unknown(self, layer: Layer, name: str, known: Iterable[str] = ()) -> None:
        """Add an unknown key of a layer, with the file if it is not openclaw.json; in memd.toml it is a typo."""
        key = layer.key(name)
        self.unknown.setdefault(key if layer.file is None else f"{layer.file.name}: {key}")
        if layer.file is not None:
            message = f"{layer.file}: `{key}` is not a setting{did_you_mean(name, known)}"
            self.typos[key] = ConfigInvalidError(message, data={"file": str(layer.file), "key": key})

    def add(self, layer: Layer, name: str, what: str, expected: str = "") -> None:
        """Add a problem with a key of a layer."""
        file, key = layer.file or self.file, layer.key(name)
        message = f"{file}: {key}: {what}"
        facts = {"file": str(file), "key": key} | ({"expected": expected} if expected else {})
        error = ConfigInvalidError(message, data=facts)
        (self.shared if layer.shared else self.own).setdefault(message, error)

    def object_in(self, layer: Layer, name: str, *, shared: bool | None = None) -> Layer:
        """Return the layer under a key; an empty one, with a problem added, if its value is not an object."""
        raw = layer.get(name)
        if raw is not None and not isinstance(raw, Mapping) and not layer.is_foreign:
            self.add_wrong(layer, name, "an object", raw)
        return layer.below(name, shared=shared)


def read_layers(kind: type[S], layers: Sequence[Layer], findings: Findings) -> S:
    """Return a settings struct from layers, and add problems and unknown keys to `findings`."""
    fields = {each.key: each for each in fields_of(kind) if each.derived is None}
    for layer in layers:
        if layer.is_foreign:
            continue
        known_keys = fields.keys() if layer.file is None else fields.keys() | set(map(snake_case, fields))
        others = {key: other for key, other in NAMES_IN_OPENCLAW.items() if key in fields}
        for key in layer.values.keys() - known_keys - set(others.values()):
            findings.add_unknown(layer, shown_key(key), fields if layer.file is None else known_keys)
        for key, other in others.items():
            if key in layer.values and other in layer.values:
                findings.add(
                    layer, other, f"is another name of `{key}`, which is set too; remove one of them"
                )
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


def snake_case(key: str) -> str:
    """Return a camelCase key in snake_case."""
    return _UPPER.sub(lambda upper: f"_{upper[0].lower()}", key)


def value_at(holder: object, place: str) -> object:
    """Return the value at a dotted name; None if there is none."""
    for name in place.split("."):
        holder = holder.get(name) if isinstance(holder, Mapping) else None
    return holder


def absolute_path(raw: str, *, base: Path, home: Path) -> Path:
    """Return a configured path without `~`, `.` and `..`; relative paths start at `base`."""
    text = raw.strip()
    if text == "~" or text.startswith(("~/", "~\\")):
        text = str(home) + "/" + text[2:]
    return Path(os.path.normpath(base / text))


def is_path_text(text: str) -> bool:
    """Return whether a text is a valid path: no NUL, no lone surrogates."""
    try:
        return "\0" not in text and bool(os.fsencode(text or "."))
    except UnicodeEncodeError:
        return False


def shown_key(key: str) -> str:
    """Return a key for a message: printable and short."""
    text = "".join(char if char.isprintable() else "?" for char in key[:MAX_KEY_CHARACTERS])
    return text + ("…" if len(key) > MAX_KEY_CHARACTERS else "")


def key_text(raw: object) -> str | None:
    """Return an API key as text; a reference to a variable becomes `${NAME}`."""
    match raw:
        case str():
            return raw
        case {"source": "env", "id": str(name)} if _VARIABLE.fullmatch(name):
            return f"${{{name}}}"
        case _:
            return None


# --- one value -----------------------------------------------------------------------------------------


def _read_value(known: Field, raw: object, layer: Layer, findings: Findings) -> Any:
    """Return one layer's value of a setting; None, with a problem added, if it is invalid."""
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
    """Return a number within its bounds, and whole numbers within `MAX_COUNT`; other values unchanged."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, int):
        value = max(-MAX_COUNT, min(value, MAX_COUNT))
    low = value if least is None else max(type(value)(least), value)
    return low if most is None else min(type(value)(most), low)


def _floored(raw: object) -> object:
    """Return a number without its fraction, as in OpenClaw."""
    return math.floor(raw) if isinstance(raw, float) and math.isfinite(raw) else raw


def _read_key(known: Field, raw: object, layer: Layer, findings: Findings) -> str | None:
    """Return an API key as text."""
    if (text := key_text(raw)) is None:
        findings.add_wrong(layer, known.key, KEY_KINDS, raw)
    return text


def _read_size(known: Field, raw: object, layer: Layer, findings: Findings) -> int | None:
    """Return a size in bytes, also from OpenClaw's notation, such as "2mb"."""
    size = _SIZE.fullmatch(raw.strip().lower()) if isinstance(raw, str) else None
    value: int | None = int(float(size[1]) * _UNITS[size[2] or "b"]) if size else convert(raw, known.type)
    if value is None:
        findings.add_wrong(layer, known.key, describe_type(known.type), raw)
        return None
    return min(value, MAX_COUNT)


def _read_time_zone(known: Field, raw: object, layer: Layer, findings: Findings) -> str | None:
    """Return the name of a time zone if it exists."""
    if not isinstance(raw, str):
        findings.add_wrong(layer, known.key, describe_type(known.type), raw)
        return None
    name = raw.strip()
    try:
        ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        expected = "the name of a time zone, such as Europe/Prague"
        findings.add(layer, known.key, f"expected {expected}", expected)
        return None
    return name or None


def _read_extra_paths(
    known: Field, raw: object, layer: Layer, findings: Findings
) -> tuple[ExtraPath, ...] | None:
    """Return the valid and distinct entries of a list of paths."""
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
            found = item if entry is None else entry.path
            findings.add_wrong(layer, place, "a path, or an object with a path and a pattern", found)
        elif entry.path.strip():
            pattern = (entry.pattern or "").strip() or None
            paths.setdefault(ExtraPath(path=entry.path.strip(), pattern=pattern))
    return tuple(paths)


def _read_sources(known: Field, raw: object, layer: Layer, findings: Findings) -> tuple[Source, ...] | None:
    """Return the known sources of a list, in order."""
    names: tuple[Source, ...] = get_args(Source)
    if not isinstance(raw, list):
        findings.add_wrong(layer, known.key, "a list of sources", raw)
        return None
    for position, item in enumerate(raw):
        if item not in names:
            findings.add_wrong(layer, f"{known.key}[{position}]", describe_type(Source), item)
    return tuple(source for item in raw for source in names if item == source)


def _read_models(known: Field, raw: object, layer: Layer, findings: Findings) -> tuple[str, ...] | None:
    """Return the ids in a list of models, each a string or an object with an `id`."""
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
"""Readers of settings with special forms, by field name."""
