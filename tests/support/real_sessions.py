"""Sessions of real programs in which a model works on a project.

They run on a terminal, because memd skips sessions of scripts.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from memd.programs.catalog import PROGRAMS
from memd.programs.conversation import Conversation
from memd.sources.conversations import ConversationFiles
from tests.support.model_servers.server import DialectServer
from tests.support.programs import TerminalProgram
from tests.support.real_program import RealProgram
from tests.support.real_programs import CodexOfNpm, real_program
from tests.support.real_work import DECISION, DIALECTS, TITLE_OPENING, WorkStep, working_script

SCRIPT_MODEL: Final = "gpt-6-sol"
"""A model that Codex knows and that runs commands from JavaScript."""


@contextmanager
def working_program(
    name: str, home: Path, steps: Sequence[WorkStep], answer: str = DECISION, folder: Path | None = None
) -> Iterator[tuple[RealProgram, DialectServer]]:
    """Install a program whose model does the steps in a project; its folder is `shop` in the home by default."""
    dialect = DIALECTS[name]
    script = working_script(dialect, folder or home / "shop", steps, answer)
    program_name = name.partition("-script")[0]
    with real_program(program_name, home, script, folder) as (program, server):
        if name == "codex-script":
            assert isinstance(program, CodexOfNpm)
            settings = home / ".codex" / "config.toml"
            settings.write_text(settings.read_text().replace('"scripted"', f'"{SCRIPT_MODEL}"'))
        yield program, server


def work_on_terminal(program: RealProgram, name: str, request: str, *options: str) -> None:
    """Start a program with a request, and wait until its model has done its steps and answered."""
    conversations = PROGRAMS[program.name].conversations
    assert conversations is not None
    _, *starter = shlex.split(conversations.starter or f"{program.name} -i")
    allowed = DIALECTS[name].options
    command = [*program.command(), *program.on_terminal, *allowed, *options, *starter, request]
    before = len(program.said())
    with TerminalProgram(command, program.environ(), program.folder, (40, 140)) as terminal:
        terminal.press_until(b"", lambda: program.said()[before + 1 :] != [])


def work_bodies(server: DialectServer, name: str) -> list[str]:
    """Return the requests to a model that did steps, as they were sent: before the first step, and after each."""
    return [
        body.decode()
        for request, body in zip(server.asked, server.bodies, strict=True)
        if DIALECTS[name].shell in request.tools and TITLE_OPENING not in request.prompt
    ]


def load_work(program: RealProgram) -> list[Conversation]:
    """Return the conversations of a program with the work, as the daemon's source of it loads them."""
    source = ConversationFiles(program.name, program.reader, program.folders())
    loaded = [source.load_work(file) for _, file in sorted(source.find().files.items())]
    return [conversation for conversation in loaded if conversation is not None]
