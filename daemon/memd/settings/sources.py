"""Sources: transcripts and notes of other programs that are read in place, from `[sources.<name>]` in `memd.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from msgspec import Struct

from memd.programs.catalog import KNOWN_SOURCES, OPENCLAW_SOURCE, SourceKind
from memd.settings.fields import Setting, Settings
from memd.settings.layers import Findings, Layer, absolute_path, read_layers, shown_key
from memd.settings.memd_toml import MemdToml
from memd.settings.names import SOURCES
from memd.system.nearest_name import did_you_mean

SHARED_AGENT: Final = "shared"
"""The agent that exists as soon as a source belongs to it."""

BUILT_IN_SOURCES: Final = ("memory", OPENCLAW_SOURCE)
"""Names that no other source may have."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


class SourceSettings(Settings, frozen=True, kw_only=True):
    """One source, `[sources.<name>]`."""

    agent: Annotated[
        str,
        Setting(
            "The agent whose memory it belongs to; `shared` makes an agent of its own.",
            default="the default agent",
        ),
    ] = ""
    path: Annotated[
        str,
        Setting(
            "Its folder or database, instead of the program's own; needed for notes and chat exports.",
            default="the program's own",
            is_path=True,
        ),
    ] = ""
    program: Annotated[
        str,
        Setting("The program that wrote it, if the name is another; empty for a folder of notes."),
    ] = ""
    subagents: Annotated[bool, Setting("Whether sessions that an agent started are searched too.")] = False
    work: Annotated[
        bool,
        Setting("Whether commands that agents ran and files that they changed are searched, on request."),
    ] = True
    keep: Annotated[
        bool,
        Setting("Whether conversations stay searchable after the program deleted them."),
    ] = False
    keep_days: Annotated[
        int, Setting("How long they stay after the deletion; 0: without limit.", unit="days", least=0)
    ] = 365
    keep_mb: Annotated[
        int, Setting("Limit of the kept copies, compressed; the oldest go first.", unit="MB", least=1)
    ] = 256


class SourceConfig(Struct, frozen=True):
    """One source of an agent.

    Attributes:
        name: Its name, with which its paths in the index begin.
        program: A name in `KNOWN_SOURCES`; empty for a folder of notes.
        kind: What it has.
        path: Its folder or database; None for the program's own.
    """

    name: str
    program: str
    kind: SourceKind
    path: Path | None
    subagents: bool = False
    keep: bool = False
    keep_days: int = 365
    keep_mb: int = 256
    work: bool = True


class OwnedSource(NamedTuple):
    """A source and the name of its agent; empty for the default agent."""

    agent: str
    config: SourceConfig


def read_sources(toml: MemdToml | None, home: Path, findings: Findings) -> list[OwnedSource]:
    """Return the sources in `memd.toml`; invalid ones are left out, with a problem."""
    if toml is None or not toml.tables:
        return []
    root = Layer("", toml.tables, shared=True, file=toml.path)
    table = findings.object_in(root, SOURCES)
    found = []
    for name, values in table.values.items():
        if not isinstance(values, Mapping):
            findings.add_wrong(table, shown_key(name), "an object", values)
        elif not _NAME.fullmatch(name) or name in BUILT_IN_SOURCES:
            what = (
                "is not a valid name of a source (lower-case letters, digits, - and _, at most 40); ignored"
            )
            findings.add(table, shown_key(name), what, "a name")
        else:
            source = _read_source(name, table.below(name), home, findings)
            if source is not None:
                found.append(source)
    return found


def _read_source(name: str, layer: Layer, home: Path, findings: Findings) -> OwnedSource | None:
    """Return a source, or None with a problem added."""
    read = read_layers(SourceSettings, [layer], findings)
    program = read.program.strip() or (name if name in KNOWN_SOURCES else "")
    if program and program not in KNOWN_SOURCES:
        findings.add(layer, "program", f"is not a known program{did_you_mean(program, KNOWN_SOURCES)}")
        return None
    if program and KNOWN_SOURCES[program].export and not read.path:
        findings.add(layer, "path", f"is missing; {KNOWN_SOURCES[program].export}", "the path of the archive")
        return None
    if not program and not read.path:
        findings.add(layer, "path", f"is missing, and {name} is not a program memd knows; ignored", "a path")
        return None
    path = absolute_path(read.path, base=home, home=home) if read.path else None
    kind = KNOWN_SOURCES[program].kind if program else "notes"
    config = SourceConfig(
        name,
        program,
        kind,
        None if path is None else Path(path),
        read.subagents,
        read.keep,
        read.keep_days,
        read.keep_mb,
        read.work,
    )
    return OwnedSource(read.agent.strip().lower(), config)


def sources_of(agent_id: str, sources: Sequence[OwnedSource], default: str) -> tuple[SourceConfig, ...]:
    """Return the sources of an agent, by name; those without an agent belong to the default agent."""
    own = [each.config for each in sources if (each.agent or default) == agent_id]
    return tuple(sorted(own, key=lambda config: config.name))
