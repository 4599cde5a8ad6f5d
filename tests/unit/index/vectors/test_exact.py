"""The quantized matrix finds exactly the same as the full scan, for any vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memd.index.cache import trim
from memd.index.database import READER, connect, transaction
from memd.index.keyword import Scope
from memd.index.vectors.scan import ScanSearch
from memd.system.sqlite import Database
from tests.support.indexes import SPACE, LoadingMatrix, hash_of, new_index, publish, store, unit

Rows = NDArray[np.float32]


def index_of(rows: Rows, path: str = ":memory:") -> Database:
    """Return an index with one chunk per vector, every fourth of them in another folder.

    The rows are written without the check of their length, so that some can be zero.
    """
    db = new_index(path, extension=False)
    texts = [f"text {number}" for number in range(len(rows))]
    publish(db, "memory/a.md", [text for at, text in enumerate(texts) if at % 4])
    publish(db, "notes/b.md", texts[::4])
    with transaction(db):
        db.executemany(
            "INSERT INTO embedding_cache (provider, model, provider_key, hash, dims, updated_at, embedding)"
            " VALUES ('local', 'tiny', ?, ?, ?, 1, ?)",
            [
                (SPACE.id, hash_of(text), rows.shape[1], row.tobytes())
                for text, row in zip(texts, rows, strict=True)
            ],
        )
    return db


def crowded(kind: str, count: int, dims: int, rng: np.random.Generator) -> Rows:
    """Return vectors, many of them hard to distinguish by their quantized rows."""
    rows = rng.standard_normal((count, dims))
    if kind == "equal":
        rows = np.repeat(rows[: count // 5 + 1], 5, axis=0)[:count]
    elif kind == "nearly equal":
        rows = unit(rows[:1]) + 1e-4 * unit(rows)
    elif kind == "one huge number":
        rows = 1e-7 * rows
        rows[:, 0] = 1.0
    result = unit(rows)
    if kind == "zeros among them":
        result[rng.random(count) < 0.3] = 0.0
    return result


@settings(deadline=None, max_examples=60)
@given(
    kind=st.sampled_from(["any", "equal", "nearly equal", "one huge number", "zeros among them"]),
    dims=st.sampled_from([3, 8, 65, 384, 1536]),
    count=st.integers(1, 150),
    limit=st.integers(1, 60),
    scope=st.sampled_from([None, Scope(None, "memory/"), Scope(None, "notes/")]),
    seed=st.integers(0, 10_000),
)
def test_matrix_finds_the_same_as_the_scan(
    kind: str, dims: int, count: int, limit: int, scope: Scope | None, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = crowded(kind, count, dims, rng)
    query = rng.standard_normal(dims).astype(np.float32) if seed % 2 else rows[0] + np.float32(1e-3)
    db = index_of(rows)
    found = LoadingMatrix().nearest(db, SPACE.id, query, limit, scope)
    assert found == ScanSearch().nearest(db, SPACE.id, query, limit, scope)
    db.close()


@pytest.mark.parametrize("scope", [None, Scope(None, "memory/"), Scope(None, "notes/")])
def test_thousands_of_nearly_equal_vectors_are_ranked(scope: Scope | None) -> None:
    # given more similar vectors than are read at once, so that several reads are needed
    rows = crowded("nearly equal", 3_000, 24, np.random.default_rng(9))
    db = index_of(rows)
    matrix = LoadingMatrix()
    for limit in (1, 100, 700):
        found = matrix.nearest(db, SPACE.id, rows[5], limit, scope)
        assert found == ScanSearch().nearest(db, SPACE.id, rows[5], limit, scope)


def test_a_wide_scope_whose_vectors_are_the_farthest_is_exact() -> None:
    # given 3 of 4 vectors in scope, all of them farther than the fourth
    rng = np.random.default_rng(10)
    rows = unit(rng.standard_normal((8_000, 16)))
    rows[::4] = unit(rows[:1] + 0.05 * rng.standard_normal((2_000, 16)))
    db = index_of(rows)
    scope = Scope(None, "memory/")
    found = LoadingMatrix().nearest(db, SPACE.id, rows[0], 100, scope)
    assert found == ScanSearch().nearest(db, SPACE.id, rows[0], 100, scope)


def test_vectors_outside_the_read_transaction_are_replaced_by_the_next(tmp_path: Path) -> None:
    # given a reader from before the nearest vectors were stored, and a matrix that has them
    rng = np.random.default_rng(11)
    path = f"{tmp_path}/agent.sqlite"
    old = unit(rng.standard_normal((900, 8)))
    db = index_of(old, path)
    reader = connect(path, READER)
    matrix = LoadingMatrix()
    matrix.load(reader, SPACE.id)
    reader.execute("BEGIN")
    before = ScanSearch().nearest(reader, SPACE.id, old[0], 20)
    texts = [f"later {number}" for number in range(700)]
    near = unit(old[:1] + 1e-3 * rng.standard_normal((700, 8)))
    publish(db, "memory/later.md", texts)
    matrix.add(SPACE.id, store(db, texts, near), near)

    # when, then: each snapshot has its own result
    assert matrix.nearest(reader, SPACE.id, old[0], 20) == before
    reader.execute("COMMIT")
    after = matrix.nearest(reader, SPACE.id, old[0], 20)
    assert after == ScanSearch().nearest(reader, SPACE.id, old[0], 20) != before
    reader.close()
    db.close()


def test_vectors_deleted_before_the_matrix_is_updated_are_not_found() -> None:
    rows = unit(np.random.default_rng(12).standard_normal((60, 8)))
    db = index_of(rows)
    matrix = LoadingMatrix()
    matrix.load(db, SPACE.id)
    publish(db, "memory/a.md", [])
    with transaction(db):
        trim(db, 0, spaces=[SPACE.id])
    found = matrix.nearest(db, SPACE.id, rows[1], 10)
    assert found == ScanSearch().nearest(db, SPACE.id, rows[1], 10)
    assert len(found) == 10
