"""The start of a session: what memory has on its project, and the newest facts on it. Pure functions.

A line is about a project if it names it, or if the path or the title of its file does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memd.lifecycle.hooks.injection import ShownLine
from memd.lifecycle.hooks.sure_lines import names_project
from memd.text.cut.annotations import hide_annotations
from memd.text.query.dates import day_of_note
from memd_client.messages import FileEntry

MAX_FACTS = 4
MAX_FACT_CHARS = 240
"""Limits of the facts that are shown."""

MIN_FACT_CHARS = 20
"""Shortest line that is a fact: shorter ones are labels."""

MAX_FILES_READ = 6
"""Most files whose facts are compared, newest first."""

OPENING_TOKENS = 200

_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?=\S)")
_DAY = re.compile(r"\b(\d{4}-\d\d-\d\d)\b")
_FENCE = re.compile(r"\s*(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """The notes about a project, newest first, and notes of days that may mention it."""

    own: tuple[FileEntry, ...] = ()
    daily: tuple[FileEntry, ...] = ()

    @property
    def to_read(self) -> tuple[FileEntry, ...]:
        """The files whose facts are compared."""
        daily = self.daily[: MAX_FILES_READ // 2]
        return (*self.own[: MAX_FILES_READ - len(daily)], *daily)


def project_files(files: Iterable[FileEntry], project: Sequence[str]) -> ProjectFiles:
    """Return the notes about a project among an agent's files, given newest first."""
    own, daily = list[FileEntry](), list[FileEntry]()
    for file in files:
        if names_project(project, f"{file.path} {file.title}"):
            own.append(file)
        elif file.date is not None:
            daily.append(file)
    return ProjectFiles(tuple(own), tuple(daily))


def newest_facts(texts: Iterable[tuple[FileEntry, str]], project: Sequence[str]) -> list[ShownLine]:
    """Return the newest facts on a project in files given with their texts."""
    found: list[tuple[str, int, ShownLine]] = []
    for file, text in texts:
        is_own = names_project(project, f"{file.path} {file.title}")
        day = day_of_note(file.path)
        for number, line in _items(text):
            if not is_own and not names_project(project, line):
                continue
            dated = _DAY.search(line)
            date = dated[1] if dated is not None else "" if day is None else day.isoformat()
            about = "" if dated is not None else date
            found.append((date, number, ShownLine(_short(line), f"{file.path}#L{number}", about)))
    # The newest day first; facts without a day follow, those at the end of a file first: notes are appended.
    return [line for _, _, line in sorted(found, key=lambda each: each[:2], reverse=True)[:MAX_FACTS]]


def describe(project: str, files: ProjectFiles) -> str:
    """Return the sentence that says what memory has on a project."""
    count, chunks = len(files.own), sum(file.chunks for file in files.own)
    if not count:
        return f"Memory mentions {project} in notes of days. Newest facts:"
    notes = "1 note" if count == 1 else f"{count} notes"
    return (
        f"Memory has {notes} on {project} ({chunks} indexed parts), newest {files.own[0].path}. Newest facts:"
    )


def _items(text: str) -> Iterator[tuple[int, str]]:
    """Yield the list items of a note with their line numbers, without those in code."""
    is_code = False
    for number, line in enumerate(hide_annotations(text).split("\n"), start=1):
        if _FENCE.match(line):
            is_code = not is_code
        mark = _BULLET.match(line)
        if mark is not None and not is_code and len(line) - mark.end() >= MIN_FACT_CHARS:
            yield number, line[mark.end() :].strip()


def _short(text: str) -> str:
    return text if len(text) <= MAX_FACT_CHARS else text[: MAX_FACT_CHARS - 1] + "…"
