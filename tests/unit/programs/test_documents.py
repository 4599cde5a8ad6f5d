"""Conversations in JSON documents: Cline, Roo Code, Kilo Code, Continue, Kiro and Amp."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from memd.programs import amp, cline, cline_tasks, continue_sessions
from memd.programs.conversation import Conversation, Session
from memd.programs.documents import DocumentFiles, DocumentFormat, words_in
from memd.programs.program import TranscriptFile
from memd.programs.records import part_of
from tests.support.transcript_programs.documents import (
    AMP,
    CLINE,
    CLINE_NOISE,
    CONTINUE,
    ITEMS,
    KIRO,
    ROO_CODE,
    TASK_NOISE,
    DocumentProgram,
    amp_item,
    ask,
    cline_answer,
    cline_frame,
    cline_manifest,
    cline_user,
    continue_frame,
    continue_item,
    document_of,
    say,
    text_block,
)
from tests.support.transcript_programs.plain import CWD, NOISE, START_MS

FILE = TranscriptFile("s1")


def read(files: DocumentFiles, frame: Any, *items: Any) -> Conversation:
    """Return the conversation in a document with messages."""
    reader = files.open(FILE)
    reader.read(document_of(frame, [json.dumps(item) for item in items]), 1)
    return reader.conversation()


def said(conversation: Conversation) -> list[tuple[str, str]]:
    """Return who said what."""
    return [message[:2] for message in conversation.messages]


# --- every program ----------------------------------------------------------------------------------

PROGRAMS: Mapping[str, tuple[DocumentFiles, DocumentProgram]] = {
    "cline": (cline.READER, CLINE),
    "roo-code": (cline_tasks.READER, ROO_CODE),
    "continue": (continue_sessions.READER, CONTINUE),
    "kiro": (continue_sessions.READER, KIRO),
    "amp": (amp.READER, AMP),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_machine_text_is_no_message_and_no_unknown_type(name: str) -> None:
    files, program = PROGRAMS[name]
    question, answer = (
        program.record("s1", 0, "user", "Which port?"),
        program.record("s1", 1, "assistant", "8443."),
    )
    conversation = read(files, program.frame("s1"), question, *program.noise, answer)
    assert said(conversation) == [("user", "Which port?"), ("assistant", "8443.")]
    assert [message.place for message in conversation.messages] == [1, len(program.noise) + 2]
    assert (conversation.unknown, conversation.broken) == ({}, 0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_unknown_types_are_counted_by_name_and_what_is_no_message_as_broken(name: str) -> None:
    files, program = PROGRAMS[name]
    conversation = read(files, program.frame("s1"), program.unknown, program.unknown, "text", None, 7)
    assert conversation.messages == []
    assert conversation.unknown == {"telepathy": 2}
    assert conversation.broken == 3


@pytest.mark.parametrize(
    "data", [b"{", b"", b"null", b'"text"', b"[7]", b"\xff{}", b"[" * 100_000, b'{"messages": 7}']
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_damaged_documents_have_no_messages(name: str, data: bytes) -> None:
    reader = PROGRAMS[name][0].open(FILE)
    reader.read(data, 1)
    assert reader.conversation().messages == []
    assert reader.conversation().session.id == "s1"


@pytest.mark.parametrize(
    ("files", "path", "expected"),
    [
        (cline.READER, "s1/s1.messages.json", TranscriptFile("s1")),
        (cline.READER, "s1/agent_7.messages.json", TranscriptFile("agent_7", "subagent")),
        (cline.READER, "s1/s1.json", None),
        (cline.READER, "s1/s1.compaction.json", None),
        (cline.READER, "s1.messages.json", None),
        (cline_tasks.READER, "1795851742480/ui_messages.json", TranscriptFile("1795851742480")),
        (cline_tasks.READER, "1795851742480/api_conversation_history.json", None),
        (cline_tasks.READER, "ui_messages.json", None),
        (continue_sessions.READER, "s1.json", TranscriptFile("s1")),
        (continue_sessions.READER, "sessions.json", None),
        (continue_sessions.READER, "L2hvbWU/s1.json", TranscriptFile("s1")),
        (continue_sessions.READER, "L2hvbWU/sessions.json", None),
        (continue_sessions.READER, "a/b/s1.json", None),
        (amp.READER, "T-0199a213.json", TranscriptFile("T-0199a213")),
        (amp.READER, "0199a213.json", None),
        (amp.READER, "x/T-0199a213.json", None),
    ],
)
def test_paths_name_sessions(files: DocumentFiles, path: str, expected: TranscriptFile | None) -> None:
    assert files.transcript_at(path) == expected
    above = path.rpartition("/")[0]
    assert expected is None or not above or files.is_walked(above)
    assert not files.is_walked("a/b")


@pytest.mark.parametrize(
    ("path", "expected"),
    [("", {"a": [{"b": 7}]}), ("a.0.b", 7), ("a.1.b", None), ("a.b", None), ("a.0.b.c", None)],
)
def test_part_of_a_value_is_found_by_its_path(path: str, expected: object) -> None:
    assert part_of({"a": [{"b": 7}]}, path) == expected


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("Which port?", "Which port?"),
        ("<task>\nWhich port?\n</task>", "Which port?"),
        ("<task>Why is <task> not closed?</task></task>", "Why is <task> not closed?</task>"),
        ('<input mode="act">Which port?', "Which port?"),
        ("<tasks>Which port?</tasks>", ""),
        ("<environment_details>x</environment_details>", ""),
        (
            [text_block("<task><b>bold</b></task>"), text_block("<note>x</note>"), {"type": "image"}],
            "<b>bold</b>",
        ),
        (["a", {"type": "tool_result", "text": "x"}, "b"], "a\nb"),
        (None, ""),
    ],
)
def test_words_of_a_user_are_without_their_tags_and_without_other_tags(content: object, words: str) -> None:
    assert words_in(content, ("task", "input")) == words


def test_message_without_its_first_time_has_its_second_one() -> None:
    files = DocumentFiles(r"(?P<id>.+)", DocumentFormat(times=("a", "b"), messages=""))
    items = [{"role": "user", "content": "x", "b": START_MS}, {"role": "user", "content": "y"}]
    assert [message.time_ms for message in read(files, [ITEMS], *items).messages] == [START_MS, None]


# --- Cline ------------------------------------------------------------------------------------------


def test_cline_records_times_ids_and_its_release() -> None:
    conversation = read(cline.READER, cline_frame("s9"), cline_user("Which port?"), cline_answer("8443.", 4))
    assert conversation.session == Session(
        "s9", started_ms=START_MS, updated_ms=START_MS + 4_000, release="3.0.65"
    )
    assert [(message.key, message.time_ms) for message in conversation.messages] == [
        ("u0", START_MS),
        ("a4", START_MS + 4_000),
    ]


def test_cline_notices_about_its_mode_are_no_words_of_the_user() -> None:
    notice = "<mode_notice>The user switched from plan mode to act mode.</mode_notice>"
    conversation = read(cline.READER, cline_frame("s1"), cline_user(f"{notice}Do it"), cline_user(notice, 1))
    assert said(conversation) == [("user", "Do it")]


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({}, "main"),
        ({"agent": "subagent"}, "subagent"),
        ({"agent": "teammate"}, "subagent"),
        ({"origin": {"trigger": "nightly"}}, "machine"),
    ],
)
def test_cline_agents_and_schedules_are_no_persons(more: dict[str, Any], kind: str) -> None:
    assert read(cline.READER, cline_frame("s1", **more), *CLINE_NOISE).session.kind == kind


@pytest.mark.parametrize(("is_interactive", "kind"), [(True, "main"), (False, "machine"), (None, "main")])
def test_cline_manifest_has_the_title_the_folder_and_whether_a_person_was_there(
    tmp_path: Path, is_interactive: bool | None, kind: str
) -> None:
    manifest = cline_manifest("s1", interactive=is_interactive, metadata={"title": "Ports\nof staging"})
    (tmp_path / "s1").mkdir()
    (tmp_path / "s1/s1.json").write_text(json.dumps(manifest))
    details = cline.READER.read_details(tmp_path, "s1")
    assert details is not None
    assert (details.title, details.cwd, details.kind) == ("Ports of staging", CWD, kind)


# --- Cline, Roo Code and Kilo Code in an editor -----------------------------------------------------


def test_first_message_of_a_task_is_the_users_and_later_text_the_answer() -> None:
    conversation = read(
        cline_tasks.READER,
        [ITEMS],
        say("text", "Which port?"),
        say("api_req_started", "{}", 1),
        say("text", "Let me look.", 2),
        say("user_feedback", "Of staging", 3),
        say("completion_result", "8443.HAS_CHANGES", 4),
        ask("completion_result", "8443.", 5),
    )
    assert said(conversation) == [
        ("user", "Which port?"),
        ("assistant", "Let me look."),
        ("user", "Of staging"),
        ("assistant", "8443."),
    ]
    assert [message.time_ms for message in conversation.messages] == [
        START_MS + 1_000 * at for at in (0, 2, 3, 4)
    ]


def test_task_of_cline_has_a_type_of_its_own() -> None:
    conversation = read(cline_tasks.READER, [ITEMS], say("task", "Which port?"), say("text", "8443."))
    assert said(conversation) == [("user", "Which port?"), ("assistant", "8443.")]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("followup", {"question": "Which stage?", "options": ["a", "b"]}, [("assistant", "Which stage?")]),
        (
            "followup",
            {"question": "Which stage?", "options": ["a", "b"], "selected": "b"},
            [("assistant", "Which stage?"), ("user", "b")],
        ),
        ("plan_mode_respond", {"response": "The plan", "options": []}, [("assistant", "The plan")]),
        ("followup", "Which stage?", [("assistant", "Which stage?")]),
        ("followup", "{not JSON", [("assistant", "{not JSON")]),
        ("followup", "{" * 50_000, [("assistant", "{" * 50_000)]),
    ],
)
def test_questions_are_answers_and_chosen_options_the_users(
    kind: str, text: object, expected: list[tuple[str, str]]
) -> None:
    assert said(read(cline_tasks.READER, [ITEMS], say("task", ""), ask(kind, text))) == expected


@pytest.mark.parametrize("program", ["Working", "Workspace"])
def test_folder_of_a_task_is_in_its_requests_to_the_model(program: str) -> None:
    request = f"<environment_details>\n# Current {program} Directory ({CWD}) Files\n{NOISE}"
    started = say("api_req_started", json.dumps({"request": request}).replace("\\n", "\n"))
    other = say("api_req_started", "# Current Working Directory (/other)")
    conversation = read(cline_tasks.READER, [ITEMS], say("task", "x"), started, other, *TASK_NOISE)
    assert conversation.session.cwd == CWD


@pytest.mark.parametrize(
    ("name", "document", "expected"),
    [
        ("tasks/s1/history_item.json", {"workspace": CWD}, ("main", "", CWD)),
        ("tasks/s1/history_item.json", {"workspace": CWD, "parentTaskId": "s0"}, ("subagent", "s0", CWD)),
        (
            "state/taskHistory.json",
            [7, {"id": "s0"}, {"id": "s1", "cwdOnTaskInitialization": CWD}],
            ("main", "", CWD),
        ),
        ("state/taskHistory.json", {"id": "s1"}, ("main", "", "")),
    ],
)
def test_details_of_a_task_are_next_to_it(
    tmp_path: Path, name: str, document: object, expected: tuple[str, str, str]
) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(json.dumps(document))
    details = cline_tasks.READER.read_details(tmp_path / "tasks", "s1")
    assert details is not None
    assert (details.kind, details.parent, details.cwd) == expected


# --- Continue, Kiro and Amp -------------------------------------------------------------------------


def test_continue_records_the_title_and_the_folder_but_no_times() -> None:
    frame = continue_frame("s9", title="Ports")
    conversation = read(continue_sessions.READER, frame, continue_item("user", [text_block("Which port?")]))
    assert conversation.session == Session("s9", title="Ports", cwd=CWD)
    assert said(conversation) == [("user", "Which port?")]
    assert conversation.messages[0].time_ms is None


def test_continue_answers_with_a_summary_of_what_came_before_stay() -> None:
    item = continue_item("assistant", "8443.", conversationSummary="They spoke of ports.")
    assert said(read(continue_sessions.READER, continue_frame("s1"), item)) == [("assistant", "8443.")]


@pytest.mark.parametrize(
    ("created", "started_ms"), [(str(START_MS), START_MS), ("9" * 30, None), ("x", None), (7, None)]
)
def test_continue_lists_when_sessions_began(tmp_path: Path, created: object, started_ms: int | None) -> None:
    rows = [7, {"sessionId": "s0"}, {"sessionId": "s1", "dateCreated": created}]
    (tmp_path / "sessions.json").write_text(json.dumps(rows))
    details = continue_sessions.READER.read_details(tmp_path, "s1")
    assert details is not None
    assert details.started_ms == started_ms


def test_kiro_words_are_without_their_tag() -> None:
    item = continue_item("user", "<kiro-ide-message>Which port?</kiro-ide-message>")
    assert said(read(continue_sessions.READER, continue_frame("s1"), item)) == [("user", "Which port?")]


def test_amp_records_the_folder_and_times() -> None:
    conversation = read(
        amp.READER, AMP.frame("T-1"), amp_item("user", "Which port?", 1), amp_item("assistant", "8443.", 2)
    )
    session = conversation.session
    assert (session.id, session.cwd, session.started_ms) == ("T-1", CWD, START_MS)
    assert [message.time_ms for message in conversation.messages] == [START_MS + 1_000, START_MS + 2_000]


def test_details_are_none_or_empty_for_ids_that_are_no_names(tmp_path: Path) -> None:
    readers: tuple[Callable[[Path, str], Session | None], ...] = (
        cline.READER.read_details,
        cline_tasks.READER.read_details,
    )
    assert [read_details(tmp_path, "../x") for read_details in readers] == [None, None]
    assert continue_sessions.READER.read_details(tmp_path, "../x") == Session("../x")
