"""Branches and copies in sessions of Claude Code: what was abandoned or belongs to another session is left out."""

from __future__ import annotations

import pytest

from tests.support.transcript_programs.claude_code import (
    MACHINE,
    OTHER_SESSION,
    PROJECT,
    SESSION,
    START_MS,
    ClaudeFile,
    read_claude_code,
    talk_in,
    text,
)

# --- branches ---------------------------------------------------------------------------------------


def test_only_the_newest_of_several_abandoned_branches_is_kept() -> None:
    file = ClaudeFile()
    file.prompt("Hello")
    start = file.answer("Hello.")
    for attempt in ("first", "second", "third"):
        file.leaf = start
        file.prompt(f"{attempt} question")
        file.tool()
        file.answer(f"{attempt} answer")

    assert talk_in(read_claude_code(file.lines))[2:] == [
        ("user", "third question"),
        ("assistant", "third answer"),
    ]


def test_going_back_to_the_first_prompt_abandons_the_whole_conversation() -> None:
    file = ClaudeFile()
    file.prompt("Hello")
    file.answer("Hello.")
    file.leaf = None
    file.prompt("Good morning")
    file.answer("Good morning to you.")

    assert talk_in(read_claude_code(file.lines)) == [
        ("user", "Good morning"),
        ("assistant", "Good morning to you."),
    ]


def test_going_back_within_an_abandoned_branch_does_not_bring_it_back() -> None:
    file = ClaudeFile()
    start = file.prompt("Hello")
    file.answer("Hi.")
    middle = file.prompt("a")
    file.answer("a, answered")
    file.leaf = middle
    file.prompt("b")
    file.leaf = start
    file.prompt("c")

    assert talk_in(read_claude_code(file.lines)) == [("user", "Hello"), ("user", "c")]


def test_record_without_talk_before_the_replacement_does_not_hide_it() -> None:
    file = ClaudeFile()
    start = file.prompt("Hello")
    file.answer("Hi.")
    file.leaf = start
    file.attachment("hook_success", content=MACHINE)
    file.record("progress")
    file.prompt("c")

    assert talk_in(read_claude_code(file.lines)) == [("user", "Hello"), ("user", "c")]


def test_command_after_going_back_abandons_the_branch() -> None:
    file = ClaudeFile()
    start = file.prompt("Hello")
    file.answer("Hi.")
    file.leaf = start
    file.prompt(f"<command-message>{MACHINE}</command-message>")
    file.answer("Reviewed.")

    assert talk_in(read_claude_code(file.lines)) == [("user", "Hello"), ("assistant", "Reviewed.")]


def test_both_branches_of_interleaving_terminals_are_kept() -> None:
    file = ClaudeFile()
    file.prompt("Hello")
    start = file.answer("Hello.")
    one = file.prompt("one: question")
    file.leaf = start
    two = file.prompt("two: question")
    file.leaf = one
    file.answer("one: answer")
    file.leaf = two
    file.answer("two: answer")

    assert talk_in(read_claude_code(file.lines))[2:] == [
        ("user", "one: question"),
        ("user", "two: question"),
        ("assistant", "one: answer"),
        ("assistant", "two: answer"),
    ]


def test_parallel_tool_calls_and_interruptions_abandon_nothing() -> None:
    file = ClaudeFile()
    asked = file.prompt("Look twice")
    first = file.blocks([text("Looking.")], "msg_1")
    file.blocks([{"type": "tool_use", "id": "t2"}, text("And again.")], "msg_1")
    file.prompt([{"type": "tool_result", "tool_use_id": "t2", "content": MACHINE}])
    file.leaf = first
    file.prompt([{"type": "tool_result", "tool_use_id": "t1", "content": MACHINE}])
    file.answer("Found.")
    file.leaf = asked
    file.prompt([text("[Request interrupted by user]")])
    file.prompt("Thanks")

    assert talk_in(read_claude_code(file.lines)) == [
        ("user", "Look twice"),
        ("assistant", "Looking.\nAnd again."),
        ("assistant", "Found."),
        ("user", "Thanks"),
    ]


@pytest.mark.parametrize("logical_parent", [True, False])
def test_messages_before_a_compaction_are_kept(logical_parent: bool) -> None:
    file = ClaudeFile()
    file.prompt("Before")
    last = file.answer("Before, answered.")
    file.record(
        "system",
        subtype="compact_boundary",
        parentUuid=None,
        logicalParentUuid=last if logical_parent else None,
    )
    file.prompt(MACHINE, isCompactSummary=True)
    file.prompt("After")

    assert [said for _, said in talk_in(read_claude_code(file.lines))] == [
        "Before",
        "Before, answered.",
        "After",
    ]


def test_cycles_of_parents_and_missing_parents_end_and_keep_messages() -> None:
    file = ClaudeFile()
    file.prompt("One", uuid="u1", parentUuid="u3")
    file.prompt("Two", uuid="u2", parentUuid="u1")
    file.prompt("Three", uuid="u3", parentUuid="u2")
    file.prompt("Self", uuid="u4", parentUuid="u4")
    file.prompt("Orphan", uuid="u5", parentUuid="nowhere")

    assert [said for _, said in talk_in(read_claude_code(file.lines))] == [
        "One",
        "Two",
        "Three",
        "Self",
        "Orphan",
    ]


def test_long_chain_is_read_without_recursion() -> None:
    file = ClaudeFile()
    for _ in range(20_000):
        file.record("progress")
    start = file.leaf
    file.prompt("a")
    file.leaf = start
    file.prompt("b")

    assert talk_in(read_claude_code(file.lines)) == [("user", "b")]


# --- copies -----------------------------------------------------------------------------------------


def test_fork_has_only_its_own_messages_and_names_its_parent() -> None:
    file = ClaudeFile()
    file.prompt("Which port?")
    file.answer("8443.")
    fork = file.fork(OTHER_SESSION)
    fork.prompt("And production?")
    fork.answer("443.")
    conversation = read_claude_code(fork.lines, f"{PROJECT}/{OTHER_SESSION}.jsonl")

    assert talk_in(conversation) == [("user", "And production?"), ("assistant", "443.")]
    assert conversation.session.parent == SESSION
    assert conversation.session.started_ms == START_MS + 2_000
    assert talk_in(read_claude_code(file.lines)) == [("user", "Which port?"), ("assistant", "8443.")]


def test_resume_of_an_old_release_has_only_its_own_messages() -> None:
    old = ClaudeFile(OTHER_SESSION)
    old.prompt("Which port?")
    new = ClaudeFile()
    new.leaf = old.leaf
    new.prompt("And production?")
    conversation = read_claude_code([*old.lines, *new.lines])

    assert talk_in(conversation) == [("user", "And production?")]
    assert conversation.session.parent == OTHER_SESSION


def test_renamed_file_keeps_its_messages() -> None:
    file = ClaudeFile(OTHER_SESSION)
    file.prompt("Which port?")
    conversation = read_claude_code(file.lines)

    assert talk_in(conversation) == [("user", "Which port?")]
    assert conversation.session.parent == ""
    assert conversation.session.cwd == "/home/eva/shop"
