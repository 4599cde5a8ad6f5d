"""The contract of sources of programs: they are opened as the settings add them."""

from __future__ import annotations

from pathlib import Path

from memd.programs.catalog import KNOWN_SOURCES, Places
from memd.settings.sources import SourceConfig
from memd.sources.open import open_source
from memd.sources.source import Source
from tests.contracts.source import (
    ConversationContract,
)

MAX_NOTE_BYTES = 1_000_000


def opened(home: Path, name: str, program: str = "", path: Path | None = None) -> Source:
    """Return a source that the settings add."""
    kind = KNOWN_SOURCES[program].kind if program else "notes"
    return open_source(
        SourceConfig(name, program, kind, path), Places(home, {}, "linux"), MAX_NOTE_BYTES
    ).source


class ProgramContract(ConversationContract):
    """Conversations of a program, in its own folder or database below the home."""

    file_name = "{session}"

    @property
    def name(self) -> str:  # type: ignore[override]
        """The source has the name of its program."""
        return self.program

    def open(self, home: Path) -> Source:
        return opened(home, self.program, self.program)

    def path(self, session: str) -> str:
        return f"{self.program}/{self.file_name.format(session=session)}"


class DatabaseContract(ProgramContract):
    """Conversations of a program with a database."""

    counts_bytes = False
