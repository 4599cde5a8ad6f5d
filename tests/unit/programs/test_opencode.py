"""Conversations of opencode and Kilo: words of people and visible answers, from both schemas, in one read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from memd.programs.conversation import Conversation
from memd.programs.opencode import READER
from memd.programs.program import StoredSession
from memd.system.sqlite import ForeignDatabaseError
from tests.support.transcript_programs.opencode import (
    MACHINE,
    START_MS,
    V1,
    V2_MESSAGE,
    V2_SESSION,
    OpencodeWriter,
    say,
    write_every_trap,
    write_every_v2_trap,
)

V2 = V2_SESSION + V2_MESSAGE
MESSAGE = [
    ("user", "Which port does staging use?"),
    ("assistant", "8443."),
    ("user", "And production?"),
]


@pytest.fixture
def old(tmp_path: Path) -> Iterator[OpencodeWriter]:
    """A database of schema 1.x that its program has open."""
    with OpencodeWriter(tmp_path / "opencode.db", V1) as writer:
        yield writer


@pytest.fixture
def new(tmp_path: Path) -> Iterator[OpencodeWriter]:
    """A fresh database of schema 2.x, which has no tables of 1.x."""
    with OpencodeWriter(tmp_path / "opencode.db", V2) as writer:
        yield writer


@pytest.fixture
def upgraded(tmp_path: Path) -> Iterator[OpencodeWriter]:
    """A database with the tables of both schemas."""
    with OpencodeWriter(tmp_path / "opencode.db", V1 + V2) as writer:
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


# --- schema 1.x -------------------------------------------------------------------------------------


def test_only_words_of_people_and_visible_answers_are_messages(old: OpencodeWriter) -> None:
    write_every_trap(old)
    conversation = read(old.path, "ses_v1")
    assert [(each.role, each.text) for each in conversation.messages] == MESSAGE
    assert [each.place for each in conversation.messages] == [1, 2, 4]
    assert dict(conversation.unknown) == {"system": 1}
    assert conversation.broken == 0


def test_session_has_title_folder_and_times(old: OpencodeWriter) -> None:
    write_every_trap(old)
    session = read(old.path, "ses_v1").session
    assert (session.id, session.kind, session.parent) == ("ses_v1", "main", "")
    assert (session.title, session.cwd) == ("Ports", "/home/eva/shop")
    assert (session.started_ms, session.updated_ms) == (START_MS + 1_000, START_MS + 1_000)


def test_message_has_its_id_and_the_time_in_its_data(old: OpencodeWriter) -> None:
    old.session("s")
    old.v1("s", "user", "Tea?", message_id="msg_tea", at_ms=START_MS + 7)
    (message,) = read(old.path, "s").messages
    assert (message.key, message.time_ms) == ("msg_tea", START_MS + 7)


def test_text_parts_of_a_message_are_one_text_in_the_order_of_their_ids(old: OpencodeWriter) -> None:
    old.session("s")
    key = old.v1("s", "assistant")
    old.part("s", key, {"type": "text", "text": "second"}, "prt_2")
    old.part("s", key, {"type": "text", "text": "first"}, "prt_1")
    assert talk(old.path, "s") == [("assistant", "first\nsecond")]


def test_messages_are_ordered_by_time_and_then_by_id(old: OpencodeWriter) -> None:
    old.session("s", time_created=START_MS)
    old.v1("s", "user", "third", message_id="msg_a", at_ms=START_MS + 2)
    old.v1("s", "user", "second", message_id="msg_z", at_ms=START_MS + 1)
    old.v1("s", "user", "first", message_id="msg_y", at_ms=START_MS + 1)
    assert [text for _, text in talk(old.path, "s")] == ["first", "second", "third"]


def test_session_with_a_parent_is_a_subagent(old: OpencodeWriter) -> None:
    old.session("main")
    old.session("child", parent_id="main")
    old.v1("child", "user", "Search the code")
    assert {key: each.kind for key, each in listed(old.path).items()} == {"main": "main", "child": "subagent"}
    session = read(old.path, "child").session
    assert (session.kind, session.parent) == ("subagent", "main")


def test_revert_hides_its_message_and_what_follows(old: OpencodeWriter) -> None:
    old.session("s", revert='{"messageID":"msg_2"}')
    for number in (1, 2, 3):
        old.v1("s", "user", f"message {number}", message_id=f"msg_{number}")
    assert talk(old.path, "s") == [("user", "message 1")]


def test_revert_of_a_part_hides_that_part_and_what_follows(old: OpencodeWriter) -> None:
    old.session("s", revert='{"messageID":"msg_1","partID":"prt_2"}')
    old.v1("s", "assistant", message_id="msg_1")
    for number in (1, 2, 3):
        old.part("s", "msg_1", {"type": "text", "text": f"part {number}"}, f"prt_{number}")
    old.v1("s", "user", "later", message_id="msg_2")
    assert talk(old.path, "s") == [("assistant", "part 1")]


def test_revert_to_a_deleted_message_hides_later_ids(old: OpencodeWriter) -> None:
    old.session("s", revert='{"messageID":"msg_2"}')
    for number in (1, 3):
        old.v1("s", "user", f"message {number}", message_id=f"msg_{number}")
    assert talk(old.path, "s") == [("user", "message 1")]


def test_fork_of_1x_leaves_out_messages_older_than_itself(old: OpencodeWriter) -> None:
    old.session("fork", title="Ports (fork #1)", time_created=START_MS + 500)
    old.v1("fork", "user", "copied", at_ms=START_MS + 100)
    old.v1("fork", "user", "said in the fork", at_ms=START_MS + 900)
    old.session("plain", title="Ports", time_created=START_MS + 500)
    old.v1("plain", "user", "imported", at_ms=START_MS + 100)
    assert talk(old.path, "fork") == [("user", "said in the fork")]
    assert talk(old.path, "plain") == [("user", "imported")]


def test_broken_records_are_counted_and_the_rest_is_read(old: OpencodeWriter) -> None:
    old.session("s")
    key = old.v1("s", "user", "kept")
    old.part("s", key, '{"type":"text","text":"cut')
    old.part("s", key, {"type": "hologram", "text": MACHINE})
    old.part("s", key, '{"type":"text","text":"half \\ud83d pair"}')
    conversation = read(old.path, "s")
    assert [each.text for each in conversation.messages] == ["kept\nhalf \ufffd pair"]
    assert (conversation.broken, dict(conversation.unknown)) == (1, {"part hologram": 1})


# --- schema 2.x -------------------------------------------------------------------------------------


def test_fresh_2x_database_without_tables_of_1x_is_read(new: OpencodeWriter) -> None:
    write_every_v2_trap(new)
    conversation = read(new.path, "ses_v2")
    assert [(each.role, each.text) for each in conversation.messages] == MESSAGE
    assert not conversation.unknown
    assert conversation.broken == 0


def test_2x_messages_are_ordered_by_their_numbers(new: OpencodeWriter) -> None:
    new.session("s", "session_v2")
    new.v2("s", "user", 9, {"text": "second"})
    new.v2("s", "user", 4, {"text": "first"})
    new.v2("s", "hologram", 5, {})
    assert talk(new.path, "s") == [("user", "first"), ("user", "second")]
    assert dict(read(new.path, "s").unknown) == {"hologram": 1}


def test_revert_of_2x_hides_its_message_and_what_follows(new: OpencodeWriter) -> None:
    new.session("s", "session_v2", revert='{"messageID":"msg_2","files":[]}')
    for number in (1, 2, 3):
        new.v2("s", "user", number, {"text": f"message {number}"}, f"msg_{number}")
    assert talk(new.path, "s") == [("user", "message 1")]


@pytest.fixture
def forked(new: OpencodeWriter) -> OpencodeWriter:
    """A session with four messages."""
    new.session("main", "session_v2")
    for number in range(1, 5):
        new.v2("main", "user", number, {"text": f"message {number}"}, f"msg_{number}")
    return new


@pytest.mark.parametrize("kind", ["before", "through"])
def test_fork_leaves_out_the_messages_it_copied(forked: OpencodeWriter, kind: str) -> None:
    forked.fork("main", "fork", {"type": kind, "messageID": "msg_3"})
    forked.v2("fork", "user", 20, {"text": "said in the fork"}, "msg_own")
    conversation = read(forked.path, "fork")
    assert [each.text for each in conversation.messages] == ["said in the fork"]
    assert (conversation.session.kind, conversation.session.parent) == ("main", "main")
    assert listed(forked.path)["fork"].kind == "main"
    assert len(talk(forked.path, "main")) == 4


def test_fork_whose_boundary_was_deleted_leaves_out_its_copies(forked: OpencodeWriter) -> None:
    forked.fork("main", "fork", {"type": "through", "messageID": "msg_3"})
    forked.v2("fork", "user", 20, {"text": "said in the fork"}, "msg_own")
    forked.db.execute("DELETE FROM session_message WHERE id = 'msg_3'")
    assert talk(forked.path, "fork") == [("user", "said in the fork")]


def test_fork_of_a_deleted_session_keeps_the_only_copies(forked: OpencodeWriter) -> None:
    forked.fork("main", "fork", {"type": "through", "messageID": "msg_2"})
    forked.db.execute(
        "DELETE FROM session_message WHERE session_id = 'main'; DELETE FROM session_v2 WHERE id = 'main'"
    )
    assert [text for _, text in talk(forked.path, "fork")] == ["message 1", "message 2"]


# --- choice of the schema ---------------------------------------------------------------------------


def test_1x_with_an_almost_empty_session_message_is_read_from_its_own_tables(tmp_path: Path) -> None:
    with OpencodeWriter(tmp_path / "a.db", V1 + V2_MESSAGE) as writer:
        writer.session("s")
        writer.v1("s", "user", "Tea?")
        writer.v2("s", "agent-switched", 1, {"agent": "build"})
        writer.v2("s", "user", 2, {"text": MACHINE})
        assert talk(writer.path, "s") == [("user", "Tea?")]
        assert listed(writer.path).keys() == {"s"}


def test_messages_of_an_upgraded_session_come_from_2x(upgraded: OpencodeWriter) -> None:
    upgraded.session("s")
    upgraded.v1("s", "user", "stale")
    upgraded.session("s", "session_v2")
    upgraded.v2("s", "user", 1, {"text": "migrated"})
    assert talk(upgraded.path, "s") == [("user", "migrated")]
    before = listed(upgraded.path)["s"].stat
    upgraded.v2("s", "user", 2, {"text": "new"})
    assert listed(upgraded.path)["s"].stat != before


def test_session_that_is_not_migrated_yet_is_read_from_1x(upgraded: OpencodeWriter) -> None:
    upgraded.session("old")
    upgraded.v1("old", "user", "Tea?")
    upgraded.session("half")
    upgraded.v1("half", "user", "Milk?")
    upgraded.session("half", "session_v2")
    upgraded.session("new", "session_v2")
    upgraded.v2("new", "user", 1, {"text": "Sugar?"})
    assert {key: talk(upgraded.path, key) for key in listed(upgraded.path)} == {
        "old": [("user", "Tea?")],
        "half": [("user", "Milk?")],
        "new": [("user", "Sugar?")],
    }


@pytest.mark.parametrize(
    "schema",
    ["", "CREATE TABLE notes (id)", "CREATE TABLE session (id)", V2_MESSAGE, V1.replace("title", "headline")],
)
def test_database_with_other_tables_is_unknown(tmp_path: Path, schema: str) -> None:
    with OpencodeWriter(tmp_path / "a.db", schema):
        pass
    with pytest.raises(ForeignDatabaseError) as raised:
        listed(tmp_path / "a.db")
    assert raised.value.unknown


# --- listing and versions ---------------------------------------------------------------------------


def change_v1(writer: OpencodeWriter, change: str) -> None:
    later = writer.tick() + 1_000_000
    match change:
        case "a new message":
            writer.v1("s", "user", "new")
        case "a new part":
            writer.part("s", "msg_last", {"type": "text", "text": "new"})
        case "a longer part":
            writer.db.execute(
                "UPDATE part SET data = '{}', time_updated = ? WHERE message_id = 'msg_last'", (later,)
            )
        case "a finished message":
            writer.db.execute("UPDATE message SET time_updated = ? WHERE id = 'msg_last'", (later,))
        case "a deleted message":
            writer.db.execute("DELETE FROM message WHERE id = 'msg_first'")
        case _:
            writer.db.execute("UPDATE session SET revert = '{}', time_updated = ?", (later,))


@pytest.mark.parametrize(
    "change",
    ["a new message", "a new part", "a longer part", "a finished message", "a deleted message", "a revert"],
)
def test_version_of_a_1x_session_changes_with(old: OpencodeWriter, change: str) -> None:
    old.session("s")
    old.session("other")
    old.v1("s", "user", "Tea?", message_id="msg_first")
    old.v1("s", "assistant", "Yes.", message_id="msg_last")
    before = listed(old.path)
    assert listed(old.path) == before
    change_v1(old, change)
    after = listed(old.path)
    assert after["s"].stat != before["s"].stat


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO session_message VALUES ('new', 's', 'user', 9, 1, 1, '{}')",
        "UPDATE session_message SET data = '{}', time_updated = 1800000000000 WHERE id = 'msg_last'",
        "DELETE FROM session_message WHERE id = 'msg_last'",
        "UPDATE session_v2 SET revert = '{}', time_updated = 1800000000000",
    ],
)
def test_version_of_a_2x_session_changes_with(new: OpencodeWriter, change: str) -> None:
    new.session("s", "session_v2")
    new.v2("s", "user", 1, {"text": "Tea?"})
    new.v2("s", "assistant", 2, say("Yes."), "msg_last")
    before = listed(new.path)["s"].stat
    new.db.execute(change)
    assert listed(new.path)["s"].stat != before


def test_listing_reads_no_message(upgraded: OpencodeWriter) -> None:
    write_every_trap(upgraded)
    write_every_v2_trap(upgraded)
    upgraded.db.execute("ANALYZE")
    expected = listed(upgraded.path)
    upgraded.db.execute(
        "UPDATE message SET data = zeroblob(50000000); UPDATE session_message SET data = zeroblob(50000000)"
    )
    used = apsw.memory_used()
    apsw.memory_high_water(True)
    assert listed(upgraded.path) == expected
    assert apsw.memory_high_water() - used < 10_000_000


def test_unknown_session_is_none(old: OpencodeWriter) -> None:
    assert READER(old.path).read("missing") is None


# --- locks and files --------------------------------------------------------------------------------


def test_reading_a_closed_database_creates_no_file(tmp_path: Path) -> None:
    with OpencodeWriter(tmp_path / "opencode.db", V1) as writer:
        write_every_trap(writer)
    before = files_in(tmp_path)
    assert before == ["opencode.db"]
    assert listed(writer.path).keys() == {"ses_v1"}
    assert talk(writer.path, "ses_v1") == MESSAGE
    assert files_in(tmp_path) == before


def test_reading_while_the_program_writes_sees_what_it_committed(old: OpencodeWriter, tmp_path: Path) -> None:
    write_every_trap(old)
    before = files_in(tmp_path)
    old.db.execute("BEGIN IMMEDIATE")
    old.v1("ses_v1", "user", "not committed yet")
    assert talk(old.path, "ses_v1") == MESSAGE
    old.db.execute("COMMIT")
    assert talk(old.path, "ses_v1")[-1] == ("user", "not committed yet")
    assert files_in(tmp_path) == before == ["opencode.db", "opencode.db-shm", "opencode.db-wal"]


def test_locked_database_is_busy(tmp_path: Path) -> None:
    with OpencodeWriter(tmp_path / "opencode.db", V1) as writer:
        write_every_trap(writer)
        writer.db.pragma("journal_mode", "delete")
        writer.db.execute("BEGIN EXCLUSIVE")
        for call in (lambda: listed(writer.path), lambda: read(writer.path, "ses_v1")):
            with pytest.raises(ForeignDatabaseError) as raised:
                call()
            assert raised.value.busy
            assert not raised.value.unknown


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 4_000])
def test_damaged_file_is_an_error_of_the_database(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "opencode.db").write_bytes(content)
    with pytest.raises(ForeignDatabaseError):
        listed(tmp_path / "opencode.db")
    assert files_in(tmp_path) == ["opencode.db"]
