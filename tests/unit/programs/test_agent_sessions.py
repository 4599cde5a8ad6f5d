"""Sessions that the tests write as each program does: every reader returns the same work from its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.programs.catalog import PROGRAMS
from memd.programs.cursor_editor import READER as CURSOR
from memd.programs.opencode import READER as OPENCODE
from memd.programs.program import FileReader
from memd.programs.readers import reader_of
from memd.programs.work import Command, Step, located
from tests.support.transcript_programs.agent_homes import write_sessions
from tests.support.transcript_programs.agent_steps import (
    AgentSession,
    Created,
    Edited,
    Event,
    FileRead,
    Moved,
    Ran,
    Said,
)
from tests.support.transcript_programs.opencode_work import session_key

FOLDER = "/home/eva/shop"
ERROR = "ports.py:3: error: port 9001 is in use"
EVENTS: list[Event] = [
    Said("user", "Make the ports test pass"),
    Ran("make test", 2, f"running\n{ERROR}"),
    FileRead(f"{FOLDER}/ports.py", "PORT = 9001"),
    Edited(f"{FOLDER}/ports.py", "PORT = 9001", "PORT = 9002"),
    Edited(f"{FOLDER}/ports.py", "PORT = 1", "PORT = 2", is_failed=True),
    Created(f"{FOLDER}/notes.md", "Port 9002.\nNot 9001."),
    Ran("make test", 0, "ok", folder=f"{FOLDER}/sub"),
    Ran("rm -rf /srv/data", outcome="refused"),
    Ran("make serve", outcome="background"),
    Said("assistant", "It passes on port 9002."),
]
STEPS = [
    ("make test", "failed", FOLDER),
    ("ports.py", "read", "ok"),
    ("ports.py", "edited", "ok"),
    ("ports.py", "edited", "failed"),
    ("notes.md", "created", "ok"),
    ("make test", "ok", f"{FOLDER}/sub"),
    ("rm -rf /srv/data", "refused", FOLDER),
    ("make serve", "unknown", FOLDER),
]
UNCLEAR = {
    "openclaw": {("notes.md", "edited", "ok"), ("rm -rf /srv/data", "failed", FOLDER)},
    "codex": {("rm -rf /srv/data", "unknown", FOLDER), ("make serve", "unknown", FOLDER)},
    "gemini": {("rm -rf /srv/data", "unknown", FOLDER)},
    "copilot": {("rm -rf /srv/data", "failed", FOLDER), ("make serve", "ok", FOLDER)},
}
"""What programs don't record, or readers may leave open: a refusal, a command in the background, or a new file."""


def shown(steps: list[Step]) -> list[tuple[str, str, str]]:
    """Return steps in short; Codex reads files by commands."""
    return [
        (step.line, step.status, step.folder)
        if isinstance(step, Command)
        else (Path(step.path).name, step.action, step.status)
        for step in located(steps, FOLDER)
    ]


def work_of(program: str, home: Path) -> list[Step]:
    """Return the work in the only session of a home."""
    conversations = PROGRAMS[program.removesuffix("-paginated")].conversations
    assert conversations is not None
    readers = reader_of(conversations)
    assert isinstance(readers, FileReader)
    [path] = [*home.rglob("*.jsonl")] if "codex" not in program else [*home.rglob("rollout-*.jsonl")]
    root = {
        "claude-code": ".claude/projects",
        "gemini": ".gemini/tmp",
        "copilot": ".copilot/session-state",
        "openclaw": "state/agents/main/sessions",
    }
    file = readers.transcript_at(path.relative_to(home / root.get(program, ".codex")).as_posix())
    assert file is not None
    reader, work = readers.open_with_work(file)
    for place, line in enumerate(path.read_bytes().splitlines(), start=1):
        reader.read(line, place)
    conversation = reader.conversation()
    assert [message.role for message in conversation.messages] == ["user", "assistant"]
    assert work is not None
    return work.steps


@pytest.mark.parametrize(
    "program", ["claude-code", "codex", "codex-paginated", "gemini", "copilot", "openclaw"]
)
def test_work_of_a_session_is_the_same_in_every_program(program: str, tmp_path: Path) -> None:
    write_sessions(tmp_path, tmp_path / "state", [AgentSession("ports", program, FOLDER, EVENTS)])
    unclear = UNCLEAR.get(program, set())

    steps = shown(work_of(program, tmp_path))

    steps = [("ports.py", "read", "ok") if step[0].startswith("sed -n") else step for step in steps]
    names = {step[0] for step in unclear}
    assert [step for step in steps if step[0] not in names] == [
        step for step in STEPS if step[0] not in names
    ]
    assert {step for step in steps if step[0] in names} <= unclear | set(STEPS)


def test_opencode_s_database_has_the_same_work(tmp_path: Path) -> None:
    session = AgentSession("ports", "opencode", FOLDER, EVENTS)
    write_sessions(tmp_path, tmp_path / "state", [session])

    conversation = OPENCODE(tmp_path / ".local/share/opencode/opencode.db").read(session_key(session))

    assert conversation is not None
    assert [message.role for message in conversation.messages] == ["user", "assistant"]
    steps = shown(conversation.work or [])
    assert steps[:4] == STEPS[:4]
    assert steps[5] == STEPS[5]
    assert steps[6][1] in ("refused", "failed")
    assert steps[7][1] == "unknown"


def test_cursor_s_database_has_the_same_work(tmp_path: Path) -> None:
    session = AgentSession("ports", "cursor-editor", FOLDER, EVENTS)
    write_sessions(tmp_path, tmp_path / "state", [session])

    database = CURSOR(tmp_path / ".config/Cursor/User/globalStorage/state.vscdb")
    conversation = database.read(session.id)

    assert conversation is not None
    assert [message.role for message in conversation.messages] == ["user", "assistant"]
    steps = shown(conversation.work or [])
    assert steps[:4] == STEPS[:4]
    assert steps[5:7] == STEPS[5:7]


def test_codex_moves_files_by_a_patch(tmp_path: Path) -> None:
    events: list[Event] = [
        Said("user", "Rename it"),
        Moved(f"{FOLDER}/a.py", f"{FOLDER}/b.py"),
        Said("assistant", "Done"),
    ]
    for program in ("codex", "codex-paginated"):
        home = tmp_path / program
        write_sessions(home, tmp_path, [AgentSession("move", program, FOLDER, events)])

        steps = {step[:2] for step in shown(work_of(program, home))}

        assert {("a.py", "deleted"), ("b.py", "created")} <= steps
