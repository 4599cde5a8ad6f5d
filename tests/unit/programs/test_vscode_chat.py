"""Chats in VS Code's own store: documents, and logs of their changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memd.programs.conversation import Conversation, Message
from memd.programs.copilot_chat import READER
from memd.programs.program import TranscriptFile
from tests.support.transcript_programs.documents import (
    CHAT_NOISE,
    MACHINE,
    chat_frame,
    chat_log_traps,
    chat_request,
    document_of,
    markdown,
)
from tests.support.transcript_programs.plain import START_MS

FILE = TranscriptFile("s1", rank=1)


def read(*lines: bytes) -> Conversation:
    """Return the conversation in lines of a log, or in a document."""
    reader = READER.open(FILE)
    for number, line in enumerate(lines, start=1):
        reader.read(line, number)
    return reader.conversation()


def document(*requests: Any, **more: Any) -> Conversation:
    """Return the conversation in a document."""
    return read(document_of(chat_frame("s1", **more), [json.dumps(request) for request in requests]))


def log(*changes: Any) -> Conversation:
    """Return the conversation in a log."""
    return read(*(json.dumps(change).encode() for change in changes))


def said(conversation: Conversation) -> list[tuple[str, str]]:
    """Return who said what."""
    return [message[:2] for message in conversation.messages]


# --- requests ---------------------------------------------------------------------------------------


def test_request_is_a_prompt_and_its_answer() -> None:
    conversation = document(chat_request("Which port?", [markdown("8443.")], 1), customTitle="Ports")
    key, time_ms = "request_1", START_MS + 1_000
    assert conversation.messages == [
        Message("user", "Which port?", 1, key, time_ms),
        Message("assistant", "8443.", 1, key, time_ms),
    ]
    session = conversation.session
    assert (session.id, session.title, session.started_ms, session.updated_ms) == (
        "s1",
        "Ports",
        START_MS,
        time_ms,
    )


def test_old_documents_have_prompts_and_answers_as_texts() -> None:
    request = {"message": "Which port?", "response": ["84", "43."]}
    assert said(document(request)) == [("user", "Which port?"), ("assistant", "8443.")]


def test_pieces_of_an_answer_are_joined_and_tools_are_between_paragraphs() -> None:
    parts = [
        markdown("Look at "),
        {"kind": "inlineReference", "name": "ports.txt", "inlineReference": {"path": MACHINE}},
        markdown(" first."),
        {"kind": "toolInvocationSerialized", "pastTenseMessage": MACHINE},
        {"kind": "markdownVuln", "content": {"value": "8443."}, "vulnerabilities": []},
    ]
    assert said(document(chat_request("", parts))) == [("assistant", "Look at ports.txt first.\n\n8443.")]


def test_thoughts_tools_edits_and_undone_requests_are_no_messages() -> None:
    conversation = document(*CHAT_NOISE)
    assert (conversation.messages, conversation.unknown, conversation.broken) == ([], {}, 0)


def test_unknown_parts_and_broken_requests_are_counted() -> None:
    parts = [{"kind": "telepathy", "value": MACHINE}, {"kind": 7, "value": MACHINE}, markdown("8443.")]
    conversation = document(chat_request("", parts), "text", None)
    assert said(conversation) == [("assistant", "8443.")]
    assert (conversation.unknown, conversation.broken) == ({"telepathy": 1, "int": 1}, 2)


# --- logs -------------------------------------------------------------------------------------------


def test_log_is_replayed() -> None:
    conversation = read(*chat_log_traps())
    assert said(conversation) == [
        ("user", "Which port?"),
        ("assistant", "8443."),
        ("user", "And production?"),
        ("assistant", "443."),
    ]
    assert conversation.session.title == "Ports"
    assert (conversation.unknown, conversation.broken) == ({}, 0)


FIRST = {
    "kind": 0,
    "v": chat_frame("s1") | {"requests": [chat_request("a"), chat_request("b"), chat_request("c")]},
}


@pytest.mark.parametrize(
    ("change", "prompts"),
    [
        ({"kind": 2, "k": ["requests"], "v": [chat_request("d")]}, "abcd"),
        ({"kind": 2, "k": ["requests"], "v": [chat_request("d")], "i": 1}, "ad"),
        ({"kind": 2, "k": ["requests"], "i": 2}, "ab"),
        ({"kind": 2, "k": ["requests"], "i": 0}, ""),
        ({"kind": 2, "k": ["requests"], "v": [chat_request("d")], "i": 99}, "abcd"),
        ({"kind": 2, "k": ["requests"], "v": [chat_request("d")], "i": -1}, "abcd"),
        ({"kind": 2, "k": ["requests"], "v": [chat_request("d")], "i": "1"}, "abcd"),
        ({"kind": 1, "k": ["requests", 1, "message", "text"], "v": "d"}, "adc"),
        ({"kind": 1, "k": ["requests", 1], "v": chat_request("d")}, "adc"),
        ({"kind": 1, "k": ["requests", 3], "v": chat_request("d")}, "abcd"),
        ({"kind": 3, "k": ["requests", 1, "message"]}, "ac"),
        ({"kind": 1, "k": ["requests"], "v": [chat_request("d")]}, "d"),
        ({"kind": 0, "v": chat_frame("s1") | {"requests": [chat_request("d")]}}, "d"),
        ({"kind": 1, "k": ["requests", 2, "shouldBeRemovedOnSend"], "v": {"requestId": "r"}}, "ab"),
        ({"kind": 2, "k": ["other"], "v": [chat_request("d")]}, "abc"),
    ],
)
def test_changes_of_every_kind_are_applied(change: Any, prompts: str) -> None:
    conversation = log(FIRST, change)
    assert "".join(message.text for message in conversation.messages) == prompts
    assert (conversation.unknown, conversation.broken) == ({}, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": 1, "v": "d"},
        {"kind": 1, "k": [], "v": "d"},
        {"kind": 1, "k": "requests", "v": "d"},
        {"kind": 1, "k": ["requests", 9, "message"], "v": "d"},
        {"kind": 1, "k": ["requests", 9], "v": "d"},
        {"kind": 1, "k": ["requests", "x"], "v": "d"},
        {"kind": 1, "k": [{}, "x"], "v": "d"},
        {"kind": 1, "k": [["x"]], "v": "d"},
        {"kind": 1, "k": ["requests", "9" * 5_000, "message"], "v": "d"},
        {"kind": 1, "k": ["requests", 10**18, "message"], "v": "d"},
        {"kind": 2, "k": ["requests", True, "response"], "v": ["d"]},
        {"kind": 3, "k": ["requests", -1]},
        ["text"],
        7,
    ],
)
def test_change_of_what_is_not_there_is_broken_and_changes_nothing(change: Any) -> None:
    conversation = log(FIRST, change)
    assert [message.text for message in conversation.messages] == ["a", "b", "c"]
    assert conversation.broken == 1


@pytest.mark.parametrize(
    "change", [{"kind": 4, "k": ["requests"]}, {"kind": "x"}, {"type": "noise"}, {"kind": 0}]
)
def test_change_of_an_unknown_kind_is_counted(change: Any) -> None:
    conversation = log(FIRST, change)
    assert [message.text for message in conversation.messages] == ["a", "b", "c"]
    assert (conversation.unknown, conversation.broken) == ({"change": 1}, 0)


def test_conversation_grows_with_its_log() -> None:
    reader = READER.open(FILE)
    reader.read(json.dumps(FIRST).encode(), 1)
    before = reader.conversation()
    assert reader.conversation() == before
    reader.read(json.dumps({"kind": 2, "k": ["requests"], "v": [chat_request("d")]}).encode(), 2)
    assert reader.conversation().messages[:3] == before.messages
    assert len(reader.conversation().messages) == 4
    assert len(before.messages) == 3


def test_log_without_a_snapshot_has_no_messages() -> None:
    conversation = log({"kind": 2, "k": ["requests"], "v": [chat_request("d")]})
    assert (conversation.messages, conversation.broken) == ([], 1)
