"""Damaged databases of opencode: no error but that of the database, and no machine text as a person's words."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memd.programs.opencode import READER
from tests.support.transcript_programs.mutations import mutated
from tests.support.transcript_programs.opencode import (
    MACHINE,
    V1,
    V2_MESSAGE,
    V2_SESSION,
    OpencodeWriter,
    write_every_trap,
    write_every_v2_trap,
)

BOTH = V1 + V2_SESSION + V2_MESSAGE
"""The tables of an upgraded database."""


def rows_of(writer: OpencodeWriter, table: str, column: str) -> list[tuple[str, str]]:
    rows = writer.db.execute(f"SELECT id, {column} FROM {table} WHERE {column} IS NOT NULL")
    return [(str(key), str(stored)) for key, stored in rows]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_values_never_raise_or_become_words_of_a_person(data: st.DataObject) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        OpencodeWriter(Path(folder) / "a.db", BOTH) as writer,
    ):
        write_every_trap(writer)
        write_every_v2_trap(writer)
        writer.fork("ses_v2", "ses_fork", {"type": "through", "messageID": last_message(writer)})
        writer.db.execute(
            """UPDATE session_v2 SET revert = '{"messageID":"zzz","partID":"a"}' WHERE id = 'ses_fork'"""
        )
        for table, column in (
            ("part", "data"),
            ("message", "data"),
            ("session_message", "data"),
            ("session_v2", "fork_boundary"),
            ("session_v2", "revert"),
        ):
            rows = rows_of(writer, table, column)
            key, stored = data.draw(st.sampled_from(rows))
            value = data.draw(mutated(stored))
            writer.db.execute(
                f"UPDATE OR IGNORE {table} SET {column} = coalesce(?, '') WHERE id = ?", (value, key)
            )
        column = data.draw(
            st.sampled_from(["time_created", "time_updated", "title", "directory", "parent_id"])
        )
        junk = data.draw(st.sampled_from([-1, 1e300, float("inf"), b"\xff\xfe", "text", 2**63 - 1, -(2**63)]))
        writer.db.execute(f"UPDATE session_v2 SET {column} = ?", (junk,))
        if column != "title" and column != "directory":
            writer.db.execute(f"UPDATE session SET {column} = ?", (junk,))
        check_everything(writer.path)


def last_message(writer: OpencodeWriter) -> str:
    """Return the id of the last message of the 2.x session."""
    (row,) = writer.db.execute(
        "SELECT id FROM session_message WHERE session_id = 'ses_v2' AND seq = 10"
    ).fetchall()
    return str(row[0])


def check_everything(path: Path) -> None:
    database = READER(path)
    sessions = database.sessions()
    assert {"ses_v1", "ses_v2", "ses_fork"} == {each.id for each in sessions}
    for each in sessions:
        assert all(0 <= number < 2**63 for number in each.stat)
        conversation = database.read(each.id)
        assert conversation is not None
        for message in conversation.messages:
            assert message.text.strip()
            assert message.text.encode()
            assert MACHINE not in message.text
        places = [message.place for message in conversation.messages]
        assert places == sorted(places)
