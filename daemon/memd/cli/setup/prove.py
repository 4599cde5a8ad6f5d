"""Proves a setup: runs a hook and the MCP server as the program would, and answers questions from the user's past."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from memd.cli.hook_setup.changes import HookFiles
from memd.cli.setup.discover import entry_in
from memd.cli.setup.plan import source_title
from memd.evaluation.history import PastConversation, PastQuestion, choose_questions
from memd.mcp.trial import TrialFailedError, try_server
from memd.programs.catalog import HOOKS, MCP_CLIENTS, Places
from memd.programs.connections import find_hooks
from memd.system.settings_change import read_settings
from memd_client.discovery import home_directory
from memd_client.errors import BadParamsError, MemdError
from memd_client.usage import MEASURING

if TYPE_CHECKING:
    from memd_client import Client

HOOK_TIMEOUT_S: Final = 10.0
QUESTIONS: Final = 3
MAX_ATTEMPTS: Final = 15
MAX_CONVERSATIONS: Final = 40
"""Newest conversations of each source that questions are made from."""


class Proof(Struct):
    """The hook (`hooks`) or MCP server (`mcp`) of a program: how long it took, and why it failed, or empty."""

    program: str
    kind: str
    took_ms: float
    fault: str = ""


class Answer(Struct):
    """A question from the user's past, and the hit that answers it."""

    question: str
    text: str
    citation: str
    program: str
    date: str
    title: str


def prove(client: Client, kind: str, program: str) -> Proof:
    """Run a program's hook, or a search by its MCP server, with the command in its settings."""
    began, fault = time.monotonic(), ""
    places = Places(Path(home_directory()), os.environ)
    try:
        if kind == "hooks":
            _run_hook(client, program, HookFiles(program, places.home, os.environ).path)
        else:
            form = MCP_CLIENTS[program]
            file = form.file(places)
            try_server(form, entry_in(form, file, read_settings(file) or ""), "memd")
    except BadParamsError:  # the log has no such session
        fault = "the daemon was not asked; see `memctl doctor`"
    except (MemdError, TrialFailedError, OSError, ValueError, TypeError, subprocess.SubprocessError) as error:
        fault = str(error)
    return Proof(program, kind, 1_000 * (time.monotonic() - began), fault)


def _run_hook(client: Client, program: str, file: Path) -> None:
    """Run a hook as its program would; raise if the daemon's log doesn't have it."""
    form, session = HOOKS[program], f"memd-setup-{os.getpid()}-{program}"
    name = next(iter(form.events.values()))
    commands = [
        hook[form.command_key] for place, hook in find_hooks(form, read_settings(file) or "") if name in place
    ]
    given = json.dumps({"session_id": session, "cwd": home_directory(), "source": "startup"})
    if not commands:
        raise ValueError(f"{file} has no hook for {name}")
    subprocess.run(
        ["sh", "-c", commands[0]], input=given, text=True, capture_output=True, timeout=HOOK_TIMEOUT_S
    )
    client.hook_log(limit=1, session_id=session)


def find_answers(client: Client, agent: str, sources: Sequence[str]) -> list[Answer]:
    """Return questions that the conversations of an agent answer, each with its best hit."""
    questions = choose_questions([*_read_conversations(client, agent, sources)])
    answers = (_answer(client, agent, question) for question in islice(questions, MAX_ATTEMPTS))
    return list(islice((answer for answer in answers if answer is not None), QUESTIONS))


def _read_conversations(client: Client, agent: str, sources: Sequence[str]) -> Iterator[PastConversation]:
    """Yield the newest conversations of each source."""
    for source in sources:
        for file in client.files(agent=agent, sources=[source], limit=MAX_CONVERSATIONS).files:
            with contextlib.suppress(MemdError):  # deleted in the meantime
                read = client.conversation_read(file.path, agent=agent, first=1, messages=200)
                messages = [(message.speaker, message.text) for message in read.messages]
                yield PastConversation(file.path, source, messages)


def _answer(client: Client, agent: str, question: PastQuestion) -> Answer | None:
    """Return a question's answer; None if another conversation is the best hit, or the hit is weak."""
    hit = next(iter(client.search(question.text, agent=agent, max_results=1, caller=MEASURING).hits), None)
    if hit is None or hit.path != question.path or hit.relevance != "strong":
        return None
    lines = [text.strip() for text in hit.snippet.splitlines() if question.text not in text]
    lines.sort(key=lambda text: not text.startswith("Assistant:"))
    text = next((text for text in lines if any(word in text.lower() for word in question.words)), hit.snippet)
    title = hit.session.title if hit.session is not None and hit.session.title != question.text else ""
    return Answer(question.text, text, hit.citation, source_title(question.source), hit.date, title)
