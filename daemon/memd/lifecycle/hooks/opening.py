"""The start of a session: what memory has on its project, the newest facts on it, its last sessions. Pure functions.

A line is about a project if it names it, or if its heading, or the path or title of its file, does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from memd.index.transcripts import RecentSession
from memd.lifecycle.hooks.decisions import decision_line
from memd.lifecycle.hooks.injection import ShownLine
from memd.lifecycle.hooks.project import Project
from memd.search.sessions import day_of
from memd.text.cut.annotations import CURATED_FILES, hide_annotations
from memd.text.query.dates import day_of_note
from memd_client.messages import FileEntry

MAX_FACTS = 4
MAX_FACT_CHARS = 240
"""Limits of the facts that are shown."""

MIN_FACT_CHARS = 20
"""Shortest line that is a fact: shorter ones are labels."""

MAX_FILES_READ = 6
"""Most files whose facts are compared, newest first."""

MAX_SESSIONS = 3
"""Last sessions of the project that are shown."""

OPENING_TOKENS = 400

_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?=\S)")
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.*)")
_DAY = re.compile(r"\b(\d{4}-\d\d-\d\d)\b")
_FENCE = re.compile(r"\s*(?:```|~~~)")


class ProjectFiles(Struct, frozen=True):
    """The notes about a project, newest first, and files that may mention it: curated ones, and notes of days.

    Curated files have facts on anything: a line that begins with the project's name was put there for its sessions.
    """

    own: tuple[FileEntry, ...] = ()
    curated: tuple[FileEntry, ...] = ()
    daily: tuple[FileEntry, ...] = ()

    @property
    def to_read(self) -> tuple[FileEntry, ...]:
        """The files whose facts are compared."""
        daily = self.daily[: MAX_FILES_READ // 2]
        return (*self.curated, *self.own[: MAX_FILES_READ - len(daily)], *daily)


def project_files(files: Iterable[FileEntry], project: Project) -> ProjectFiles:
    """Return the notes about a project among an agent's files, given newest first."""
    own, curated, daily = list[FileEntry](), list[FileEntry](), list[FileEntry]()
    for file in files:
        if file.path in CURATED_FILES:
            curated.append(file)
        elif _is_own(file, project):
            own.append(file)
        elif file.date is not None:
            daily.append(file)
    return ProjectFiles(tuple(own), tuple(curated), tuple(daily))


def _is_own(file: FileEntry, project: Project) -> bool:
    """Return whether all lines of a file are about a project. Notes of days are private: theirs have to name it."""
    if file.date is not None:
        return not project.is_common and project.is_path(file.path)
    return project.is_path(file.path) or project.is_heading(file.title)


def newest_facts(files: ProjectFiles, texts: Mapping[str, str], project: Project) -> list[ShownLine]:
    """Return the newest facts on a project in files, given with their texts by path."""
    found: list[tuple[bool, str, int, ShownLine]] = []
    for file in files.to_read:
        noted = day_of_note(file.path)
        day = "" if noted is None else noted.isoformat()
        for number, line, is_listed, is_below in _lines(texts[file.path], project):
            begins = project.begins(line)
            is_about = len(line) >= MIN_FACT_CHARS and (is_below or file in files.own)
            if begins or (is_listed and (is_about or project.is_named(line))):
                written = _DAY.search(line)
                date, about = (written[1], "") if written else (day, day)
                shown = ShownLine(_short(line), f"{file.path}#L{number}", about, (line,))
                found.append((begins and file in files.curated, date, number, shown))
    # The newest day first; facts without a day follow, those at the end of a file first: notes are appended.
    return [line for *_, line in sorted(found, key=lambda each: each[:3], reverse=True)[:MAX_FACTS]]


def last_sessions(sessions: Iterable[RecentSession], own: str) -> list[ShownLine]:
    """Return the last sessions of a project, given newest first, with their decisions, without the session `own`."""
    shown = list[ShownLine]()
    for session in sessions:
        decision, facts = decision_line(session.lines), session.facts
        if decision and facts.session != own:
            title = f"Session '{facts.title}'" if facts.title else "Session"
            about = ", ".join(filter(None, (facts.program, day_of(facts.updated_ms))))
            shown.append(ShownLine(f"{title}: {decision}", session.path, about, (decision,)))
    return shown[:MAX_SESSIONS]


def describe(project: str, files: ProjectFiles | None) -> str:
    """Return the sentence that describes what memory has on a project; without files: only sessions."""
    if files is None:
        return f"Last sessions on {project}:"
    count, chunks = len(files.own), sum(file.chunks for file in files.own)
    if not count:
        return f"Memory mentions {project}. Newest facts:"
    notes = "1 note" if count == 1 else f"{count} notes"
    return (
        f"Memory has {notes} on {project} ({chunks} indexed parts), newest {files.own[0].path}. Newest facts:"
    )


def _lines(text: str, project: Project) -> Iterator[tuple[int, str, bool, bool]]:
    """Yield the lines of a note, without those in code: number, text, and whether it is in a list, and below a heading
    about the project."""
    is_code = False
    headings: list[tuple[int, bool]] = []
    for number, line in enumerate(hide_annotations(text).split("\n"), start=1):
        if _FENCE.match(line):
            is_code = not is_code
        elif is_code or not line.strip():
            continue
        elif heading := _HEADING.match(line):
            level = len(heading[1])
            headings = [each for each in headings if each[0] < level]
            headings.append((level, project.is_heading(heading[2])))
        else:
            mark = _BULLET.match(line)
            item = line[mark.end() :] if mark else line
            yield number, item.strip(), mark is not None, any(named for _, named in headings)


def _short(text: str) -> str:
    return text if len(text) <= MAX_FACT_CHARS else text[: MAX_FACT_CHARS - 1] + "…"
