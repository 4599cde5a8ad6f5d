"""Parallel reads: concurrent with the main read, on a separate connection, and stopped with it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import trio

from memd.index.connection import IndexFile
from memd.index.meta import find_meta, set_meta
from memd.system.sqlite import Database
from memd_client.errors import DeadlineExceededError, IndexClosedError
from tests.support.open_indexes import endless
from tests.support.open_indexes import run_with_index as run


def test_both_reads_run_concurrently_on_separate_connections(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        meet = threading.Barrier(2, timeout=120)

        def other(db: Database) -> Database:
            meet.wait()
            return db

        def main(db: Database) -> bool:
            with index.read_parallel(db, other) as beside:
                meet.wait()  # neither passes without the other
                return beside.result() is db

        assert await index.read(main) is False

    run(tmp_path, test)


def test_reads_may_see_different_states(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        await index.write(lambda db: set_meta(db, "trace", "before"))
        token = trio.lowlevel.current_trio_token()

        def main(db: Database) -> tuple[str | None, str | None]:
            find_meta(db, "trace")  # its transaction begins here
            trio.from_thread.run(index.write, lambda db: set_meta(db, "trace", "after"), trio_token=token)
            with index.read_parallel(db, lambda db: find_meta(db, "trace")) as beside:
                return find_meta(db, "trace"), beside.result()

        assert await index.read(main) == ("before", "after")

    run(tmp_path, test)


def test_error_of_a_parallel_read_is_raised_by_result(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        def fail(db: Database) -> None:
            raise KeyError("mistake")

        def main(db: Database) -> str:
            with index.read_parallel(db, fail) as beside, pytest.raises(KeyError):
                beside.result()
            return "goes on"

        assert await index.read(main) == "goes on"

    run(tmp_path, test)


def test_abandoned_parallel_read_is_stopped(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        begun = threading.Event()

        def other(db: Database) -> int:
            begun.set()
            return endless(db)

        def main(db: Database) -> None:
            with index.read_parallel(db, other):
                assert begun.wait(120)
                raise LookupError("the other side has what was needed")

        with pytest.raises(LookupError):
            await index.read(main)

    run(tmp_path, test)


def test_parallel_read_ends_at_the_deadline_of_the_main_read(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        ended = threading.Event()

        def main(db: Database) -> int:
            try:
                with index.read_parallel(db, endless) as beside:
                    return beside.result()
            finally:
                ended.set()

        with pytest.raises(DeadlineExceededError):
            await index.read(main, timeout_s=0.2)
        assert await trio.to_thread.run_sync(ended.wait, 10)

    run(tmp_path, test)


def test_parallel_read_runs_in_the_same_thread_if_none_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(index: IndexFile) -> None:
        def no_thread(*_: object) -> None:
            raise RuntimeError("can't start new thread")

        def main(db: Database) -> tuple[int, int]:
            with monkeypatch.context() as patch:
                patch.setattr(trio.lowlevel, "start_thread_soon", no_thread)
                beside = index.read_parallel(db, lambda _: threading.get_ident())
            with beside:
                return beside.result(), threading.get_ident()

        other, own = await index.read(main)
        assert other == own

    run(tmp_path, test)


def test_closing_the_index_stops_both_reads(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        begun = threading.Event()

        def other(db: Database) -> int:
            begun.set()
            return endless(db)

        def main(db: Database) -> int:
            with index.read_parallel(db, other) as beside:
                return beside.result()

        async def read() -> None:
            with pytest.raises(IndexClosedError):
                await index.read(main)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            assert await trio.to_thread.run_sync(begun.wait, 10)
            await index.close()

    run(tmp_path, test)
