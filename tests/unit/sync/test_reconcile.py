"""Rows follow the disk: nothing half-written is published, and a search never waits for a long pass."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from memd.index.connection import Database, IndexFile
from memd.index.files import FileRow, Published, count_all, publish_file
from memd.index.meta import find_last_sync
from memd.settings.schema import Chunking
from memd.sync.disk.changes import looks_same
from memd.sync.disk.discover import Found
from memd.sync.disk.read import FileText
from memd.sync.search_scheduler import SearchScheduler
from memd.sync.sources import SourceLimits, Sources
from memd.sync.text.file_rows import SETTLE_MS, FileRows
from memd.sync.text.text_sync import SMALL_PASS_FILES, TextSync
from memd.system.clock import wall_clock_ms
from memd.text.cut.chunking import Chunk
from memd_client.errors import IndexIOError
from tests.support.indexes import EXTENSION

LIMITS = SourceLimits(10_000_000, 10_000, 1_000_000_000)


class SlowSources(Sources):
    """Sources whose reading can be made to wait, file by file."""

    def __init__(self, workspace: Path) -> None:
        super().__init__(workspace, (), LIMITS, None)
        self.before_load: Callable[[Found], None] = lambda found: None
        self.after_load: Callable[[Found], None] = lambda found: None

    def load(self, found: Found) -> FileText:
        """Let the test do what it wants, before and after the file is read."""
        self.before_load(found)
        file = super().load(found)
        self.after_load(found)
        return file


class Scene:
    """One agent's text, synced by a running task, with everything the test may look at."""

    def __init__(self, folder: Path, index: IndexFile) -> None:
        self.workspace = folder / "workspace"
        self.offset_ms = 0
        self.published: list[Published] = []
        self.sources = SlowSources(self.workspace)
        self.index = index
        disk = trio.CapacityLimiter(2)
        rows = FileRows(
            index,
            self.sources,
            chunking=Chunking(),
            clock=self.clock,
            disk=disk,
            on_published=self.published.append,
        )
        self.text = TextSync(
            index, self.sources, rows, clock=self.clock, disk=disk, scheduler=SearchScheduler()
        )

    def clock(self) -> int:
        """Return wall time, which a test may put forward."""
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
async def scene_in(folder: Path) -> AsyncIterator[Scene]:
    """Open an index and keep its text in sync."""
    index = await IndexFile.open(
        folder / "index.sqlite", extension=EXTENSION, clock=wall_clock_ms, space_of=lambda *_: ""
    )
    scene = Scene(folder, index)
    scene.workspace.mkdir(exist_ok=True)
    try:
        await scene.text.load()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(scene.text.run)
            yield scene
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            await index.close()


def play(folder: Path, script: Callable[[Scene], Awaitable[None]]) -> None:
    """Run a script against a scene, with a limit on the whole."""

    async def main() -> None:
        with trio.fail_after(30):
            async with scene_in(folder) as scene:
                await script(scene)

    trio.run(main)


def test_a_file_caught_empty_keeps_its_rows_until_it_has_been_empty_for_a_while(tmp_path: Path) -> None:
    async def script(scene: Scene) -> None:
        # given
        path = scene.note("a.md", "the gateway listens on port 8443")
        await scene.text.sync()
        # when: somebody truncates it and has not written yet
        os.truncate(path, 0)
        await scene.text.sync()
        # then: the empty moment is not published, and the file counts as changed
        assert await scene.texts() == {"the gateway listens on port 8443"}
        _, changes = await scene.text.look()
        assert [found.path for found in changes.read] == ["memory/a.md"]
        # when: it stays empty
        scene.offset_ms = SETTLE_MS + 1
        await scene.text.sync()
        # then
        assert await scene.texts() == set()

    play(tmp_path, script)


def test_a_file_that_was_being_written_is_read_again_without_anybody_asking(tmp_path: Path) -> None:
    async def script(scene: Scene) -> None:
        path = scene.note("a.md", "before")
        await scene.text.sync()
        os.truncate(path, 0)
        await scene.text.sync()
        published = len(scene.published)
        path.write_text("after")
        while len(scene.published) == published:  # noqa: ASYNC110  (the pass follows by itself)
            await trio.sleep(0.01)
        assert await scene.texts() == {"after"}

    play(tmp_path, script)


def test_a_search_during_a_long_pass_gets_the_file_that_changed_since(tmp_path: Path) -> None:
    async def script(scene: Scene) -> None:
        # given: a pass of many files, held at its tenth
        for number in range(SMALL_PASS_FILES * 3):
            scene.note(f"{number:03d}.md", f"old note {number}")
        held, go_on = trio.Event(), trio.Event()
        token = trio.lowlevel.current_trio_token()
        seen: list[str] = []

        def hold(found: Found) -> None:
            seen.append(found.path)
            if len(seen) == 10:
                trio.from_thread.run_sync(held.set, trio_token=token)
                trio.from_thread.run(go_on.wait, trio_token=token)

        scene.sources.before_load = hold
        async with trio.open_nursery() as nursery:
            nursery.start_soon(scene.text.sync)
            await held.wait()
            # when: a note is written, and a search catches up
            scene.note("new.md", "written a moment ago")
            disk, changes = await scene.text.look()
            go_on.set()
            behind = await scene.text.catch_up(disk, changes, 10)
            # then: that note is in, while the pass still has files to read
            assert "written a moment ago" in await scene.texts()
            assert looks_same(scene.text.rows.get("memory/new.md"), disk.files["memory/new.md"])
            assert behind.read
        assert (await scene.index.read(count_all)).files == SMALL_PASS_FILES * 3 + 1

    play(tmp_path, script)


def test_a_search_that_saw_a_file_before_it_came_does_not_have_it_forgotten(tmp_path: Path) -> None:
    async def script(scene: Scene) -> None:
        # given: a look at the disk before a note was written and indexed
        scene.note("a.md", "first")
        old_look, _ = await scene.text.look()
        scene.note("b.md", "second")
        await scene.text.sync()
        # when: the old look is caught up with
        await scene.text.catch_up(old_look, scene.text.still_behind(old_look), 10)
        # then
        assert await scene.texts() == {"first", "second"}

    play(tmp_path, script)


def test_when_the_last_sync_was_is_known_to_the_next_run(tmp_path: Path) -> None:
    async def script(scene: Scene) -> None:
        scene.note("a.md", "text")
        await scene.text.sync()
        assert await scene.index.read(find_last_sync) == scene.text.last_sync_ms

    play(tmp_path, script)

    async def later(scene: Scene) -> None:
        assert scene.text.last_sync_ms is not None

    play(tmp_path, later)


def test_a_sync_without_changes_publishes_nothing(tmp_path: Path) -> None:
    async def script(scene: Scene) -> None:
        path = scene.note("a.md", "text")
        await scene.text.sync()
        generation = scene.published[-1].generation
        path.write_text("text")  # the same again, with new times
        await scene.text.sync(force=True)
        assert scene.published[-1].generation == generation

    play(tmp_path, script)


def test_small_files_come_in_together_and_one_that_cannot_be_stored_holds_back_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def store(db: Database, row: FileRow, chunks: Sequence[Chunk], now_ms: int) -> Published:
        if row.path.endswith("bad.md"):
            raise IndexIOError("no room for this one")
        return publish_file(db, row, chunks, now_ms)

    monkeypatch.setattr("memd.sync.text.file_rows.publish_file", store)

    async def script(scene: Scene) -> None:
        # given: three small files; the one read last can't be written
        scene.note("b.md", "beta")
        scene.note("a.md", "alpha")
        os.utime(scene.note("bad.md", "gamma"), (1, 1))
        # when
        with pytest.raises(IndexIOError, match="no room"):
            await scene.text.sync()
        # then
        assert await scene.texts() == {"alpha", "beta"}
        assert {published.path for published in scene.published} == {"memory/a.md", "memory/b.md"}
        # when: there is room again
        monkeypatch.undo()
        await scene.text.sync()
        # then
        assert await scene.texts() == {"alpha", "beta", "gamma"}

    play(tmp_path, script)


def test_a_file_that_may_have_been_written_again_while_others_were_cut_is_read_again(tmp_path: Path) -> None:
    async def script(scene: Scene) -> None:
        # given: a file read in the moment it was written, in a group that then takes a second to cut
        scene.note("a.md", "the first words")

        def pass_a_second(found: Found) -> None:
            scene.offset_ms += 1000

        scene.sources.after_load = pass_a_second
        await scene.text.sync()
        # then: another write within the clock's grain would have left the same time, so it counts as changed
        _, changes = await scene.text.look()
        assert [found.path for found in changes.read] == ["memory/a.md"]

    play(tmp_path, script)
