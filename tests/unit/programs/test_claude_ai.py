"""Claude's exports: the visible text of the messages of each conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memd.programs.claude_ai import READER
from memd.programs.conversation import Conversation
from tests.support.transcript_programs.exports import claude_conversation, claude_message, write_archive
from tests.support.transcript_programs.plain import START_MS

SECRET = "the heron's plan"


def read(folder: Path, *conversations: Any, session: str = "c") -> Conversation:
    """Return a conversation of an export."""
    files = {"conversations.json": json.dumps(conversations), "users.json": "[]", "projects.json": "[]"}
    export = READER(write_archive(folder / "data-batch-0000.zip", files))
    export.sessions()
    found = export.read(session)
    assert found is not None
    return found


def said(conversation: Conversation) -> list[tuple[str, str]]:
    """Return who says what."""
    return [(message.role, message.text) for message in conversation.messages]


def test_conversation_has_its_words_title_and_times(tmp_path: Path) -> None:
    conversation = read(
        tmp_path,
        claude_conversation(
            "c", claude_message("human", "Which port?"), claude_message("assistant", "8443.", 2)
        ),
    )
    assert said(conversation) == [("user", "Which port?"), ("assistant", "8443.")]
    assert [(each.place, each.key, each.time_ms) for each in conversation.messages] == [
        (1, "m-0", START_MS),
        (2, "m-2", START_MS + 2_000),
    ]
    session = conversation.session
    assert (session.id, session.title) == ("c", "Ports")
    assert (session.started_ms, session.updated_ms) == (START_MS, START_MS + 60_000)
    assert (conversation.broken, conversation.unknown) == (0, {})


def test_thoughts_tools_and_attached_files_are_left_out(tmp_path: Path) -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": SECRET},
        {"type": "redacted_thinking", "data": SECRET},
        {"type": "tool_use", "name": "search", "input": {"query": SECRET}},
        {"type": "tool_result", "content": [{"type": "text", "text": SECRET}]},
        {"type": "token_budget"},
        {"type": "flag", "flag": SECRET},
        {"type": "text", "text": "8443."},
    ]
    question = claude_message("human", "Which port?")
    question["attachments"] = [{"file_name": "a.txt", "extracted_content": SECRET}]
    answer = claude_message(
        "assistant", f"{SECRET}\n\n```\nThis block is not supported\n```\n\n8443.", 1, blocks
    )
    conversation = read(tmp_path, claude_conversation("c", question, answer))
    assert said(conversation) == [("user", "Which port?"), ("assistant", "8443.")]
    assert conversation.unknown == {}


def test_message_without_blocks_has_its_text(tmp_path: Path) -> None:
    voice = claude_message("human", "And the heron?", 1, [{"type": "voice_note", "title": "Voice"}])
    tool = claude_message("assistant", SECRET, 2, [{"type": "tool_use", "input": {}}])
    conversation = read(
        tmp_path, claude_conversation("c", claude_message("human", "Which port?", 0, []), voice, tool)
    )
    assert said(conversation) == [("user", "Which port?"), ("user", "And the heron?")]


def test_unknown_blocks_and_senders_are_counted_by_name(tmp_path: Path) -> None:
    blocks = [{"type": "hologram"}, {"type": "text", "text": "8443."}]
    conversation = read(
        tmp_path,
        claude_conversation(
            "c", claude_message("critic", SECRET), claude_message("assistant", "", 1, blocks)
        ),
    )
    assert said(conversation) == [("assistant", "8443.")]
    assert conversation.unknown == {"sender critic": 1, "block hologram": 1}


@pytest.mark.parametrize("value", [None, True, 7, -1.5, "text", [1], {"a": 1}, [[]], "\ud800"])
@pytest.mark.parametrize("field", "uuid text content sender created_at name updated_at".split())
def test_fields_of_any_type_harm_nothing(field: str, value: Any, tmp_path: Path) -> None:
    message = claude_message("human", "Which port?") | {field: value}
    second = claude_message("assistant", "8443.", 1)
    conversation = claude_conversation("c", message, second, value) | (
        {} if field == "uuid" else {field: value}
    )
    assert ("assistant", "8443.") in said(read(tmp_path, conversation))
