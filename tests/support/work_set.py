"""The set of work: sessions of 14 projects with commands and edits, questions about them, and actions.

A file of `tests/retrieval/work/` is a project. Its first lines are `KEY VALUE`; `half` is `tuned` or `held-out`, and
nothing is fitted on held-out projects. Then come sessions and, behind the session with their evidence, questions and
actions:

    = NAME MMDD [PROGRAM] [BRANCH]     a session; the programs of the project take turns if it names none
    > TEXT   < TEXT                    what the user and the agent said; lines in a row are one message
    $ COMMAND                          `$2` exit status, `$&` background, `$x` refused, `$?` cut off, `${DIR}` folder
    $+ LINE                            a further line of the command
    | LINE                             output of a command, content of a file, further lines of a question
    ~ PATH   @ PATH   * PATH           an edit (`~x` fails) of `-` and `+` lines, a read, a new file of `+` lines
    % OLD NEW                          a rename, which is committed in the project's repository
    ?KIND TEXT                         how, fix, blame, files; edit, run, fail are actions; `?KIND*` names no project
    => A || B                          what is right; `=> -` is nothing
    !> A || B                          what must not be in the answer

`{P}` is the project's folder. A blame question may name a line by its text: `PATH :: TEXT`. `routine.txt` has sessions
of every day that each project has too, with its own commands in place of `{test}`, `{build}`, `{main}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests.support.retrieval import SETS
from tests.support.transcript_programs.agent_steps import (
    AgentSession,
    Created,
    Edited,
    Event,
    FileRead,
    Moved,
    Outcome,
    Ran,
    Said,
)

WORK_SET: Final = SETS / "work"
QUESTIONS: Final = ("how", "fix", "blame", "files")
ACTIONS: Final = ("edit", "run", "fail")
ROUTINES_PER_PROJECT: Final = 10

_COMMAND = re.compile(r"\$(\d+|[&x?])?(?:\{([^}]*)\})? (.*)")
_QUESTION = re.compile(r"\?(how|fix|blame|files|edit|run|fail)(\*?) (.*)")
_OUTCOMES: Final[dict[str, Outcome]] = {"&": "background", "x": "refused", "?": "interrupted"}


@dataclass
class WorkQuestion:
    """A question or an action of the set.

    Attributes:
        id: Project, kind and number.
        kind: See `QUESTIONS` and `ACTIONS`.
        text: The question; of an action its file or command line.
        output: What the failing command of an action printed.
        has_project: Whether it is asked in the project's folder.
        session: The session with the evidence.
        right: What is right, any of these; empty if nothing is.
        wrong: What must not be in the answer.
        has_expectation: Whether the set says what is right.
    """

    id: str
    kind: str
    text: str
    has_project: bool
    session: str
    output: str = ""
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    has_expectation: bool = False


@dataclass
class WorkProject:
    """A project with its sessions and questions; paths and texts have the folder as `{P}`."""

    name: str
    facts: dict[str, str] = field(default_factory=dict)
    sessions: list[AgentSession] = field(default_factory=list)
    questions: list[WorkQuestion] = field(default_factory=list)

    @property
    def is_held_out(self) -> bool:
        """Whether nothing is fitted on it."""
        return self.facts["half"] == "held-out"

    def folder(self, home: Path) -> str:
        """Return the project's folder below a home."""
        return f"{home}/{self.facts['folder']}"


class _Reader:
    """Reads the lines of a project's file."""

    def __init__(self, project: WorkProject) -> None:
        self.project = project
        self.question: WorkQuestion | None = None
        self.counts: dict[str, int] = {}

    @property
    def events(self) -> list[Event]:
        return self.project.sessions[-1].events

    def read(self, line: str) -> None:
        """Read a line."""
        mark, _, rest = line.partition(" ")
        if not line or mark == "#":
            return
        if mark == "=":
            self._begin(rest.split())
        elif not self.project.sessions:
            self.project.facts[mark] = rest
        elif mark in ("=>", "!>"):
            self._expect(mark, rest)
        elif mark[0] == "?":
            self._ask(line)
        elif mark == "|" and self.question is not None:
            self._continue_question(rest)
        else:
            self.question = None
            self._do(line, mark, rest)

    def _begin(self, words: list[str]) -> None:
        programs = self.project.facts["programs"].split()
        name, day, *more = words
        program = more[0] if more else programs[len(self.project.sessions) % len(programs)]
        begun = datetime(2026, int(day[:2]), int(day[2:]), 7 + len(self.project.sessions) % 9, 12, tzinfo=UTC)
        session = AgentSession(
            f"{self.project.name}/{name}", program, "{P}", [], begun, (more[1:] or ["main"])[0]
        )
        self.project.sessions.append(session)
        self.question = None

    def _ask(self, line: str) -> None:
        match = _QUESTION.fullmatch(line)
        assert match is not None, f"{self.project.name}: {line}"
        kind, star, text = match.groups()
        number = self.counts[kind] = self.counts.get(kind, 0) + 1
        name = f"{self.project.name}-{kind}-{number:02}"
        session = self.project.sessions[-1].name
        self.question = WorkQuestion(name, kind, text, not star, session)
        self.project.questions.append(self.question)

    def _continue_question(self, text: str) -> None:
        assert self.question is not None
        if self.question.kind == "fail":
            self.question.output = f"{self.question.output}\n{text}".lstrip("\n")
        else:
            self.question.text += f"\n{text}"

    def _expect(self, mark: str, rest: str) -> None:
        assert self.question is not None, f"{self.project.name}: {rest}"
        values = tuple(value.strip() for value in rest.split("||")) if rest != "-" else ()
        if mark == "=>":
            self.question.right, self.question.has_expectation = values, True
        else:
            self.question.wrong = values

    def _do(self, line: str, mark: str, rest: str) -> None:
        """Add an event, or a line to the last one."""
        events = self.events
        last = events[-1] if events else None
        if (command := _COMMAND.fullmatch(line)) is not None:
            how, folder, text = command.groups()
            code = int(how) if how and how.isdigit() else 0
            events.append(
                Ran(text, code, "", f"{{P}}/{folder}" if folder else "", _OUTCOMES.get(how or "", "ended"))
            )
        elif mark in "><":
            role = "user" if mark == ">" else "assistant"
            if isinstance(last, Said) and last.role == role:
                events[-1] = replace(last, text=f"{last.text}\n{rest}")
            else:
                events.append(Said("user" if mark == ">" else "assistant", rest))
        elif mark == "$+" and isinstance(last, Ran):
            events[-1] = replace(last, line=f"{last.line}\n{rest}")
        elif mark == "|" and isinstance(last, Ran):
            events[-1] = replace(last, output=f"{last.output}\n{rest}".lstrip("\n"))
        elif mark == "|" and isinstance(last, FileRead):
            events[-1] = replace(last, content=f"{last.content}\n{rest}".lstrip("\n"))
        elif mark in ("~", "~x"):
            events.append(Edited(f"{{P}}/{rest}", "", "", is_failed=mark == "~x"))
        elif mark == "@":
            events.append(FileRead(rest if rest.startswith("/") else f"{{P}}/{rest}"))
        elif mark == "*":
            events.append(Created(f"{{P}}/{rest}", ""))
        elif mark == "%":
            old, new = rest.split()
            events.append(Moved(f"{{P}}/{old}", f"{{P}}/{new}"))
        elif mark == "-" and isinstance(last, Edited):
            events[-1] = replace(last, old=f"{last.old}\n{rest}".lstrip("\n"))
        elif mark == "+" and isinstance(last, Edited):
            events[-1] = replace(last, new=f"{last.new}\n{rest}".lstrip("\n"))
        elif mark == "+" and isinstance(last, Created):
            events[-1] = replace(last, content=f"{last.content}\n{rest}".lstrip("\n"))
        else:
            raise ValueError(f"{self.project.name}: {line}")


@cache
def load_work_set() -> tuple[WorkProject, ...]:
    """Return the projects of the set, each with its sessions of every day."""
    paths = sorted(path for path in WORK_SET.glob("*.txt") if path.name != "routine.txt")
    return tuple(_load(path) for path in paths)


def _load(path: Path) -> WorkProject:
    project = WorkProject(path.stem)
    reader = _Reader(project)
    for line in path.read_text(encoding="utf-8").splitlines():
        reader.read(line.rstrip())
    project.sessions += _routines(project)
    project.sessions.sort(key=lambda session: session.begun)
    return project


def _routines(project: WorkProject) -> Iterator[AgentSession]:
    """Yield the sessions of every day of a project: a part of those of all projects, with its own commands."""
    text = (WORK_SET / "routine.txt").read_text(encoding="utf-8")
    for key, value in project.facts.items():
        text = text.replace(f"{{{key}}}", value)
    shared = WorkProject(project.name, {"programs": project.facts["programs"]})
    reader = _Reader(shared)
    for line in text.splitlines():
        reader.read(line.rstrip())
    first = sum(map(ord, project.name))
    count = len(shared.sessions)
    for number in range(ROUTINES_PER_PROJECT):
        session = shared.sessions[(first + number) % count]
        session.begun += timedelta(days=first % 11, hours=first % 5, minutes=number)
        yield session


def placed(session: AgentSession, folder: str) -> AgentSession:
    """Return a session in a project's folder."""

    def text(value: str) -> str:
        return value.replace("{P}", folder)

    events: list[Event] = []
    for event in session.events:
        fields: dict[str, Any] = {
            name: text(value) for name, value in vars(event).items() if isinstance(value, str)
        }
        events.append(replace(event, **fields))
    return AgentSession(
        session.name, session.program, text(session.folder), events, session.begun, session.branch
    )
