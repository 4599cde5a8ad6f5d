"""Keyword search in a second thread finds the same candidates in the same snapshot."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import pytest
import trio
from msgspec.structs import replace

from memd.index.cache import set_active_space, store_vectors
from memd.index.connection import IndexFile
from memd.index.files import ChunkRow, chunks_by_id, publish_file
from memd.index.keyword import Scope
from memd.index.vectors.matrix import MatrixSearch
from memd.search.retrieve import MAX_CANDIDATES, Candidates, retrieve
from memd.system.sqlite import Database
from tests.support.indexes import (
    SPACE,
    LoadingMatrix,
    SearchSpec,
    chunk,
    file_row,
    hash_of,
    search_spec,
    snapshot_of,
    unit,
)
from tests.support.open_indexes import run_with_index

TEXTS = [f"alpha {'word ' * (number % 9)}{number}" for number in range(150)] + ["alpha and beta", "only beta"]
DIMS = 8


def run(path: Path, test: Callable[[IndexFile], Awaitable[None]]) -> None:
    """Run a test with an index of `TEXTS` and their vectors."""

    def fill(db: Database) -> None:
        chunks = [chunk(text, line) for line, text in enumerate(TEXTS, 1)]
        publish_file(db, file_row("memory/a.md"), chunks, 1)
        publish_file(db, file_row("sessions/s.jsonl", "sessions"), [chunk("alpha was said", 1)], 1)
        rows = unit(np.random.default_rng(1).normal(size=(len(TEXTS), DIMS)))
        store_vectors(db, SPACE, [hash_of(text) for text in TEXTS], rows, 1)
        set_active_space(db, SPACE.id, DIMS)

    async def filled(index: IndexFile) -> None:
        await index.write(fill)
        await test(index)

    run_with_index(path, filled)


def publish_later(token: trio.lowlevel.TrioToken, index: IndexFile) -> None:
    """Publish another text from a reader thread."""

    def publish(db: Database) -> None:
        publish_file(db, file_row("memory/b.md"), [chunk("beta beta beta", 1)], 1)

    trio.from_thread.run(index.write, publish, trio_token=token)


def near(query: str, scope: Scope | None = None, notes_scope: Scope | None = None) -> SearchSpec:
    """Return a search with a vector."""
    vector = np.eye(DIMS, dtype=np.float32)[0]
    return search_spec(query, vector=vector, scope=scope, notes_scope=notes_scope)


def find_candidates(db: Database, wanted: SearchSpec, index: IndexFile | None) -> Candidates:
    """Return the candidates of a search without timings, by a second thread if an index is given."""
    snapshot = snapshot_of(db, LoadingMatrix(), second_reader=index)
    found = retrieve(snapshot, wanted.query(snapshot))
    return replace(found, keyword_ms=0.0, vector_ms=0.0)


@pytest.mark.parametrize(
    "wanted",
    [
        near("alpha beta"),
        near("alpha beta", scope=Scope(("sessions",))),
        near("alpha beta", notes_scope=Scope(("memory",))),
        near("what does alhpa mean"),
        near("?! …"),
    ],
)
def test_a_second_thread_finds_the_same_candidates(tmp_path: Path, wanted: SearchSpec) -> None:
    async def test(index: IndexFile) -> None:
        def search(db: Database) -> None:
            assert find_candidates(db, wanted, index) == find_candidates(db, wanted, None)

        await index.read(search)

    run(tmp_path, test)


def test_a_commit_seen_only_by_the_second_thread_is_ignored(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        token = trio.lowlevel.current_trio_token()
        matrix = MatrixSearch()
        await index.read(lambda db: matrix.load(db, SPACE.id))

        def search(db: Database) -> Candidates:
            snapshot = snapshot_of(db, matrix, second_reader=index)
            publish_later(token, index)
            found = retrieve(snapshot, near("beta").query(snapshot))
            assert {row.path for row in chunks_by_id(db, [*found.by_keyword])} == {"memory/a.md"}
            return found

        found = await index.read(search)
        assert len(found.by_keyword) == 2

    run(tmp_path, test)


def test_a_truncated_list_includes_matches_of_all_terms(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        def search(db: Database) -> tuple[Candidates, list[ChunkRow]]:
            found = find_candidates(db, near("alpha beta"), index)
            return found, chunks_by_id(db, [*found.by_keyword])

        found, rows = await index.read(search)
        assert len(found.by_keyword) >= MAX_CANDIDATES
        assert "alpha and beta" in [TEXTS[row.start_line - 1] for row in rows]
        assert len(found.by_vector) == MAX_CANDIDATES

    run(tmp_path, test)
