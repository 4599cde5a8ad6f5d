"""Sessions of agents, whatever program records them: what was said, run, read and changed, in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeAlias
from uuid import NAMESPACE_URL, uuid5

Outcome: TypeAlias = Literal["ended", "refused", "background", "interrupted"]

QUIET_TOOLS: Final = {
    "grep": "No matches found",
    "rg": "No matches found",
    "diff": "Files differ",
    "test": "Condition is false",
}
"""Commands whose exit status 1 is an answer, with what Claude Code writes about it."""


@dataclass(frozen=True)
class Said:
    """A message of the user or of the agent."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True)
class Ran:
    """A command; `exit_code` counts if it ended. `folder` is empty for the session's folder."""

    line: str
    exit_code: int = 0
    output: str = ""
    folder: str = ""
    outcome: Outcome = "ended"

    @property
    def is_quiet(self) -> bool:
        """Whether its exit status 1 is an answer, such as of `grep` without a match."""
        return self.exit_code == 1 and self.line.split()[0] in QUIET_TOOLS


@dataclass(frozen=True)
class FileRead:
    """A file that was read."""

    path: str
    content: str = ""


@dataclass(frozen=True)
class Edited:
    """A span of a file that was replaced; the edit fails if the old span isn't in the file."""

    path: str
    old: str
    new: str
    is_failed: bool = False


@dataclass(frozen=True)
class Created:
    """A file that was written and was not there before."""

    path: str
    content: str


@dataclass(frozen=True)
class Moved:
    """A file that was renamed: by `apply_patch` in Codex, by `git mv` elsewhere."""

    path: str
    new_path: str


Event: TypeAlias = Said | Ran | FileRead | Edited | Created | Moved


@dataclass
class AgentSession:
    """A session; paths of its events are absolute, and each event comes some seconds after the one before."""

    name: str
    program: str
    folder: str
    events: list[Event]
    begun: datetime = datetime(2026, 11, 2, 8, tzinfo=UTC)
    branch: str = "main"
    title: str = ""
    seconds: int = 20
    id: str = field(init=False)

    def __post_init__(self) -> None:
        self.id = str(uuid5(NAMESPACE_URL, self.name))

    def moment(self, number: int) -> datetime:
        """Return when an event happened, counted from 0."""
        return self.begun + timedelta(seconds=self.seconds * number)

    def stamp(self, number: int) -> str:
        """Return when an event happened, as most programs write it."""
        return self.moment(number).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def at_ms(self, number: int) -> int:
        """Return when an event happened, in milliseconds."""
        return int(self.moment(number).timestamp() * 1_000)

    def folder_of(self, step: Ran) -> str:
        """Return the working directory of a command."""
        return step.folder or self.folder


def without_moves(events: list[Event]) -> list[Event]:
    """Return events with `git mv` for files that were renamed."""
    return [
        Ran(f"git mv {event.path} {event.new_path}") if isinstance(event, Moved) else event
        for event in events
    ]


def numbered(text: str) -> str:
    """Return a text with the numbers of its lines, as tools that read files return it."""
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(text.split("\n"), start=1))


def diff_lines(old: str, new: str) -> list[str]:
    """Return the lines of a diff that replaces one text by another."""
    return [
        *(f"-{line}" for line in old.split("\n") if old),
        *(f"+{line}" for line in new.split("\n") if new),
    ]
