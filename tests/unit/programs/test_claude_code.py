"""Conversations of Claude Code: a person's prompts and visible answers of the kept branches, each once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memd.programs.claude_code import READER
from memd.programs.conversation import Message
from memd.programs.program import TranscriptFile
from memd.sources.conversations import ConversationFiles
from tests.support.transcript_programs.claude_code import (
    MACHINE,
    MACHINE_TEXTS,
    MARKS,
    PROJECT,
    SESSION,
    START_MS,
    ClaudeFile,
    every_trap,
    read_claude_code,
    talk_in,
    text,
    write_machine_lines,
)
from tests.support.transcript_programs.mutations import BROKEN_LINES

# --- whose words ------------------------------------------------------------------------------------


def test_session_with_every_trap_has_the_prompts_and_answers_of_the_kept_branch() -> None:
    conversation = read_claude_code(every_trap())

    assert talk_in(conversation) == [
        ("user", "Which port does staging use?"),
        ("assistant", "Let me look.\nStaging uses 8443."),
        ("user", "and production?"),
        ("assistant", "443."),
        ("user", "Change it to 9001"),
        ("assistant", "Changed to 9001."),
        ("user", "!make deploy"),
        ("assistant", "Deployed."),
    ]
    assert not conversation.unknown
    assert conversation.broken == 0


def test_message_has_its_line_id_and_time() -> None:
    file = ClaudeFile()
    asked = file.prompt("Which port?")
    answered = file.answer("8443.", "msg_1")
    file.tool("msg_1")
    file.answer("For staging.", "msg_1")

    assert read_claude_code(file.lines).messages == [
        Message("user", "Which port?", 1, asked, START_MS),
        Message("assistant", "8443.\nFor staging.", 2, answered, START_MS + 1_000),
    ]


def test_release_is_that_of_the_newest_record() -> None:
    file = ClaudeFile()
    file.prompt("Which port?")
    assert read_claude_code(file.lines).session.release == "2.1.331"
    file.answer("8443.", version="2.1.340")
    file.answer("Or 9000.", version=7)
    assert read_claude_code(file.lines).session.release == "2.1.340"


def test_records_of_machines_are_no_messages_and_not_unknown() -> None:
    file = ClaudeFile()
    write_machine_lines(file)
    conversation = read_claude_code(file.lines)

    assert conversation.messages == []
    assert not conversation.unknown
    assert conversation.broken == 0


@pytest.mark.parametrize("mark", MARKS, ids=str)
def test_marked_record_is_no_prompt_whatever_the_type_of_its_mark(mark: dict[str, object]) -> None:
    file = ClaudeFile()
    for value in (*mark.values(), "x", 1, [], {"kind": 7}):
        file.prompt(MACHINE, **dict.fromkeys(mark, value))

    assert read_claude_code(file.lines).messages == []


@pytest.mark.parametrize("said", MACHINE_TEXTS)
def test_injected_block_is_left_out_of_a_prompt(said: str) -> None:
    file = ClaudeFile()
    file.prompt([text(said), text("Which port?")])

    assert talk_in(read_claude_code(file.lines)) == [("user", "Which port?")]


@pytest.mark.parametrize(
    "said", ["a < b", "<3 this", "<https://example.org> is down", "<Button> is grey", "x <b>"]
)
def test_prompt_that_does_not_open_with_a_lower_case_tag_is_kept(said: str) -> None:
    file = ClaudeFile()
    file.prompt(said)

    assert talk_in(read_claude_code(file.lines)) == [("user", said)]


def test_prompt_marked_as_human_is_kept() -> None:
    file = ClaudeFile()
    file.prompt("One", origin={"kind": "human"}, isMeta=False, teamName=None)
    file.queued([text("Two"), {"type": "image", "source": {}}], origin={"kind": "human"})

    assert talk_in(read_claude_code(file.lines)) == [("user", "One"), ("user", "Two")]


def test_unknown_types_are_counted() -> None:
    file = ClaudeFile()
    file.record("telepathy", message={"role": "user", "content": MACHINE})
    file.prompt([text(MACHINE), {"type": "hologram"}])
    file.blocks([text("Yes."), {"type": "hologram"}])
    file.add({"no": "type"})
    conversation = read_claude_code(file.lines)

    assert talk_in(conversation) == [("assistant", "Yes.")]
    assert conversation.unknown == {"telepathy": 1, "block hologram": 2, "": 1}


def test_number_of_unknown_types_is_bounded() -> None:
    conversation = read_claude_code(json.dumps({"type": f"{number}" * 100}).encode() for number in range(500))

    assert len(conversation.unknown) <= 51
    assert sum(conversation.unknown.values()) == 500


# --- one message, several lines ---------------------------------------------------------------------


def test_repeated_line_counts_once() -> None:
    file = ClaudeFile()
    file.prompt("Which port?")
    file.answer("8443.", "msg_1")
    again = file.lines[1]
    file.answer("8443.", "msg_1")

    assert talk_in(read_claude_code([*file.lines, again, file.lines[0]])) == [
        ("user", "Which port?"),
        ("assistant", "8443."),
    ]


# --- the session ------------------------------------------------------------------------------------


def test_session_has_folder_branch_and_times() -> None:
    file = ClaudeFile()
    file.prompt("Which port?", gitBranch="main")
    file.tool()
    file.answer("8443.", cwd="/home/eva/shop/api", gitBranch="ports")
    file.answer("Yes.", gitBranch="HEAD", timestamp="not a time")
    session = read_claude_code(file.lines).session

    assert (session.id, session.kind, session.parent) == (SESSION, "main", "")
    assert (session.cwd, session.branch) == ("/home/eva/shop", "ports")
    assert (session.started_ms, session.updated_ms) == (START_MS, START_MS + 3_000)


def test_moved_session_has_its_new_folder() -> None:
    file = ClaudeFile()
    file.prompt("Which port?")
    file.add({"type": "relocated", "relocatedCwd": "/home/eva/bakery", "sessionId": SESSION})

    assert read_claude_code(file.lines).session.cwd == "/home/eva/bakery"


TITLES: list[dict[str, object]] = [
    {"type": "summary", "summary": "a summary", "leafUuid": "x"},
    {"type": "last-prompt", "lastPrompt": "a last prompt"},
    {"type": "ai-title", "aiTitle": "a title by Claude"},
    {"type": "custom-title", "customTitle": "a title by a person"},
]


@pytest.mark.parametrize("known", range(5))
def test_best_title_wins_and_of_a_kind_the_last(known: int) -> None:
    file = ClaudeFile()
    file.prompt(f"<command-name>{MACHINE}")
    file.prompt("The first\nprompt")
    for record in reversed(TITLES[:known]):
        old = {key: "old" if key != "type" else value for key, value in record.items()}
        file.lines += [
            json.dumps(each).encode() for each in (old, record, {**old, **dict.fromkeys([*old][1:], 7)})
        ]
    expected = [
        "The first prompt",
        *("a summary", "a summary", "a title by Claude", "a title by a person"),
    ]

    assert read_claude_code(file.lines).session.title == expected[known]


def test_session_without_a_title_is_named_by_its_first_request() -> None:
    file = ClaudeFile()
    file.prompt("<bash-input>git status</bash-input>")
    file.prompt("/home/eva/shop/run.py crashes, why?")
    file.prompt("thanks, ship it")
    file.add({"type": "last-prompt", "lastPrompt": "thanks, ship it"})

    assert read_claude_code(file.lines).session.title == "/home/eva/shop/run.py crashes, why?"


def test_headless_session_is_a_machine() -> None:
    file = ClaudeFile(entrypoint="sdk-cli")
    file.prompt("Run the checks")
    file.answer("Done.")
    conversation = read_claude_code(file.lines)

    assert conversation.session.kind == "machine"
    assert talk_in(conversation) == [("user", "Run the checks"), ("assistant", "Done.")]


def test_headless_part_of_a_person_session_is_left_out() -> None:
    file = ClaudeFile(entrypoint="cli")
    file.prompt("Which port?")
    file.prompt("Run the checks", entrypoint="sdk-py")
    file.answer("Done.", entrypoint="sdk-py")
    file.answer("8443.")
    conversation = read_claude_code(file.lines)

    assert conversation.session.kind == "main"
    assert talk_in(conversation) == [("user", "Which port?"), ("assistant", "8443.")]


def test_subagent_has_answers_a_parent_and_its_task_as_title() -> None:
    file = ClaudeFile(isSidechain=True, agentId="a1b2")
    file.prompt("Find the ports")
    file.tool()
    file.answer("8443 and 443.")
    conversation = read_claude_code(file.lines, f"{PROJECT}/{SESSION}/subagents/agent-a1b2.jsonl")

    assert talk_in(conversation) == [("assistant", "8443 and 443.")]
    session = conversation.session
    assert (session.id, session.kind, session.parent) == ("agent-a1b2", "subagent", SESSION)
    assert session.title == "Find the ports"


# --- appending --------------------------------------------------------------------------------------


def test_reading_on_after_a_conversation_equals_reading_at_once() -> None:
    lines = every_trap()
    file = READER.transcript_at(f"{PROJECT}/{SESSION}.jsonl")
    assert file is not None
    reader = READER.open(file)
    for place, line in enumerate(lines, start=1):
        reader.read(line, place)
        assert reader.conversation() == read_claude_code(lines[:place])


# --- places -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"-home/{SESSION}.jsonl", TranscriptFile(SESSION)),
        ("-home/agent-a1.jsonl", TranscriptFile("agent-a1", "subagent")),
        (f"-home/{SESSION}/subagents/agent-a1.jsonl", TranscriptFile("agent-a1", "subagent", 1)),
        (f"-home/{SESSION}/subagents/workflows/w/agent-a1.jsonl", TranscriptFile("agent-a1", "subagent", 1)),
        (f"-home/{SESSION}/subagents/agent-a1.meta.json", None),
        (f"-home/{SESSION}/tool-results/agent-a1.jsonl", None),
        (f"-home/{SESSION}.jsonl.bak", None),
        (f"{SESSION}.jsonl", None),
        ("-home/notes.jsonl", None),
        ("-home/memory/MEMORY.md", None),
        ("", None),
    ],
)
def test_paths_name_sessions(path: str, expected: TranscriptFile | None) -> None:
    assert READER.transcript_at(path) == expected


def test_only_folders_of_transcripts_are_walked() -> None:
    walked = ["-home", f"-home/{SESSION}", f"-home/{SESSION}/subagents", f"-home/{SESSION}/subagents/x/y"]
    others = ["-home/memory", f"-home/{SESSION}/tool-results", f"-home/{SESSION}/x/subagents"]

    assert [path for path in (*walked, *others) if READER.is_walked(path)] == walked


def test_store_reads_the_file_with_the_title_next_to_it(tmp_path: Path) -> None:
    project = tmp_path / PROJECT
    (project / SESSION).mkdir(parents=True)
    (tmp_path / "-other").mkdir()
    (project / f"{SESSION}.jsonl").write_bytes(b"\n".join(every_trap()) + b"\n")
    (project / SESSION / "custom-title.json").write_text('{"customTitle": "Ports"}')
    transcripts = ConversationFiles("claude-code", READER, [tmp_path])
    found = transcripts.find().files
    loaded = transcripts.load(found[f"claude-code/{SESSION}"])
    transcripts.close()

    assert len(loaded.text.splitlines()) == 8
    assert loaded.facts is not None
    assert (loaded.facts.title, loaded.facts.session, loaded.facts.unknown) == ("Ports", SESSION, 0)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"7", b'{"customTitle": 7}', b'{"customTitle": " "}'])
def test_damaged_title_file_gives_no_title(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / PROJECT / SESSION
    folder.mkdir(parents=True)
    (folder / "custom-title.json").write_bytes(content)

    assert READER.read_details(tmp_path, SESSION) is None
    assert READER.read_details(tmp_path / "missing", SESSION) is None
    assert READER.read_details(tmp_path, "../x") is None


# --- hostile lines ----------------------------------------------------------------------------------


def test_broken_lines_are_counted_and_skipped() -> None:
    file = ClaudeFile()
    file.prompt("Which port?")
    conversation = read_claude_code([*BROKEN_LINES, b" ", b"", *file.lines])

    assert talk_in(conversation) == [("user", "Which port?")]
    assert conversation.messages[0].place == len(BROKEN_LINES) + 3
    assert conversation.broken == len(BROKEN_LINES)


def test_lone_surrogate_becomes_a_replacement_character() -> None:
    line = b'{"type":"user","message":{"role":"user","content":"a\\ud83d b \\ud83d\\ude42"}}'

    assert talk_in(read_claude_code([line])) == [("user", "a\ufffd b 🙂")]
