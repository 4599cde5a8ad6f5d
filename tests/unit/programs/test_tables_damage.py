"""Stores of tables and documents: every kind of record, damaged values, other schemas, and locks."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memd.programs.catalog import PROGRAMS
from memd.programs.conversation import Conversation
from memd.programs.program import ConversationDatabase, FileReader
from memd.programs.readers import reader_of
from memd.programs.values import MAX_VALUE_BYTES
from memd.system.sqlite import ForeignDatabaseError
from tests.support.transcript_programs.document_stores import (
    AmazonQPlain,
    CursorWorkspacePlain,
    KiroDatabasePlain,
    WindsurfWorkspacePlain,
    ZedJsonPlain,
    ZedPlain,
)
from tests.support.transcript_programs.mutations import mutated
from tests.support.transcript_programs.tables import (
    ANSWER,
    MACHINE,
    QUESTION,
    SECOND,
    CrushPlain,
    DatabasePlain,
    DevinPlain,
    GoosePlain,
    GrokDevPlain,
    HermesPlain,
)

STORES: dict[str, tuple[str, Callable[[Path], DatabasePlain]]] = {
    "goose": ("goose", GoosePlain),
    "crush": ("crush", CrushPlain),
    "hermes": ("hermes", HermesPlain),
    "grok-dev": ("grok-dev", GrokDevPlain),
    "devin": ("devin", DevinPlain),
    "zed": ("zed", ZedPlain),
    "zed-json": ("zed", ZedJsonPlain),
    "kiro": ("kiro-database", KiroDatabasePlain),
    "amazon-q": ("amazon-q", AmazonQPlain),
    "cursor": ("cursor-workspaces", CursorWorkspacePlain),
    "windsurf": ("windsurf-workspaces", WindsurfWorkspacePlain),
}
"""By name: the program, and the writer of its database."""

JUNK = st.sampled_from(
    [None, -1, 1e300, float("inf"), b"\xff\xfe", b"\0" * 70_000, "text", "9" * 5_000, 2**63 - 1, -(2**63)]
)
FLAGS = frozenset("session_type role is_summary_message observed active compacted hidden source".split())
"""Columns whose values mark a text as a machine's, and a key: another value would make it a user's rightly."""

every_store = pytest.mark.parametrize("name", STORES)


def opened(name: str, path: Path) -> ConversationDatabase:
    """Return a database as memd opens it."""
    conversations = PROGRAMS[STORES[name][0]].conversations
    assert conversations is not None
    reader = reader_of(conversations)
    assert not isinstance(reader, FileReader)
    return reader(path)


def read(name: str, path: Path, session: str = "s1") -> Conversation:
    """Return a conversation that exists."""
    conversation = opened(name, path).read(session)
    assert conversation is not None
    return conversation


@every_store
def test_words_of_users_and_agents_are_read_and_nothing_else(name: str, tmp_path: Path) -> None:
    with closing(STORES[name][1](tmp_path)) as writer:
        writer.write_traps()
        conversation = read(name, writer.path)

    assert [(message.role, message.text) for message in conversation.messages] == [
        ("user", QUESTION),
        ("assistant", ANSWER),
        ("user", SECOND),
    ]
    assert (conversation.unknown, conversation.broken) == ({}, 0)
    assert conversation.session.kind == "main"


@every_store
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_values_never_raise_or_become_words_of_a_user(name: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder, closing(STORES[name][1](Path(folder))) as writer:
        writer.write_traps()
        for table, column in writer.stored:
            rows = [*writer.db.execute(f"SELECT rowid, {column} FROM {table} WHERE {column} IS NOT NULL")]
            row, stored = data.draw(st.sampled_from(rows))
            text = zstandard.decompress(stored).decode() if name == "zed" else stored
            text = text.decode() if isinstance(text, bytes) else text
            if MACHINE in text and not text.startswith(("{", "[")):
                continue
            value = data.draw(mutated(text)) if text.startswith(("{", "[")) else text
            if name == "zed" and isinstance(value, (str, bytes)):
                value = zstandard.compress(value if isinstance(value, bytes) else value.encode())
            if "STRICT" in writer.schema:
                value = value if isinstance(value, str) else ""
            writer.db.execute(
                f"UPDATE OR IGNORE {table} SET {column} = coalesce(?, '') WHERE rowid = ?", (value, row)
            )
        table = data.draw(
            st.sampled_from(sorted({table for table, _ in writer.stored} | {"sessions"} & tables_of(writer)))
        )
        columns = [
            column
            for column in columns_in(writer, table)
            if column not in FLAGS and not column.endswith(("id", "key"))
        ]
        if "STRICT" not in writer.schema:
            junk, column = data.draw(JUNK), data.draw(st.sampled_from(columns))
            writer.db.execute(f"UPDATE OR IGNORE {table} SET {column} = coalesce(?, {column})", (junk,))
        database = opened(name, writer.path)
        for session in database.sessions():
            assert all(0 <= number < 2**63 for number in session.stat)
            conversation = database.read(session.id)
            assert conversation is not None
            places = [message.place for message in conversation.messages]
            assert places == sorted(places)
            for message in conversation.messages:
                assert message.text.strip()
                assert message.text.encode()
                assert MACHINE not in message.text


def tables_of(writer: DatabasePlain) -> set[str]:
    """Return the names of a database's tables."""
    return {str(name) for (name,) in writer.db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def columns_in(writer: DatabasePlain, table: str) -> list[str]:
    """Return the names of a table's columns."""
    return [str(name) for (name,) in writer.db.execute("SELECT name FROM pragma_table_info(?)", (table,))]


@every_store
def test_a_database_without_a_table_is_not_read(name: str, tmp_path: Path) -> None:
    with closing(STORES[name][1](tmp_path)) as writer:
        writer.write_traps()
        for table in tables_of(writer) - {"sqlite_sequence"}:
            writer.db.execute(f"ALTER TABLE {table} RENAME TO other_{table}")
        with pytest.raises(ForeignDatabaseError) as caught:
            opened(name, writer.path).sessions()

    assert caught.value.unknown


@every_store
def test_a_database_without_a_column_that_is_needed_is_not_read(name: str, tmp_path: Path) -> None:
    with closing(STORES[name][1](tmp_path)) as writer:
        writer.write_traps()
        table, column = writer.required
        if name == "kiro":
            writer.db.execute("DROP TABLE conversations")
        writer.db.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO other")
        with pytest.raises(ForeignDatabaseError) as caught:
            opened(name, writer.path).read("s1")

    assert caught.value.unknown


@every_store
def test_a_database_of_an_earlier_release_is_read(name: str, tmp_path: Path) -> None:
    with closing(STORES[name][1](tmp_path)) as writer:
        writer.write_traps()
        for table, column in writer.optional:
            writer.db.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO other_{column}")
        database = opened(name, writer.path)
        sessions, conversation = database.sessions(), read(name, writer.path)

    assert [session.id for session in sessions] == ["s1"]
    assert conversation.messages[0].text == QUESTION


@every_store
def test_a_locked_database_is_busy(name: str, tmp_path: Path) -> None:
    with closing(STORES[name][1](tmp_path)) as writer:
        writer.write_traps()
        path = writer.path
    with closing(apsw.Connection(str(path))) as db:
        db.pragma("journal_mode", "delete")
        db.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ForeignDatabaseError) as caught:
            opened(name, path).sessions()

    assert not caught.value.unknown


@pytest.mark.parametrize("name", ["goose", "kiro"])
def test_a_value_that_is_too_long_is_broken(name: str, tmp_path: Path) -> None:
    with closing(STORES[name][1](tmp_path)) as writer:
        writer.write_traps()
        table, column = writer.stored[0]
        long = json.dumps([{"type": "text", "text": "x" * MAX_VALUE_BYTES}])
        writer.db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = 1", (long,))
        conversation = read(name, writer.path)

    assert conversation.broken == 1
    assert QUESTION not in [message.text for message in conversation.messages]


@every_store
def test_a_changed_message_changes_the_version_of_its_session(name: str, tmp_path: Path) -> None:
    with closing(STORES[name][1](tmp_path)) as writer:
        writer.write_traps()
        database = opened(name, writer.path)
        [before] = database.sessions()
        table, column = writer.stored[0]
        if name in ("zed", "cursor", "windsurf"):
            return  # a compressed value, and values whose content is compared
        writer.db.execute(f"UPDATE {table} SET {column} = {column} || ' ' WHERE rowid = 2 OR rowid = 1")
        [after] = database.sessions()

    assert after.stat != before.stat


def test_rows_that_hermes_hides_change_the_version_of_their_session(tmp_path: Path) -> None:
    with closing(HermesPlain(tmp_path)) as writer:
        for turn, text in enumerate(("one", "two")):
            writer.write("s1", turn, "user", text)
        database = opened("hermes", writer.path)
        [before] = database.sessions()
        writer.db.execute("UPDATE messages SET active = 0 WHERE id = 2")
        [after] = database.sessions()
        conversation = read("hermes", writer.path)

    assert after.stat != before.stat
    assert [message.text for message in conversation.messages] == ["one"]
