"""Reads sessions and their messages from a database of opencode, or of Kilo, which has the same tables.

Two schemas. 1.x: `session`, `message` and `part`. 2.x: `session_v2` and `session_message`. An upgraded database has the
tables of both, and 1.x may have an almost empty `session_message`, so the schema of each session is chosen by its
contents.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct, field

from memd.programs.values import (
    blob_of,
    json_column,
    limited,
    number_of,
    text_column,
    text_of,
    time_of,
)
from memd.system.sqlite import Database, ForeignDatabaseError, columns_of, opened_foreign

_SESSION: Final = frozenset(("id", "title", "directory", "time_created", "time_updated"))
_MESSAGE: Final = frozenset(("id", "session_id", "time_created", "data"))
_PART: Final = frozenset(("id", "message_id", "data"))
_SESSION_MESSAGE: Final = frozenset(
    ("id", "session_id", "type", "seq", "time_created", "time_updated", "data")
)

_NEWEST_ROWS: Final = 8
"""Rows of a 2.x session whose update times are compared: only its newest answers are still written to."""


class OpencodeSession(NamedTuple):
    """A session and its version: the newest time of an update, and a number that changes with its messages."""

    id: str
    parent: str
    updated_ms: int
    number: int
    messages: int


class OpencodePart(NamedTuple):
    """A part of a 1.x message; `data` is its JSON, None if it is missing or too long."""

    id: str
    data: bytes | None


class OpencodeMessage(NamedTuple):
    """A message; `data` is its JSON, None if it is missing or too long.

    Attributes:
        type: Of 2.x only: `user`, `assistant` and others.
        parts: Of 1.x only, to be consumed before the next message.
    """

    id: str
    type: str
    time_ms: int
    data: bytes | None
    parts: Iterator[OpencodePart]


class OpencodeConversation(Struct):
    """One session with its messages, to be consumed while the database is open.

    Attributes:
        is_v2: Whether its messages are of schema 2.x.
        forked_from: The session it was forked from, else empty.
        revert: JSON of the message that it was reverted to, or None.
        messages: In order, without copies of another session's messages.
    """

    id: str
    is_v2: bool
    parent: str = ""
    forked_from: str = ""
    title: str = ""
    directory: str = ""
    created_ms: int = 0
    updated_ms: int = 0
    revert: bytes | None = None
    release: str = ""
    messages: Iterator[OpencodeMessage] = field(default_factory=lambda: iter(()))


class _Schema(NamedTuple):
    """The tables of a database: the columns of each table of sessions; empty without usable ones."""

    v1: frozenset[str]
    v2: frozenset[str]
    v2_table: str
    message: frozenset[str]
    part: frozenset[str]


def list_sessions(path: Path) -> list[OpencodeSession]:
    """Return all sessions.

    Costs some index lookups per session and the count of its messages in an index; no message is read.
    """
    with opened_foreign(path) as db:
        schema = _read_schema(db)
        v1 = _list_v1(db, schema) if schema.v1 else {}
        v2 = _list_v2(db, schema) if schema.v2 else {}
        return [
            (
                v2
                if _is_v2(schema, session_id in v2, _has_v2(db, schema, session_id), _count(v1, session_id))
                else v1
            )[session_id]
            for session_id in (v1 | v2)
        ]


@contextmanager
def opened_session(path: Path, session_id: str) -> Iterator[OpencodeConversation | None]:
    """Yield a session within one read transaction; None if it doesn't exist."""
    with opened_foreign(path) as db:
        schema = _read_schema(db)
        v1 = _read_session(db, "session", schema.v1, session_id, is_v2=False)
        v2 = _read_session(db, schema.v2_table, schema.v2, session_id, is_v2=True)
        has_v1 = v1 is not None and _has_v1(db, session_id)
        if v2 is not None and _is_v2(schema, True, _has_v2(db, schema, session_id), int(has_v1)):
            v2.messages = _messages_v2(db, v2, _copied_up_to(db, schema, v2))
            yield v2
        else:
            if v1 is not None:
                v1.messages = _messages_v1(db, schema, v1)
            yield v1


def _is_v2(schema: _Schema, is_listed: bool, has_v2: bool, has_v1: int) -> bool:
    """Return whether a session's messages are those of schema 2.x; the tables of 1.x are stale after an upgrade."""
    if not is_listed:
        return False
    if not schema.v1:
        return True
    is_upgraded = schema.v2_table == "session_v2"
    return (has_v2 or not has_v1) if is_upgraded else (has_v2 and not has_v1)


def _read_schema(db: Database) -> _Schema:
    """Return the tables of a database; raise if they are not supported."""
    names = ("session", "session_v2", "message", "part", "session_message")
    session, session_v2, message, part, session_message = (frozenset(columns_of(db, name)) for name in names)
    v1 = session if session >= _SESSION and message >= _MESSAGE and part >= _PART else frozenset()
    v2_table = "session_v2" if session_v2 else "session"
    v2 = session_v2 or session
    if not (v2 >= _SESSION and session_message >= _SESSION_MESSAGE):
        v2 = frozenset()
    if not v1 and not v2:
        raise ForeignDatabaseError("it has no tables of sessions and messages that are known", unknown=True)
    return _Schema(v1, v2, v2_table, message, part)


def _column(columns: frozenset[str], name: str, otherwise: str = "NULL", table: str = "") -> str:
    """Return a column, or other SQL if a release lacks it."""
    return f"{table}{name}" if name in columns else otherwise


def _list_v1(db: Database, schema: _Schema) -> dict[str, OpencodeSession]:
    updated = _column(schema.message, "time_updated", "l.time_created", "l.")
    part_updated = _column(schema.part, "time_updated", "0")
    rows = db.execute(
        f"""SELECT {text_column("s.id")}, {text_column(_column(schema.v1, "parent_id", table="s."))},
                s.time_created, s.time_updated, {updated},
                (SELECT max({part_updated}) FROM part WHERE message_id = l.id),
                (SELECT count(*) FROM part WHERE message_id = l.id),
                (SELECT count(*) FROM message WHERE session_id = s.id)
            FROM session s LEFT JOIN message l ON l.id = (
                SELECT id FROM message WHERE session_id = s.id ORDER BY time_created DESC, id DESC LIMIT 1)"""
    )
    return {
        text_of(key): OpencodeSession(
            text_of(key),
            text_of(parent),
            max(map(time_of, times)),
            number_of(count) * 1_000 + number_of(parts),
            number_of(count),
        )
        for key, parent, *times, parts, count in limited(rows)
        if key
    }


def _list_v2(db: Database, schema: _Schema) -> dict[str, OpencodeSession]:
    newest = f"FROM session_message WHERE session_id = s.id ORDER BY seq DESC LIMIT {_NEWEST_ROWS}"
    rows = db.execute(
        f"""SELECT {text_column("s.id")}, {text_column(_column(schema.v2, "parent_id", table="s."))},
                s.time_created, s.time_updated, (SELECT max(time_updated) FROM (SELECT time_updated {newest})),
                (SELECT max(seq) FROM session_message WHERE session_id = s.id)
            FROM {schema.v2_table} s"""
    )
    return {
        text_of(key): OpencodeSession(
            text_of(key), text_of(parent), max(map(time_of, times)), number_of(seq), number_of(seq)
        )
        for key, parent, *times, seq in limited(rows)
        if key
    }


def _count(sessions: dict[str, OpencodeSession], session_id: str) -> int:
    """Return 0 if a session has no messages."""
    return sessions[session_id].number if session_id in sessions else 0


def _has_v1(db: Database, session_id: str) -> bool:
    return (
        db.execute("SELECT 1 FROM message WHERE session_id = ? LIMIT 1", (session_id,)).fetchone() is not None
    )


def _has_v2(db: Database, schema: _Schema, session_id: str) -> bool:
    """Return whether `session_message` has words of a session."""
    if not schema.v2:
        return False
    found = db.execute(
        "SELECT 1 FROM session_message WHERE session_id = ? AND type IN ('user', 'assistant') LIMIT 1",
        (session_id,),
    )
    return found.fetchone() is not None


def _read_session(
    db: Database, table: str, columns: frozenset[str], session_id: str, *, is_v2: bool
) -> OpencodeConversation | None:
    """Return a session without its messages, or None."""
    if not columns:
        return None
    row = db.execute(
        f"""SELECT {text_column(_column(columns, "parent_id"))}, {text_column(_column(columns, "fork_session_id"))},
                {text_column("title")}, {text_column("directory")}, time_created, time_updated,
                {json_column(_column(columns, "revert"))}, {text_column(_column(columns, "version"))}
            FROM {table} WHERE id = ?""",
        (session_id,),
    ).fetchone()
    if row is None:
        return None
    parent, forked_from, title, directory, created, updated, revert, release = row
    return OpencodeConversation(
        session_id,
        is_v2,
        text_of(parent),
        text_of(forked_from),
        text_of(title),
        text_of(directory),
        time_of(created),
        time_of(updated),
        blob_of(revert),
        text_of(release),
    )


def _messages_v1(db: Database, schema: _Schema, session: OpencodeConversation) -> Iterator[OpencodeMessage]:
    rows = db.execute(
        f"""SELECT id, {text_column("id")}, time_created, {json_column("data")} FROM message
            WHERE session_id = ? ORDER BY time_created, id""",
        (session.id,),
    )
    for key, name, created, data in limited(rows):
        yield OpencodeMessage(text_of(name), "", time_of(created), blob_of(data), _parts(db, key))


def _parts(db: Database, message_id: str) -> Iterator[OpencodePart]:
    rows = db.execute(
        f"SELECT {text_column('id')}, {json_column('data')} FROM part WHERE message_id = ? ORDER BY id",
        (message_id,),
    )
    for key, data in limited(rows):
        yield OpencodePart(text_of(key), blob_of(data))


def _messages_v2(
    db: Database, session: OpencodeConversation, copied_up_to: int | None
) -> Iterator[OpencodeMessage]:
    """Yield the messages of a 2.x session after its copies, which end with a number.

    Without the number they are recognized by their ids: a copy's id ends with the number of its original.
    """
    rows = db.execute(
        f"""SELECT {text_column("id")}, {text_column("type")}, seq, time_created, {json_column("data")}
            FROM session_message WHERE session_id = ? ORDER BY seq, id""",
        (session.id,),
    )
    for key, kind, seq, created, data in limited(rows):
        name = text_of(key)
        is_copy = number_of(seq) <= copied_up_to if copied_up_to is not None else name.endswith(f"_{seq}")
        if not (session.forked_from and is_copy):
            yield OpencodeMessage(name, text_of(kind), time_of(created), blob_of(data), iter(()))


class _Boundary(msgspec.Struct):
    """The cut of a fork: `before` a message of the other session, or `through` it."""

    type: str = ""
    messageID: str = ""  # noqa: N815 - opencode's name


def _copied_up_to(db: Database, schema: _Schema, session: OpencodeConversation) -> int | None:
    """Return the number of the last message that a fork copied from its session; None if it can't be found.

    Of a session that no longer exists the copies are all there is: -1, so that none is left out.
    """
    if not session.forked_from or "fork_boundary" not in schema.v2:
        return None
    source = db.execute(f"SELECT 1 FROM {schema.v2_table} WHERE id = ?", (session.forked_from,)).fetchone()
    if source is None:
        return -1
    row = db.execute(
        f"SELECT {json_column('fork_boundary')} FROM {schema.v2_table} WHERE id = ?", (session.id,)
    ).fetchone()
    try:
        boundary = msgspec.json.decode(blob_of(row[0]) or b"" if row else b"", type=_Boundary)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    found = db.execute(
        "SELECT seq FROM session_message WHERE session_id = ? AND id = ?",
        (session.forked_from, boundary.messageID),
    ).fetchone()
    if found is None or not isinstance(found[0], int):
        return None
    return found[0] - (boundary.type == "before")
