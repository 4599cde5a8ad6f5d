"""The sources that memd knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

SourceKind: TypeAlias = Literal["transcripts", "notes"]


class KnownSource(NamedTuple):
    """A source that memd finds without settings: the program's name for people, and the kind."""

    title: str
    kind: SourceKind


KNOWN_SOURCES: Final[Mapping[str, KnownSource]] = {
    "claude-code": KnownSource("Claude Code", "transcripts"),
    "codex": KnownSource("Codex", "transcripts"),
    "opencode": KnownSource("opencode", "transcripts"),
    "kilo": KnownSource("Kilo Code", "transcripts"),
    "gemini": KnownSource("Gemini CLI", "transcripts"),
    "cursor": KnownSource("Cursor CLI", "transcripts"),
    "cursor-editor": KnownSource("Cursor", "transcripts"),
    "copilot": KnownSource("Copilot CLI", "transcripts"),
    "copilot-vscode": KnownSource("Copilot in VS Code", "transcripts"),
    "claude-code-notes": KnownSource("Claude Code", "notes"),
    "codex-notes": KnownSource("Codex", "notes"),
    "gemini-notes": KnownSource("Gemini CLI", "notes"),
    "opencode-notes": KnownSource("opencode", "notes"),
    "hermes-notes": KnownSource("Hermes", "notes"),
    "basic-memory": KnownSource("Basic Memory", "notes"),
    "obsidian": KnownSource("Obsidian", "notes"),
}
"""Sources by name. A source of any other name is a folder of notes, or another folder of a known program."""
