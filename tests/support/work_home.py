"""The set of work in a temporary home: the files of every program, a git repository per project, and a daemon."""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome
from tests.support.transcript_programs.agent_homes import write_sessions
from tests.support.transcript_programs.agent_steps import AgentSession, Created, Edited, FileRead, Moved
from tests.support.work_set import WorkProject, placed

SOURCES: Final = ("claude-code", "codex", "gemini", "opencode", "copilot", "cursor-editor")
"""Sources whose sessions are in the set; OpenClaw's need no setting."""

SESSIONS: Final[dict[str, Any]] = {
    "sources": ["memory", "sessions"],
    "experimental": {"sessionMemory": True},
    "sync": {"watch": False},
}
"""Settings that index OpenClaw's sessions."""

FIRST_LINES: Final = 6
"""Lines at the beginning of a file that no session wrote."""

GIT_TIMEOUT_S: Final = 60


@dataclass(frozen=True)
class WorkHome:
    """The home of a served set, and a client of its daemon."""

    client: Client
    user: Path

    def folder(self, project: WorkProject) -> str:
        """Return the folder of a project."""
        return project.folder(self.user)


@contextmanager
def serve_work(projects: Sequence[WorkProject], search: Mapping[str, Any]) -> Iterator[WorkHome]:
    """Run a daemon over the sessions of projects, indexed."""
    with StateHome() as home:
        user = home.root / "user"
        sessions = []
        for project in projects:
            folder = project.folder(user)
            own = [placed(session, folder) for session in project.sessions]
            write_repository(Path(folder), own)
            sessions += own
        write_sessions(user, home.state, sessions)
        home.configure({"agents": {"defaults": {"memorySearch": {**search, **SESSIONS}}}})
        (home.root / "memd.toml").write_text("".join(f"[sources.{name}]\n" for name in SOURCES))
        with DaemonProcess(home, {"HOME": str(user)}) as daemon, daemon.client(timeout_s=600) as client:
            client.index()
            yield WorkHome(client, user)


def write_repository(folder: Path, sessions: Sequence[AgentSession]) -> None:
    """Write a repository with the files of sessions, one commit per rename and one for the rest."""
    folder.mkdir(parents=True)
    spans: dict[str, list[str]] = defaultdict(list)
    for path in _first_paths(sessions, str(folder)):
        spans[path] = [f"{Path(path).stem} line {number}" for number in range(1, FIRST_LINES + 1)]
    _git(folder, sessions[0].begun, "init", "--quiet", "--initial-branch=main")
    _commit(folder, spans, sessions[0].begun, "begin")
    for session in sorted(sessions, key=lambda session: session.begun):
        for event in session.events:
            if isinstance(event, Moved):
                _commit(folder, spans, session.begun, "work before a rename")
                Path(event.new_path).parent.mkdir(parents=True, exist_ok=True)
                _git(folder, session.begun, "mv", event.path, event.new_path)
                spans[event.new_path] = spans.pop(event.path)
                _commit(folder, spans, session.begun, f"rename {Path(event.path).name}")
            elif isinstance(event, Edited) and not event.is_failed:
                spans[event.path].append(event.new)
            elif isinstance(event, Created):
                spans[event.path] = [event.content]
    _commit(folder, spans, sessions[-1].begun, "work")


def line_with(path: str, text: str) -> int:
    """Return the number of the line of a file that contains a text, from 1."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)


def _first_paths(sessions: Sequence[AgentSession], folder: str) -> list[str]:
    """Return the files that are there before the first session: those that none creates or gives its name."""
    later, paths = set[str](), dict[str, None]()
    for session in sorted(sessions, key=lambda session: session.begun):
        for event in session.events:
            if isinstance(event, Created):
                later.add(event.path)
            elif isinstance(event, Moved):
                later.add(event.new_path)
                paths[event.path] = None
            elif isinstance(event, Edited | FileRead) and event.path.startswith(folder):
                paths[event.path] = None
    return [path for path in paths if path not in later]


def _commit(folder: Path, spans: Mapping[str, Sequence[str]], moment: datetime, subject: str) -> None:
    for path, texts in spans.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text("\n".join(texts) + "\n", encoding="utf-8")
    _git(folder, moment, "add", "--all")
    _git(folder, moment, "commit", "--quiet", "--allow-empty", "--message", subject)


def _git(folder: Path, moment: datetime, *arguments: str) -> None:
    names = {"GIT_AUTHOR_NAME": "Eva", "GIT_AUTHOR_EMAIL": "eva@example.org"}
    names |= {"GIT_COMMITTER_NAME": "Eva", "GIT_COMMITTER_EMAIL": "eva@example.org"}
    dates = {"GIT_AUTHOR_DATE": moment.isoformat(), "GIT_COMMITTER_DATE": moment.isoformat()}
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        **names,
        **dates,
    }
    subprocess.run(["git", *arguments], cwd=folder, env=variables, check=True, timeout=GIT_TIMEOUT_S)
