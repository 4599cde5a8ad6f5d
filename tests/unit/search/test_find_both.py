"""Words looked up in a second thread bring up what they do in one, of the same moment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trio

from memd.index.cache import set_active_space, store_vectors
from memd.index.connection import IndexFile
from memd.index.database import Database
from memd.index.files import generation, publish_file
from memd.index.keyword import Scope
from memd.index.vectors.matrix import MatrixSearch
from memd.search.candidates import CANDIDATES, find_both
from memd.search.query import Candidates, Question
from tests.support.indexes import SPACE, chunk, file_row, hash_of, question, unit
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
    """Publish another text from a thread that reads."""

    def publish(db: Database) -> None:
        publish_file(db, file_row("memory/b.md"), [chunk("beta beta beta", 1)], 1)

    trio.from_thread.run(index.write, publish, trio_token=token)


def asked(query: str, scope: Scope | None = None, notes_scope: Scope | None = None) -> Question:
    """Return a question whose vector is known."""
    vector = np.eye(DIMS, dtype=np.float32)[0]
    return question(query, vector=vector, scope=scope, notes_scope=notes_scope)


def untimed(found: Candidates) -> Candidates:
    """Return candidates without what they took."""
    return replace(found, took_ms=0.0)


@pytest.mark.parametrize(
    "wanted",
    [
        asked("alpha beta"),
        asked("alpha beta", scope=Scope(("sessions",))),
        asked("alpha beta", notes_scope=Scope(("memory",))),
        asked("what does alhpa mean"),
        asked("?! …"),
    ],
)
def test_a_second_thread_finds_what_one_finds(tmp_path: Path, wanted: Question) -> None:
    async def test(index: IndexFile) -> None:
        def search(db: Database) -> None:
            alone = find_both(db, wanted, MatrixSearch(), None)
            together = find_both(db, wanted, MatrixSearch(), index)
            assert [untimed(found) for found in together] == [untimed(found) for found in alone]

        await index.read(search)

    run(tmp_path, test)


def test_what_the_second_thread_saw_of_a_later_moment_is_not_in_the_answer(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        token = trio.lowlevel.current_trio_token()

        matrix = MatrixSearch()

        def search(db: Database) -> tuple[int, Candidates]:
            now = generation(db)  # its moment is now
            publish_later(token, index)
            words, _ = find_both(db, asked("beta"), matrix, index)
            return now, words

        await index.read(lambda db: matrix.load(db, SPACE.id))
        now, words = await index.read(search)
        assert words.generation == now
        assert len(words.scores) == 2
        assert {row.path for row in words.rows.values()} == {"memory/a.md"}

    run(tmp_path, test)


def test_candidates_are_told_to_be_of_the_moment_they_are_of(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        token = trio.lowlevel.current_trio_token()

        def search(db: Database) -> tuple[int, Candidates]:
            generation(db)  # its moment is now; but to bring vectors into memory another one begins
            publish_later(token, index)
            words, _ = find_both(db, asked("beta"), MatrixSearch(), index)
            return generation(db), words

        now, words = await index.read(search)
        assert words.generation == now
        assert len(words.scores) == 3

    run(tmp_path, test)


def test_a_list_that_was_cut_has_those_with_all_words_as_well(tmp_path: Path) -> None:
    async def test(index: IndexFile) -> None:
        words, meaning = await index.read(
            lambda db: find_both(db, asked("alpha beta"), MatrixSearch(), index)
        )
        assert len(words.scores) >= CANDIDATES
        assert "alpha and beta" in [TEXTS[row.start_line - 1] for row in words.rows.values()]
        assert len(meaning.scores) == CANDIDATES

    run(tmp_path, test)
