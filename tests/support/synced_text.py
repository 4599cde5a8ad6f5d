"""One agent's text, kept in sync by a running task."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from memd.index.connection import Database, IndexFile
from memd.index.files import IndexChange
from memd.settings.schema import Chunking
from memd.sources.agent_sources import AgentSources
from memd.sources.capacity import SourceLimits
from memd.sources.notes import WorkspaceNotes
from memd.sources.source import FileText, SourceFile
from memd.sync.search_scheduler import SearchScheduler
from memd.sync.text.file_rows import FileRows
from memd.sync.text.text_sync import TextSync
from memd.system.clock import wall_clock_ms
from memd.trust.allowed import TRUST_FILE, Allowed
from tests.support.indexes import EXTENSION

AGENT = "main"
LIMITS = SourceLimits(10_000_000, 10_000, 1_000_000_000)


class SlowSources(AgentSources):
    """Sources that call hooks of a test when a file is read."""

    def __init__(self, workspace: Path) -> None:
        super().__init__([WorkspaceNotes(workspace, (), LIMITS.file_bytes)], LIMITS)
        self.before_load: Callable[[SourceFile], None] = lambda found: None
        self.after_load: Callable[[SourceFile], None] = lambda found: None

    def load(self, found: SourceFile) -> FileText:
        """Call the test's hooks before and after reading a file."""
        self.before_load(found)
        file = super().load(found)
        self.after_load(found)
        return file


class SyncedText:
    """One agent's text, kept in sync by a running task, with its parts for tests."""

    def __init__(self, folder: Path, index: IndexFile) -> None:
        self.workspace = folder / "workspace"
        self.offset_ms = 0
        self.published: list[IndexChange] = []
        self.sources = SlowSources(self.workspace)
        self.index = index
        disk = trio.CapacityLimiter(2)
        self.rows = rows = FileRows(
            AGENT,
            index,
            self.sources,
            chunking=Chunking(),
            clock=self.clock,
            disk=disk,
            release=Allowed(folder / TRUST_FILE, AGENT).with_releases,
            on_published=self.published.append,
        )
        self.text = TextSync(
            index, self.sources, rows, clock=self.clock, disk=disk, scheduler=SearchScheduler()
        )

    def clock(self) -> int:
        """Return wall time, which a test can move."""
        return wall_clock_ms() + self.offset_ms

    def note(self, name: str, text: str) -> Path:
        """Write a note."""
        path = self.workspace / "memory" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    async def texts(self) -> set[str]:
        """Return the texts of all chunks."""

        def load(db: Database) -> set[str]:
            return {str(row[0]) for row in db.execute("SELECT text FROM chunks")}

        return await self.index.read(load)


@asynccontextmanager
async def synced_text_in(folder: Path) -> AsyncIterator[SyncedText]:
    """Open an index and keep its text in sync."""
    index = await IndexFile.open(folder / "index.sqlite", extension=EXTENSION, clock=wall_clock_ms)
    scene = SyncedText(folder, index)
    scene.workspace.mkdir(exist_ok=True)
    try:
        await scene.text.load()
        with trio.fail_after(120):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(scene.text.run)
                yield scene
                nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            await index.close()
