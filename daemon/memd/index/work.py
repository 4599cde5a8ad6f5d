"""Work: what agents did in their sessions, one row for each command and file, with keyword rows of their own.

Ordinary searches read neither table, so that work changes no ranking of notes and conversations.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from memd.index.keyword import IN_PROJECT, LATEST_MS, Bindings
from memd.index.meta import WORK_SOURCES, find_meta, set_meta
from memd.system.sqlite import Database, get_int
from memd.text.language.spelling import index_text
from memd.text.query.identifiers import extra_words

RAN = "ran"
"""The action of a command; the actions of files are `read`, `edited`, `created` and `deleted`."""

RANK = "bm25(1.0, 0.5, 0.4)"
"""BM25 weights of the columns: the command line or path; outputs and spans; stems and parts of words."""

MAX_STEPS = 2_000
"""Most steps of one session that `load_steps` returns."""


class WorkRow(NamedTuple):
    """One step: a command that was run, or a file that was read or changed. Texts contain no secrets.

    Attributes:
        place: Number of the record in the transcript, as in its line map.
        time_ms: In milliseconds UTC; 0 if unknown.
        action: `ran`, `read`, `edited`, `created` or `deleted`.
        status: `ok`, `failed`, `refused` or `unknown`, as the program recorded it.
        exit_code: None if unknown, and for files.
        folder: Working directory of a command; empty if unknown, and for files.
        subject: The program and subcommand of a command, such as `cargo test`; else the path of the file.
        line: A command's normalized line, equal for two runs of one invocation; else the base name of the file.
        error: Key of a failed command's error; empty if there is none.
        text: The command line; for a file that was edited, what was written.
        detail: Output around the error; for a file that was edited, what was replaced.
        digest: Hash of all that.
        id: Ascending in the order of the steps of a session.
        path: The conversation in the index.
    """

    place: int
    time_ms: int
    action: str
    status: str
    exit_code: int | None
    folder: str
    subject: str
    line: str
    error: str
    text: str
    detail: str
    digest: int = 0
    id: int = 0
    path: str = ""


class WorkScope(Struct, frozen=True):
    """Filters of work; None means everything. Projects and times are as in `Scope`.

    Attributes:
        actions, statuses: Only these.
        sources: Only sessions of these sources; empty text for OpenClaw's.
        project: The name or path of a project.
        except_session: The id of a session that is excluded.
        since_ms, until_ms: The earliest time, and the time before which it was done.
    """

    actions: tuple[str, ...] | None = None
    statuses: tuple[str, ...] | None = None
    sources: tuple[str, ...] | None = None
    project: str | None = None
    except_session: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None


class WorkCounts(NamedTuple):
    """Number of commands and of steps with files, and the size of their texts."""

    commands: int = 0
    files: int = 0
    bytes: int = 0


EVERYTHING = WorkScope()

_COLUMNS = ", ".join(f"w.{name}" for name in WorkRow._fields)


def store_work(db: Database, path: str, rows: Sequence[WorkRow]) -> None:
    """Replace the work of a conversation; rows that are unchanged at its beginning keep their ids."""
    old = db.execute("SELECT id, digest FROM steps WHERE path = ? ORDER BY id", (path,)).fetchall()
    same = 0
    while same < min(len(old), len(rows)) and old[same][1] == rows[same].digest:
        same += 1
    _delete(db, [int(str(key)) for key, _ in old[same:]])
    new = rows[same:]
    if not new:
        return
    first = get_int(db, "SELECT coalesce(max(id), 0) + 1 FROM work")
    db.execute("INSERT OR IGNORE INTO work_sessions (path) VALUES (?)", (path,))
    session = get_int(db, "SELECT id FROM work_sessions WHERE path = ?", (path,))
    columns = WorkRow._fields[:-2]  # without the id and the path
    db.executemany(
        f"INSERT INTO work ({', '.join(columns)}, id, session) VALUES ({', '.join('?' * (len(columns) + 2))})",
        ((*_stored(row)[:-2], key, session) for key, row in enumerate(new, first)),
    )
    texts = [row.text if row.action == RAN else row.subject for row in new]
    details = [row.detail if row.action == RAN else f"{row.text}\n{row.detail}" for row in new]
    extras = extra_words([f"{text}\n{detail}" for text, detail in zip(texts, details, strict=True)])
    db.executemany(
        "INSERT INTO work_fts (rowid, text, detail, extra) VALUES (?, ?, ?, ?)",
        (
            (key, index_text(text), index_text(detail), extra)
            for key, (text, detail, extra) in enumerate(zip(texts, details, extras, strict=True), first)
        ),
    )


def forget_work(db: Database, path: str) -> None:
    """Delete the work of a conversation."""
    _delete(db, [int(str(key)) for (key,) in db.execute("SELECT id FROM steps WHERE path = ?", (path,))])
    db.execute("DELETE FROM work_sessions WHERE path = ?", (path,))


def find_work_sources(db: Database) -> list[str]:
    """Return the sources whose work is indexed, sorted."""
    return [str(name) for name in json.loads(find_meta(db, WORK_SOURCES) or "[]")]


def choose_work(db: Database, sources: Collection[str]) -> None:
    """Delete the work of other sources than these; conversations of sources that are new among them are read again."""
    before = find_work_sources(db)
    others = db.execute(
        """SELECT path FROM files WHERE source NOT IN (SELECT value FROM json_each(?))
           AND path IN (SELECT path FROM work_sessions)""",
        (json.dumps(list(sources)),),
    ).fetchall()
    for (path,) in others:
        forget_work(db, str(path))
    db.execute(
        """UPDATE files SET hash = '', mtime_ns = 0 WHERE source IN (SELECT value FROM json_each(?))
           AND path IN (SELECT path FROM transcripts)""",
        (json.dumps(sorted(set(sources) - set(before))),),
    )
    set_meta(db, WORK_SOURCES, json.dumps(sorted(sources)))


def count_work(db: Database) -> dict[str, WorkCounts]:
    """Return the amount of work by source; empty text for OpenClaw's."""
    rows = db.execute(
        """SELECT t.program, sum(w.commands), sum(w.files), sum(w.bytes)
           FROM (SELECT session, sum(action = 'ran') AS commands, sum(action != 'ran') AS files,
                   sum(octet_length(text) + octet_length(detail)) AS bytes FROM work GROUP BY session) AS w
             CROSS JOIN work_sessions AS s ON s.id = w.session CROSS JOIN transcripts AS t ON t.path = s.path
           GROUP BY t.program"""
    )
    return {str(program): WorkCounts(*(int(str(number)) for number in counts)) for program, *counts in rows}


def find_changed_files(db: Database, paths: Collection[str]) -> dict[str, dict[str, str]]:
    """Return the files that some conversations changed, each with the last action, by conversation."""
    files: dict[str, dict[str, str]] = {}
    condition = "action NOT IN ('ran', 'read') AND path IN (SELECT value FROM json_each(?))"
    rows = db.execute(
        f"SELECT path, subject, action FROM steps WHERE {condition} ORDER BY id", (json.dumps(list(paths)),)
    )
    for path, subject, action in rows:
        files.setdefault(str(path), {})[str(subject)] = str(action)
    return files


def has_work(db: Database, project: str = "") -> bool:
    """Return whether there is any work, or any of a project."""
    condition, values = _condition(WorkScope(project=project or None))
    return db.execute(f"SELECT 1 FROM steps AS w WHERE {condition} LIMIT 1", values).fetchone() is not None


def find_work(
    db: Database, match: str, limit: int, scope: WorkScope = EVERYTHING
) -> list[tuple[WorkRow, float]]:
    """Return steps that match an FTS5 expression with their negated BM25, best first."""
    if not match.strip():
        return []
    condition, values = _condition(scope)
    rows = db.execute(
        f"""SELECT {_COLUMNS}, -f.rank FROM work_fts AS f CROSS JOIN steps AS w ON w.id = f.rowid
            WHERE f.work_fts MATCH :match AND {condition} ORDER BY f.rank, w.id DESC LIMIT :limit""",
        {**values, "match": match, "limit": limit},
    )
    return [(_row(row), float(row[-1])) for row in rows]


def find_by_error(
    db: Database, error: str, limit: int, scope: WorkScope = EVERYTHING, *, containing: str = ""
) -> list[WorkRow]:
    """Return failed commands with the key of an error, and a text in their output, the newest first."""
    condition, values = _condition(scope)
    return _rows(
        db.execute(
            f"""SELECT {_COLUMNS} FROM steps AS w WHERE w.error = :error AND w.error != '' AND {condition}
                AND (:containing = '' OR instr(lower(w.detail), :containing))
                ORDER BY w.time_ms DESC, w.id DESC LIMIT :limit""",
            {**values, "error": error, "limit": limit, "containing": containing},
        )
    )


def find_failures(db: Database, limit: int, scope: WorkScope = EVERYTHING) -> list[WorkRow]:
    """Return the newest failed commands that have an error, one for each error."""
    condition, values = _condition(scope)
    return _rows(
        db.execute(
            f"""SELECT {_COLUMNS}, max(w.id) FROM steps AS w WHERE w.error != '' AND {condition}
                GROUP BY w.error ORDER BY max(w.id) DESC LIMIT :limit""",
            {**values, "limit": limit},
        )
    )


def find_commands(db: Database, key: str, limit: int, scope: WorkScope = EVERYTHING) -> list[WorkRow]:
    """Return runs of a program, or of a program and its subcommand, the newest first."""
    condition, values = _condition(scope)
    return _rows(
        db.execute(
            f"""SELECT {_COLUMNS} FROM steps AS w WHERE w.action = 'ran' AND {condition}
                AND w.subject >= :key AND w.subject < :key || '!' -- the key itself, or with a space behind it
                ORDER BY w.time_ms DESC, w.id DESC LIMIT :limit""",
            {**values, "key": key, "limit": limit},
        )
    )


def count_runs(db: Database, status: str = "") -> int:
    """Return the number of recorded commands, or of those with a status."""
    return get_int(db, "SELECT count(*) FROM work WHERE action = 'ran' AND ?1 IN ('', status)", (status,))


def find_by_file(db: Database, names: Collection[str], limit: int) -> list[WorkRow]:
    """Return steps with files of some base names, the newest first."""
    return _rows(
        db.execute(
            f"""SELECT {_COLUMNS} FROM steps AS w WHERE w.action != 'ran' AND w.line IN (SELECT value FROM json_each(?))
                ORDER BY w.time_ms DESC, w.id DESC LIMIT ?""",
            (json.dumps(sorted(names)), limit),
        )
    )


def load_steps(
    db: Database, path: str, first: int = 0, last: int = LATEST_MS, *, place: int = 0, limit: int = MAX_STEPS
) -> list[WorkRow]:
    """Return the steps of a conversation in order, from one id to another, both included, and from a place on."""
    return _rows(
        db.execute(
            f"""SELECT {_COLUMNS} FROM steps AS w WHERE w.path = ? AND w.id BETWEEN ? AND ? AND w.place >= ?
                ORDER BY w.id LIMIT ?""",
            (path, first, last, place, limit),
        )
    )


def _rows(rows: Iterable[Sequence[object]]) -> list[WorkRow]:
    return [_row(row) for row in rows]


def _row(values: Sequence[object]) -> WorkRow:
    row = WorkRow._make(values[: len(WorkRow._fields)])
    return row if row.line else row._replace(line=row.text)


def _stored(row: WorkRow) -> WorkRow:
    """Return a row as it is stored: most commands are equal to their normalized line, which is then left out."""
    return row._replace(line="") if row.action == RAN and row.line == row.text else row


def _delete(db: Database, ids: Sequence[int]) -> None:
    if ids:
        db.executemany("DELETE FROM work_fts WHERE rowid = ?", ((key,) for key in ids))
        db.executemany("DELETE FROM work WHERE id = ?", ((key,) for key in ids))


def _condition(scope: WorkScope) -> tuple[str, Bindings]:
    """Return an SQL condition on a step `w`, and its values."""
    terms, of_session = ["1"], list[str]()
    values: Bindings = {}
    for column, names in (("w.action", scope.actions), ("w.status", scope.statuses)):
        if names is not None:
            terms.append(f"{column} IN (SELECT value FROM json_each(:{column[2:]}))")
            values[column[2:]] = json.dumps(list(names))
    if scope.since_ms is not None or scope.until_ms is not None:
        terms.append("w.time_ms BETWEEN :since AND :until - 1")
        values |= {"since": scope.since_ms or 0, "until": scope.until_ms or LATEST_MS}
    if scope.sources is not None:
        of_session.append("t.program IN (SELECT value FROM json_each(:sources))")
        values["sources"] = json.dumps(list(scope.sources))
    if scope.project is not None:
        of_session.append(IN_PROJECT)
        values["project"] = scope.project.lower().rstrip("/")
    if scope.except_session is not None:
        of_session.append("t.session != :except_session")
        values["except_session"] = scope.except_session
    if of_session:
        terms.append(f"w.path IN (SELECT t.path FROM transcripts AS t WHERE {' AND '.join(of_session)})")
    return " AND ".join(terms), values
