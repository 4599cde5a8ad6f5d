"""HTML comments that annotate notes (`<!-- trigger: a; b -->`), and the markers memd itself writes. Pure.

`<!-- trigger: a; b -->`, `<!-- importance: 8 -->` and `<!-- project: key -->` are read as OpenClaw 2026.9 reads them.
An entry is a list item that starts a line with `- `, with all lines up to the next such item or heading; otherwise a
heading with its text. Annotated entries are chunks of their own. Annotations are hidden from the index, and so are
memd's markers: fact ids (`memd.lifecycle.facts.lines`), keys of appended entries (`memd.lifecycle.notes.daily`),
sessions of private notes (`memd.lifecycle.notes.session_note`), and origins of files that earlier releases copied from
other programs (`memd.sources.imported`), the latter a YAML comment in files with frontmatter. Other comments are text
of the note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from memd.text.cut.chunking import BLOCK_CHARACTERS
from memd.text.language.spelling import SPACES

_OPENING, _CLOSING = "<!--", "-->"
_LINE_END = re.compile(r"[\r\n]")
_CUT = "\0"
"""Placeholder for a marker while lines are tidied; notes contain no NUL, since such files are refused."""


class Marker(NamedTuple):
    """A marker in a text: its span, its name in lower case, and its value without surrounding white space.

    The name is empty if the opening pattern has no group for it.
    """

    start: int
    end: int
    name: str
    value: str


def marker_pattern(*names: str) -> re.Pattern[str]:
    """Return the pattern of marker openings, ignoring case: `<!-- name:`."""
    return re.compile(rf"<!--[{SPACES}]*({'|'.join(names)})[{SPACES}]*:", re.ASCII | re.IGNORECASE)


def _openings(text: str, opening: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the marker openings, searched in blocks: one call on millions of comments stops all threads."""
    at = 0
    while at < len(text):
        end = at + BLOCK_CHARACTERS
        match = opening.search(text, at, end)
        if match is None and (last := text.rfind(_OPENING, at, end + len(_OPENING) - 1)) >= 0:
            match = opening.match(text, last)  # the only one that may continue behind the block
        if match is not None:
            yield match
        at = end if match is None else match.end()


def scan_markers(text: str, opening: re.Pattern[str], *, within_line: bool = False) -> Iterator[Marker]:
    """Yield the markers of a text in order; unclosed ones are ignored."""
    at, closing, line_end = 0, -1, -1
    for match in _openings(text, opening):
        start = match.end()
        if match.start() < at:
            continue
        if closing < start and (closing := text.find(_CLOSING, start)) < 0:
            return
        if within_line and line_end < start:
            end = _LINE_END.search(text, start)
            line_end = len(text) if end is None else end.start()
        if within_line and line_end < closing:
            at = start
            continue
        at = closing + len(_CLOSING)
        yield Marker(match.start(), at, (match[1] or "").lower(), text[start:closing].strip(SPACES))


def hide_markers(text: str, opening: re.Pattern[str]) -> str:
    """Return a text without its markers; line numbers stay the same.

    Blanks before a marker at the end of a line are removed. A line of markers alone becomes empty.
    """
    if "<!--" not in text:
        return text
    parts, at = [], 0
    for marker in scan_markers(text, opening, within_line=True):
        parts += [text[at : marker.start], _CUT, "\n" * text.count("\n", marker.start, marker.end)]
        at = marker.end
    if not parts:
        return text
    lines = "".join([*parts, text[at:]]).split("\n")
    return "\n".join(_without_cuts(line) if _CUT in line else line for line in lines)


def _without_cuts(line: str) -> str:
    """Return a line without placeholders, and without the blanks before one at its end."""
    body = line.rstrip(f" \t\r{_CUT}")
    if _CUT in line[len(body) :]:
        line = body + "\r" * line.endswith("\r")
    return line.replace(_CUT, "")


_FACT_FILE: Final = re.compile(r"memory/facts(?:-\d+)?\.md")
_FACT_DAY: Final = re.compile(rf"<!--[{SPACES}]*fact[{SPACES}][^<>\n]*created=(\d{{4}}-\d\d-\d\d)")
_OWN_MARKER: Final = re.compile(
    rf"<!--[{SPACES}]*(?:memd:(?:key|session)=|memd-import[{SPACES}]*\{{|fact[{SPACES}]+(?:id|importance|category|created)=)",
    re.ASCII | re.IGNORECASE,
)
"""The opening of an HTML comment written by memd."""

_PROVENANCE_KEY = re.compile(r"(\ufeff?---[ \t]*\r?\n)# memd-import \{[^\r\n]*\}")


def hide_provenance_key(text: str) -> str:
    """Return a note with the import origin in its frontmatter replaced by an empty line."""
    found = _PROVENANCE_KEY.match(text)
    return text if found is None else found[1] + text[found.end() :]


CURATED_FILES: Final = frozenset({"MEMORY.md", "memory.md", "USER.md"})
"""Files whose triggers and importance count. Projects count in every note except `USER.md`."""

_ANNOTATION = marker_pattern("trigger", "importance", "project")
_HIDDEN = re.compile(f"{_ANNOTATION.pattern}|{_OWN_MARKER.pattern}", _ANNOTATION.flags)
_PROJECT = marker_pattern("project")
_HEADING = re.compile(rf"#{{1,6}}(?:[{SPACES}]|\Z)")
_TRIGGER_END = re.compile(r"[,;]")
_NOT_IN_A_KEY = re.compile(r"[\r\n<>]")
_IMPORTANCE = re.compile(r"0*([1-9]|10)", re.ASCII)


class Annotations(Struct, frozen=True):
    """Annotations of one entry: importance (1 to 10), trigger phrases and project keys (empty: all projects).

    `is_invalid` means an unreadable project comment: the entry is never shown, as it may belong to another project.
    """

    importance: int | None = None
    triggers: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    is_invalid: bool = False

    def __bool__(self) -> bool:
        return self != _NO_ANNOTATIONS


_NO_ANNOTATIONS = Annotations()


class NoteEntry(NamedTuple):
    """Lines of an entry, from 1, both inclusive: a list item or a section."""

    start_line: int
    end_line: int
    is_item: bool


class AnnotatedEntry(NamedTuple):
    """Lines of an entry, from 1, both inclusive, and its annotations."""

    start_line: int
    end_line: int
    annotations: Annotations


def hide_annotations(text: str) -> str:
    """Return a note without its annotations and memd's markers; line numbers stay the same."""
    return hide_markers(hide_provenance_key(text), _HIDDEN)


def split_entries(text: str) -> list[NoteEntry]:
    """Return the entries of a note, in order; together they cover every line."""
    lines = text.split("\n")
    starts = [at for at, line in enumerate(lines) if at == 0 or _starts_entry(line)]
    ends = [*starts[1:], len(lines)]
    return [
        NoteEntry(start + 1, end, lines[start].startswith("- "))
        for start, end in zip(starts, ends, strict=True)
    ]


def _starts_entry(line: str) -> bool:
    return line.startswith("- ") or (line.startswith("#") and _HEADING.match(line) is not None)


def find_annotated(text: str, path: str) -> list[AnnotatedEntry]:
    """Return the annotated entries of a note, in order."""
    if next(_openings(text, _ANNOTATION), None) is None:
        return []
    lines = source_lines(text)
    found = []
    for entry in split_entries(hide_annotations(text)):
        annotations = read_annotations(lines[entry.start_line - 1 : entry.end_line], path)
        if annotations:
            found.append(AnnotatedEntry(entry.start_line, entry.end_line, annotations))
    return found


def is_fact_file(path: str) -> bool:
    """Return whether a file has an agent's facts, each with its day in a hidden comment."""
    return _FACT_FILE.fullmatch(path) is not None


def find_fact_days(text: str, path: str) -> dict[int, str]:
    """Return the days of facts (YYYY-MM-DD) by line, from 1."""
    if not is_fact_file(path):
        return {}
    found = ((number, _FACT_DAY.search(line)) for number, line in enumerate(source_lines(text), 1))
    return {number: match[1] for number, match in found if match is not None}


def source_lines(text: str) -> list[str]:
    """Return the lines of a note from which annotations are read."""
    return text.replace("\r\n", "\n").split("\n")


def read_annotations(lines: Sequence[str], path: str) -> Annotations:
    """Return the annotations in some lines."""
    importance, triggers = _read_recall(lines) if path in CURATED_FILES else (None, ())
    if path.upper() == "USER.MD":
        return Annotations(importance, triggers)
    projects, is_invalid = _read_projects("\n".join(lines))
    return Annotations(importance, triggers, projects, is_invalid)


def _read_recall(lines: Sequence[str]) -> tuple[int | None, tuple[str, ...]]:
    """Return the importance and triggers of an entry; comments count only at the end of a line."""
    importance: int | None = None
    triggers: dict[str, None] = {}
    for line in lines:
        if not line.rstrip(SPACES).endswith("-->"):
            continue
        for marker in scan_markers(line, _ANNOTATION):
            if marker.name == "trigger":
                phrases = [phrase.strip(SPACES) for phrase in _TRIGGER_END.split(marker.value)]
                triggers |= dict.fromkeys(filter(None, phrases))
            elif marker.name == "importance" and (number := _IMPORTANCE.fullmatch(marker.value)):
                importance = max(importance or 0, int(number[1]))
    return importance, tuple(triggers)


def _read_projects(text: str) -> tuple[tuple[str, ...], bool]:
    """Return the project keys of an entry, and whether one of its project comments is unreadable."""
    openings = sum(1 for _ in _openings(text, _PROJECT))
    if openings == 0:
        return (), False
    markers = list(scan_markers(text, _PROJECT))
    keys = [project_key(each) for marker in markers for each in marker.value.split(";")]
    if len(markers) != openings or None in keys:
        return (), True
    return tuple(dict.fromkeys(key for key in keys if key is not None)), False


def project_key(value: str) -> str | None:
    """Return the canonical key of a project; None if the value is not a key."""
    key = value.strip(SPACES)
    if not key or _NOT_IN_A_KEY.search(key):
        return None
    host, slash, rest = key.partition("/")
    if key.startswith("path:") or not slash:
        return key
    return f"{host.lower()}{slash}{rest}"
