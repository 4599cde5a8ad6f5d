"""Comments that annotate an entry of a note.

`<!-- trigger: a; b -->`, `<!-- importance: 8 -->`, `<!-- project: key -->`.
They are read as OpenClaw 2026.9's own memory reads them. An entry is a list item that starts a line with `- `, with all
lines up to the next such item or heading; else a heading with the text under it. Comments are hidden from what is
indexed, together with memd's own (`memd.text.cut.own_markers`); annotated entries are chunks of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from memd.text.cut.markers import SPACE, hide_markers, marker_pattern, scan_markers
from memd.text.cut.own_markers import OWN_MARKER, hide_provenance_key

CURATED_FILES: Final = frozenset({"MEMORY.md", "memory.md", "USER.md"})
"""Files whose triggers and importance count. Projects count in every note but `USER.md`."""

MIN_IMPORTANCE: Final = 1
MAX_IMPORTANCE: Final = 10

_ANNOTATION = marker_pattern("trigger", "importance", "project")
_HIDDEN = re.compile(f"{_ANNOTATION.pattern}|{OWN_MARKER.pattern}", _ANNOTATION.flags)
_PROJECT = marker_pattern("project")
_HEADING = re.compile(rf"#{{1,6}}(?:[{SPACE}]|\Z)")
_TRIGGER_END = re.compile(r"[,;]")
_NOT_IN_A_KEY = re.compile(r"[\r\n<>]")
_IMPORTANCE = re.compile(r"0*([1-9]|10)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Annotations:
    """What the comments of one entry say.

    Attributes:
        importance: From 1 to 10, the highest of those given; None if none is.
        triggers: Phrases that call the entry up.
        projects: Keys of the projects the entry is about; none means all.
        is_invalid: A project comment can't be read: the entry is never shown, since it may be about another project.
    """

    importance: int | None = None
    triggers: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    is_invalid: bool = False

    def __bool__(self) -> bool:
        return self != _NO_ANNOTATIONS


_NO_ANNOTATIONS = Annotations()


class Entry(NamedTuple):
    """Lines of a note that belong together, from 1, both inclusive; a list item or a section."""

    start_line: int
    end_line: int
    is_item: bool


class AnnotatedEntry(NamedTuple):
    """Lines of an entry, from 1, both inclusive, and what its comments say."""

    start_line: int
    end_line: int
    annotations: Annotations


def hide_annotations(text: str) -> str:
    """Return a note without its annotations and memd's own markers; every line keeps its number."""
    return hide_markers(hide_provenance_key(text), _HIDDEN)


def split_entries(text: str) -> list[Entry]:
    """Return the entries of a note, in order; together they hold every line."""
    lines = text.split("\n")
    starts = [at for at, line in enumerate(lines) if at == 0 or _starts_entry(line)]
    ends = [*starts[1:], len(lines)]
    return [
        Entry(start + 1, end, lines[start].startswith("- ")) for start, end in zip(starts, ends, strict=True)
    ]


def _starts_entry(line: str) -> bool:
    return line.startswith("- ") or (line.startswith("#") and _HEADING.match(line) is not None)


def find_annotated(text: str, path: str) -> list[AnnotatedEntry]:
    """Return the entries of a note that have annotations, in order."""
    if "<!--" not in text or _ANNOTATION.search(text) is None:
        return []
    lines = source_lines(text)
    found = []
    for entry in split_entries(hide_annotations(text)):
        annotations = read_annotations(lines[entry.start_line - 1 : entry.end_line], path)
        if annotations:
            found.append(AnnotatedEntry(entry.start_line, entry.end_line, annotations))
    return found


def source_lines(text: str) -> list[str]:
    """Return the lines of a note as annotations are read from them."""
    return text.replace("\r\n", "\n").split("\n")


def read_annotations(lines: Sequence[str], path: str) -> Annotations:
    """Return what the comments in some lines say."""
    importance, triggers = _read_recall(lines) if path in CURATED_FILES else (None, ())
    if path.upper() == "USER.MD":
        return Annotations(importance, triggers)
    projects, is_invalid = _read_projects("\n".join(lines))
    return Annotations(importance, triggers, projects, is_invalid)


def _read_recall(lines: Sequence[str]) -> tuple[int | None, tuple[str, ...]]:
    """Return the importance and the triggers of an entry; comments count only at the end of a line."""
    importance: int | None = None
    triggers: dict[str, None] = {}
    for line in lines:
        if not line.rstrip(SPACE).endswith("-->"):
            continue
        for marker in scan_markers(line, _ANNOTATION):
            if marker.name == "trigger":
                phrases = [phrase.strip(SPACE) for phrase in _TRIGGER_END.split(marker.value)]
                triggers |= dict.fromkeys(filter(None, phrases))
            elif marker.name == "importance" and (number := _IMPORTANCE.fullmatch(marker.value)):
                importance = max(importance or 0, int(number[1]))
    return importance, tuple(triggers)


def _read_projects(text: str) -> tuple[tuple[str, ...], bool]:
    """Return the project keys of an entry, and whether one of its project comments can't be read."""
    openings = sum(1 for _ in _PROJECT.finditer(text))
    if openings == 0:
        return (), False
    markers = list(scan_markers(text, _PROJECT))
    keys = [project_key(each) for marker in markers for each in marker.value.split(";")]
    if len(markers) != openings or None in keys:
        return (), True
    return tuple(dict.fromkeys(key for key in keys if key is not None)), False


def project_key(value: str) -> str | None:
    """Return the canonical key of a project; None if the value is no key."""
    key = value.strip(SPACE)
    if not key or _NOT_IN_A_KEY.search(key):
        return None
    host, slash, rest = key.partition("/")
    if key.startswith("path:") or not slash:
        return key
    return f"{host.lower()}{slash}{rest}"
