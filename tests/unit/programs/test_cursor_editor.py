"""Conversations of Cursor's editor: in the order it lists them, without tool calls, thinking and simulated messages."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memd.programs.conversation import Conversation
from memd.programs.cursor_editor import READER
from memd.programs.program import StoredSession
from memd.system.sqlite import ForeignDatabaseError
from tests.support.transcript_programs.cursor import (
    HEADERS,
    MACHINE,
    START_MS,
    TABLES,
    CursorWriter,
    answer,
    user,
    write_every_editor_trap,
)
from tests.support.transcript_programs.mutations import mutated

MESSAGE = [
    ("user", "Which port does staging use?"),
    ("assistant", "8443."),
    ("user", "And production?"),
]


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[CursorWriter]:
    """A database that the editor has open."""
    with CursorWriter(tmp_path / "state.vscdb") as writer:
        yield writer


def read(path: Path, session_id: str) -> Conversation:
    conversation = READER(path).read(session_id)
    assert conversation is not None
    return conversation


def talk(path: Path, session_id: str) -> list[tuple[str, str]]:
    return [(each.role, each.text) for each in read(path, session_id).messages]


def listed(path: Path) -> dict[str, StoredSession]:
    return {each.id: each for each in READER(path).sessions()}


def files_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_only_words_of_people_and_visible_answers_are_messages(editor: CursorWriter) -> None:
    write_every_editor_trap(editor)
    assert talk(editor.path, "c1") == MESSAGE
    assert listed(editor.path).keys() == {"c1"}


def test_messages_have_their_order_places_keys_and_times_from_the_conversation(editor: CursorWriter) -> None:
    editor.composer(
        "c", ("z", user("first")), ("m", answer("second")), ("a", user("third", createdAt="gone"))
    )
    messages = read(editor.path, "c").messages
    assert [(each.text, each.place, each.key) for each in messages] == [
        ("first", 1, "z"),
        ("second", 2, "m"),
        ("third", 3, "a"),
    ]
    assert [each.time_ms for each in messages] == [START_MS + 1_000, START_MS + 5_000, None]


def test_session_has_title_folder_and_times(editor: CursorWriter) -> None:
    editor.composer("c", ("a", user("Tea?")))
    session = read(editor.path, "c").session
    assert (session.id, session.kind, session.title, session.cwd) == ("c", "main", "Ports", "/home/eva/shop")
    assert (session.started_ms, session.updated_ms) == (START_MS, START_MS + 60_000)
    assert listed(editor.path)["c"].stat[0] == (START_MS + 60_000) * 1_000_000


def test_older_conversation_has_its_messages_inside(editor: CursorWriter) -> None:
    inline = [{**user("Tea?"), "bubbleId": "b1"}, answer("Yes.")]
    editor.composer("c", conversation=inline)
    assert talk(editor.path, "c") == [("user", "Tea?"), ("assistant", "Yes.")]


def test_message_whose_type_contradicts_the_conversation_is_left_out(editor: CursorWriter) -> None:
    headers = [{"bubbleId": "a", "type": 2}, {"bubbleId": "b"}, {"bubbleId": "b"}, "c", {"type": 1}]
    editor.composer("c", ("a", user(MACHINE)), ("b", user("Tea?")), fullConversationHeadersOnly=headers)
    assert talk(editor.path, "c") == [("user", "Tea?")]


def test_wrapped_words_are_unwrapped(editor: CursorWriter) -> None:
    text = f"<rules>{MACHINE}</rules>\n<user_query>\nTea?\n</user_query>"
    editor.composer("c", ("a", user(text)), ("b", user("What does <b> do?")))
    assert talk(editor.path, "c") == [("user", "Tea?"), ("user", "What does <b> do?")]


def test_missing_and_broken_values_are_counted_and_the_rest_is_read(editor: CursorWriter) -> None:
    bubbles = [(name, user(f"message {name}")) for name in "abcde"]
    editor.composer("c", *bubbles)
    editor.put("bubbleId:c:a", None)
    editor.put("bubbleId:c:b", '{"type":1,"text":"cut')
    editor.put("bubbleId:c:d", {"type": 7, "text": MACHINE})
    editor.db.execute("DELETE FROM cursorDiskKV WHERE key = 'bubbleId:c:e'")
    conversation = read(editor.path, "c")
    assert [each.text for each in conversation.messages] == ["message c"]
    assert (conversation.broken, dict(conversation.unknown)) == (2, {"type 7": 1})


def test_conversation_without_a_value_is_no_session(editor: CursorWriter) -> None:
    editor.put("composerData:empty", None)
    editor.put("composerData:broken", "{")
    database = READER(editor.path)
    assert [each.id for each in database.sessions()] == ["broken"]
    assert database.read("empty") is None
    assert database.read("missing") is None
    conversation = database.read("broken")
    assert conversation is not None
    assert (conversation.messages, conversation.broken) == ([], 1)


def test_conversations_that_an_agent_started_are_subagents(tmp_path: Path) -> None:
    with CursorWriter(tmp_path / "a", TABLES + HEADERS) as writer:
        writer.composer("main", ("a", user("Tea?")), subComposerIds=["child", 7])
        writer.composer("child", ("a", user("Search the code")))
        writer.composer("marked", ("a", user("Search the code")), subagentInfo={"id": 1})
        writer.composer("listed", ("a", user("Search the code")))
        writer.db.execute(
            "INSERT INTO composerHeaders (composerId, lastUpdatedAt, isSubagent) VALUES ('listed', 5, 1)"
        )
        kinds = {key: each.kind for key, each in listed(writer.path).items()}
        assert kinds == {"main": "main", "child": "subagent", "marked": "subagent", "listed": "subagent"}
        assert {key: read(writer.path, key).session.kind for key in kinds} == kinds
        assert read(writer.path, "child").session.parent == "main"


@pytest.mark.parametrize(
    "change",
    ["a new message", "a longer message", "a removed message", "a new title", "the list of conversations"],
)
def test_version_changes_with(tmp_path: Path, change: str) -> None:
    with CursorWriter(tmp_path / "a", TABLES + HEADERS) as writer:
        writer.composer("other", ("a", user("Milk?")))
        writer.composer("c", ("a", user("Tea?")), ("b", answer("Yes")))
        database = READER(writer.path)
        before = {each.id: each.stat for each in database.sessions()}
        assert {each.id: each.stat for each in database.sessions()} == before
        match change:
            case "a new message":
                writer.put("bubbleId:c:c", user("And milk?"))
            case "a longer message":
                writer.put("bubbleId:c:b", answer("Yes."))
            case "a removed message":
                writer.db.execute("DELETE FROM cursorDiskKV WHERE key = 'bubbleId:c:a'")
            case "a new title":
                writer.composer("c", name="Other")
            case _:
                writer.db.execute(
                    f"INSERT INTO composerHeaders (composerId, lastUpdatedAt) VALUES ('c', {2 * START_MS})"
                )
        after = {each.id: each.stat for each in database.sessions()}
        assert after["c"] != before["c"]
        assert after["other"] == before["other"]


def test_listing_reads_only_the_values_of_changed_conversations(editor: CursorWriter) -> None:
    for name in ("a", "b"):
        editor.composer(name, ("x", answer("y" * 20_000_000)), padding="z" * 20_000_000)
    database = READER(editor.path)
    first = database.sessions()
    used = apsw.memory_used()
    apsw.memory_high_water(True)
    assert database.sessions() == first
    assert apsw.memory_high_water() - used < 10_000_000


def test_login_tokens_are_never_read(editor: CursorWriter) -> None:
    editor.composer("c", ("a", user("Tea?")))
    editor.db.execute("DROP TABLE ItemTable")
    assert talk(editor.path, "c") == [("user", "Tea?")]


def test_database_without_the_table_is_unknown(tmp_path: Path) -> None:
    with CursorWriter(tmp_path / "a", "CREATE TABLE ItemTable (key TEXT, value BLOB)"):
        pass
    for call in (lambda: listed(tmp_path / "a"), lambda: read(tmp_path / "a", "c")):
        with pytest.raises(ForeignDatabaseError) as raised:
            call()
        assert raised.value.unknown


def test_reading_a_closed_database_creates_no_file(tmp_path: Path) -> None:
    with CursorWriter(tmp_path / "state.vscdb") as writer:
        write_every_editor_trap(writer)
    assert files_in(tmp_path) == ["state.vscdb"]
    assert listed(writer.path).keys() == {"c1"}
    assert talk(writer.path, "c1") == MESSAGE
    assert files_in(tmp_path) == ["state.vscdb"]


def test_reading_while_the_editor_writes_sees_what_it_committed(editor: CursorWriter, tmp_path: Path) -> None:
    write_every_editor_trap(editor)
    editor.db.execute("BEGIN IMMEDIATE")
    editor.put("bubbleId:c1:u2", user("not committed"))
    assert talk(editor.path, "c1") == MESSAGE
    editor.db.execute("COMMIT")
    assert talk(editor.path, "c1")[-1] == ("user", "not committed")
    assert files_in(tmp_path) == ["state.vscdb", "state.vscdb-shm", "state.vscdb-wal"]


def test_locked_database_is_busy(editor: CursorWriter) -> None:
    editor.composer("c", ("a", user("Tea?")))
    editor.db.pragma("journal_mode", "delete")
    editor.db.execute("BEGIN EXCLUSIVE")
    with pytest.raises(ForeignDatabaseError) as raised:
        listed(editor.path)
    assert raised.value.busy


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_values_never_raise_or_become_words_of_a_person(data: st.DataObject) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        CursorWriter(Path(folder) / "a", TABLES + HEADERS) as writer,
    ):
        write_every_editor_trap(writer)
        for _ in range(data.draw(st.integers(1, 4))):
            rows = writer.db.execute("SELECT key, value FROM cursorDiskKV WHERE key GLOB '*:c1*'").fetchall()
            good = [(key, value) for key, value in rows if isinstance(value, str) and is_json(value)]
            if good:
                key, value = data.draw(st.sampled_from(good))
                writer.db.execute(
                    "INSERT INTO cursorDiskKV VALUES (?, ?)", (key, data.draw(mutated(str(value))))
                )
        junk = data.draw(st.sampled_from([None, -1, 1e300, float("inf"), b"\xff", "text", 2**63 - 1]))
        writer.db.execute(
            "INSERT INTO composerHeaders (composerId, lastUpdatedAt, isSubagent) VALUES ('c1', ?, ?)",
            (junk, junk),
        )
        writer.db.execute("INSERT INTO cursorDiskKV VALUES (?, '{}')", (b"composerData:\xff",))
        database = READER(writer.path)
        for each in database.sessions():
            assert all(0 <= number < 2**63 for number in each.stat)
            conversation = database.read(each.id)
            assert conversation is None or all(
                message.text.strip() and message.text.encode() and MACHINE not in message.text
                for message in conversation.messages
            )


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
