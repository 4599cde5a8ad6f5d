"""`chunks_vec` is equal to the vectors in use, or not used."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import trio

from memd.index import chunks_vec
from memd.index.connection import IndexFile
from memd.index.database import transaction
from memd.index.vectors.sqlite_vec import SqliteVecSearch, VectorExtension
from memd.system.sqlite import Database, connect_read_only
from tests.support.indexes import (
    EXTENSION,
    SPACE,
    activate,
    find_inconsistencies,
    new_index,
    publish,
    refill,
    store,
    unit,
)

TEXTS = [f"text {number}" for number in range(30)]
ROWS = unit(np.random.default_rng(2).standard_normal((30, 8)))


def rowids(db: Database) -> list[int]:
    """Return the ids in the table."""
    return [row[0] for row in db.execute("SELECT rowid FROM chunks_vec_rowids ORDER BY rowid")]


def open_and_close(path: Path, extension: VectorExtension) -> None:
    """Open an index as the daemon does."""

    async def body() -> None:
        index = await IndexFile.open(path, extension=extension, clock=lambda: 1)
        await index.close()

    trio.run(body)


def test_table_is_updated_in_the_transactions_that_change_vectors() -> None:
    db = new_index()
    publish(db, "memory/a.md", TEXTS)
    ids = store(db, TEXTS, ROWS)
    assert chunks_vec.is_whole(db, SPACE.id)
    assert rowids(db) == sorted(ids)
    publish(db, "memory/a.md", TEXTS[:10])
    assert rowids(db) == sorted(ids[:10])
    publish(db, "memory/b.md", TEXTS[20:])
    assert rowids(db) == sorted(ids[:10] + ids[20:])
    assert find_inconsistencies(db) == []


def test_rolled_back_change_leaves_the_table_unchanged() -> None:
    db = new_index()
    publish(db, "memory/a.md", TEXTS)
    store(db, TEXTS, ROWS)
    before = rowids(db)
    try:
        with transaction(db):
            chunks_vec.follow(db, SPACE.id, before[:5], [], None)
            raise KeyError
    except KeyError:
        pass
    assert rowids(db) == before


def test_changes_without_the_extension_are_repaired_at_the_next_opening(tmp_path: Path) -> None:
    path = tmp_path / "agent.sqlite"
    db = new_index(path)
    publish(db, "memory/a.md", TEXTS)
    store(db, TEXTS, ROWS)
    db.close()
    db = new_index(path, extension=False)
    publish(db, "memory/a.md", TEXTS[:5])
    publish(db, "memory/new.md", ["new text"])
    store(db, ["new text"], ROWS[:1])
    state = chunks_vec.find_state(db)
    assert state is not None
    assert not state.whole
    db.close()
    open_and_close(path, EXTENSION)
    db = connect_read_only(path)
    assert find_inconsistencies(db) == []
    assert len(rowids(db)) == 6
    db.close()


def test_rowids_are_readable_without_the_extension(tmp_path: Path) -> None:
    db = new_index(tmp_path / "agent.sqlite")
    publish(db, "memory/a.md", TEXTS)
    ids = store(db, TEXTS, ROWS)
    db.close()
    plain = connect_read_only(tmp_path / "agent.sqlite")
    assert rowids(plain) == sorted(ids)
    plain.close()


def test_large_refill_runs_in_steps_and_is_used_only_once_complete() -> None:
    db = new_index()
    publish(db, "memory/a.md", TEXTS)
    store(db, TEXTS, ROWS)
    with transaction(db):
        chunks_vec.clear(db, SPACE.id)
        remaining = [chunks_vec.refill(db, 12)]
    assert not chunks_vec.is_whole(db, SPACE.id)
    assert len(SqliteVecSearch().nearest(db, SPACE.id, ROWS[0], 30)) == 30
    while remaining[-1]:
        with transaction(db):
            remaining.append(chunks_vec.refill(db, 12))
    assert remaining == [18, 6, 0]
    assert chunks_vec.is_whole(db, SPACE.id)


def test_another_space_gets_a_table_of_its_dimensions() -> None:
    db = new_index()
    publish(db, "memory/a.md", TEXTS[:3])
    store(db, TEXTS[:3], ROWS[:3])
    other = type(SPACE)("openai", "large", "space-b")
    store(db, TEXTS[:3], unit(np.eye(4)[:3]), other)
    activate(db, 4, other)
    assert chunks_vec.find_state(db) == chunks_vec.TableState("space-b", 4, True)
    assert len(SqliteVecSearch().nearest(db, "space-b", np.ones(4, np.float32), 9)) == 3
    assert len(SqliteVecSearch().nearest(db, SPACE.id, np.ones(8, np.float32), 9)) == 3


def test_failure_in_the_table_loses_no_text_and_no_result() -> None:
    db = new_index()
    publish(db, "memory/a.md", TEXTS)
    store(db, TEXTS, ROWS)
    db.execute("DROP TABLE chunks_vec")
    publish(db, "memory/a.md", TEXTS[:6])
    publish(db, "memory/a.md", TEXTS[:7])  # a vector is used again, and can't be written
    assert db.execute("SELECT count(*) FROM chunks").get == 7
    assert not chunks_vec.is_whole(db, SPACE.id)
    assert len(SqliteVecSearch().nearest(db, SPACE.id, ROWS[0], 30)) == 7
    refill(db)
    assert chunks_vec.is_whole(db, SPACE.id)
    assert find_inconsistencies(db) == []


def test_table_with_many_unused_rows_is_rebuilt() -> None:
    db = new_index()
    texts = [f"text {number}" for number in range(4_000)]
    rows = unit(np.random.default_rng(2).standard_normal((4_000, 8)))
    publish(db, "memory/a.md", texts)
    store(db, texts, rows)
    publish(db, "memory/a.md", texts[::10])
    allocated = "SELECT sum(size) FROM chunks_vec_chunks"
    assert db.execute(allocated).get >= 3_900
    refill(db)
    assert db.execute(allocated).get <= 400 + chunks_vec.BLOCK_ROWS
    assert find_inconsistencies(db) == []


def test_extension_is_used_only_after_its_self_test(tmp_path: Path) -> None:
    assert EXTENSION.loaded
    assert EXTENSION.version is not None
    broken = VectorExtension(str(tmp_path / "missing.so"))
    assert not broken.load()
    assert broken.error
    assert not broken.loaded
    off = VectorExtension(enabled=False)
    assert not off.load()
    assert off.error == "turned off in the settings"
    db = new_index(extension=False)
    assert not broken.load_into(db)


def test_hanging_extension_is_abandoned_after_the_timeout() -> None:
    release = threading.Event()
    hanging = VectorExtension()
    hanging._self_test = lambda: str(release.wait(10))  # type: ignore[method-assign]
    assert not hanging.load(timeout_s=0.01)
    assert hanging.error == "no answer in 0.01 s"
    release.set()
