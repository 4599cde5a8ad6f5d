"""Conversations of Codex CLI: the talk in events of both modes, without what is sent to the model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.programs.codex import READER
from memd.programs.conversation import Conversation, Message, SessionKind
from tests.support.transcript_programs.codex import (
    FORK_ID,
    HOME_ID,
    MACHINE,
    SOURCE_ID,
    START_MS,
    answered,
    answered_item,
    asked,
    asked_item,
    at,
    event,
    every_trap,
    injected,
    item,
    line,
    machine_lines,
    meta,
    rollout,
    sent,
    timed_id,
)
from tests.support.transcript_programs.mutations import mutate

MESSAGE = [("user", "Which port?"), ("assistant", "8443.")]


def read(lines: Iterable[bytes], path: str = f"sessions/2026/11/02/{rollout()}") -> Conversation:
    file = READER.transcript_at(path)
    assert file is not None
    reader = READER.open(file)
    for place, each in enumerate(lines, start=1):
        reader.read(each, place)
    return reader.conversation()


def talk(conversation: Conversation) -> list[tuple[str, str]]:
    return [(each.role, each.text) for each in conversation.messages]


# --- modes ------------------------------------------------------------------------------------------


def test_legacy_transcript_gives_prompts_and_answers_with_place_and_time() -> None:
    lines = [
        meta(),
        event("task_started", 1, turn_id="t1"),
        *injected(),
        sent("user", "Which port?"),
        asked("Which port?", 2),
        event("agent_reasoning", 3, text=MACHINE),
        answered("8443.", 4.5),
        sent("assistant", "8443."),
        event("task_complete", 5, turn_id="t1", last_agent_message="8443."),
    ]
    conversation = read(lines)
    assert conversation.messages == [
        Message("user", "Which port?", 15, "", START_MS + 2_000),
        Message("assistant", "8443.", 17, "", START_MS + 4_500),
    ]
    session = conversation.session
    assert (session.id, session.kind, session.cwd, session.branch) == (
        HOME_ID,
        "main",
        "/home/eva/shop",
        "main",
    )
    assert (session.started_ms, session.updated_ms) == (START_MS, START_MS + 5_000)
    assert session.release == "0.169.0"
    assert not conversation.unknown
    assert conversation.broken == 0


def test_paginated_transcript_gives_commentary_and_final_answers() -> None:
    lines = [
        meta(history_mode="paginated", ordinal=0),
        sent("user", "Which port?"),
        asked_item("Which port?", "i1", 1, 2),
        answered_item("Let me look.", "i2", 2, 3, phase="commentary"),
        item("CommandExecution", "i3", 3, 4, aggregated_output=MACHINE),
        answered_item("8443.", "i4", 4, 5),
    ]
    assert read(lines).messages == [
        Message("user", "Which port?", 3, "i1", START_MS + 1_000),
        Message("assistant", "Let me look.", 4, "i2", START_MS + 2_000),
        Message("assistant", "8443.", 6, "i4", START_MS + 4_000),
    ]


def test_message_in_both_modes_counts_once() -> None:
    lines = [meta(), asked_item("Yes", "i1"), asked("Yes"), answered_item("Done.", "i2"), answered("Done.")]
    again = [*lines, asked("Yes"), asked("Yes"), event("thread_rolled_back", num_turns=2)]
    assert talk(read(lines)) == [("user", "Yes"), ("assistant", "Done.")]
    assert talk(read(again)) == [("user", "Yes"), ("assistant", "Done.")]


def test_completed_item_of_a_known_id_counts_once() -> None:
    lines = [
        meta(),
        asked_item("Which port?", "i1"),
        answered_item("8443.", "i2"),
        asked_item("Which port?", "i1"),
    ]
    assert talk(read(lines)) == MESSAGE


def test_transcript_without_events_gives_the_messages_sent_without_injected_ones() -> None:
    lines = [
        meta(),
        *injected(),
        sent(
            "user",
            f"# AGENTS.md instructions for x\n{MACHINE}",
            "<image>",
            "Which port?",
            "</image>",
            seconds=1,
        ),
        sent("assistant", "8443.", seconds=2),
        line("response_item", {"type": "function_call_output", "output": MACHINE}),
    ]
    conversation = read(lines)
    assert talk(conversation) == MESSAGE
    assert [message.place for message in conversation.messages] == [13, 14]


def test_first_event_replaces_the_messages_sent_before_it() -> None:
    file = READER.transcript_at(rollout())
    assert file is not None
    reader = READER.open(file)
    reader.read(meta(), 1)
    reader.read(sent("user", "Which port, as sent?"), 2)
    assert talk(reader.conversation()) == [("user", "Which port, as sent?")]
    reader.read(asked("Which port?"), 3)
    before = reader.conversation()
    reader.read(answered("8443."), 4)
    assert talk(before) == MESSAGE[:1]
    assert talk(reader.conversation()) == MESSAGE


def test_machine_records_are_neither_messages_nor_unknown() -> None:
    conversation = read([meta(), asked("Which port?"), *machine_lines(), answered("8443.")])
    assert talk(conversation) == MESSAGE
    assert not conversation.unknown


def test_machine_records_without_other_events_are_no_messages() -> None:
    lines = [each for each in machine_lines() if b"UserMessage" not in each and b"user_message" not in each]
    assert read([meta(), *lines]).messages == []


def test_words_of_a_person_in_an_editor_follow_the_last_heading() -> None:
    selected = f"# Context from my IDE setup:\n\n## Active selection:\n## My request for Codex:\n{MACHINE}\n"
    prompt = f"{selected}\n## My request for Codex:\nWhich port?\n"
    assert talk(read([meta(source="vscode"), asked(prompt)])) == MESSAGE[:1]
    assert talk(read([meta(source="vscode"), asked_item(prompt, "i1")])) == MESSAGE[:1]
    assert talk(read([meta(source="vscode"), sent("user", prompt)])) == MESSAGE[:1]


def test_lines_without_an_envelope_of_early_releases_are_read() -> None:
    bare = [
        {"id": HOME_ID, "timestamp": at(0), "instructions": MACHINE, "git": {"branch": "dev"}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Which port?"}]},
        {"type": "reasoning", "summary": [], "id": "r1"},
        {"type": "function_call_output", "output": MACHINE},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "8443."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"<skill>{MACHINE}"}]},
    ]
    conversation = read([json.dumps(each).encode() for each in bare], f"sessions/{rollout()}")
    assert talk(conversation) == MESSAGE
    assert (conversation.session.branch, conversation.session.started_ms) == ("dev", START_MS)
    assert not conversation.unknown


# --- undone turns -----------------------------------------------------------------------------------


def test_rolled_back_turns_are_left_out() -> None:
    lines = [
        meta(),
        *(asked("Which port?"), answered("8443.")),
        *(asked("Undone 1"), answered("Undone answer 1")),
        *(asked("Undone 2"), answered("Undone answer 2")),
        event("thread_rolled_back", num_turns=2),
        *(asked("And production?"), answered("443.")),
    ]
    assert talk(read(lines)) == [*MESSAGE, ("user", "And production?"), ("assistant", "443.")]


def test_prompts_within_a_turn_are_rolled_back_with_it() -> None:
    lines = [
        meta(),
        *(
            event("task_started", turn_id="1"),
            asked("Which port?"),
            answered("8443."),
            event("task_complete"),
        ),
        *(
            event("task_started", turn_id="2"),
            asked("Undone"),
            answered("x"),
            asked("Undone too"),
            answered("y"),
        ),
        event("turn_aborted", reason="interrupted"),
        event("thread_rolled_back", num_turns=1),
    ]
    assert talk(read(lines)) == MESSAGE


@pytest.mark.parametrize("count", [5, 2**70])
def test_more_turns_than_there_are_leave_nothing(count: int) -> None:
    lines = [meta(), asked("Which port?"), answered("8443."), event("thread_rolled_back", num_turns=count)]
    assert read(lines).messages == []


@pytest.mark.parametrize("count", [0, -1, None, "1", True, 1.5])
def test_roll_back_of_no_number_changes_nothing(count: object) -> None:
    lines = [meta(), asked("Which port?"), answered("8443."), event("thread_rolled_back", num_turns=count)]
    assert talk(read(lines)) == MESSAGE


def test_roll_back_applies_to_messages_sent() -> None:
    lines = [
        meta(),
        *(sent("user", "Which port?"), sent("assistant", "8443.")),
        *(sent("user", "Undone"), sent("assistant", "Undone answer")),
        event("thread_rolled_back", num_turns=1),
    ]
    assert talk(read(lines)) == MESSAGE


# --- forks and kinds --------------------------------------------------------------------------------


def copied(seconds: float, *, step: float = 0.001, turn: str | None = None) -> list[bytes]:
    """Return what a fork copies from its source."""
    lines = [meta(SOURCE_ID, seconds, cwd="/elsewhere")]
    if turn is not None:
        lines.append(event("task_started", seconds, turn_id=turn))
    lines += [
        sent("user", "Copied", seconds=seconds + step),
        asked("Copied", seconds + 2 * step),
        answered("Copied answer", seconds + 3 * step),
        event("thread_rolled_back", seconds + 4 * step, num_turns=1),
        event("thread_name_updated", seconds + 5 * step, thread_name="Of the source"),
    ]
    return lines


def forked(copy: list[bytes], own: list[bytes]) -> Conversation:
    return read([meta(FORK_ID, forked_from_id=SOURCE_ID), *copy, *own], rollout(FORK_ID))


@pytest.mark.parametrize(
    ("seconds", "step"), [(-900, 60), (0.01, 0.001)], ids=["with its times", "with the time of the fork"]
)
def test_copies_in_a_fork_are_left_out(seconds: float, step: float) -> None:
    own = [asked("Which port?", 20), answered("8443.", 25)]
    conversation = forked(copied(seconds, step=step), own)
    assert talk(conversation) == MESSAGE
    session = conversation.session
    assert (session.id, session.parent, session.cwd, session.title) == (
        FORK_ID,
        SOURCE_ID,
        "/home/eva/shop",
        "",
    )


def test_turn_of_the_fork_ends_the_copy_even_if_it_begins_at_once() -> None:
    own = [
        event("task_started", 0.02, turn_id=timed_id(0.02)),
        asked("Which port?", 0.03),
        answered("8443.", 0.5),
    ]
    assert talk(forked(copied(0.01, turn=timed_id(-800)), own)) == MESSAGE


def test_copy_that_is_written_slowly_is_left_out_by_its_turns() -> None:
    assert forked(copied(0.01, step=30, turn=timed_id(-800)), []).messages == []


def test_rollback_in_a_fork_removes_own_turns_at_most() -> None:
    own = [asked("Undone", 20), event("thread_rolled_back", 21, num_turns=2), asked("Which port?", 22)]
    assert talk(forked(copied(0.01), own)) == MESSAGE[:1]


def test_fork_of_a_fork_leaves_out_both_copies() -> None:
    copy = [*copied(0.01), meta(timed_id(-2_000, 4), 0.02), asked("Copied of the first", 0.021)]
    assert talk(forked(copy, [asked("Which port?", 30)])) == MESSAGE[:1]


def test_paginated_fork_has_no_copies() -> None:
    base = {"thread_id": SOURCE_ID, "end_ordinal_exclusive": 40}
    lines = [
        meta(FORK_ID, ordinal=40, history_base=base, forked_from_id=SOURCE_ID),
        asked_item("Which port?", "i1", 0, 41),
    ]
    assert talk(read(lines, rollout(FORK_ID))) == MESSAGE[:1]


def test_second_record_of_the_same_session_begins_no_copy() -> None:
    assert talk(read([meta(), asked("Which port?"), meta(cwd="/elsewhere"), answered("8443.")])) == MESSAGE


@pytest.mark.parametrize("numbered", [True, False])
def test_lines_of_a_subagent_begin_at_its_ordinal(numbered: bool) -> None:
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": SOURCE_ID, "depth": 1}}}
    number = [0, 1, 2, 3, 4] if numbered else [None] * 5
    lines = [
        meta(FORK_ID, ordinal=number[0], source=spawn, subagent_history_start_ordinal=3),
        meta(SOURCE_ID, ordinal=number[1]),
        asked("Copied", 0, number[2]),
        asked("Look for the port", 0, number[3]),
        answered("8443.", 0, number[4]),
    ]
    conversation = read(lines, rollout(FORK_ID))
    assert talk(conversation) == [("user", "Look for the port"), ("assistant", "8443.")]
    assert (conversation.session.kind, conversation.session.parent) == ("subagent", SOURCE_ID)


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({}, "main"),
        ({"source": "vscode", "thread_source": "user"}, "main"),
        ({"source": "exec"}, "machine"),
        ({"thread_source": "subagent"}, "subagent"),
        ({"thread_source": "memory_consolidation"}, "machine"),
        ({"source": {"subagent": "review"}}, "subagent"),
        ({"source": {"subagent": "review"}, "thread_source": "user"}, "subagent"),
        ({"source": {"internal": "memory_consolidation"}}, "machine"),
        ({"source": {"custom": "editor"}, "thread_source": "user"}, "main"),
        ({"source": {"custom": "robot"}}, "machine"),
        ({"source": 7, "thread_source": []}, "main"),
    ],
)
def test_kind_of_a_session_is_given_by_its_source(more: dict[str, object], kind: SessionKind) -> None:
    assert read([meta(**more)]).session.kind == kind  # type: ignore[arg-type]


def test_id_of_the_transcript_is_the_key_and_not_that_of_its_root() -> None:
    assert read([meta(FORK_ID, session_id=SOURCE_ID)], rollout(FORK_ID)).session.id == FORK_ID


def test_session_without_a_record_has_the_id_of_its_name_and_the_folder_of_a_turn() -> None:
    conversation = read([line("turn_context", {"cwd": "/home/eva/shop"}), asked("Which port?", 3)])
    assert (conversation.session.id, conversation.session.cwd) == (HOME_ID, "/home/eva/shop")
    assert conversation.session.updated_ms == START_MS + 3_000


def test_renamed_session_has_the_new_title() -> None:
    lines = [meta(), event("thread_name_updated", thread_id=HOME_ID, thread_name="Ports")]
    assert read(lines).session.title == "Ports"


# --- unknown and broken -----------------------------------------------------------------------------


def test_unknown_types_are_counted() -> None:
    lines = [
        line("hologram", {}),
        event("sang"),
        item("Dance", "i1"),
        json.dumps({"type": 7}).encode(),
    ]
    assert dict(read([meta(), *lines]).unknown) == {
        "hologram": 1,
        "event_msg/sang": 1,
        "item/Dance": 1,
        "int": 1,
    }


@pytest.mark.parametrize("broken", [b'{"timestamp":', b"NaN", b"[]", b"[" * 9_000, b'{"a":' * 9_000, b"\xff"])
def test_broken_lines_are_counted(broken: bytes) -> None:
    conversation = read([meta(), asked("Which port?"), broken, answered("8443.")])
    assert talk(conversation) == MESSAGE
    assert conversation.broken + sum(conversation.unknown.values()) == 1


def test_lone_surrogates_are_replaced_and_lines_with_invalid_bytes_left_out() -> None:
    lines = [asked("x").replace(b'"x"', b'"a\\ud800b"'), asked("y").replace(b'"y"', b'"c\xffd"')]
    conversation = read([meta(), *lines])
    assert talk(conversation) == [("user", "a\ufffdb")]
    assert conversation.broken == 1


# --- hostile lines ----------------------------------------------------------------------------------


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_damaged_lines_never_raise_or_become_words_of_a_person(seed: int, without_events: bool) -> None:
    lines = every_trap()
    if without_events:
        lines = [each for each in lines if b'"event_msg"' not in each]
    conversation = read(mutate(lines, Random(seed)))
    for message in conversation.messages:
        assert message.role == "assistant" or MACHINE not in message.text
        assert message.text.strip()
        assert message.text.encode()
    places = [message.place for message in conversation.messages]
    assert places == sorted(places)
