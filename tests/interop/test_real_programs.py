"""The real programs of npm and PyPI with a model on loopback: memd's readers read what they write.

The programs are installed into the cache of tests, which downloads 900 MB once.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.model_servers.dialect import BadModelRequestError
from tests.support.openclaw import ModelRequest, TextReply, ToolCall
from tests.support.real_program import ANSWER, FILE_TEXT, QUESTION, SUMMARY
from tests.support.real_programs import REAL_PROGRAMS, reading_script, real_program
from tests.support.state_homes import KEYWORD_ONLY, StateHome

OTHER_QUESTION = "And which one has production"

pytestmark = [pytest.mark.long, pytest.mark.parametrize("name", REAL_PROGRAMS)]


def skip_without_terminal(name: str) -> None:
    """Skip a test of a program on whose screen tests can't type."""
    if not REAL_PROGRAMS[name].can_talk:
        pytest.skip("it takes no keys for a time that differs")


def test_a_session_without_a_person_has_its_prompt_and_its_answer(name: str, tmp_path: Path) -> None:
    with real_program(name, tmp_path) as (program, server):
        program.run(*program.headless(QUESTION))
    (conversation,) = program.conversations()

    said = [(each.role, each.text) for each in conversation.messages]
    assert said == ([] if program.drops_headless else [("user", QUESTION), ("assistant", ANSWER)])
    assert (conversation.unknown, conversation.broken) == ({}, 0)
    results = [result for request in server.asked for result in request.results]
    assert any(FILE_TEXT.strip() in result for result in results) == program.has_tools


def test_a_session_on_a_terminal_is_read_with_its_prompt_and_its_answer(name: str, tmp_path: Path) -> None:
    skip_without_terminal(name)
    with real_program(name, tmp_path) as (program, server):
        program.talk(QUESTION)
    (conversation,) = program.conversations()

    assert [(each.role, each.text) for each in conversation.messages] == [
        ("user", QUESTION),
        ("assistant", ANSWER),
    ]
    assert all(bool(each.key) == program.has_keys for each in conversation.messages)
    assert all(bool(each.time_ms) == program.has_times for each in conversation.messages)
    assert not conversation.unknown
    assert conversation.broken == 0
    assert conversation.session.kind == "main"
    results = [result for request in server.asked for result in request.results]
    assert any(FILE_TEXT.strip() in result for result in results) == program.has_tools


def test_the_daemon_finds_the_session_with_its_project_and_counts_the_one_without_a_person(
    name: str, tmp_path: Path
) -> None:
    skip_without_terminal(name)
    with real_program(name, tmp_path) as (program, _):
        program.talk(QUESTION)
        program.run(*program.headless("A prompt of a script"))
    with StateHome(KEYWORD_ONLY) as home:
        (home.root / "memd.toml").write_text(f"[sources.{name}]\n")
        with DaemonProcess(home, {"HOME": str(tmp_path)}) as daemon, daemon.client() as client:
            client.index()
            hit = client.search(QUESTION).hits[0]
            by_script = client.search("prompt of a script").hits
            (agent,) = client.status().agents
    (source,) = agent.added

    assert hit.session is not None
    assert (hit.source, hit.session.project) == (name, str(program.folder))
    assert hit.session.title in (QUESTION, ANSWER)  # Continue asks its model for a title
    assert name == "aider" or hit.session.id in hit.session.open
    is_counted = program.marks_headless and not program.drops_headless
    assert source.excluded == ({"machine": 1} if is_counted else {})
    assert (by_script == []) == program.marks_headless
    assert source.unknown == 0


def test_a_resumed_session_is_one_conversation(name: str, tmp_path: Path) -> None:
    if not REAL_PROGRAMS[name].can_resume:
        pytest.skip("it resumes no session without a person")
    with real_program(name, tmp_path) as (program, _):
        program.run(*program.headless(QUESTION))
        (before,) = program.conversations()
        program.run(*program.resumed(before.session.id, OTHER_QUESTION))
    # A minute later, Gemini CLI also makes a second file, without messages.
    (conversation,) = [each for each in program.conversations() if each.messages]

    assert [each.text for each in conversation.messages] == [QUESTION, ANSWER, OTHER_QUESTION, ANSWER]
    assert conversation.messages[:2] == before.messages
    assert not conversation.unknown


def refuse(request: ModelRequest) -> TextReply | ToolCall:
    """Answer as a provider that can't be used."""
    raise BadModelRequestError(400, "the credit balance is too low")


def test_an_error_of_the_provider_is_no_message(name: str, tmp_path: Path) -> None:
    with real_program(name, tmp_path, refuse) as (program, server):
        printed = program.run(*program.headless(QUESTION), ok=False)

    assert "credit balance" in printed.lower()
    assert server.asked
    assert program.said() == ([QUESTION] if program.keeps_failed else [])
    assert not any(conversation.unknown for conversation in program.conversations())


def test_a_compaction_adds_no_message_and_removes_none(name: str, tmp_path: Path) -> None:
    if not REAL_PROGRAMS[name].compact:
        pytest.skip("it has no command for it, or keeps only the summary")

    def reply(request: ModelRequest) -> TextReply | ToolCall:
        is_typed = request.prompt.endswith((QUESTION, OTHER_QUESTION))
        return reading_script(program)(request) if is_typed else TextReply(SUMMARY)

    with real_program(name, tmp_path, reply) as (program, _):
        (program.folder / "ports.txt").write_text(FILE_TEXT * 400)  # worth a compaction
        program.talk(QUESTION, program.compact, OTHER_QUESTION)
    (conversation,) = program.conversations()

    assert program.said() == [QUESTION, ANSWER, OTHER_QUESTION, ANSWER]
    assert not conversation.unknown
