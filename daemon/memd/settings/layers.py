"""Layers of `search` keys, lowest first -> one agent's typed and bounded settings.

A layer is the object one place of a settings file holds: the settings of all agents, or those of one. A value of the
wrong type is reported and the layer below keeps its word, so a slip costs one key of one agent and nothing else.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from memd.settings.bounds import bound_chunking, bound_query, bound_remote, bound_sync
from memd.settings.schema import (
    KEY_KINDS,
    AtLeast1,
    Batch,
    Chunking,
    ExtraPath,
    Hybrid,
    MemorySearch,
    Query,
    Remote,
    Settings,
    Source,
    describe_type,
    describe_value,
    key_text,
)
from memd_client.errors import ConfigInvalidError

S = TypeVar("S", bound=Settings)

DEFAULT_MODELS = {
    "openai": "text-embedding-3-small",
    "gemini": "gemini-embedding-001",
    "voyage": "voyage-4-large",
    "mistral": "mistral-embed",
}
"""What a provider uses where no model is named. `embedding.catalog` says the same, and of the others too."""

WHOLE_NUMBERS = (int, int | None, AtLeast1 | None)
"""Types of settings that are counted: a fraction is cut off, as in OpenClaw."""

MAX_COUNT = 2**53 - 1
"""Largest whole number kept: the largest OpenClaw itself tells from its neighbour."""

MAX_KEY_CHARACTERS = 64
"""A key is shown up to this length in messages."""

NOT_FROM_FILE = frozenset(
    {"min_score_set", "weights_set", "enabled_set", "sizes_set", "reserve_tokens_floor"}
)
"""Fields that are computed; a key of that name in a file is an unknown key."""


@dataclass(frozen=True, slots=True)
class Layer:
    """The keys one place holds: `prefix` is its dotted name, `shared` says it applies to every agent.

    `file` is the file it is in, None for openclaw.json.
    """

    prefix: str
    values: Mapping[str, object]
    shared: bool
    file: Path | None = None

    def key(self, name: str) -> str:
        """Return the dotted name of a key."""
        return f"{self.prefix}.{name}" if self.prefix else name

    def below(self, *names: str, shared: bool | None = None) -> Layer:
        """Return the layer of an object some keys down; an empty one if there is no object."""
        values: object = self.values
        for name in names:
            values = values.get(name) if isinstance(values, Mapping) else None
        is_shared = self.shared if shared is None else shared
        found = values if isinstance(values, Mapping) else {}
        return Layer(self.key(".".join(names)) if names else self.prefix, found, is_shared, self.file)


@dataclass(slots=True)
class Findings:
    """What is wrong with a settings file: problems of all agents, of one agent, and unknown keys."""

    file: Path
    shared: dict[str, ConfigInvalidError] = field(default_factory=dict)
    own: dict[str, ConfigInvalidError] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)

    def add(self, key: str, expected: str, value: object, *, shared: bool) -> None:
        """Note a value of the wrong type."""
        self.say(key, f"expected {expected}, found {describe_value(value)}", expected=expected, shared=shared)

    def wrong(self, layer: Layer, name: str, expected: str, value: object) -> None:
        """Note a value of the wrong type under a key of a layer."""
        what = f"expected {expected}, found {describe_value(value)}"
        self.say(layer.key(name), what, expected=expected, shared=layer.shared, file=layer.file)

    def add_unknown(self, layer: Layer, name: str) -> None:
        """Note a key of a layer that is no setting; outside openclaw.json the file is named."""
        key = layer.key(name)
        self.unknown.setdefault(key if layer.file is None else f"{layer.file.name}: {key}")

    def say(self, key: str, what: str, *, expected: str = "", shared: bool, file: Path | None = None) -> None:
        """Note anything else that is wrong with a key, of openclaw.json unless another file is named."""
        message = f"{file or self.file}: {key}: {what}"
        facts = {"file": str(file or self.file), "key": key}
        error = ConfigInvalidError(message, data=facts | ({"expected": expected} if expected else {}))
        (self.shared if shared else self.own).setdefault(message, error)


def resolve_settings(
    layers: Sequence[Layer], agent_id: str, *, state_dir: Path, home: Path, findings: Findings
) -> MemorySearch:
    """Return an agent's settings."""
    read = read_layers(MemorySearch, layers, findings)
    provider = read.provider.strip() or "auto"
    shared_type = _filled(read.input_type)
    return msgspec.structs.replace(
        read,
        sources=_bound_sources(read.sources, read.experimental.session_memory),
        provider=provider,
        fallback=read.fallback.strip() or "none",
        model=read.model.strip() or DEFAULT_MODELS.get(provider, ""),
        input_type=shared_type,
        query_input_type=_filled(read.query_input_type) or shared_type,
        document_input_type=_filled(read.document_input_type) or shared_type,
        remote=bound_remote(read.remote or Remote(), provider),
        store=msgspec.structs.replace(
            read.store, path=str(index_file(read.store.path, agent_id, state_dir, home))
        ),
        chunking=bound_chunking(read.chunking),
        sync=bound_sync(read.sync),
        query=bound_query(read.query),
        cache=msgspec.structs.replace(
            read.cache,
            max_entries=None if read.cache.max_entries is None else max(1, read.cache.max_entries),
        ),
    )


def usual_index(agent_id: str, state_dir: Path) -> Path:
    """Return where an agent's index is unless settings say otherwise.

    Not at the `earlier_index`: newer releases of OpenClaw take what is there for an old index of their own, and refuse
    to start where they can't import it.
    """
    return state_dir / "memory" / f"{agent_id}.memd.sqlite"


def is_usual_index(path: Path, agent_id: str, state_dir: Path) -> bool:
    """Return whether memd chose an agent's path itself, for want of one in the settings or because it was taken."""
    usual = usual_index(agent_id, state_dir)
    return path in (usual, usual.with_name(f"{agent_id}.own.memd.sqlite"))


def earlier_index(path: str, agent_id: str, state_dir: Path) -> Path | None:
    """Return where an index may be left of older releases of OpenClaw, or of memd."""
    is_usual = path == str(usual_index(agent_id, state_dir))
    return state_dir / "memory" / f"{agent_id}.sqlite" if is_usual else None


def index_file(raw: str, agent_id: str, state_dir: Path, home: Path) -> Path:
    """Return where an agent's index is."""
    if not raw.strip():
        return usual_index(agent_id, state_dir)
    return absolute_path(raw.replace("{agentId}", agent_id), base=state_dir, home=home)


def absolute_path(raw: str, *, base: Path, home: Path) -> Path:
    """Return a configured path without `~`, `.` and `..`; a relative one starts at `base`."""
    text = raw.strip()
    if text == "~" or text.startswith(("~/", "~\\")):
        text = str(home) + "/" + text[2:]
    return Path(os.path.normpath(base / text))


def is_path_text(text: str) -> bool:
    """Return whether a system can hold a path of that text: no NUL, no half characters."""
    try:
        return "\0" not in text and bool(os.fsencode(text))
    except UnicodeEncodeError:
        return False


def shown_key(key: str) -> str:
    """Return a key as it may stand in a message: printable and short."""
    text = "".join(char if char.isprintable() else "?" for char in key[:MAX_KEY_CHARACTERS])
    return text + ("…" if len(key) > MAX_KEY_CHARACTERS else "")


# --- reading -----------------------------------------------------------------------------------------


def read_layers(kind: type[S], layers: Sequence[Layer], findings: Findings) -> S:
    """Return a settings struct out of the layers, and report what isn't part of it."""
    fields = {f.encode_name: f for f in msgspec.structs.fields(kind) if f.name not in NOT_FROM_FILE}
    for layer in layers:
        for key in layer.values:
            if key not in fields:
                findings.add_unknown(layer, shown_key(key))
    values: dict[str, Any] = {}
    for key, known in fields.items():
        inner = _struct_in(known.type)
        if inner is not None:
            values[known.name] = read_layers(inner, _below(layers, key, findings), findings)
            continue
        for layer in layers:
            raw = layer.values.get(key)
            if raw is None:
                continue
            value = _read_leaf(known.name, known.type, raw, layer, key, findings)
            if value is not None:
                values[known.name] = _join(known.name, values.get(known.name), value)
    if kind is Query:
        values["min_score_set"] = "min_score" in values
    if kind is Batch:
        values["enabled_set"] = "enabled" in values
    if kind is Chunking:
        values["sizes_set"] = bool(values)
    if kind is Hybrid:
        values["weights_set"] = "vector_weight" in values or "text_weight" in values
    return kind(**values)


def _struct_in(kind: Any) -> type[Settings] | None:
    """Return the nested settings a field holds, if it holds any."""
    for option in (kind, *get_args(kind)):
        if isinstance(option, type) and issubclass(option, Settings) and option is not ExtraPath:
            return option
    return None


def _below(layers: Sequence[Layer], key: str, findings: Findings) -> list[Layer]:
    """Return the layers one key further down."""
    for layer in layers:
        raw = layer.values.get(key)
        if raw is not None and not isinstance(raw, Mapping):
            findings.wrong(layer, key, "an object", raw)
    return [layer.below(key) for layer in layers]


def _join(name: str, lower: Any, upper: Any) -> Any:
    """Return what two layers say together: extra paths add up, anything else is overruled."""
    return tuple(dict.fromkeys([*lower, *upper])) if name == "extra_paths" and lower else upper


def _read_leaf(name: str, kind: Any, raw: object, layer: Layer, key: str, findings: Findings) -> Any:
    """Return one layer's value of a key, or None with a problem noted."""
    if name == "extra_paths":
        return _read_extra_paths(raw, layer, key, findings)
    if name == "sources":
        return _read_sources(raw, layer, key, findings)
    if name == "api_key":
        if (text := key_text(raw)) is None:
            findings.wrong(layer, key, KEY_KINDS, raw)
        return text
    try:
        value = msgspec.convert(_floored(raw) if kind in WHOLE_NUMBERS else raw, kind)
    except (msgspec.ValidationError, OverflowError, UnicodeEncodeError):
        value = math.nan
    if isinstance(value, float) and not math.isfinite(value):
        findings.wrong(layer, key, describe_type(kind), raw)
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return max(-MAX_COUNT, min(value, MAX_COUNT))
    if name in ("path", "model_path", "extension_path", "model_cache_dir") and not is_path_text(value or "."):
        findings.wrong(layer, key, "a path", raw)
        return None
    return value


def take_key(raw: object, key: str, findings: Findings, *, shared: bool) -> str | None:
    """Return an API key as a text, or None with a problem noted. The arguments are those of `Findings.add`."""
    text = key_text(raw)
    if text is None:
        findings.add(key, KEY_KINDS, raw, shared=shared)
    return text


def _filled(text: str | None) -> str | None:
    """Return a text without the space around it, or None where nothing is left."""
    return (text or "").strip() or None


def _floored(raw: object) -> object:
    """Return a number without its fraction, as OpenClaw counts."""
    return math.floor(raw) if isinstance(raw, float) and math.isfinite(raw) else raw


def _read_extra_paths(
    raw: object, layer: Layer, key: str, findings: Findings
) -> tuple[ExtraPath, ...] | None:
    """Return the usable entries of an `extraPaths` list, each once."""
    if not isinstance(raw, list):
        findings.wrong(layer, key, "a list of paths", raw)
        return None
    paths: dict[ExtraPath, None] = {}
    for position, item in enumerate(raw):
        place = f"{key}[{position}]"
        try:
            entry = msgspec.convert(item, str | ExtraPath)
        except (msgspec.ValidationError, UnicodeEncodeError):
            entry = "\0"
        if isinstance(entry, str):
            entry = ExtraPath(path=entry)
        elif isinstance(item, Mapping):
            for extra in sorted(item.keys() - {"path", "pattern"}):
                findings.add_unknown(layer, f"{place}.{shown_key(extra)}")
        if not is_path_text(entry.path or "."):
            findings.wrong(layer, place, "a path, or an object with a path and a pattern", item)
        elif entry.path.strip():
            paths.setdefault(
                ExtraPath(path=entry.path.strip(), pattern=(entry.pattern or "").strip() or None)
            )
    return tuple(paths)


def _read_sources(raw: object, layer: Layer, key: str, findings: Findings) -> tuple[Source, ...] | None:
    """Return the known sources of a `sources` list, in the order given."""
    known: tuple[Source, ...] = get_args(Source)
    if not isinstance(raw, list):
        findings.wrong(layer, key, "a list of sources", raw)
        return None
    for position, item in enumerate(raw):
        if item not in known:
            findings.wrong(layer, f"{key}[{position}]", describe_type(Source), item)
    return tuple(source for item in raw for source in known if item == source)


def _bound_sources(wanted: Sequence[Source], session_memory: bool) -> tuple[Source, ...]:
    """Return each source once; transcripts only where they were asked for twice; never none."""
    allowed = [source for source in wanted if source != "sessions" or session_memory]
    return tuple(dict.fromkeys(allowed)) or ("memory",)
