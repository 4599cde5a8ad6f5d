"""Damaged files, with `--long` a hundred thousand: no reader raises, hangs, or takes machine text for a person's."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from memd.programs.catalog import PROGRAMS
from memd.programs.program import FileReader
from memd.programs.readers import reader_of
from tests.support.transcript_programs import claude_code, codex, copilot, cursor, gemini, lines_traps
from tests.support.transcript_programs.mutations import mutate

FILES = 20_000
"""Of each program."""

SESSION = "0199a213-81c4-7000-8000-000000000001"
TRAPS: dict[str, tuple[str, Callable[[], list[bytes]]]] = {
    "claude-code": (f"-home-eva-shop/{claude_code.SESSION}.jsonl", claude_code.every_trap),
    "codex": (f"sessions/2026/11/02/{codex.rollout()}", codex.every_trap),
    "copilot": (f"{copilot.SESSION}/events.jsonl", copilot.every_trap),
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


@pytest.mark.parametrize("files", [300, pytest.param(FILES, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", TRAPS)
def test_damaged_files_never_raise_or_make_machine_text_a_persons(name: str, files: int) -> None:
    path, lines_of = TRAPS[name]
    lines, machine = lines_of(), codex.MACHINE
    conversations = PROGRAMS[name].conversations
    assert conversations is not None
    readers = reader_of(conversations)
    assert isinstance(readers, FileReader)
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
            assert is_quote or machine not in message.text, seed
            assert message.text.strip(), seed
            assert message.text.encode(), seed
        places = [message.place for message in conversation.messages]
        assert places == sorted(places), seed
        assert machine not in conversation.session.title, seed
