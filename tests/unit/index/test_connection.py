"""An open index: queued writes, concurrent reads, deadlines, cancellation and closing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from memd.index.connection import IndexFile
from memd.index.database import PAGE_BYTES
from memd.index.files import count_all, forget_file, publish_file
from memd.index.meta import find_meta, set_meta
from memd.system.sqlite import Database, get_int
from memd_client.errors import DeadlineExceededError, IndexClosedError, IndexIOError, MemdError
from tests.support.indexes import EXTENSION, chunk, file_row
from tests.support.open_indexes import endless, open_index
from tests.support.open_indexes import run_with_index as run


def put(value: str) -> Callable[[Database], None]:
    """Return a write that appends to the trace."""
    return lambda db: set_meta(db, "trace", value)


def trace(db: Database) -> str | None:
    """Return the trace."""
    return find_meta(db, "trace")


def test_written_value_is_read(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        await index.write(put("a"))
        assert await index.read(trace) == "a"

    run(tmp_path, test)


def test_failed_write_is_rolled_back(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        def fail(db: Database) -> None:
            set_meta(db, "trace", "half")
            raise KeyError("mistake")

        with pytest.raises(KeyError):
            await index.write(fail)
        assert await index.read(trace) is None
        await index.write(put("after"))
        assert await index.read(trace) == "after"

    run(tmp_path, test)


def test_writes_run_in_the_order_of_their_calls(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        order: list[int] = []
        release = threading.Event()

        def hold(db: Database) -> None:
            release.wait(10)

        async def write(number: int) -> None:
            await index.write(lambda db: order.append(number))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(index.write, hold)
            await trio.testing.wait_all_tasks_blocked()
            for number in range(20):
                nursery.start_soon(write, number)
                await trio.testing.wait_all_tasks_blocked()
            assert "20 waiting to write" in repr(index)
            release.set()
        assert order == list(range(20))

    run(tmp_path, test)


def test_cancelled_waiting_write_never_runs_and_blocks_no_other(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        release = threading.Event()
        ran: list[str] = []

        def hold(db: Database) -> None:
            release.wait(10)
            set_meta(db, "trace", "held")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(index.write, hold)
            await trio.testing.wait_all_tasks_blocked()
            with trio.CancelScope() as scope:
                nursery.start_soon(trio.testing.wait_all_tasks_blocked)
                scope.cancel()
                await index.write(lambda db: ran.append("cancelled"))
            release.set()
        assert ran == []
        assert await index.read(trace) == "held"
        await index.write(put("next"))

    run(tmp_path, test)


def test_running_write_completes_despite_cancellation(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        scope = trio.CancelScope()
        token = trio.lowlevel.current_trio_token()

        def cancelled_meanwhile(db: Database) -> str:
            trio.from_thread.run_sync(scope.cancel, trio_token=token)
            set_meta(db, "trace", "kept")
            return "result"

        result = None
        with scope:
            result = await index.write(cancelled_meanwhile)
        assert result == "result"
        assert await index.read(trace) == "kept"

    run(tmp_path, test)


def test_write_that_waits_too_long_raises_a_deadline_error(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        release = threading.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(index.write, lambda db: release.wait(10))
            await trio.testing.wait_all_tasks_blocked()
            with pytest.raises(DeadlineExceededError, match="busy"):
                await index.write(put("late"), wait_s=0)
            release.set()
        assert await index.read(trace) is None

    run(tmp_path, test)


def test_reads_run_during_a_write(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        await index.write(put("before"))
        release, written = threading.Event(), threading.Event()

        def hold(db: Database) -> None:
            set_meta(db, "trace", "after")
            written.set()
            release.wait(10)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(index.write, hold)
            await trio.to_thread.run_sync(written.wait)
            assert await index.read(trace) == "before"
            release.set()
        assert await index.read(trace) == "after"

    run(tmp_path, test)


def test_read_sees_one_state_of_the_index(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        await index.write(put("old"))
        token = trio.lowlevel.current_trio_token()

        def look_twice(db: Database) -> tuple[str | None, str | None]:
            first = trace(db)
            trio.from_thread.run(index.write, put("new"), trio_token=token)
            return first, trace(db)

        assert await index.read(look_twice) == ("old", "old")
        assert await index.read(trace) == "new"

    run(tmp_path, test)


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        with pytest.raises(IndexIOError):
            await index.read(put("no"))

    run(tmp_path, test)


def test_read_past_its_deadline_is_interrupted_and_readers_remain_usable(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        for _ in range(5):
            with pytest.raises(DeadlineExceededError):
                await index.read(endless, timeout_s=0.02)
        assert await index.read(trace) is None
        assert "0 reading" in repr(index)

    run(tmp_path, test)


def test_more_reads_than_readers_all_complete(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        seen: list[int] = []

        async def read() -> None:
            seen.append(await index.read(lambda db: get_int(db, "SELECT 1")))

        async with trio.open_nursery() as nursery:
            for _ in range(50):
                nursery.start_soon(read)
        assert len(seen) == 50

    run(tmp_path, test)


def test_use_after_close_raises_index_closed(tmp_path: Path) -> None:
    async def test() -> None:
        index = await open_index(tmp_path / "agent.sqlite")
        await index.close()
        await index.close()
        with pytest.raises(IndexClosedError):
            await index.read(trace)
        with pytest.raises(IndexClosedError):
            await index.write(put("late"))
        assert "closed" in repr(index)

    trio.run(test)


def test_close_waits_for_the_running_write_and_refuses_the_waiting_ones(tmp_path: Path) -> None:
    async def test() -> None:
        index = await open_index(tmp_path / "agent.sqlite")
        release = threading.Event()
        refused: list[type[BaseException]] = []

        def hold(db: Database) -> None:
            release.wait(10)
            set_meta(db, "trace", "whole")

        async def late() -> None:
            try:
                await index.write(put("late"))
            except MemdError as error:
                refused.append(type(error))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(index.write, hold)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(late)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(index.close)
            nursery.start_soon(index.close)
            await trio.testing.wait_all_tasks_blocked()
            assert "closing" in repr(index)
            release.set()
        assert refused == [IndexClosedError]
        again = await open_index(tmp_path / "agent.sqlite")
        assert await again.read(trace) == "whole"
        await again.close()

    trio.run(test)


def test_close_interrupts_a_long_read(tmp_path: Path) -> None:
    async def test() -> None:
        index = await open_index(tmp_path / "agent.sqlite")
        raised: list[type[BaseException]] = []
        started = trio.Event()
        token = trio.lowlevel.current_trio_token()

        def long(db: Database) -> int:
            trio.from_thread.run_sync(started.set, trio_token=token)
            return endless(db)

        async def read() -> None:
            try:
                await index.read(long)
            except MemdError as error:
                raised.append(type(error))

        with trio.fail_after(120):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(read)
                await started.wait()
                await index.close()
        assert raised == [IndexClosedError]

    trio.run(test)


def test_closed_index_is_a_single_file(tmp_path: Path) -> None:
    run(tmp_path, lambda index: index.write(put("a")))
    assert [entry.name for entry in tmp_path.iterdir()] == ["agent.sqlite"]


def test_full_disk_raises_an_error_and_rolls_back(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        def fill(db: Database) -> None:
            db.execute(f"PRAGMA max_page_count = {get_int(db, 'PRAGMA page_count') + 4}")
            publish_file(db, file_row("memory/a.md"), [chunk("words " * 50_000)], 1)

        with pytest.raises(IndexIOError, match=r"agent\.sqlite can't be used: no space left"):
            await index.write(fill)
        assert (await index.read(count_all)).chunks == 0
        await index.write(put("still works"))

    run(tmp_path, test)


def test_deleting_text_releases_disk_space(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        for number in range(40):
            chunks = [chunk(f"{number} {line} " + "some words " * 150, line) for line in range(60)]
            await index.write(lambda db: publish_file(db, file_row(f"memory/{number}.md"), chunks, 1))  # noqa: B023
        full = index.size_bytes()
        for number in range(40):
            await index.write(lambda db: forget_file(db, f"memory/{number}.md"))  # noqa: B023
        free_pages = await index.read(lambda db: get_int(db, "PRAGMA freelist_count"))
        assert free_pages * PAGE_BYTES < full / 4
        await index.close()
        assert index.path.stat().st_size < full / 4

    run(tmp_path, test)


def test_cancelled_opening_leaves_nothing_open(tmp_path: Path) -> None:
    async def test() -> None:
        with trio.CancelScope() as scope:
            token = trio.lowlevel.current_trio_token()

            def cancel() -> int:
                trio.from_thread.run_sync(scope.cancel, trio_token=token)
                return 1

            garbage = tmp_path / "agent.sqlite"
            garbage.write_bytes(b"garbage")  # quarantine reads the clock during opening
            await IndexFile.open(garbage, extension=EXTENSION, clock=cancel, is_own_path=True)
        assert scope.cancelled_caught

    trio.run(test)
    assert not list(tmp_path.glob("*-wal"))


def test_index_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "memory" / "agent.sqlite"

    async def test() -> None:
        index = await open_index(path)
        await index.write(put("a"))
        for entry in path.parent.iterdir():
            assert entry.stat().st_mode & 0o077 == 0, entry
        assert path.parent.stat().st_mode & 0o077 == 0
        await index.close()

    trio.run(test)
