"""The matrix in RAM and `chunks_vec` follow all changes of files and vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memd.index.cache import forget_space, trim
from memd.index.database import READER, connect, transaction
from memd.index.files import IndexChange, forget_file
from memd.index.vectors import matrix as matrix_module
from memd.index.vectors.scan import ScanSearch
from memd.index.vectors.sqlite_vec import SqliteVecSearch
from tests.support.indexes import SPACE, LoadingMatrix, find_inconsistencies, new_index, publish, store, unit

TEXTS = [f"text {number}" for number in range(12)]
DIMS = 4
RNG_ROWS = unit(np.random.default_rng(8).integers(-2, 3, (12, DIMS)) + 0.25)


class Following(RuleBasedStateMachine):
    """Files are added, changed and deleted, vectors arrive late; all vector searches agree after each step."""

    def __init__(self) -> None:
        super().__init__()
        self.db = new_index()
        self.matrix = LoadingMatrix()

    def teardown(self) -> None:
        self.db.close()

    def follow(self, published: IndexChange) -> None:
        """Pass on a commit as the daemon does."""
        if published.space_id is None:
            return
        self.matrix.remove(published.space_id, published.removed_vectors)
        if published.added_matrix is not None:
            self.matrix.add(published.space_id, published.added_vectors, published.added_matrix)

    @rule(file=st.integers(0, 3), texts=st.lists(st.sampled_from(TEXTS), max_size=6))
    def publish(self, file: int, texts: list[str]) -> None:
        self.follow(publish(self.db, f"memory/{file}.md", texts))

    @rule(file=st.integers(0, 3))
    def forget(self, file: int) -> None:
        with transaction(self.db):
            published = forget_file(self.db, f"memory/{file}.md")
        self.follow(published)

    @rule(numbers=st.sets(st.integers(0, 11), max_size=5))
    def store(self, numbers: set[int]) -> None:
        rows = RNG_ROWS[sorted(numbers)]
        ids = store(self.db, [TEXTS[number] for number in sorted(numbers)], rows)
        self.matrix.add(SPACE.id, ids, rows)

    @rule()
    def trim(self) -> None:
        with transaction(self.db):
            trim(self.db, 0)

    @rule()
    def drop(self) -> None:
        self.matrix.drop()

    @rule()
    def forget_all(self) -> None:
        with transaction(self.db):
            forget_space(self.db, SPACE.id)
        self.matrix.drop()

    @invariant()
    def paths_agree(self) -> None:
        for limit in (1, 4, 50):
            answers = [
                search.nearest(self.db, SPACE.id, RNG_ROWS[0], limit)
                for search in (ScanSearch(), SqliteVecSearch(), self.matrix)
            ]
            assert answers[0] == answers[1] == answers[2]
        assert len(self.matrix) == len(answers[0])

    @invariant()
    def rules_hold(self) -> None:
        assert find_inconsistencies(self.db) == []


Following.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestFollowing = Following.TestCase


def test_changes_during_loading_are_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    db = new_index()
    publish(db, "memory/a.md", TEXTS)
    ids = store(db, TEXTS[:6], RNG_ROWS[:6])
    matrix = LoadingMatrix()
    read = matrix_module._read
    new: list[int] = []

    def read_then_change(*args: object) -> object:
        block = read(*args)  # type: ignore[arg-type]
        matrix.remove(SPACE.id, ids[:2])
        new.extend(store(db, TEXTS[7:8], RNG_ROWS[7:8]))
        matrix.add(SPACE.id, new, RNG_ROWS[7:8])
        return block

    monkeypatch.setattr(matrix_module, "_read", read_then_change)
    found = {key for key, _ in matrix.nearest(db, SPACE.id, RNG_ROWS[0], 50)}
    assert found == {*ids[2:], *new}


def test_matrix_dropped_during_loading_stays_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    db = new_index()
    publish(db, "memory/a.md", TEXTS)
    store(db, TEXTS, RNG_ROWS)
    matrix = LoadingMatrix()
    read = matrix_module._read

    def read_then_drop(*args: object) -> object:
        block = read(*args)  # type: ignore[arg-type]
        matrix.drop()
        return block

    monkeypatch.setattr(matrix_module, "_read", read_then_drop)
    assert len(matrix.nearest(db, SPACE.id, RNG_ROWS[0], 50)) == 12
    assert (matrix.is_loaded, matrix.size_bytes) == (False, 0)


def test_reader_older_than_a_change_does_not_load_a_stale_matrix(tmp_path: Path) -> None:
    db = new_index(f"{tmp_path}/agent.sqlite")
    publish(db, "memory/a.md", TEXTS)
    ids = store(db, TEXTS, RNG_ROWS)
    reader = connect(f"{tmp_path}/agent.sqlite", READER)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM chunks").fetchall()
    matrix = LoadingMatrix()
    published = publish(db, "memory/a.md", TEXTS[:3])
    matrix.remove(SPACE.id, published.removed_vectors)  # reported while nothing is loaded
    found = {key for key, _ in matrix.nearest(reader, SPACE.id, RNG_ROWS[0], 50)}
    assert found == set(ids[:3])
    assert len(matrix) == 3


def test_many_deleted_rows_are_released() -> None:
    matrix = LoadingMatrix()
    db = new_index()
    texts = [f"t{number}" for number in range(6_000)]
    rows = unit(np.random.default_rng(1).standard_normal((6_000, DIMS)))
    publish(db, "memory/a.md", texts)
    store(db, texts, rows)
    matrix.load(db, SPACE.id)
    full = matrix.size_bytes
    published = publish(db, "memory/a.md", texts[:1_000])
    matrix.remove(SPACE.id, published.removed_vectors)
    assert matrix.size_bytes == 0
    assert len(matrix.nearest(db, SPACE.id, rows[0], 9_999)) == 1_000
    assert matrix.size_bytes < full / 5
