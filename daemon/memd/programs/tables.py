"""Conversations in a program's own tables: sessions, and their messages or documents. A program names its columns."""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Final, NamedTuple, TypeAlias

import msgspec

from memd.programs.conversation import Conversation, Message, Role, Session, SessionKind
from memd.programs.program import ConversationDatabase, StoredSession
from memd.programs.records import count_unknown, decode_record, time_ms_of
from memd.programs.values import MAX_NAME_BYTES, MAX_VALUE_BYTES, blob_of, limited, number_of, text_of
from memd.system.sqlite import Database, ForeignDatabaseError, columns_of, opened_foreign

Row: TypeAlias = dict[str, object]
"""A row by our names of its columns. Texts are bytes, which may be invalid UTF-8, and any value may be missing."""

_ROLES: Final[Mapping[str, Role]] = {"user": "user", "assistant": "assistant"}
_SILENT: Final = ("system", "tool", "developer")
_VERSIONED: Final = ("time", "updated", "is_active", "is_compacted")
"""Columns of messages that change when a message is changed in place."""

_FIRST_MS: Final = 100_000_000_000
"""Smaller times are in seconds: in milliseconds it is in 1973, in seconds in the year 5138."""

json_value: Final = msgspec.json.Decoder()


class Table(NamedTuple):
    """A table of another program.

    Attributes:
        name: Its name.
        columns: Its columns, as `name`, or as `our_name=name`. Some releases lack those with `?` after our name.
        order: SQL of the order of its rows.
    """

    name: str
    columns: str
    order: str = "rowid"


class _Source(NamedTuple):
    """A table in a database, and its columns by our names."""

    table: Table
    columns: Mapping[str, str]


class TableDatabase(ConversationDatabase):
    """A database with a table of sessions and one of what was said, opened for each read.

    Attributes:
        tables: Pairs of both tables; the first pair whose columns exist is read. Sessions have `id`, and may have
            `title`, `cwd`, `branch`, `parent`, `created` and `updated`. Messages have `session` and `content`.
    """

    tables: ClassVar[Sequence[Table]]

    def __init__(self, path: Path) -> None:
        self.path = path

    def kind_of(self, row: Row) -> SessionKind:
        """Return the kind of a session."""
        return "subagent" if text_of(row.get("parent")) else "main"

    def chosen(self, session: Row, rows: Iterable[Row]) -> Iterable[Row]:
        """Return the rows of a session that are part of its conversation."""
        return rows

    @abstractmethod
    def take(self, row: Row, place: int, conversation: Conversation) -> None:
        """Add what a row of messages says."""

    def sessions(self) -> list[StoredSession]:
        """Return all sessions; see `ConversationDatabase.sessions`. Reads no message."""
        with self._opened() as (db, sessions, messages):
            contents = {text_of(key): facts for key, *facts in limited(_count_messages(db, messages))}
            rows = [row for row in _rows(db, sessions) if text_of(row["id"])]
            return [self.stored(row, contents.get(text_of(row["id"]), [0] * 3)) for row in rows]

    def read(self, session_id: str) -> Conversation | None:
        """Return one conversation; see `ConversationDatabase.read`."""
        with self._opened() as (db, sessions, messages):
            row = next(_rows(db, sessions, "id", session_id), None)
            if row is None:
                return None
            conversation = Conversation(self.describe(row, session_id))
            rows = _rows(db, messages, "session", session_id)
            for place, message in enumerate(self.chosen(row, rows), start=1):
                self.take(message, place, conversation)
        return conversation

    def describe(self, row: Row, session_id: str) -> Session:
        """Return what a row says about a session."""
        parent, title, cwd, branch = (text_of(row.get(name)) for name in ("parent", "title", "cwd", "branch"))
        started, updated = (moment_ms(row.get(name)) for name in ("created", "updated"))
        return Session(session_id, self.kind_of(row), parent, title, cwd, branch, started, updated)

    def stored(self, row: Row, contents: Sequence[object]) -> StoredSession:
        """Return a session with its version: any other value of its row or number from its messages changes it."""
        count, _, size, *versions = contents
        times = [moment_ms(value) or 0 for value in (row.get("created"), row.get("updated"), *versions[:2])]
        version = zlib.crc32(repr((row, contents)).encode())
        stat = (max(times) * 1_000_000, number_of(size), version, max(times))
        return StoredSession(text_of(row["id"]), stat, self.kind_of(row), number_of(count))

    @contextmanager
    def _opened(self) -> Iterator[tuple[Database, _Source, _Source]]:
        with opened_foreign(self.path) as db:
            sources = [_Source(table, _columns(db, table)) for table in self.tables]
            for sessions, messages in zip(sources[::2], sources[1::2], strict=True):
                if sessions.columns and messages.columns:
                    yield db, sessions, messages
                    return
        raise ForeignDatabaseError("it has no tables of sessions and messages that are known", unknown=True)


class MessageTables(TableDatabase):
    """Tables with one message in a row: its `role`, and its `content` in JSON.

    Attributes:
        known_blocks: Types of blocks that are no text.
        injected: How texts begin that the program adds in the role of the user.
    """

    known_blocks: ClassVar[Container[str]] = ()
    injected: ClassVar[tuple[str, ...]] = ()

    def is_hidden(self, row: Row) -> bool:
        """Return whether a message is no part of the conversation."""
        return False

    def message_of(self, row: Row) -> tuple[str, object]:
        """Return the role and the content of a message: a text, or blocks; None if it is broken."""
        value = decode_record(blob_of(row["content"]), json_value)
        if isinstance(value, dict):
            return text_of(value.get("role")), value.get("content") or ""
        return text_of(row.get("role")), value

    def take(self, row: Row, place: int, conversation: Conversation) -> None:
        """Add a message, if it has words of a user or of an agent."""
        if self.is_hidden(row):
            return
        name, content = self.message_of(row)
        role = _ROLES.get(name)
        if content is None:
            conversation.broken += 1
        elif role is not None:
            texts = block_texts(content, self.known_blocks, conversation)
            said = "\n".join(text for text in texts if not text.lstrip().startswith(self.injected))
            time_ms = moment_ms(row.get("time"))
            conversation.session.note_time(time_ms)
            say(conversation, role, said, place, _key(row.get("key")), time_ms)
        elif name not in _SILENT:
            count_unknown(conversation.unknown, name)


class Documents(TableDatabase):
    """A table with one conversation in a row, whose number of messages only its content shows."""

    def stored(self, row: Row, contents: Sequence[object]) -> StoredSession:
        """Return a session with its version and no number of messages."""
        return super().stored(row, contents)._replace(messages=0)


def say(
    conversation: Conversation, role: Role, text: str, place: int, key: str = "", time_ms: int | None = None
) -> None:
    """Add a message if it has words."""
    if text.strip():
        conversation.messages.append(Message(role, text.strip(), place, key, time_ms))


def block_texts(content: object, known: Container[str], conversation: Conversation) -> list[str]:
    """Return the texts of a text or of blocks, and count blocks of unknown types."""
    texts = []
    for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        kind = text_of(block.get("type")) if isinstance(block, dict) else ""
        if kind == "text":
            texts.append(text_of(block.get("text")))
        elif kind not in known:
            count_unknown(conversation.unknown, f"block {kind}")
    return [text for text in texts if text.strip()]


def moment_ms(value: object) -> int | None:
    """Return a time in milliseconds UTC from one in seconds, in milliseconds, or as text; None if it is none."""
    if isinstance(value, (int, float)):
        return time_ms_of(value * 1_000 if value < _FIRST_MS else value)
    return time_ms_of(text_of(value))


def _key(value: object) -> str:
    return str(value) if isinstance(value, int) else text_of(value)


def _columns(db: Database, table: Table) -> Mapping[str, str]:
    """Return the columns of a table by our names; none if it lacks one that must exist."""
    present = columns_of(db, table.name)
    columns = {}
    for part in table.columns.split():
        key, _, column = part.partition("=")
        name = key.rstrip("?")
        if (column or name) in present:
            columns[name] = column or name
        elif name == key:
            return {}
    return columns


def _value(column: str, limit: int = MAX_NAME_BYTES) -> str:
    """Return the SQL of a value: text as bytes, and NULL if it is too long."""
    return f"""CASE WHEN octet_length({column}) > {limit} THEN NULL
        WHEN typeof({column}) = 'text' THEN CAST({column} AS BLOB) ELSE {column} END"""


def _rows(db: Database, source: _Source, name: str = "", value: str = "") -> Iterator[Row]:
    """Yield the rows of a table, or those with a value in a column."""
    table, columns = source
    limits = {"content": MAX_VALUE_BYTES}
    values = [_value(column, limits.get(key, MAX_NAME_BYTES)) for key, column in columns.items()]
    where = f"WHERE {columns[name]} = ?" if name else ""
    statement = f"SELECT {', '.join(values)} FROM {table.name} {where} ORDER BY {table.order}"
    for row in limited(db.execute(statement, (value,) if name else ())):
        yield dict(zip(columns, row, strict=True))


def _count_messages(db: Database, source: _Source) -> Iterator[tuple[object, ...]]:
    """Yield each session, its number of messages, the newest row, the size of all, and what changes in place."""
    table, columns = source
    versions = [_value(columns[name]) for name in _VERSIONED if name in columns]
    facts = ["count(*)", "max(rowid)", f"sum(octet_length({columns['content']}))"]
    facts += [f"{function}({value})" for function in ("max", "total") for value in versions]
    session = columns["session"]
    yield from db.execute(
        f"SELECT {_value(session)}, {', '.join(facts)} FROM {table.name} GROUP BY {session}"
    )
