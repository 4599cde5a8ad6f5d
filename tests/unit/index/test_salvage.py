"""Vectors survive damage: what was embedded is never embedded again for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import numpy as np
import pytest

from memd.index.cache import SpaceKey, active_space, forget_space
from memd.index.care.salvage import salvage
from memd.index.database import PAGE_BYTES, Database, transaction
from memd.index.spaces import find_recipe, note_space, save_jobs
from tests.support.indexes import SPACE, broken_rules, hash_of, new_index, publish, store, unit

TEXTS = [f"entry {number} about apples" for number in range(400)]
OTHER = SpaceKey("openai", "large", "space-b")


def rows_of(dims: int, seed: int = 0) -> np.ndarray:
    """Return a vector for each text."""
    return unit(np.random.default_rng(seed).normal(size=(len(TEXTS), dims)))


def full_index(path: Path, dims: int = 384) -> None:
    """Make an index with vectors of two spaces, as after a clean end."""
    db = new_index(path)
    for at in range(0, len(TEXTS), 10):
        publish(db, f"memory/{at}.md", TEXTS[at : at + 10])
    store(db, TEXTS, rows_of(dims))
    store(db, TEXTS[:50], rows_of(64)[:50], OTHER)
    with transaction(db):
        note_space(db, SPACE.id, {"provider": "local", "model": "tiny"}, 5)
        save_jobs(db, SPACE.id, '["batch_68"]')
    db.close()


def pages_by_table(path: Path) -> dict[str, list[int]]:
    """Return the pages of each table."""
    db = apsw.Connection(str(path))
    pages: dict[str, list[int]] = {}
    for name, number in db.execute("SELECT name, pageno FROM dbstat"):
        pages.setdefault(str(name), []).append(int(str(number)))
    db.close()
    return pages


def spoil(path: Path, *pages: int) -> None:
    """Overwrite whole pages."""
    with path.open("r+b") as file:
        for number in pages:
            file.seek((number - 1) * PAGE_BYTES)
            file.write(b"\xa5" * PAGE_BYTES)


def saved_from(path: Path) -> tuple[Database, int]:
    """Return a new index with what could be saved, and how many vectors that are."""
    db = new_index()
    with transaction(db):
        return db, salvage(path, db)


def vectors_in(db: Database, space: SpaceKey = SPACE) -> dict[str, bytes]:
    """Return the vectors of a space by hash."""
    return {
        str(key): bytes(blob)
        for key, blob in db.execute(
            "SELECT hash, embedding FROM embedding_cache WHERE provider_key = ?", (space.id,)
        )
    }


@pytest.mark.parametrize("dims", [4, 384, 1536, 3072])
def test_of_a_sound_file_every_vector_is_saved_bit_by_bit(tmp_path: Path, dims: int) -> None:
    # 3072 dimensions take more than a page
    path = tmp_path / "a.sqlite"
    full_index(path, dims)
    db, saved = saved_from(path)
    assert saved == len(TEXTS) + 50
    expected = {hash_of(text): row.tobytes() for text, row in zip(TEXTS, rows_of(dims), strict=True)}
    assert vectors_in(db) == expected
    assert active_space(db) is not None
    assert find_recipe(db, SPACE.id) == {"provider": "local", "model": "tiny"}
    assert db.execute("SELECT value FROM meta WHERE key LIKE 'bulk_jobs:%'").get == '["batch_68"]'
    # and once the text is there again, all of them are in use
    for at in range(0, len(TEXTS), 10):
        publish(db, f"memory/{at}.md", TEXTS[at : at + 10])
    assert broken_rules(db) == []


@pytest.mark.parametrize(
    "table",
    ["sqlite_schema", "meta", "files", "chunks", "chunks_fts_data", "embedding_hashes", "sqlite_sequence"],
)
def test_damage_elsewhere_costs_no_vector(tmp_path: Path, table: str) -> None:
    path = tmp_path / "a.sqlite"
    full_index(path)
    spoil(path, *pages_by_table(path)[table])
    _, saved = saved_from(path)
    assert saved == len(TEXTS) + 50


def test_a_broken_root_costs_none_and_a_broken_page_only_what_stood_on_it(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    full_index(path)
    root, *leaves = pages_by_table(path)["embedding_cache"]
    spoil(path, root)
    assert saved_from(path)[1] == len(TEXTS) + 50
    spoil(path, leaves[7])
    db, saved = saved_from(path)
    assert len(TEXTS) + 50 - 6 <= saved < len(TEXTS) + 50  # five of 1.5 kB fit a page
    expected = {hash_of(text): row.tobytes() for text, row in zip(TEXTS, rows_of(384), strict=True)}
    assert vectors_in(db).items() <= expected.items()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3 + 17])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def noise(path: Path) -> None:
    path.write_bytes(np.random.default_rng(1).bytes(500_000))


def speckle(path: Path) -> None:
    data = np.frombuffer(path.read_bytes(), dtype=np.uint8).copy()
    random = np.random.default_rng(2)
    data[random.integers(0, len(data), 2000)] = random.integers(0, 256, 2000, dtype=np.uint8)
    path.write_bytes(data.tobytes())


@pytest.mark.parametrize(("harm", "most"), [(cut, 449), (empty, 0), (noise, 0), (speckle, 449)])
def test_whatever_the_bytes_are_nothing_but_unit_vectors_of_one_length_is_taken(
    tmp_path: Path, harm: Callable[[Path], None], most: int
) -> None:
    path = tmp_path / "a.sqlite"
    full_index(path)
    harm(path)
    db, saved = saved_from(path)
    assert saved <= most
    for blob in vectors_in(db).values():
        vector = np.frombuffer(blob, dtype="<f4")
        assert len(vector) == 384
        assert abs(float(np.linalg.norm(vector)) - 1) < 1e-3
    assert broken_rules(db) == []


def test_vectors_that_were_deleted_stay_so(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    full_index(path)
    db = new_index(path)
    with transaction(db):
        forget_space(db, SPACE.id)
    db.close()
    assert saved_from(path)[1] == 50
