"""What is asked of each system: index its notes, search while it runs, search from the shell."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, NamedTuple, Protocol, Self

from benchmarks.peers.child import Run

RESULTS: Final = 6
"""Hits asked for, the default of memd and of OpenClaw."""

START_S: Final = 180.0
INDEX_S: Final = 1800.0
SEARCH_S: Final = 120.0
SHELL_S: Final = 180.0


class Indexed(NamedTuple):
    """An index of all notes, and how long making it took."""

    ms: float
    chunks: int


class Answer(NamedTuple):
    """What one search took, and the notes it found, best first."""

    ms: float
    paths: list[str]


class ShellAnswer(NamedTuple):
    """A search by a command, and the notes it found, best first."""

    run: Run
    paths: list[str]


class Corner(NamedTuple):
    """Where a side lives in a run."""

    root: Path
    notes: Path
    endpoint: str
    model: str


class Side(Protocol):
    """One system that is compared.

    Resources: its processes, ended by leaving the context.
    """

    name: ClassVar[str]

    def __enter__(self) -> Self:
        """Start; return when it has started."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all its processes."""

    def index(self) -> Indexed:
        """Index all notes; the first thing asked of it."""

    def search(self, question: str) -> Answer:
        """Search in the running process."""

    @property
    def pid(self) -> int:
        """The process that searches."""

    def processor_ms(self) -> float:
        """Return the processor time that its processes have had so far for searching."""

    def rest(self) -> None:
        """End what only `index` and `search` need; from then on only `shell` is asked."""

    def shell(self, question: str) -> ShellAnswer:
        """Search by the system's own command, a process from its start to its end."""
