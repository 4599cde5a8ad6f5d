"""The real programs with databases and a model on loopback: memd's readers read what they write."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.model_servers.dialect import BadModelRequestError
from tests.support.openclaw import ModelRequest, TextReply, ToolCall
from tests.support.real_database_programs import REAL_DATABASE_PROGRAMS, real_database_program
from tests.support.real_program import ANSWER, FILE_TEXT, QUESTION
from tests.support.state_homes import KEYWORD_ONLY, StateHome

OTHER_QUESTION = "And which one has production"

pytestmark = [pytest.mark.long, pytest.mark.parametrize("name", REAL_DATABASE_PROGRAMS)]


def typed(text: str) -> str:
    """Return a prompt without the quotes that `opencode run` puts around one with spaces."""
    return text.strip('"')


def test_a_session_with_a_tool_is_read_with_its_prompt_and_its_answer(name: str, tmp_path: Path) -> None:
    with real_database_program(name, tmp_path) as (program, server):
        program.run(*program.headless(QUESTION))
    (conversation,) = program.conversations()

    assert [(message.role, typed(message.text)) for message in conversation.messages] == [
        ("user", QUESTION),
        ("assistant", ANSWER),
    ]
    assert all(message.key and message.time_ms for message in conversation.messages)
    assert not conversation.unknown
    assert conversation.broken == 0
    assert (conversation.session.kind, conversation.session.cwd) == ("main", str(program.folder))
    assert any(FILE_TEXT.strip() in result for request in server.asked for result in request.results)


def test_a_resumed_session_is_one_conversation(name: str, tmp_path: Path) -> None:
    with real_database_program(name, tmp_path) as (program, _):
        program.run(*program.headless(QUESTION))
        (before,) = program.conversations()
        program.run(*program.resumed(before.session.id, OTHER_QUESTION))
    (conversation,) = program.conversations()

    texts = [typed(message.text) for message in conversation.messages]
    assert texts == [QUESTION, ANSWER, OTHER_QUESTION, ANSWER]
    assert conversation.messages[:2] == before.messages
    assert not conversation.unknown


def refuse(request: ModelRequest) -> TextReply | ToolCall:
    """Answer as a provider that can't be used."""
    raise BadModelRequestError(400, "the credit balance is too low")


def test_an_error_of_the_provider_is_no_answer(name: str, tmp_path: Path) -> None:
    with real_database_program(name, tmp_path, refuse) as (program, server):
        program.run(*program.headless(QUESTION), ok=False)
    (conversation,) = program.conversations()

    assert server.asked
    assert [typed(message.text) for message in conversation.messages] == [QUESTION]
    assert not conversation.unknown


def test_the_daemon_finds_the_session_with_its_project(name: str, tmp_path: Path) -> None:
    with real_database_program(name, tmp_path) as (program, _):
        program.run(*program.headless(QUESTION))
    with StateHome(KEYWORD_ONLY) as home:
        (home.root / "memd.toml").write_text(f"[sources.{name}]\n")
        with DaemonProcess(home, {"HOME": str(tmp_path)}) as daemon, daemon.client() as client:
            client.index()
            hit = client.search(QUESTION).hits[0]

    assert hit.session is not None
    assert (hit.source, hit.session.project) == (name, str(program.folder))
    assert hit.session.id in hit.session.open
