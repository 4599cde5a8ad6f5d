"""The interface of a compared system: index, search while running, search from the shell."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, NamedTuple, Protocol, Self

from benchmarks.peers.child import ProcessRun

RESULTS: Final = 6
"""Hits requested, the default of memd and OpenClaw."""

START_S: Final = 180.0
INDEX_S: Final = 1800.0
SEARCH_S: Final = 120.0
SHELL_S: Final = 180.0


class IndexingRun(NamedTuple):
    """Time and chunks of an index of all notes."""

    ms: float
    chunks: int


class ProcessSearch(NamedTuple):
    """Time of a search in a running process, and the notes it found, best first."""

    ms: float
    paths: list[str]


class ShellSearch(NamedTuple):
    """A search by a command, and the notes it found, best first."""

    run: ProcessRun
    paths: list[str]


class SystemSetup(NamedTuple):
    """Folders, endpoint and model of a side."""

    root: Path
    notes: Path
    endpoint: str
    model: str


class ComparedSystem(Protocol):
    """One compared system.

    Resources: its processes, ended by leaving the context.
    """

    name: ClassVar[str]

    def __enter__(self) -> Self:
        """Start; return once it runs."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all its processes."""

    def index(self) -> IndexingRun:
        """Index all notes; always the first call."""

    def search(self, query: str) -> ProcessSearch:
        """Search in the running process."""

    @property
    def pid(self) -> int:
        """The process that searches."""

    def processor_ms(self) -> float:
        """Return the CPU time of its processes for searching so far."""

    def rest(self) -> None:
        """End what only `index` and `search` need; then only `shell` is called."""

    def shell(self, query: str) -> ShellSearch:
        """Search with the system's own command, a complete process."""
