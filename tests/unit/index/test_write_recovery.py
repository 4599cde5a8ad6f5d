"""An open index detects that its file was removed, replaced, truncated or damaged; the next opening rebuilds it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import apsw
import numpy as np
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from memd.index.cache import active_space, count_missing, store_vectors
from memd.index.connection import IndexFile
from memd.index.database import PAGE_BYTES, WAL_LIMIT_BYTES, page_cache_bytes
from memd.index.files import count_all, load_files, publish_file
from memd.index.housekeeping import (
    IDLE_S,
    LOG_KEPT_BYTES,
    REST_S,
    compact,
    keep_log_short,
    release_caches,
)
from memd.index.integrity.upkeep import wal_path
from memd.index.keyword import find_keyword
from memd.index.meta import find_recipe, load_jobs, note_space, save_jobs, set_meta
from memd.system.sqlite import Database, get_int
from memd_client.errors import IndexClosedError, IndexCorruptError, IndexIOError, IndexLostError, MemdError
from tests.support.indexes import SPACE, chunk, file_row, find_inconsistencies, hash_of, unit
from tests.support.open_indexes import open_index

FILES, CHUNKS = 120, 5
TEXTS = [[f"apples word{file}x{number} " * 20 for number in range(CHUNKS)] for file in range(FILES)]
ROWS = unit(np.random.default_rng(0).normal(size=(FILES * CHUNKS, 96)))


async def filled(path: Path) -> IndexFile:
    """Return an open index with text and vectors, after a checkpoint."""
    index = await open_index(path)

    def write(db: Database) -> None:
        publish_all(db)
        hashes = [hash_of(text) for texts in TEXTS for text in texts]
        store_vectors(db, SPACE, hashes, ROWS, 1)

    await index.write(write)
    await index.close()
    return await open_index(path)


@asynccontextmanager
async def filled_index(folder: Path) -> AsyncIterator[IndexFile]:
    """Yield an open index, `agent.sqlite` in a folder, with text and vectors."""
    index = await filled(folder / "agent.sqlite")
    try:
        yield index
    finally:
        await index.close()


def publish_all(db: Database, suffix: str = "") -> None:
    """Publish every file."""
    for number, texts in enumerate(TEXTS):
        publish_file(db, file_row(f"memory/{number:03d}.md"), [chunk(text + suffix) for text in texts], 1)


def count_stored(db: Database) -> int:
    """Return the number of stored vectors."""
    return get_int(db, "SELECT count(*) FROM embedding_cache")


def pages_by_table(path: Path) -> dict[str, list[int]]:
    """Return the pages of each table."""
    pages: dict[str, list[int]] = {}
    with closing(apsw.Connection(str(path))) as db:
        for name, number in db.execute("SELECT name, pageno FROM dbstat"):
            pages.setdefault(str(name), []).append(int(str(number)))
    return pages


def spoil(path: Path, *pages: int) -> None:
    """Overwrite whole pages."""
    with path.open("r+b") as file:
        for number in pages:
            file.seek((number - 1) * PAGE_BYTES)
            file.write(b"\xa5" * PAGE_BYTES)


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
    publish_all(db, "anew")
    hashes = [hash_of(text + "anew") for texts in TEXTS for text in texts]
    store_vectors(db, SPACE, hashes, ROWS, 2)
    set_meta(db, "trace", "x")


async def meet(index: IndexFile) -> MemdError | None:
    """Use an index until it raises an error; return the error."""
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


def rebuild(db: Database) -> tuple[list[str], int, int]:
    """Publish all text again; return the quarantined files and the numbers of stored and missing vectors."""
    publish_all(db)
    return find_inconsistencies(db), count_stored(db), count_missing(db, SPACE.id)


@pytest.mark.parametrize("table", TABLES)
async def test_damaged_page_quarantines_the_open_index_and_all_is_embedded_again(
    tmp_path: Path, table: str
) -> None:
    path = tmp_path / "agent.sqlite"
    index = await filled(path)
    pages = pages_by_table(path)[table]
    # when a page is damaged under the open connection
    spoil(path, *(pages if table.startswith("chunks_fts") else pages[-1:]))
    met = await meet(index)
    # then the request that reads the page fails, and later ones are refused
    assert isinstance(met, IndexCorruptError), met
    assert index.is_lost
    with pytest.raises(IndexClosedError):
        await index.read(count_all)
    with pytest.raises(IndexClosedError):
        await index.write(rewrite)
    await index.close()
    damaged = [tmp_path / name for name in os.listdir(tmp_path) if ".corrupt-" in name]
    # and the next opening creates an empty index next to the damaged file, which stays unchanged
    new = await open_index(path)
    assert [new.quarantined] == damaged
    counts = await new.read(count_all)
    assert (counts.files, counts.chunks, await new.read(count_stored)) == (0, 0, 0)
    assert await new.write(rebuild) == ([], 0, FILES * CHUNKS)
    await new.close()
    assert sorted(os.listdir(tmp_path)) == ["agent.sqlite", damaged[0].name]


async def test_damaged_first_page_is_repaired_by_the_next_opening(tmp_path: Path) -> None:
    path = tmp_path / "agent.sqlite"
    index = await filled(path)
    spoil(path, 1)
    await meet(index)  # the page may be cached, or in the log, and be written back from there
    await index.close()
    new = await open_index(path)
    assert (await new.write(rebuild))[0] == []
    await new.close()


async def test_wrong_statement_on_a_sound_index_is_not_reported_as_damage(tmp_path: Path) -> None:
    async with filled_index(tmp_path) as index:
        for _ in range(2):
            with pytest.raises(MemdError) as caught:
                await index.read(lambda db: db.execute("SELECT nothing FROM nowhere").fetchall())
            assert caught.value.code == "internal"
        assert not index.is_lost


@pytest.mark.parametrize("through", ["read", "write"])
async def test_replaced_index_is_lost_and_the_new_file_stays_unchanged(tmp_path: Path, through: str) -> None:
    path = tmp_path / "agent.sqlite"
    async with filled_index(tmp_path) as index:
        os.replace(path, tmp_path / "moved")
        path.write_bytes(b"another's")
        with pytest.raises(IndexLostError):
            await (index.read(count_all) if through == "read" else index.write(rewrite))
        assert isinstance(await index.wait_lost(), IndexLostError)
    assert path.read_bytes() == b"another's"


async def test_file_shrunk_by_its_writer_is_not_reported_as_truncated(tmp_path: Path) -> None:
    async with filled_index(tmp_path) as index:
        before = index.size_bytes()
        await index.write(lambda db: db.execute("DELETE FROM embedding_cache"))
        await compact(index)
        assert index.size_bytes() < before
        assert (await index.read(count_all)).files == FILES
        assert not index.is_lost


async def test_failed_write_is_a_fault_until_a_write_succeeds(tmp_path: Path) -> None:
    def fail(db: Database) -> None:
        raise OSError(28, "No space left on device")

    async with filled_index(tmp_path) as index:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(index.wait_fault)
            with pytest.raises(IndexIOError):
                await index.write(fail)
        assert "No space left" in str(index.fault)
        assert (await index.read(count_all)).files == FILES
        await index.write(lambda db: set_meta(db, "trace", "x"))
        assert index.fault is None
        assert not index.is_lost


async def test_log_is_truncated_after_a_long_transaction(tmp_path: Path) -> None:
    def burst(db: Database) -> None:
        for number in range(300):
            set_meta(db, f"long{number}", "x" * 100_000)

    async with filled_index(tmp_path) as index:
        await index.write(burst)
        assert wal_path(index.path).stat().st_size <= WAL_LIMIT_BYTES * 9 // 8


def test_checkpoint_runs_after_a_pause_in_writing(tmp_path: Path) -> None:
    clock = MockClock()

    async def wait(index: IndexFile, seconds: float) -> int:
        """Wait, and return the size of the log once the writer is free."""
        clock.jump(seconds)
        await wait_all_tasks_blocked()
        await index.use_writer(lambda db: None)
        return wal_path(index.path).stat().st_size

    async def test() -> None:
        async with filled_index(tmp_path) as index, trio.open_nursery() as nursery:
            nursery.start_soon(keep_log_short, index)
            for number in range(8):
                await index.write(lambda db: set_meta(db, f"long{number}", "x" * 300_000))  # noqa: B023
                assert await wait(index, REST_S * 0.75) > number * 300_000
            assert (
                await wait(index, REST_S * 0.75) > LOG_KEPT_BYTES
            )  # reading the size uses the writer as well
            assert await wait(index, REST_S * 1.5) == 0
            nursery.cancel_scope.cancel()

    trio.run(test, clock=clock)


def test_idle_index_releases_its_page_caches(tmp_path: Path) -> None:
    clock = MockClock()

    async def wait(seconds: float) -> None:
        await wait_all_tasks_blocked()
        clock.jump(seconds)

    async def test() -> None:
        async with filled_index(tmp_path) as index, trio.open_nursery() as nursery:
            nursery.start_soon(release_caches, index)
            await index.read(use_everything)
            used = page_cache_bytes()
            await wait(IDLE_S / 2)
            await index.read(count_all)
            await wait(IDLE_S * 0.75)
            await wait_all_tasks_blocked()
            still_used = page_cache_bytes()
            await wait(IDLE_S)
            await wait_all_tasks_blocked()
            await index.use_writer(lambda db: None)
            kept = page_cache_bytes()
            assert (await index.read(count_all)).files == FILES
            nursery.cancel_scope.cancel()
        assert still_used > 0.9 * used
        assert kept < 0.5 * used

    trio.run(test, clock=clock)


@pytest.mark.parametrize(
    ("drops_vectors", "is_damaged", "kept"),
    [(False, False, FILES * CHUNKS), (True, False, 0), (False, True, 0)],
)
async def test_discarded_index_keeps_its_vectors_unless_dropped_or_damaged(
    tmp_path: Path, drops_vectors: bool, is_damaged: bool, kept: int
) -> None:
    path = tmp_path / "agent.sqlite"
    index = await filled(path)
    recipe, jobs = {"provider": "local", "model": "tiny", "prefix": "query: "}, '["batch_68"]'

    def note(db: Database) -> None:
        note_space(db, SPACE.id, recipe, 5)
        save_jobs(db, SPACE.id, jobs)

    await index.write(note)
    index.discard(vectors=drops_vectors)
    assert index.is_lost
    await index.close()
    damaged = []
    if is_damaged:
        damaged = [tmp_path / name for name in os.listdir(tmp_path) if ".corrupt-" in name]
        spoil(damaged[0], *pages_by_table(damaged[0])["embedding_cache"][3:5])
    new = await open_index(path)
    assert new.quarantined == (damaged[0] if is_damaged else None)
    assert (await new.read(count_all)).chunks == 0
    assert await new.read(count_stored) == kept
    space = await new.read(active_space)
    assert (space is not None) == bool(kept)
    assert await new.read(lambda db: find_recipe(db, SPACE.id)) == (recipe if kept else None)
    assert await new.read(lambda db: load_jobs(db, SPACE.id)) == (jobs if kept else None)
    assert await new.write(rebuild) == ([], kept, FILES * CHUNKS - kept)
    await new.close()
    assert sorted(os.listdir(tmp_path)) == ["agent.sqlite", *(path.name for path in damaged)]
