"""Transcripts: what is known about their sessions, their line maps and times, and their counts."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from memd.index.keyword import IN_PROJECT
from memd.index.origins import load_origins
from memd.index.work import WorkCounts, count_work
from memd.system.sqlite import Database
from memd.text.trust.origins import OUTSIDE, UNKNOWN
from memd_client.agent_parts import UnknownType


class SessionFacts(NamedTuple):
    """What is known about a transcript's session; unknown texts are empty, unknown times 0.

    Attributes:
        program: The source it belongs to, such as `claude-code`; empty for OpenClaw's.
        session: The program's id of it.
        kind: `main`, `subagent`, `machine` or `excluded`.
        title, cwd, branch: As the program recorded them.
        project: Root of the repository that has `cwd`, else `cwd`.
        started_ms, updated_ms: Times of its first and last record, in milliseconds UTC.
        unknown: Number of records of unknown types and of broken ones.
        is_deleted: Whether the program deleted the transcript, so that only memd's copy is left.
        release: The program's release that wrote the newest record.
        unknown_types: The number of records of each unknown type as JSON; empty if there are none.
        commands, files: Number of commands that were run, and of files that were changed.
    """

    program: str = ""
    session: str = ""
    kind: str = "main"
    title: str = ""
    cwd: str = ""
    project: str = ""
    branch: str = ""
    started_ms: int = 0
    updated_ms: int = 0
    unknown: int = 0
    is_deleted: bool = False
    release: str = ""
    unknown_types: str = ""
    commands: int = 0
    files: int = 0


NO_FACTS = SessionFacts()

_FACTS = ", ".join(SessionFacts._fields)


class TranscriptCounts(Struct, frozen=True):
    """Number of transcripts in an index, of their messages, and of secrets redacted from them."""

    transcripts: int = 0
    messages: int = 0
    redactions: int = 0


class SourceCounts(NamedTuple):
    """Numbers of one source's transcripts in an index; `newest_ms` is 0 if unknown."""

    sessions: int
    messages: int
    redactions: int
    unknown: int
    subagents: int
    machine: int
    deleted: int
    excluded: int
    newest_ms: int
    unknown_types: Sequence[UnknownType] = ()
    work: WorkCounts = WorkCounts()


class StoredTranscript(Struct, frozen=True):
    """A transcript besides its text.

    Attributes:
        line_map: For each line of the text, the line (or number) of the record it came from.
        times: For each line, when it was said, in milliseconds UTC, 0 if unknown; empty if no time is known.
        redactions: Number of redacted secrets.
        last_from: The line at which its last conversation begins.
        facts: What is known about the session.
    """

    line_map: Sequence[int]
    times: Sequence[int] = ()
    redactions: int = 0
    last_from: int = 1
    facts: SessionFacts = NO_FACTS


def store_transcript(db: Database, path: str, transcript: StoredTranscript) -> None:
    """Store a transcript's facts, and the times of its chunks."""
    facts = transcript.facts
    columns = ("path", "messages", "redactions", "line_map", "last_from", "times", *facts._fields)
    values = (
        path,
        len(transcript.line_map),
        transcript.redactions,
        _pack(transcript.line_map),
        transcript.last_from,
        _pack(transcript.times),
        *facts,
    )
    db.execute(
        f"INSERT OR REPLACE INTO transcripts ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
        values,
    )
    if transcript.times:
        rows = db.execute("SELECT id, start_line, end_line FROM chunks WHERE path = ?", (path,)).fetchall()
        db.executemany(
            "INSERT OR REPLACE INTO chunk_times (id, time_ms) VALUES (?, ?)",
            [
                (key, max(transcript.times[int(str(start)) - 1 : int(str(end))], default=0))
                for key, start, end in rows
            ],
        )


def load_line_maps(db: Database, paths: Collection[str]) -> dict[str, Sequence[int]]:
    """Return the line maps of some transcripts by path."""
    return {str(path): _unpack(blob) for path, blob in _select(db, "path, line_map", paths)}


def load_said(db: Database, path: str) -> list[str]:
    """Return the messages of a transcript, one for each line of its line map."""
    parts, line, end = list[str](), 1, 0
    sql = "SELECT start_line, start_char, text FROM chunks WHERE path = ? ORDER BY start_char"
    for first, start, text in msgspec.convert(
        db.execute(sql, (path,)).fetchall(), list[tuple[int, int, str]]
    ):
        parts += ["\n" * (first - line if start >= end else 0), text[max(0, end - start) :]]
        line += parts[-2].count("\n") + parts[-1].count("\n")
        end = max(end, start + len(text))
    return "".join(parts).split("\n")


def load_times(db: Database, path: str) -> Sequence[int]:
    """Return the times of a transcript's lines; empty if unknown."""
    return next((_unpack(blob) for (blob,) in _select(db, "times", [path])), ())


def load_chunk_times(db: Database, ids: Collection[int]) -> dict[int, int]:
    """Return the times of the last messages of some chunks, by id; those of unknown time are left out."""
    rows = db.execute(
        "SELECT id, time_ms FROM chunk_times WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps([*ids]),),
    )
    return {int(str(key)): int(str(time_ms)) for key, time_ms in rows}


def load_session_facts(db: Database, paths: Collection[str]) -> dict[str, SessionFacts]:
    """Return what is known about the sessions of some transcripts, by path."""
    return {
        str(path): msgspec.convert(values, SessionFacts, strict=False)
        for path, *values in _select(db, f"path, {_FACTS}", paths)
    }


def find_session(db: Database, session: str) -> str | None:
    """Return the path of the transcript of a session, by the program's id of it."""
    row = db.execute("SELECT path FROM transcripts WHERE session = ? LIMIT 1", (session,)).fetchone()
    return None if row is None else str(row[0])


class RecentSession(NamedTuple):
    """One of the newest sessions of a project: its transcript's path, its facts, and its last messages, a line each."""

    path: str
    facts: SessionFacts
    lines: Sequence[str]


MAX_RECENT_CHUNKS = 12
"""Chunks at the end of a transcript whose messages are loaded."""


def load_recent_sessions(db: Database, project: str, most: int) -> list[RecentSession]:
    """Return the newest sessions of a project, given by its path or its folder's name, the newest first.

    Lines of other people are empty.
    """
    rows = db.execute(
        f"""SELECT path, {_FACTS} FROM transcripts AS t WHERE {IN_PROJECT} AND kind = 'main' AND messages > 0
            ORDER BY updated_ms DESC LIMIT :most""",
        {"project": project.lower().rstrip("/"), "most": most},
    ).fetchall()
    sessions = list[RecentSession]()
    for path, *values in rows:
        chunks = db.execute(
            "SELECT text, start_line FROM chunks WHERE path = ? ORDER BY start_line DESC LIMIT ?",
            (path, MAX_RECENT_CHUNKS),
        ).fetchall()
        origins = load_origins(db, [str(path)]).get(str(path), UNKNOWN)
        lines = list[str]()
        for text, first in reversed(chunks):
            lines += origins.without_outside(str(text).split("\n"), int(str(first)))
        facts = msgspec.convert(values, SessionFacts, strict=False)
        # A model that writes titles may have copied this one.
        facts = facts._replace(title="") if origins.has(OUTSIDE) else facts
        sessions.append(RecentSession(str(path), facts, lines))
    return sessions


def load_sessions(db: Database) -> list[tuple[str, SessionFacts]]:
    """Return the sessions with messages, the newest first, with the paths of their transcripts."""
    rows = db.execute(
        f"SELECT path, {_FACTS} FROM transcripts WHERE session != '' AND messages > 0 ORDER BY updated_ms DESC"
    )
    return [(str(path), msgspec.convert(values, SessionFacts, strict=False)) for path, *values in rows]


class ConversationRow(NamedTuple):
    """A conversation: its path, messages and facts (with a last time), whether it is of a project, and its beginning.

    `program` is its source, also of OpenClaw's. The beginning is empty if the conversation has a title.
    """

    path: str
    messages: int
    is_in_project: bool
    beginning: str
    facts: SessionFacts


def load_conversations(db: Database, sources: Collection[str], project: str) -> list[ConversationRow]:
    """Return the conversations of some sources, the newest first."""
    special = {
        "program": "f.source",
        "updated_ms": "iif(updated_ms > 0, updated_ms, mtime_ns / 1000000) AS at_ms",
    }
    rows = db.execute(
        f"""SELECT t.path, messages, {IN_PROJECT},
              iif(title != '', '', (SELECT substr(text, 1, 2000) FROM chunks WHERE path = t.path
                ORDER BY start_line LIMIT 1)), {", ".join(special.get(name, name) for name in SessionFacts._fields)}
            FROM transcripts AS t JOIN files AS f ON f.path = t.path
            WHERE kind = 'main' AND messages > 0 AND f.source IN (SELECT value FROM json_each(:sources))
            ORDER BY at_ms DESC, t.path""",
        {"project": project.lower().rstrip("/"), "sources": json.dumps(sorted(sources))},
    ).fetchall()
    return [msgspec.convert((*row[:4], row[4:]), ConversationRow, strict=False) for row in rows]


def find_other_projects(db: Database, project: str) -> list[str] | None:
    """Return the names of all projects, the latest first, if none has the name or path; else None."""
    known = f"SELECT 1 FROM transcripts AS t WHERE {IN_PROJECT} LIMIT 1"
    if db.execute(known, {"project": project.lower().rstrip("/")}).fetchone() is not None:
        return None
    rows = db.execute(
        "SELECT project FROM transcripts WHERE project != '' GROUP BY project ORDER BY max(updated_ms) DESC"
    )
    return list(dict.fromkeys(str(path).rpartition("/")[2] or str(path) for (path,) in rows))


def count_transcripts(db: Database) -> TranscriptCounts:
    """Return the number of OpenClaw's transcripts, messages and redactions."""
    row = db.execute(
        """SELECT count(*), coalesce(sum(messages), 0), coalesce(sum(redactions), 0) FROM transcripts
           WHERE program = ''"""
    ).fetchall()[0]
    return TranscriptCounts(*(int(str(fact)) for fact in row))


def count_by_source(db: Database) -> dict[str, SourceCounts]:
    """Return the numbers of transcripts of each source that isn't OpenClaw."""
    rows = db.execute(
        """SELECT program, sum(kind = 'main'), sum(messages), sum(redactions), sum(unknown),
             sum(kind = 'subagent'), sum(kind = 'machine'), sum(is_deleted), sum(kind = 'excluded'), max(updated_ms)
           FROM transcripts WHERE program != '' GROUP BY program"""
    )
    unknown, work = _count_unknown(db), count_work(db)
    return {
        str(program): SourceCounts._make(
            [
                *(int(str(fact)) for fact in facts),
                unknown.get(str(program), ()),
                work.get(str(program), WorkCounts()),
            ]
        )
        for program, *facts in rows
    }


def _count_unknown(db: Database) -> dict[str, list[UnknownType]]:
    """Return the unknown types of each source's records, the most frequent first, with the newest release of each."""
    sources: dict[str, dict[str, UnknownType]] = {}
    rows = db.execute(
        "SELECT program, release, unknown_types FROM transcripts WHERE unknown_types != '' ORDER BY updated_ms"
    )
    for program, release, types in rows:
        known = sources.setdefault(str(program), {})
        for name, records in msgspec.json.decode(str(types), type=dict[str, int]).items():
            last = known.get(name, UnknownType(name))
            known[name] = UnknownType(name, last.records + records, str(release) or last.release)
    return {
        program: sorted(types.values(), key=lambda kind: -kind.records) for program, types in sources.items()
    }


def _select(db: Database, columns: str, paths: Collection[str]) -> Iterator[tuple[object, ...]]:
    """Yield columns of some transcripts."""
    yield from db.execute(
        f"SELECT {columns} FROM transcripts WHERE path IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(paths)),),
    )


def _pack(numbers: Iterable[int]) -> bytes:
    packed = array("q", numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _unpack(blob: object) -> Sequence[int]:
    unpacked = array("q", blob if isinstance(blob, bytes) else b"")
    if sys.byteorder == "big":
        unpacked.byteswap()
    return unpacked
