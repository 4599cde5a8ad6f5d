"""Proves a setup: runs a hook and the MCP server as the program would, and answers questions from the user's past."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from memd.cli.hook_setup.changes import HookFiles
from memd.cli.setup.discover import entry_in
from memd.cli.setup.plan import program_of
from memd.evaluation.history import PastConversation, PastQuestion, choose_questions
from memd.mcp.trial import TrialFailedError, try_server
from memd.programs.catalog import HOOKS, KNOWN_SOURCES, MCP_CLIENTS, PROGRAMS, Places
from memd.programs.connections import find_hooks
from memd.system.settings_change import read_settings
from memd_client.discovery import home_directory
from memd_client.errors import MemdError

if TYPE_CHECKING:
    from memd_client import Client
    from memd_client.messages import Hit

HOOK_TIMEOUT_S: Final = 10.0
QUESTIONS: Final = 3
MAX_CONVERSATIONS: Final = 40
"""Newest conversations of each source that questions are made from."""

MAX_ATTEMPTS: Final = 15


class Proof(Struct):
    """What was run for a program, how long it took, and why it failed (empty if it worked)."""

    program: str
    what: str
    took_ms: float
    fault: str = ""


class Answer(Struct):
    """A question from the user's past, and the hit that answers it."""

    question: str
    text: str
    citation: str
    program: str
    date: str
    title: str = ""


def prove_hook(client: Client, program: str) -> Proof:
    """Run a program's hook with its command as the program would, and look for it in the daemon's log."""
    form, session = HOOKS[program], f"memd-setup-{os.getpid()}-{program}"
    event = "session_start" if "session_start" in form.events else next(iter(form.events))
    given = {"session_id": session, "cwd": home_directory(), "source": "startup"}
    began = time.monotonic()
    fault = ""
    try:
        hooks = find_hooks(
            form, read_settings(HookFiles(program, Path(home_directory()), os.environ).path) or ""
        )
        command = next(hook[form.command_key] for place, hook in hooks if place[1] == form.events[event])
        subprocess.run(
            ["sh", "-c", command],
            input=json.dumps(given),
            text=True,
            capture_output=True,
            timeout=HOOK_TIMEOUT_S,
        )
        took_ms = 1_000 * (time.monotonic() - began)
        if not client.hook_log(limit=1, session_id=session).entries:
            fault = "the daemon was not asked; see `memctl hooks log` and `memctl doctor`"
    except (MemdError, OSError, ValueError, StopIteration, subprocess.TimeoutExpired) as error:
        took_ms, fault = 1_000 * (time.monotonic() - began), str(error) or "it has no such hook"
    return Proof(program, "hook", took_ms, fault)


def prove_mcp(program: str) -> Proof:
    """Start the MCP server of a program's entry, and search with its tool."""
    client, began = MCP_CLIENTS[program], time.monotonic()
    file, fault = client.file(Places(Path(home_directory()), os.environ)), ""
    try:
        try_server(client, entry_in(client, file, read_settings(file) or ""), "memd")
    except (TrialFailedError, MemdError, TypeError) as error:
        fault = str(error)
    return Proof(program, "MCP search", 1_000 * (time.monotonic() - began), fault)


def find_answers(client: Client, agent: str, sources: list[str]) -> Iterator[Answer]:
    """Yield questions that the conversations of an agent answer, each with its best hit."""
    questions = choose_questions(list(_read_conversations(client, agent, sources)))
    answers = (_answer(client, agent, sources, each) for each in islice(questions, MAX_ATTEMPTS))
    yield from islice((answer for answer in answers if answer is not None), QUESTIONS)


def _read_conversations(client: Client, agent: str, sources: list[str]) -> Iterator[PastConversation]:
    """Yield the newest conversations of each source."""
    for source in sources:
        for file in client.files(agent=agent, sources=[source], limit=MAX_CONVERSATIONS).files:
            with contextlib.suppress(MemdError):  # deleted in the meantime
                read = client.conversation_read(file.path, agent=agent, first=1, messages=200)
                messages = [(message.speaker, message.text) for message in read.messages]
                yield PastConversation(file.path, source, messages)


def _answer(client: Client, agent: str, sources: list[str], question: PastQuestion) -> Answer | None:
    """Return a question's answer; None if another conversation is the best hit, or the hit is weak."""
    hits = client.search(question.text, agent=agent, sources=sources, max_results=1).hits
    if not hits or hits[0].path != question.path or hits[0].relevance != "strong":
        return None
    hit: Hit = hits[0]
    title = hit.session.title if hit.session is not None else ""
    lines = [line.strip() for line in hit.snippet.splitlines() if question.text not in line]
    lines.sort(key=lambda text: (not text.startswith("Assistant:"), not _names(text, question.words)))
    program = PROGRAMS[program_of(KNOWN_SOURCES[question.source].program.name)].title
    return Answer(question.text, next(iter(lines), hit.snippet), hit.citation, program, hit.date, title)


def _names(text: str, words: Collection[str]) -> bool:
    return any(word in text.lower() for word in words)
