"""An open index notices that its file is gone, exchanged, cut short or damaged, and the next opening mends it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from memd.index.cache import active_space, store_vectors
from memd.index.care.upkeep import log_of
from memd.index.connection import IndexFile
from memd.index.database import WAL_LIMIT_BYTES, Database, get_int, page_cache_bytes
from memd.index.files import count_all, load_files, publish_file
from memd.index.housekeeping import IDLE_S, LOG_KEPT_BYTES, REST_S, give_caches_back, keep_log_short, squeeze
from memd.index.keyword import find_keyword
from memd.index.meta import set_meta
from memd_client.errors import IndexClosedError, IndexCorruptError, IndexIOError, IndexLostError, MemdError
from tests.support.indexes import SPACE, broken_rules, chunk, file_row, hash_of, unit
from tests.support.open_indexes import open_index
from tests.unit.index.test_salvage import pages_by_table, spoil

FILES, CHUNKS = 120, 5
TEXTS = [[f"apples word{file}x{number} " * 20 for number in range(CHUNKS)] for file in range(FILES)]
ROWS = unit(np.random.default_rng(0).normal(size=(FILES * CHUNKS, 96)))


async def filled(path: Path) -> IndexFile:
    """Return an open index with text and vectors, all of it in the file."""
    index = await open_index(path)

    def write(db: Database) -> None:
        for number, texts in enumerate(TEXTS):
            publish_file(db, file_row(f"memory/{number:03d}.md"), [chunk(text) for text in texts], 1)
        hashes = [hash_of(text) for texts in TEXTS for text in texts]
        store_vectors(db, SPACE, hashes, ROWS, 1)

    await index.write(write)
    await index.close()
    return await open_index(path)


def use_everything(db: Database) -> None:
    """Read every table and index as requests do."""
    load_files(db)
    count_all(db)
    active_space(db)
    for number in range(FILES):
        find_keyword(db, f'"word{number}x1"', 10, None)
    for table in (
        "meta",
        "files",
        "chunks",
        "embedding_cache",
        "transcripts",
        "refused_texts",
        "sqlite_sequence",
    ):
        db.execute(f"SELECT * FROM {table}").fetchall()
    db.execute("SELECT hash, path, source FROM chunks ORDER BY hash").fetchall()
    db.execute("SELECT path, source, hash FROM chunks ORDER BY path").fetchall()
    db.execute("SELECT path, start_char FROM chunks INDEXED BY chunks_by_place ORDER BY path").fetchall()
    db.execute("SELECT id FROM embedding_cache INDEXED BY embedding_hashes ORDER BY id").fetchall()
    db.execute("SELECT hash FROM embedding_cache WHERE provider_key = 'space-a' ORDER BY hash").fetchall()


def rewrite(db: Database) -> None:
    """Write to every table as a sync does."""
    for number, texts in enumerate(TEXTS):
        publish_file(db, file_row(f"memory/{number:03d}.md"), [chunk(text + "anew") for text in texts], 2)
    hashes = [hash_of(text + "anew") for texts in TEXTS for text in texts]
    store_vectors(db, SPACE, hashes, ROWS, 2)
    set_meta(db, "trace", "x")


async def meet(index: IndexFile) -> MemdError | None:
    """Use an index until something is wrong with it; return what."""
    try:
        await index.read(use_everything)
        await index.write(rewrite)
    except MemdError as error:
        return error
    return None


TABLES = (
    "meta",
    "files",
    "chunks",
    "chunks_by_path",
    "chunks_by_hash",
    "embedding_cache",
    "sqlite_autoindex_embedding_cache_1",
    "embedding_hashes",
    "chunks_fts_data",
    "chunks_fts_idx",
    "chunks_fts_docsize",
    "chunks_fts_config",
    "transcripts",
    "refused_texts",
)


@pytest.mark.parametrize("table", TABLES)
def test_a_damaged_page_is_found_when_met_and_the_next_opening_has_what_could_be_saved(
    tmp_path: Path, table: str
) -> None:
    async def test() -> None:
        path = tmp_path / "agent.sqlite"
        index = await filled(path)
        pages = pages_by_table(path)[table]
        # when a page is damaged under the open connection
        spoil(path, *(pages if table.startswith("chunks_fts") else pages[-1:]))
        met = await meet(index)
        # then whoever meets it is told, and nobody is answered from it any more
        assert isinstance(met, IndexCorruptError), met
        assert index.is_lost
        with pytest.raises(IndexClosedError):
            await index.read(count_all)
        with pytest.raises(IndexClosedError):
            await index.write(rewrite)
        await index.close()
        # and the next opening finds an empty index with nearly all vectors in it
        anew = await open_index(path)
        assert anew.set_aside is not None
        assert anew.set_aside.exists()
        counts = await anew.read(count_all)
        assert (counts.files, counts.chunks) == (0, 0)
        saved = await anew.read(lambda db: get_int(db, "SELECT count(*) FROM embedding_cache"))
        assert saved >= FILES * CHUNKS - (25 if table == "embedding_cache" else 0)
        assert await anew.write(broken_rules_now) == []
        await anew.close()
        assert sorted(os.listdir(tmp_path)) == ["agent.sqlite", anew.set_aside.name]

    trio.run(test)


def test_a_damaged_first_page_costs_no_vector_whoever_finds_it(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "agent.sqlite"
        index = await filled(path)
        spoil(path, 1)
        await meet(index)  # it may stand in memory and in the log, and come back from there
        await index.close()
        anew = await open_index(path)
        assert (
            await anew.read(lambda db: get_int(db, "SELECT count(*) FROM embedding_cache")) >= FILES * CHUNKS
        )
        assert await anew.write(broken_rules_now) == []
        await anew.close()

    trio.run(test)


def broken_rules_now(db: Database) -> list[str]:
    """Return what is wrong once all text is there again."""
    for number, texts in enumerate(TEXTS):
        publish_file(db, file_row(f"memory/{number:03d}.md"), [chunk(text) for text in texts], 1)
    return broken_rules(db)


def test_a_statement_that_is_wrong_on_a_sound_index_is_no_damage(tmp_path: Path) -> None:
    async def test() -> None:
        index = await filled(tmp_path / "agent.sqlite")
        for _ in range(2):
            with pytest.raises(MemdError) as caught:
                await index.read(lambda db: db.execute("SELECT nothing FROM nowhere").fetchall())
            assert caught.value.code == "internal"
        assert not index.is_lost
        await index.close()

    trio.run(test)


def with_index(
    path: Path, test: Callable[[IndexFile], Awaitable[None]], clock: trio.abc.Clock | None = None
) -> None:
    """Run a test with a filled index."""

    async def body() -> None:
        index = await filled(path)
        try:
            await test(index)
        finally:
            await index.close()

    trio.run(body, clock=clock)


@pytest.mark.parametrize("through", ["read", "write"])
def test_a_file_that_is_not_the_one_at_its_path_serves_no_more(tmp_path: Path, through: str) -> None:
    path = tmp_path / "agent.sqlite"

    async def test(index: IndexFile) -> None:
        os.replace(path, tmp_path / "moved")
        path.write_bytes(b"another's")
        with pytest.raises(IndexLostError):
            await (index.read(count_all) if through == "read" else index.write(rewrite))
        assert isinstance(await index.wait_lost(), IndexLostError)

    with_index(path, test)
    assert path.read_bytes() == b"another's"  # closing touches nothing that isn't its own


def test_a_file_that_shrinks_because_pages_are_given_back_is_not_cut_short(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        before = index.size_bytes()
        await index.write(lambda db: db.execute("DELETE FROM embedding_cache"))
        await squeeze(index)
        assert index.size_bytes() < before
        assert (await index.read(count_all)).files == FILES
        assert not index.is_lost

    with_index(tmp_path / "agent.sqlite", test)


def test_a_failing_write_is_a_fault_until_one_works(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        def fail(db: Database) -> None:
            raise OSError(28, "No space left on device")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(index.wait_fault)
            with pytest.raises(IndexIOError):
                await index.write(fail)
        assert "No space left" in str(index.fault)
        assert (await index.read(count_all)).files == FILES
        await index.write(lambda db: set_meta(db, "trace", "x"))
        assert index.fault is None
        assert not index.is_lost

    with_index(tmp_path / "agent.sqlite", test)


def test_the_log_stays_short_after_a_long_transaction(tmp_path: Path) -> None:
    path = tmp_path / "agent.sqlite"

    async def test(index: IndexFile) -> None:
        def burst(db: Database) -> None:
            for number in range(300):
                set_meta(db, f"long{number}", "x" * 100_000)

        await index.write(burst)
        assert path.with_name(path.name + "-wal").stat().st_size <= WAL_LIMIT_BYTES * 9 // 8

    with_index(path, test)


def test_a_log_is_brought_into_the_file_once_nobody_writes_any_more(tmp_path: Path) -> None:
    path = tmp_path / "agent.sqlite"
    clock = MockClock()

    async def wait(index: IndexFile, seconds: float) -> int:
        """Let time pass, and return how long the log is once the writer is free again."""
        clock.jump(seconds)
        await wait_all_tasks_blocked()
        await index.use_writer(lambda db: None)
        return log_of(path).stat().st_size

    async def test(index: IndexFile) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(keep_log_short, index)
            for number in range(8):
                await index.write(lambda db: set_meta(db, f"long{number}", "x" * 300_000))  # noqa: B023
                assert await wait(index, REST_S * 0.75) > number * 300_000
            assert (
                await wait(index, REST_S * 0.75) > LOG_KEPT_BYTES
            )  # looking on is a turn of the writer as well
            assert await wait(index, REST_S * 1.5) == 0
            nursery.cancel_scope.cancel()

    with_index(path, test, clock)


def test_an_index_nobody_uses_gives_its_page_caches_back(tmp_path: Path) -> None:
    clock = MockClock()

    async def test(index: IndexFile) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(give_caches_back, index)
            await index.read(use_everything)
            held = page_cache_bytes()
            await wait_all_tasks_blocked()
            clock.jump(IDLE_S / 2)
            await index.read(count_all)
            await wait_all_tasks_blocked()
            clock.jump(IDLE_S * 0.75)
            await wait_all_tasks_blocked()
            still_held = page_cache_bytes()
            clock.jump(IDLE_S)
            await wait_all_tasks_blocked()
            await index.use_writer(lambda db: None)
            kept = page_cache_bytes()
            assert (await index.read(count_all)).files == FILES
            nursery.cancel_scope.cancel()
        assert still_held > 0.9 * held
        assert kept < 0.5 * held

    with_index(tmp_path / "agent.sqlite", test, clock)


@pytest.mark.parametrize("vectors", [False, True])
def test_what_is_discarded_is_built_anew_with_its_vectors_or_without(tmp_path: Path, vectors: bool) -> None:
    async def test() -> None:
        path = tmp_path / "agent.sqlite"
        index = await filled(path)
        index.discard(vectors=vectors)
        assert index.is_lost
        await index.close()
        anew = await open_index(path)
        assert anew.set_aside is None
        assert (await anew.read(count_all)).chunks == 0
        saved = await anew.read(lambda db: get_int(db, "SELECT count(*) FROM embedding_cache"))
        assert saved == (0 if vectors else FILES * CHUNKS)
        await anew.close()
        assert os.listdir(tmp_path) == ["agent.sqlite"]

    trio.run(test)
