"""ChatGPT's exports: the shown branch of each conversation, with the words of the user and of ChatGPT alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memd.programs.chatgpt import READER
from memd.programs.conversation import Conversation
from tests.support.transcript_programs.exports import (
    START_S,
    chatgpt_conversation,
    chatgpt_message,
    chatgpt_tree,
    write_archive,
)

SECRET = "the heron's plan"
"""A text that is nobody's words."""


def read(folder: Path, *conversations: Any, session: str = "c") -> Conversation:
    """Return a conversation of an export."""
    path = write_archive(folder / "export.zip", {"conversations.json": json.dumps(conversations)})
    export = READER(path)
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
        chatgpt_conversation(
            "c",
            chatgpt_message("system", ""),
            chatgpt_message("user", "Which port?", START_S + 1),
            chatgpt_message("assistant", "8443.", START_S + 2.5, channel="final"),
        ),
    )
    assert said(conversation) == [("user", "Which port?"), ("assistant", "8443.")]
    assert [message.place for message in conversation.messages] == [2, 3]
    assert [message.time_ms for message in conversation.messages] == [
        int(START_S * 1000) + 1_000,
        int(START_S * 1000) + 2_500,
    ]
    session = conversation.session
    assert (session.id, session.title, session.cwd) == ("c", "Ports", "")
    assert (session.started_ms, session.updated_ms) == (START_S * 1000, START_S * 1000 + 60_000)
    assert (conversation.broken, conversation.unknown) == (0, {})


def test_only_the_branch_of_the_current_node_is_read(tmp_path: Path) -> None:
    nodes, current = chatgpt_tree(
        chatgpt_message("user", "Which port?"), chatgpt_message("assistant", "8443.")
    )
    nodes["edited"] = {
        "id": "edited",
        "message": chatgpt_message("user", SECRET),
        "parent": "root",
        "children": [],
    }
    nodes["again"] = {
        "id": "again",
        "message": chatgpt_message("assistant", "9000."),
        "parent": "n0",
        "children": [],
    }
    both = [
        chatgpt_conversation("c", mapping=nodes, current_node=current),
        chatgpt_conversation("d", mapping=nodes, current_node="again"),
    ]
    assert said(read(tmp_path, *both)) == [("user", "Which port?"), ("assistant", "8443.")]
    assert said(read(tmp_path, *both, session="d")) == [("user", "Which port?"), ("assistant", "9000.")]


@pytest.mark.parametrize("current", [None, "gone", 7])
def test_without_a_current_node_the_last_one_is_shown(current: object, tmp_path: Path) -> None:
    nodes, _ = chatgpt_tree(chatgpt_message("user", "Which port?"), chatgpt_message("assistant", "8443."))
    conversation = read(tmp_path, chatgpt_conversation("c", mapping=nodes, current_node=current))
    assert said(conversation) == [("user", "Which port?"), ("assistant", "8443.")]


def test_parents_that_form_a_circle_end_the_branch(tmp_path: Path) -> None:
    nodes, current = chatgpt_tree(chatgpt_message("user", "one"), chatgpt_message("assistant", "two"))
    nodes["n0"]["parent"] = current
    assert len(read(tmp_path, chatgpt_conversation("c", mapping=nodes, current_node=current)).messages) == 2


@pytest.mark.parametrize(
    "message",
    [
        chatgpt_message("system", SECRET),
        chatgpt_message("tool", SECRET),
        chatgpt_message("user", SECRET, metadata={"is_visually_hidden_from_conversation": True}),
        chatgpt_message("user", SECRET, metadata={"is_user_system_message": True}),
        chatgpt_message("assistant", SECRET, weight=0),
        chatgpt_message("assistant", SECRET, recipient="python"),
        chatgpt_message("assistant", SECRET, channel="analysis"),
        chatgpt_message("user", {"content_type": "user_editable_context", "user_profile": SECRET}),
        chatgpt_message("assistant", {"content_type": "model_editable_context", "model_set_context": SECRET}),
        chatgpt_message("assistant", {"content_type": "thoughts", "thoughts": [{"content": SECRET}]}),
        chatgpt_message("assistant", {"content_type": "reasoning_recap", "content": SECRET}),
        chatgpt_message("assistant", {"content_type": "code", "language": "python", "text": SECRET}),
        chatgpt_message("tool", {"content_type": "execution_output", "text": SECRET}),
        chatgpt_message("tool", {"content_type": "tether_quote", "text": SECRET}),
        chatgpt_message("tool", {"content_type": "tether_browsing_display", "result": SECRET}),
        chatgpt_message("assistant", {"content_type": "system_error", "text": SECRET}),
        chatgpt_message(
            "user", {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}]}
        ),
        None,
    ],
)
def test_records_without_words_are_no_messages_and_known(message: Any, tmp_path: Path) -> None:
    conversation = read(tmp_path, chatgpt_conversation("c", chatgpt_message("user", "Which port?"), message))
    assert said(conversation) == [("user", "Which port?")]
    assert (conversation.broken, conversation.unknown) == (0, {})


def test_words_of_pictures_and_voice_chats_are_read(tmp_path: Path) -> None:
    parts = [
        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"},
        "What is this?",
        {"content_type": "audio_transcription", "text": "And this?", "direction": "in"},
    ]
    content = {"content_type": "multimodal_text", "parts": parts}
    conversation = read(tmp_path, chatgpt_conversation("c", chatgpt_message("user", content)))
    assert said(conversation) == [("user", "What is this?\nAnd this?")]


def test_unknown_contents_and_authors_are_counted_by_name(tmp_path: Path) -> None:
    conversation = read(
        tmp_path,
        chatgpt_conversation(
            "c",
            chatgpt_message("assistant", {"content_type": "hologram", "parts": [SECRET]}),
            chatgpt_message("critic", SECRET),
            chatgpt_message("user", "Which port?"),
        ),
    )
    assert said(conversation) == [("user", "Which port?")]
    assert conversation.unknown == {"content hologram": 1, "author critic": 1}


def test_of_two_copies_of_a_conversation_the_newer_one_counts(tmp_path: Path) -> None:
    old = chatgpt_conversation("c", chatgpt_message("user", "old"), update_time=START_S)
    new = chatgpt_conversation("c", chatgpt_message("user", "new"), update_time=START_S + 1)
    for conversations in ((old, new), (new, old)):
        assert said(read(tmp_path, *conversations)) == [("user", "new")]


def test_id_is_that_of_the_conversation_else_its_old_field(tmp_path: Path) -> None:
    old = chatgpt_conversation("x", chatgpt_message("user", "old"), conversation_id=None, id="old")
    assert said(read(tmp_path, old, session="old")) == [("user", "old")]


@pytest.mark.parametrize(
    "value", [None, True, 7, -1.5, "text", [1], {"a": 1}, 10**40, "\ud800", "x" * 100_000]
)
@pytest.mark.parametrize(
    "field",
    "author content metadata recipient weight create_time id channel title current_node update_time".split(),
)
def test_fields_of_any_type_harm_nothing(field: str, value: Any, tmp_path: Path) -> None:
    conversation = chatgpt_conversation("c", chatgpt_message("user", "Which port?") | {field: value})
    conversation[field] = value
    found = read(tmp_path, conversation)
    assert all(message.text == "Which port?" and message.text.encode() for message in found.messages)


@pytest.mark.parametrize(
    "node", [None, 7, [], {"message": 7}, {"message": {"author": 1}}, {"parent": ["n0"]}]
)
def test_nodes_of_any_type_harm_nothing(node: Any, tmp_path: Path) -> None:
    nodes, current = chatgpt_tree(chatgpt_message("user", "one"), chatgpt_message("assistant", "two"))
    nodes["n0"] = node
    found = read(tmp_path, chatgpt_conversation("c", mapping=nodes, current_node=current))
    assert said(found) == [("assistant", "two")]
