"""Conversations of Copilot CLI and of Copilot's chat in VS Code: prompts and answers that were not undone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from memd.programs.conversation import Conversation, Message
from memd.programs.copilot import READER as COPILOT
from memd.programs.copilot_chat import READER as COPILOT_CHAT
from memd.programs.program import FileReader, TranscriptFile
from memd.sources.conversations import ConversationFiles
from tests.support.transcript_programs.copilot import (
    MACHINE,
    SESSION,
    START_MS,
    CopilotFile,
    every_trap,
    write_machine_events,
)
from tests.support.transcript_programs.mutations import BROKEN_LINES

CHAT = f"a1b2/GitHub.copilot-chat/transcripts/{SESSION}.jsonl"
BOTH = [(COPILOT, f"{SESSION}/events.jsonl"), (COPILOT_CHAT, CHAT)]


def read(
    lines: Iterable[bytes], program: FileReader = COPILOT, path: str = f"{SESSION}/events.jsonl"
) -> Conversation:
    file = program.transcript_at(path)
    assert file is not None
    reader = program.open(file)
    for place, line in enumerate(lines, start=1):
        reader.read(line, place)
    return reader.conversation()


def talk(conversation: Conversation) -> list[tuple[str, str]]:
    return [(each.role, each.text) for each in conversation.messages]


# --- whose words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("program", "path"), BOTH)
def test_session_with_every_trap_has_the_prompts_and_answers_that_were_not_undone(
    program: FileReader, path: str
) -> None:
    conversation = read(every_trap(), program, path)

    assert talk(conversation) == [
        ("user", "Which port does staging use?"),
        ("assistant", "Let me look."),
        ("assistant", "Staging uses 8443."),
        ("user", "Change it to 9001"),
        ("assistant", "Changed to 9001."),
    ]
    assert not conversation.unknown
    assert conversation.broken == 0


def test_message_has_its_line_id_and_time() -> None:
    file = CopilotFile()
    file.start()
    asked = file.prompt("Which port?")
    answered = file.answer("8443.")

    assert read(file.lines).messages == [
        Message("user", "Which port?", 2, asked, START_MS + 1_000),
        Message("assistant", "8443.", 3, answered, START_MS + 2_000),
    ]


def test_release_that_wrote_the_session_is_known() -> None:
    file = CopilotFile()
    file.start()
    assert read(file.lines).session.release == "1.0.102"
    file.event("session.resume", {"copilotVersion": 7, "context": {}})
    assert read(file.lines).session.release == "1.0.102"


def test_events_of_machines_are_no_messages_and_not_unknown() -> None:
    file = CopilotFile()
    write_machine_events(file)
    conversation = read(file.lines)

    assert conversation.messages == []
    assert not conversation.unknown
    assert conversation.broken == 0


@pytest.mark.parametrize("mark", [True, "x", 1, [], {}, ""])
def test_marked_event_is_no_message_whatever_the_type_of_its_mark(mark: object) -> None:
    file = CopilotFile()
    file.prompt(MACHINE, isAutopilotContinuation=mark)
    file.prompt(MACHINE, parentToolCallId=mark)
    file.event("user.message", {"content": MACHINE}, agentId=mark)
    file.event("assistant.message", {"content": MACHINE}, agentId=mark)
    file.prompt(MACHINE, source=mark or 7)

    assert read(file.lines).messages == []


def test_event_without_marks_is_a_message() -> None:
    file = CopilotFile()
    file.prompt("One", source=None, isAutopilotContinuation=False, parentToolCallId=None)
    file.event("user.message", {"content": "Two", "source": "user"}, agentId=None)

    assert talk(read(file.lines)) == [("user", "One"), ("user", "Two")]


def test_unknown_types_are_counted() -> None:
    file = CopilotFile()
    file.event("assistant.telepathy", {"content": MACHINE})
    file.event("telepathy", {"content": MACHINE})
    file.event("tool.new", {"content": MACHINE})
    file.lines.append(b"{}")
    conversation = read(file.lines)

    assert conversation.messages == []
    assert conversation.unknown == {"assistant.telepathy": 1, "telepathy": 1, "": 1}


def test_repeated_line_counts_once() -> None:
    file = CopilotFile()
    file.prompt("Which port?")

    assert talk(read(file.lines * 2)) == [("user", "Which port?")]


# --- undone events ----------------------------------------------------------------------------------


def test_rewind_undoes_the_event_and_all_after_it() -> None:
    file = CopilotFile()
    file.prompt("a")
    file.answer("a, answered")
    undone = file.event("assistant.turn_start", {})
    file.prompt("b")
    file.answer("b, answered")
    file.rewind(undone)
    file.prompt("c")

    assert [said for _, said in talk(read(file.lines))] == ["a", "a, answered", "c"]


def test_rewind_within_what_follows_a_rewind_keeps_what_is_before_both() -> None:
    file = CopilotFile()
    file.prompt("a")
    undone = file.prompt("b")
    file.rewind(undone)
    again = file.prompt("c")
    file.prompt("d")
    file.rewind(again)
    file.prompt("e")

    assert [said for _, said in talk(read(file.lines))] == ["a", "e"]


@pytest.mark.parametrize("target", ["nowhere", None, 7, {}])
def test_rewind_to_an_unknown_event_undoes_nothing(target: object) -> None:
    file = CopilotFile()
    file.prompt("a")
    file.rewind(target)
    file.event("session.snapshot_rewind", None)

    assert talk(read(file.lines)) == [("user", "a")]


# --- the session ------------------------------------------------------------------------------------


def test_session_has_folder_branch_times_and_its_first_prompt_as_title() -> None:
    file = CopilotFile()
    file.start()
    file.prompt("Which\nport?")
    file.event("session.context_changed", {"cwd": "/home/eva/bakery", "branch": "ports"})
    file.event("session.resume", {"context": {"cwd": "/home/eva/bakery"}}, timestamp="not a time")
    session = read(file.lines).session

    assert (session.id, session.kind, session.title) == (SESSION, "main", "Which port?")
    assert (session.cwd, session.branch) == ("/home/eva/shop", "ports")
    assert (session.started_ms, session.updated_ms) == (START_MS, START_MS + 2_000)


def test_newest_title_of_the_program_wins_over_the_first_prompt() -> None:
    file = CopilotFile()
    file.prompt("Which port?")
    for title in ("Old", "Ports", 7, " "):
        file.event("session.title_changed", {"title": title})

    assert read(file.lines).session.title == "Ports"


YAML = """id: 0c8a5200
cwd: "/home/eva/my \\"shop\\""
name: |-
  Ports of
  the shop
branch: 'eva''s' # comment
summary_count: 0
"""


def test_workspace_file_names_the_session_and_its_folder(tmp_path: Path) -> None:
    (tmp_path / SESSION).mkdir()
    (tmp_path / SESSION / "workspace.yaml").write_text(YAML)
    (tmp_path / SESSION / "events.jsonl").write_bytes(b"\n".join(every_trap()) + b"\n")
    details = COPILOT.read_details(tmp_path, SESSION)
    assert details is not None
    assert (details.title, details.cwd) == ("Ports of the shop", '/home/eva/my "shop"')
    transcripts = ConversationFiles("copilot", COPILOT, [tmp_path])
    loaded = transcripts.load(transcripts.find().files[f"copilot/{SESSION}"])
    transcripts.close()

    assert len(loaded.text.splitlines()) == 5
    assert loaded.facts is not None
    assert (loaded.facts.title, loaded.facts.cwd) == ("Ports of the shop", "/home/eva/shop")


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("name: Ports # mine", "Ports"),
        ("name: 'Eva''s ports' # mine", "Eva's ports"),
        ('name: "Ports \\u0041"', "Ports A"),
        ('name: "Ports', "Ports"),
        ("name: null\nsummary: Ports", "Ports"),
        ("summary: >-\n  Ports\n  of Eva\ncwd: /x", "Ports of Eva"),
        ("name:", ""),
        ("[" * 10_000, ""),
        ('name: "\\ud83d"', "?"),
    ],
)
def test_titles_of_a_workspace_file_may_be_written_in_several_ways(
    tmp_path: Path, written: str, title: str
) -> None:
    (tmp_path / SESSION).mkdir()
    (tmp_path / SESSION / "workspace.yaml").write_text(written)
    details = COPILOT.read_details(tmp_path, SESSION)

    assert details is not None
    assert details.title == title


def test_workspace_of_a_chat_names_its_folder(tmp_path: Path) -> None:
    path = tmp_path / CHAT
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    (tmp_path / "0000").mkdir()
    (tmp_path / "a1b2" / "workspace.json").write_text('{"folder": "file:///home/eva/my%20shop"}')
    details = COPILOT_CHAT.read_details(tmp_path, SESSION)

    assert details is not None
    assert details.cwd == "/home/eva/my shop"


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b'{"folder": 7}', b'{"folder": "file://[x"}', b'{"folder": "vscode-remote://ssh/x"}'],
)
def test_workspace_without_a_local_folder_names_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / CHAT
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    (tmp_path / "a1b2" / "workspace.json").write_bytes(content)
    details = COPILOT_CHAT.read_details(tmp_path, SESSION)

    assert details is not None
    assert details.cwd == ""


@pytest.mark.parametrize("program", [COPILOT, COPILOT_CHAT])
def test_missing_details_are_none(tmp_path: Path, program: FileReader) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        for session_id in (SESSION, "../x"):
            assert program.read_details(folder, session_id) is None


# --- places -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "path", "expected"),
    [
        (COPILOT, f"{SESSION}/events.jsonl", TranscriptFile(SESSION, rank=1)),
        (COPILOT, f"{SESSION}.jsonl", TranscriptFile(SESSION)),
        (COPILOT, f"{SESSION}/other.jsonl", None),
        (COPILOT, f"{SESSION}/rewind-snapshots/events.jsonl", None),
        (COPILOT, "", None),
        (COPILOT_CHAT, CHAT, TranscriptFile(SESSION)),
        (COPILOT_CHAT, f"a1b2/chatSessions/{SESSION}.jsonl", TranscriptFile(SESSION, rank=2)),
        (COPILOT_CHAT, f"a1b2/chatSessions/{SESSION}.json", TranscriptFile(SESSION, rank=1)),
        (COPILOT_CHAT, f"{SESSION}.jsonl", TranscriptFile(SESSION, rank=2)),
        (COPILOT_CHAT, f"a1b2/chatEditingSessions/{SESSION}.json", None),
        (COPILOT_CHAT, "a1b2/GitHub.copilot-chat/transcripts/x.json", None),
        (COPILOT_CHAT, "a1b2/x.jsonl", None),
        (COPILOT_CHAT, "", None),
    ],
)
def test_paths_name_sessions(program: FileReader, path: str, expected: TranscriptFile | None) -> None:
    assert program.transcript_at(path) == expected


@pytest.mark.parametrize(
    ("messages", "kind"),
    [
        ([], "main"),
        (["You are an interactive tool."], "main"),
        (["You are Copilot. You are running in non-interactive mode and have no way to ask."], "machine"),
        (["You are running in non-interactive mode.", "You are an interactive tool."], "main"),
        (["You are running in non-interactive mode."] * 2, "machine"),
    ],
)
def test_session_without_a_person_is_told_so_in_its_instructions(messages: list[str], kind: str) -> None:
    file = CopilotFile()
    file.start()
    for message in messages:
        file.event("system.message", {"role": "system", "content": message})
        file.prompt("Which port?")
        file.event("system.message", {"content": "You are running in non-interactive mode"}, agentId="a1")
    assert read(file.lines).session.kind == kind


def test_release_is_that_of_the_first_event() -> None:
    file = CopilotFile()
    file.event(
        "session.start", {"sessionId": SESSION, "copilotVersion": "1.0.102", "context": {"cwd": "/home/eva"}}
    )
    assert read(file.lines).session.release == "1.0.102"


def test_only_folders_of_transcripts_are_walked() -> None:
    assert COPILOT.is_walked(SESSION)
    assert not COPILOT.is_walked(f"{SESSION}/files")
    walked = ["a1b2", "a1b2/GitHub.copilot-chat", "a1b2/GitHub.copilot-chat/transcripts", "a1b2/chatSessions"]
    others = [
        "a1b2/chatEditingSessions",
        "a1b2/chatSessions/x",
        "a1b2/GitHub.copilot-chat/x",
        f"{walked[-2]}/x",
    ]
    assert [path for path in (*walked, *others) if COPILOT_CHAT.is_walked(path)] == walked


# --- appending and hostile lines --------------------------------------------------------------------


def test_reading_on_after_a_conversation_equals_reading_at_once() -> None:
    lines = every_trap()
    reader = COPILOT.open(TranscriptFile(SESSION, rank=1))
    for place, line in enumerate(lines, start=1):
        reader.read(line, place)
        assert reader.conversation() == read(lines[:place])


def test_broken_lines_are_counted_and_skipped() -> None:
    file = CopilotFile()
    file.prompt("Which port?")
    conversation = read([*BROKEN_LINES, b" ", b"", b'{"type":"user.message"}', *file.lines])

    assert talk(conversation) == [("user", "Which port?")]
    assert conversation.messages[0].place == len(BROKEN_LINES) + 4
    assert conversation.broken == len(BROKEN_LINES) + 1


def test_lone_surrogate_becomes_a_replacement_character() -> None:
    assert talk(read([b'{"type":"user.message","data":{"content":"a\\ud83d b"}}'])) == [("user", "a\ufffd b")]
