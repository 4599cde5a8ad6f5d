"""Vectors are read from the index bit for bit as they were stored."""

from __future__ import annotations

import numpy as np

from memd.index.keyword import Scope
from memd.index.vectors.stored import READ_ROWS, rank_stored, read_blocks, read_rows
from memd.index.vectors.vector_search import used_ids
from tests.support.indexes import SPACE, new_index, publish, store, unit


def test_every_byte_of_a_vector_is_loaded() -> None:
    # given vectors whose bytes have all 256 values, including zeros in the middle
    rng = np.random.default_rng(1)
    rows = np.concatenate([unit(rng.standard_normal((200, 64))), np.eye(64, dtype=np.float32)])
    assert len(set(rows.tobytes())) == 256
    db = new_index()
    texts = [f"text {number}" for number in range(len(rows))]
    publish(db, "memory/a.md", texts)
    ids = np.array(store(db, texts, rows))

    # when
    there, found = read_rows(db, ids)

    # then
    assert there.tolist() == ids.tolist()
    assert found.tobytes() == rows.tobytes()


def test_unknown_ids_are_left_out() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one", "two"])
    one, two = store(db, ["one", "two"], np.eye(2, dtype=np.float32))
    there, found = read_rows(db, np.array([two, 99, one]))
    assert (there.tolist(), found.tolist()) == ([two, one], [[0.0, 1.0], [1.0, 0.0]])
    assert [len(part) for part in read_rows(db, np.array([99]))] == [0, 0]


def test_a_vector_out_of_scope_is_left_out() -> None:
    db = new_index()
    publish(db, "memory/a.md", ["one"])
    publish(db, "notes/b.md", ["two"])
    one, two = store(db, ["one", "two"], np.eye(2, dtype=np.float32))
    there, _ = read_rows(db, np.array([one, two]), Scope(None, "notes/"))
    assert there.tolist() == [two]


def test_many_vectors_are_read_in_blocks_and_ranked_together() -> None:
    # given more vectors than are read at once, some of them equal
    rng = np.random.default_rng(2)
    rows = unit(rng.standard_normal((READ_ROWS + 200, 4)))
    rows[READ_ROWS + 100 :] = rows[:100]
    db = new_index()
    texts = [f"text {number}" for number in range(len(rows))]
    publish(db, "memory/a.md", texts)
    store(db, texts, rows)
    ids = used_ids(db, SPACE.id, None)

    # when
    sizes = [there.size for there, _ in read_blocks(db, ids)]
    found = rank_stored(db, ids, np.eye(4)[0], 1_000)

    # then
    assert sizes == [READ_ROWS, 200]
    assert sorted(key for key, _ in found) == ids.tolist()
    assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))
