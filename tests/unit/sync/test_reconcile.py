"""The text sync: no half-written file is published, and a search never waits for a long pass."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
import trio

from memd.index.connection import Database
from memd.index.files import FileRow, IndexChange, count_all, publish_file
from memd.index.meta import find_last_sync
from memd.sources.source import SourceFile
from memd.sync.text.changes import has_same_stat
from memd.sync.text.file_rows import SETTLE_MS
from memd.sync.text.text_sync import SMALL_PASS_FILES
from memd.sync.vectors.fill import CacheLimits, FillEvents, VectorFill
from memd.sync.vectors.provider_health import ProviderHealth
from memd.system.events import EVENTS
from memd.system.metrics import METER
from memd.text.cut.chunking import Chunk
from memd_client.errors import IndexIOError
from tests.support.fake_provider import FakeProvider
from tests.support.synced_text import AGENT, synced_text_in


async def test_emptied_file_keeps_its_rows_until_it_stays_empty(tmp_path: Path) -> None:
    async with synced_text_in(tmp_path) as scene:
        # given
        path = scene.note("a.md", "the gateway listens on port 8443")
        await scene.text.sync()
        # when: it was truncated and is not written yet
        os.truncate(path, 0)
        await scene.text.sync()
        # then: the empty state is not published, and the file counts as changed
        assert await scene.texts() == {"the gateway listens on port 8443"}
        _, changes = await scene.text.scan_in_thread()
        assert [found.path for found in changes.read] == ["memory/a.md"]
        # when: it stays empty
        scene.offset_ms = SETTLE_MS + 1
        await scene.text.sync()
        # then
        assert await scene.texts() == set()


async def test_file_read_while_it_is_written_is_read_again_automatically(tmp_path: Path) -> None:
    async with synced_text_in(tmp_path) as scene:
        path = scene.note("a.md", "before")
        await scene.text.sync()
        os.truncate(path, 0)
        await scene.text.sync()
        published = len(scene.published)
        path.write_text("after")
        while len(scene.published) == published:  # noqa: ASYNC110  (the pass follows automatically)
            await trio.sleep(0.01)
        assert await scene.texts() == {"after"}


async def test_search_during_a_long_pass_finds_a_file_changed_since(tmp_path: Path) -> None:
    async with synced_text_in(tmp_path) as scene:
        # given: a pass of many files, paused at its tenth
        for number in range(SMALL_PASS_FILES * 3):
            scene.note(f"{number:03d}.md", f"old note {number}")
        held, go_on = trio.Event(), trio.Event()
        token = trio.lowlevel.current_trio_token()
        seen: list[str] = []

        def hold(found: SourceFile) -> None:
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
            disk, changes = await scene.text.scan_in_thread()
            go_on.set()
            behind = await scene.text.catch_up(disk, changes, 10)
            # then: that note is indexed, while the pass still has files to read
            assert "written a moment ago" in await scene.texts()
            assert has_same_stat(scene.text.rows.get("memory/new.md"), disk.files["memory/new.md"])
            assert behind.read
        assert (await scene.index.read(count_all)).files == SMALL_PASS_FILES * 3 + 1


async def test_catching_up_with_an_old_scan_keeps_newer_files(tmp_path: Path) -> None:
    async with synced_text_in(tmp_path) as scene:
        # given: a scan of the disk before a note was written and indexed
        scene.note("a.md", "first")
        old_scan, _ = await scene.text.scan_in_thread()
        scene.note("b.md", "second")
        await scene.text.sync()
        # when: a search catches up with the old scan
        await scene.text.catch_up(old_scan, scene.text.still_behind(old_scan), 10)
        # then
        assert await scene.texts() == {"first", "second"}


async def test_time_of_the_last_sync_is_stored_for_the_next_run(tmp_path: Path) -> None:
    async with synced_text_in(tmp_path) as scene:
        scene.note("a.md", "text")
        await scene.text.sync()
        assert await scene.index.read(find_last_sync) == scene.text.last_sync_ms
    async with synced_text_in(tmp_path) as scene:
        assert scene.text.last_sync_ms is not None


async def test_a_sync_without_changes_publishes_nothing(tmp_path: Path) -> None:
    async with synced_text_in(tmp_path) as scene:
        path = scene.note("a.md", "text")
        await scene.text.sync()
        generation = scene.published[-1].generation
        path.write_text("text")  # the same again, with new times
        await scene.text.sync(force=True)
        assert scene.published[-1].generation == generation


async def test_file_that_cannot_be_stored_does_not_block_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def store(db: Database, row: FileRow, chunks: Sequence[Chunk], now_ms: int) -> IndexChange:
        if row.path.endswith("bad.md"):
            raise IndexIOError("no room for this one")
        return publish_file(db, row, chunks, now_ms)

    monkeypatch.setattr("memd.sync.text.file_rows.publish_file", store)

    async with synced_text_in(tmp_path) as scene:
        # given: three small files; the one read last can't be written
        scene.note("b.md", "beta")
        scene.note("a.md", "alpha")
        os.utime(scene.note("bad.md", "gamma"), (1, 1))
        # when
        with pytest.raises(IndexIOError, match="no room"):
            await scene.text.sync()
        # then
        assert await scene.texts() == {"alpha", "beta"}
        assert len(scene.published) == 2
        # when: it can be written again
        monkeypatch.undo()
        await scene.text.sync()
        # then
        assert await scene.texts() == {"alpha", "beta", "gamma"}


async def test_file_read_within_the_clock_grain_of_its_write_is_read_again(tmp_path: Path) -> None:
    async with synced_text_in(tmp_path) as scene:
        # given: a file read right after it was written, in a group that then takes a second to chunk
        scene.note("a.md", "the first words")

        def pass_a_second(found: SourceFile) -> None:
            scene.offset_ms += 1000

        scene.sources.after_load = pass_a_second
        await scene.text.sync()
        # then: another write within the clock's grain would have left the same time, so it counts as changed
        _, changes = await scene.text.scan_in_thread()
        assert [found.path for found in changes.read] == ["memory/a.md"]


async def test_sync_updates_metrics_and_publishes_an_event(tmp_path: Path) -> None:
    def counts() -> tuple[float, float, int, int]:
        durations = [
            sum(sum(each.counts) for _, each in METER.histograms(name))
            for name in ("memd_file_seconds", "memd_catch_up_seconds")
        ]
        files = METER.value("memd_files_checked_total", AGENT, "changed")
        return files, METER.value("memd_chunks_written_total", AGENT), durations[0], durations[1]

    with EVENTS.subscribe(AGENT, ["sync"]) as events:
        async with synced_text_in(tmp_path) as scene:
            scene.offset_ms = 10_000  # no file is so young that it is read twice
            before = counts()
            scene.note("a.md", "alpha")
            path = scene.note("b.md", "beta")
            await scene.text.sync()
            path.unlink()
            await scene.text.sync()
            disk, changes = await scene.text.scan_in_thread()
            await scene.text.catch_up(disk, changes, 10)
            grown = [new - old for new, old in zip(counts(), before, strict=True)]
        seen = [await events.receive(), await events.receive()]
    assert grown == [2, 2, 2, 1]
    assert [(each.data["files_changed"], each.data["files_removed"]) for each in seen] == [(2, 0), (0, 1)]


async def test_fill_counts_embedded_texts(tmp_path: Path) -> None:
    async def ignore(*_: object) -> None:
        """Ignore an event of a fill."""

    provider = FakeProvider()
    async with synced_text_in(tmp_path) as scene:
        scene.note("a.md", "alpha")
        await scene.text.sync()
        fill = VectorFill(
            AGENT,
            scene.index,
            provider,
            health=ProviderHealth(provider.id, scene.clock, lambda: None),
            limits=CacheLimits(None, None),
            live_spaces=list,
            clock=scene.clock,
            events=FillEvents(ignore, lambda: None, ignore),
        )
        before = METER.value("memd_texts_embedded_total", AGENT)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fill.run)
            await fill.settle()
            nursery.cancel_scope.cancel()
    assert METER.value("memd_texts_embedded_total", AGENT) - before == fill.embedded == 1
