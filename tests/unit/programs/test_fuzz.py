"""Damaged files, with `--long` a hundred thousand: no reader raises, hangs, or takes machine text for a person's."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from memd.programs.catalog import PROGRAMS
from memd.programs.program import FileReader
from memd.programs.readers import reader_of
from tests.support.transcript_programs import (
    aider,
    claude_code,
    codex,
    copilot,
    cursor,
    documents,
    gemini,
    lines_traps,
)
from tests.support.transcript_programs.mutations import is_json, mutate

FILES = 20_000
"""Of each program."""

SESSION = "0199a213-81c4-7000-8000-000000000001"
TRAPS: dict[str, tuple[str, Callable[[], list[bytes]]]] = {
    "aider": (aider.NAME, aider.every_trap),
    "claude-code": (f"-home-eva-shop/{claude_code.SESSION}.jsonl", claude_code.every_trap),
    "codex": (f"sessions/2026/11/02/{codex.rollout()}", codex.every_trap),
    "copilot": (f"{copilot.SESSION}/events.jsonl", copilot.every_trap),
    "copilot-vscode": ("a1b2/chatSessions/s1.jsonl", documents.chat_log_traps),
    "cursor": (
        f"p/agent-transcripts/{SESSION}/{SESSION}.jsonl",
        lambda: [each.encode() for each in cursor.every_trap()],
    ),
    "gemini": ("shop/chats/session-2026-11-02T08-00-0199a213.jsonl", gemini.every_trap),
    **lines_traps.TRAPS,
}
"""By program: the path of a session, and its lines with every kind of machine text."""


ANSWERS_MAY_QUOTE = ("codex", "gemini")
"""Programs whose assistant may repeat machine text."""

COMPARED = b"conversationSummary"
"""A mark of Continue that counts by comparison with the text: damaged, it may rightly make the text a message."""

UNMARKED = ("aider",)
"""Programs whose text is marked by the lines around it alone: a moved line may rightly be a person's."""


@pytest.mark.parametrize("files", [300, pytest.param(FILES, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", documents.TRAPPED)
def test_damaged_messages_of_documents_never_raise_or_make_machine_text_a_persons(
    name: str, files: int
) -> None:
    path, program = documents.TRAPPED[name]
    readers = reader_in(name)
    file = readers.transcript_at(path)
    assert file is not None
    messages = 0
    for seed in range(files):
        reader = readers.open(file)
        # The first message stays: in a task of Roo Code, it is the user's.
        first, *rest = documents.every_trap(name)
        damaged = [first, *mutate(rest, Random(seed), documents.MACHINE.encode())]
        whole = [item for item in damaged if is_json(item) and (item in rest or COMPARED not in item)]
        items = [item.decode("utf-8", "replace") for item in whole]
        reader.read(documents.document_of(program.frame("s1"), items), 1)
        conversation = reader.conversation()
        messages += len(conversation.messages)
        for message in conversation.messages:
            assert documents.MACHINE not in message.text, seed
        assert documents.MACHINE not in conversation.session.title, seed
    assert messages > 2 * files


def reader_in(name: str) -> FileReader:
    """Return the reader of a program's files."""
    conversations = PROGRAMS[name].conversations
    assert conversations is not None
    readers = reader_of(conversations)
    assert isinstance(readers, FileReader)
    return readers


@pytest.mark.parametrize("files", [300, pytest.param(FILES, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", TRAPS)
def test_damaged_files_never_raise_or_make_machine_text_a_persons(name: str, files: int) -> None:
    path, lines_of = TRAPS[name]
    lines, machine = lines_of(), codex.MACHINE
    readers = reader_in(name)
    file = readers.transcript_at(path)
    assert file is not None
    for seed in range(files):
        reader = readers.open(file)
        # The first line stays: in a file without any tagged prompt, Cursor's untagged text is a person's.
        damaged = [lines[0], *mutate(lines[1:], Random(seed), machine.encode())]
        for place, line in enumerate(damaged, start=1):
            reader.read(line, place)
        conversation = reader.conversation()
        for message in conversation.messages:
            is_quote = message.role == "assistant" and name in ANSWERS_MAY_QUOTE
            assert is_quote or name in UNMARKED or machine not in message.text, seed
            assert message.text.strip(), seed
            assert message.text.encode(), seed
        places = [message.place for message in conversation.messages]
        assert places == sorted(places), seed
        assert machine not in conversation.session.title, seed
