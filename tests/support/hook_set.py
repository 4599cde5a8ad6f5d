"""The set of hooks: prompts, notes and conversations of 12 projects, half of them held out.

`prompts.jsonl` has one prompt per line: its kind, the style in which it is written, the session's project, and for
prompts that memory answers the note or conversation with the answer (`expected`) and words of it (`says`).
`conversations.jsonl` has the conversations; they are written as transcripts of Claude Code and Codex.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.retrieval import SETS
from tests.support.state_homes import StateHome
from tests.support.transcript_programs import codex
from tests.support.transcript_programs.claude_code import ClaudeFile

HOOK_SET: Final = SETS / "hooks"
OTHER_NOTES: Final = ("technical", "abstention")
"""Sets whose notes lie in the same memory: most of it is about something else, as in a memory in use."""

HELD_OUT: Final = frozenset(("tidewater", "quill", "northgate", "vidriera", "atlas-maps", "lumen"))
"""Projects on whose prompts nothing is fitted or chosen."""

ANSWERED: Final = ("note", "fact", "conversation")
"""Kinds of prompts that memory answers: a note, a line of MEMORY.md, or a conversation."""

MINUTE_S: Final = 60
CODEX_DAY: Final = datetime.fromtimestamp(codex.START_MS / 1000, UTC)


@dataclass(frozen=True)
class WrittenPrompt:
    """One prompt of the set."""

    id: str
    kind: str
    style: str
    project: str
    prompt: str
    expected: str
    says: str

    @property
    def is_held_out(self) -> bool:
        """Whether nothing was fitted on it."""
        return self.project in HELD_OUT

    @property
    def cwd(self) -> str:
        """Folder of the session."""
        return folder_of(self.project)

    def is_place(self, place: str) -> bool:
        """Return whether a place is in the note or conversation with the answer."""
        return f"/{place}".split("#")[0].endswith(f"/{self.expected}")


def folder_of(project: str) -> str:
    """Return the folder of a project."""
    return f"/home/mara/code/{project}"


def load_prompts() -> list[WrittenPrompt]:
    """Return the prompts of the set."""
    return [WrittenPrompt(**row) for row in _rows("prompts.jsonl")]


def load_conversations() -> dict[str, list[str]]:
    """Return the messages of each conversation by its id."""
    return {row["id"]: row["messages"] for row in _rows("conversations.jsonl")}


@contextmanager
def serve_hooks(search: Mapping[str, Any]) -> Iterator[Client]:
    """Run a daemon over the set's notes, its conversations and the notes of other sets, and yield a client."""
    with StateHome() as home:
        shutil.copytree(HOOK_SET / "workspace", home.workspace())
        for other in OTHER_NOTES:
            shutil.copytree(SETS / other / "workspace", home.workspace() / "memory" / other)
        user = home.root / "user"
        _write_conversations(user)
        home.configure({"agents": {"defaults": {"memorySearch": dict(search)}}})
        (home.root / "memd.toml").write_text("[sources.claude-code]\n[sources.codex]\n")
        with DaemonProcess(home, {"HOME": str(user)}) as daemon, daemon.client(timeout_s=300) as client:
            client.index()
            yield client


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(row) for row in (HOOK_SET / name).read_text(encoding="utf-8").splitlines()]


def _write_conversations(user: Path) -> None:
    """Write the conversations below a home as their programs do."""
    titles = []
    for row in _rows("conversations.jsonl"):
        day = datetime.fromisoformat(f"{row['day']}T09:00:00+00:00")
        messages, folder = row["messages"], folder_of(row["project"])
        if row["program"] == "codex":
            begun = (day - CODEX_DAY).total_seconds()
            name = codex.rollout(row["id"], f"{row['day']}T09-00-00")
            path = user / ".codex/sessions" / row["day"].replace("-", "/") / name
            lines = _codex_lines(row["id"], folder, messages, begun)
            titles.append({"id": row["id"], "thread_name": row["title"], "updated_at": day.isoformat()})
        else:
            path = user / ".claude/projects" / folder.replace("/", "-") / f"{row['id']}.jsonl"
            lines = _claude_lines(row["id"], folder, messages, day, row["title"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    index = user / ".codex" / "session_index.jsonl"
    index.write_text("".join(json.dumps(title, ensure_ascii=False) + "\n" for title in titles))


def _codex_lines(session_id: str, folder: str, messages: Sequence[str], begun: float) -> list[bytes]:
    lines = [codex.meta(session_id, begun, cwd=folder, git={"branch": "main"})]
    for number, message in enumerate(messages, start=1):
        write = codex.asked if number % 2 else codex.answered
        lines.append(write(message, begun + number * MINUTE_S))
    return lines


def _claude_lines(
    session_id: str, folder: str, messages: Sequence[str], day: datetime, title: str
) -> list[bytes]:
    file = ClaudeFile(session_id, cwd=folder)
    for number, message in enumerate(messages, start=1):
        moment = day.replace(minute=number).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        write = file.prompt if number % 2 else file.answer
        write(message, timestamp=moment)
    file.add({"type": "ai-title", "aiTitle": title, "sessionId": session_id})
    return file.lines
