"""Conversations of Gemini CLI: folded records, without what hooks, tools and compactions add."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.programs.conversation import Conversation, Message
from memd.programs.gemini import READER
from memd.sources.conversations import ConversationFiles
from tests.support.transcript_programs.gemini import (
    MACHINE,
    NAME,
    SESSION_ID,
    START_MS,
    answered,
    at,
    changes,
    every_trap,
    hook,
    line,
    machine_records,
    rewind,
    said,
    session,
)
from tests.support.transcript_programs.mutations import mutate

MESSAGE = [("user", "Which port?"), ("assistant", "8443.")]
ASKED, ANSWERED = said("m1", "Which port?", 1), answered("m2", "8443.", 4)

Records = Iterable[dict[str, Any] | bytes]


def read(records: Records, path: str = f"shop/chats/{NAME}.jsonl") -> Conversation:
    file = READER.transcript_at(path)
    assert file is not None
    reader = READER.open(file)
    for place, each in enumerate(records, start=1):
        reader.read(each if isinstance(each, bytes) else line(each), place)
    return reader.conversation()


def talk(conversation: Conversation) -> list[tuple[str, str]]:
    return [(each.role, each.text) for each in conversation.messages]


# --- persons and answers ----------------------------------------------------------------------------


def test_messages_have_their_id_place_and_time() -> None:
    conversation = read([session(), ASKED, changes(lastUpdated=at(9)), ANSWERED])
    assert conversation.messages == [
        Message("user", "Which port?", 2, "m1", START_MS + 1_000),
        Message("assistant", "8443.", 4, "m2", START_MS + 4_000),
    ]
    found = conversation.session
    assert (found.id, found.kind, found.cwd, found.branch) == (SESSION_ID, "main", "", "")
    assert (found.started_ms, found.updated_ms) == (START_MS, START_MS + 9_000)
    assert not conversation.unknown
    assert conversation.broken == 0


def test_machine_records_are_neither_messages_nor_unknown() -> None:
    conversation = read([session(), ASKED, *machine_records(), ANSWERED])
    assert talk(conversation) == MESSAGE
    assert not conversation.unknown


@pytest.mark.parametrize(
    "content",
    [
        "Which port?",
        [{"text": "Which "}, {"text": "port?"}],
        [{"text": "Which port?"}, hook()],
        [hook(f"</hook_context>{MACHINE}"), {"text": "Which port?"}],
        [{"text": "Which port?"}, {"functionResponse": {"response": {"output": MACHINE}}}],
        ["Which port?"],
        {"text": "Which port?"},
        [{"text": "Which port?\n--- Content from referenced files ---\n"}, {"text": MACHINE}],
    ],
)
def test_words_of_a_person_are_the_content_without_what_was_added(content: object) -> None:
    record = said("m1", [])
    record["content"] = content
    assert talk(read([session(), record])) == MESSAGE[:1]


def test_displayed_content_comes_before_the_content() -> None:
    record = said("m1", f"Which port?\n{MACHINE}", displayContent=[{"text": "Which port?"}])
    assert talk(read([session(), record])) == MESSAGE[:1]
    assert talk(read([session(), said("m1", "Which port?", displayContent=None)])) == MESSAGE[:1]


def test_answer_may_have_parts() -> None:
    record = answered("m2", [{"text": "Thinking", "thought": True}, {"text": "84"}, {"text": "43."}])
    assert talk(read([session(), record])) == MESSAGE[1:]


# --- folding ----------------------------------------------------------------------------------------


def test_same_id_again_is_an_update_that_keeps_its_place() -> None:
    records = [
        session(),
        ASKED,
        answered("m2", "", 2),
        said("m3", "And production?", 5),
        answered("m2", "8443.", 4),
        said("m1", "Which port does staging use?", 1),
    ]
    assert read(records).messages == [
        Message("user", "Which port does staging use?", 2, "m1", START_MS + 1_000),
        Message("assistant", "8443.", 3, "m2", START_MS + 4_000),
        Message("user", "And production?", 4, "m3", START_MS + 5_000),
    ]


def test_rewind_drops_a_message_and_all_after_it() -> None:
    records = [session(), ASKED, ANSWERED, said("m3", "Undone"), answered("m4", "Undone too"), rewind("m3")]
    assert talk(read(records)) == MESSAGE
    again = [*records, said("m5", "And production?"), rewind("m4")]
    assert read(again).messages == []


def test_rewind_to_an_unknown_message_drops_all() -> None:
    assert talk(read([session(), said("m0", "Undone"), rewind("zz"), ASKED, ANSWERED])) == MESSAGE


def test_rewound_id_may_return() -> None:
    assert talk(read([session(), ASKED, rewind("m1"), ASKED, ANSWERED])) == MESSAGE


def test_summary_of_a_compaction_is_left_out_and_what_was_said_before_stays() -> None:
    history = [
        said("s1", f"The user works on a shop. {MACHINE}"),
        answered("s2", "Got it. Thanks for the additional context!"),
        said("m3", f"And production? {MACHINE}"),
        answered("m4", "443."),
    ]
    records = [
        *(session(), ASKED, ANSWERED, said("m3", "And production?"), answered("m4", "443.")),
        changes(messages=history, lastUpdated=at(60)),
        said("m5", "Thanks", 61),
    ]
    expected = [*MESSAGE, ("user", "And production?"), ("assistant", "443."), ("user", "Thanks")]
    assert talk(read(records)) == expected
    updated = [*records, answered("s2", "Got it. Thanks for the additional context!", tokens={"input": 9})]
    assert talk(read(updated)) == expected
    assert talk(read([*records, rewind("m4")])) == expected[:3]
    assert talk(read([*records, rewind("s1")])) == expected[:4]


def test_history_that_is_only_in_a_change_is_left_out() -> None:
    assert read([session(), changes(messages=[said("s1", MACHINE), answered("s2", "8443.")])]).messages == []


@pytest.mark.parametrize("messages", [None, 7, "x", {}, [], [7, None, {}, {"id": 7}, [[]]]])
def test_history_of_another_type_changes_nothing(messages: object) -> None:
    assert talk(read([session(), ASKED, ANSWERED, changes(messages=messages)])) == MESSAGE


def test_changes_give_the_title_and_the_kind() -> None:
    records = [
        session(kind=None),
        changes(summary="Old"),
        changes(summary="Ports\nand hosts", kind="subagent"),
    ]
    found = read(records).session
    assert (found.title, found.kind) == ("Ports and hosts", "subagent")


def test_conversation_before_further_lines_is_unchanged() -> None:
    file = READER.transcript_at(f"shop/chats/{NAME}.jsonl")
    assert file is not None
    reader = READER.open(file)
    reader.read(line(session()), 1)
    reader.read(line(ASKED), 2)
    before = reader.conversation()
    reader.read(line(changes(summary="Ports")), 3)
    reader.read(line(ANSWERED), 4)
    assert talk(before) == MESSAGE[:1]
    assert before.session.title == ""
    after = reader.conversation()
    assert talk(after) == MESSAGE
    assert after.session.title == "Ports"


# --- older documents --------------------------------------------------------------------------------


@pytest.mark.parametrize("indent", [None, 2])
def test_older_document_is_read_as_a_whole(indent: int | None) -> None:
    content = session(
        summary="Ports", messages=[*machine_records()[:-1], ASKED, ANSWERED, said("m3", "Tea?", 7)]
    )
    conversation = read([json.dumps(content, indent=indent).encode()], f"shop/chats/{NAME}.json")
    assert talk(conversation) == [*MESSAGE, ("user", "Tea?")]
    assert [message.place for message in conversation.messages] == [18, 19, 20]
    assert conversation.session.title == "Ports"
    assert conversation.session.updated_ms == START_MS + 7_000


def test_summary_in_an_older_document_is_recognized_by_its_answer() -> None:
    history = [
        said("s1", MACHINE),
        answered("s2", "Got it. Thanks for the additional context!"),
        ASKED,
        ANSWERED,
    ]
    assert talk(read([line(session(messages=history))], f"shop/chats/{NAME}.json")) == MESSAGE


def test_messages_of_a_document_need_no_id() -> None:
    history = [{"type": "user", "content": "Which port?"}, {"type": "gemini", "content": "8443."}]
    messages = read([line(session(messages=history))], f"shop/chats/{NAME}.json").messages
    assert [(each.role, each.text, each.place, each.key) for each in messages] == [
        ("user", "Which port?", 1, ""),
        ("assistant", "8443.", 2, ""),
    ]


# --- unknown and broken -----------------------------------------------------------------------------


def test_unknown_types_are_counted() -> None:
    records = [{"id": "u1", "type": "hologram", "content": MACHINE}, {"id": "u2"}, {"type": "tool"}, {}]
    conversation = read([session(), ASKED, *records, ANSWERED])
    assert talk(conversation) == MESSAGE
    assert dict(conversation.unknown) == {"hologram": 1, "NoneType": 2, "tool": 1}


@pytest.mark.parametrize("broken", [b'{"id":', b"NaN", b"[]", b"[" * 9_000, b'{"id":' * 9_000, b"\xff"])
def test_broken_lines_are_counted(broken: bytes) -> None:
    conversation = read([session(), ASKED, broken, b" ", ANSWERED])
    assert talk(conversation) == MESSAGE
    assert conversation.broken == 1


def test_lone_surrogates_are_replaced_and_lines_with_invalid_bytes_left_out() -> None:
    surrogate = line(said("m1", "x")).replace(b'"x"', b'"a\\ud800b"')
    invalid = line(said("m2", "y")).replace(b'"y"', b'"c\xffd"')
    conversation = read([surrogate, invalid])
    assert talk(conversation) == [("user", "a\ufffdb")]
    assert conversation.broken == 1


# --- files ------------------------------------------------------------------------------------------


def test_transcripts_are_found_by_their_path() -> None:
    newer, older = (READER.transcript_at(f"shop/chats/{NAME}.{ending}") for ending in ("jsonl", "json"))
    assert newer is not None
    assert older is not None
    assert (newer.session_id, newer.kind) == (older.session_id, older.kind) == (NAME, "main")
    assert newer.rank > older.rank
    child = READER.transcript_at(f"shop/chats/{SESSION_ID}/c1.jsonl")
    assert child is not None
    assert (child.session_id, child.kind) == ("c1", "subagent")
    assert all(READER.is_walked(folder) for folder in ("shop", "shop/chats", f"shop/chats/{SESSION_ID}"))


@pytest.mark.parametrize(
    "path", ["shop/logs.json", "shop/chats/notes.jsonl", f"shop/{NAME}.jsonl", f"shop/chats/a/b/{NAME}.jsonl"]
)
def test_other_files_are_no_transcripts(path: str) -> None:
    assert READER.transcript_at(path) is None


@pytest.mark.parametrize("folder", ["shop/logs", "shop/memory", "shop/tool-outputs/chats", "shop/chats/a/b"])
def test_other_folders_are_not_walked(folder: str) -> None:
    assert not READER.is_walked(folder)


def test_folder_of_a_project_is_in_files_next_to_its_transcripts(tmp_path: Path) -> None:
    folder = tmp_path / ".gemini/tmp"
    old = hashlib.sha256(b"/home/eva/old").hexdigest()
    for project, name in {
        "shop": "session-a",
        "tea": "session-b",
        old: "session-c",
        "lost": "session-d",
    }.items():
        (folder / project / "chats").mkdir(parents=True)
        (folder / project / "chats" / f"{name}.jsonl").write_bytes(b"")
    (folder / "shop/chats/p1").mkdir()
    (folder / "shop/chats/p1/c1.jsonl").write_bytes(b"")
    (folder / "shop/.project_root").write_text("/home/eva/shop\n")
    projects = {"projects": {"/home/eva/tea": "tea", "/home/eva/old": "old", "x": 7}}
    (tmp_path / ".gemini/projects.json").write_text(json.dumps(projects))
    names = ["session-a", "session-b", "session-c", "session-d", "c1", "session-e", "../x", "\0"]
    found = [READER.read_details(folder, name) for name in names]
    assert [each.cwd if each is not None else "" for each in found] == [
        *("/home/eva/shop", "/home/eva/tea", "/home/eva/old", "", "/home/eva/shop", "", "", "")
    ]


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b'{"projects":7}', b'{"projects":{"tea":"shop"}}', b"\xff"]
)
def test_broken_files_of_projects_give_no_folder(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "tmp"
    (folder / "shop/chats").mkdir(parents=True)
    (folder / "shop/chats/session-a.jsonl").write_bytes(b"")
    (folder / "shop/.project_root").write_bytes(content)
    (tmp_path / "projects.json").write_bytes(content)
    assert READER.read_details(folder, "session-a") is None


def test_store_reads_the_newer_file_of_a_session_and_the_older_document(tmp_path: Path) -> None:
    chats = tmp_path / "shop/chats"
    (chats / SESSION_ID).mkdir(parents=True)
    (tmp_path / "shop/.project_root").write_text("/nowhere/shop")
    (chats / f"{NAME}.jsonl").write_bytes(
        b"".join(line(each) + b"\n" for each in (session(), ASKED, ANSWERED))
    )
    (chats / f"{NAME}.json").write_bytes(line(session(messages=[said("m1", "Older")])))
    other = session(sessionId="88", messages=[said("m1", "Tea?")])
    (chats / "session-2026-11-01T08-00-88.json").write_text(json.dumps(other, indent=2))
    (chats / SESSION_ID / "c1.jsonl").write_bytes(line(session(sessionId="c1", kind="subagent")) + b"\n")
    transcripts = ConversationFiles("gemini", READER, [tmp_path])
    found = transcripts.find().files
    assert found.keys() == {f"gemini/{NAME}", "gemini/session-2026-11-01T08-00-88"}
    loaded = transcripts.load(found[f"gemini/{NAME}"])
    assert loaded.text == "User: Which port?\nAssistant: 8443."
    assert loaded.facts is not None
    assert (loaded.facts.session, loaded.facts.cwd) == (SESSION_ID, "/nowhere/shop")
    assert transcripts.load(found["gemini/session-2026-11-01T08-00-88"]).text == "User: Tea?"
    transcripts.close()


# --- hostile lines ----------------------------------------------------------------------------------

DOCUMENT = line(session(messages=[*machine_records()[:-1], ASKED, ANSWERED]))


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_damaged_lines_never_raise_or_become_words_of_a_person(seed: int, is_document: bool) -> None:
    lines = mutate([DOCUMENT] if is_document else every_trap(), Random(seed))
    for message in (conversation := read(lines)).messages:
        assert message.role == "assistant" or MACHINE not in message.text
        assert message.text.strip()
        assert message.text.encode()
    places = [message.place for message in conversation.messages]
    assert places == sorted(places) or is_document
