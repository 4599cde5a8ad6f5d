"""The early design's path, which memd is measured against: it does what was described."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest

from benchmarks.corpus import make_questions
from benchmarks.seeds import SeedsChunk, SeedsIndex
from benchmarks.vector_server import vector_of

DIMS = 384


def cut(content: str, path: str) -> Iterator[SeedsChunk]:
    for number, line in enumerate(content.splitlines(), 1):
        yield SeedsChunk(path, number, number, line)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("the gateway retries invoices\n")
    (folder / "memory" / "a.md").write_text("bread needs flour\nthe cellar is damp\n")
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SeedsIndex]:
    with SeedsIndex(tmp_path / "seeds.sqlite", DIMS) as made:
        yield made


def test_a_first_sync_indexes_every_file_and_a_second_nothing(workspace: Path, index: SeedsIndex) -> None:
    first = index.sync(workspace, cut, vector_of)
    second = index.sync(workspace, cut, vector_of)

    assert (first.files, first.indexed, first.chunks) == (2, 2, 3)
    assert (second.files, second.indexed, second.chunks) == (2, 0, 0)


def test_a_changed_files_rows_take_the_place_of_its_old_ones(workspace: Path, index: SeedsIndex) -> None:
    index.sync(workspace, cut, vector_of)
    (workspace / "memory" / "a.md").write_text("the cellar is dry\n")
    (workspace / "MEMORY.md").unlink()

    done = index.sync(workspace, cut, vector_of)

    assert (done.indexed, done.chunks) == (1, 1)
    hits = index.search("cellar", vector_of("the cellar is dry"))
    assert [(hit.path, hit.snippet) for hit in hits] == [("memory/a.md", "the cellar is dry")]


def test_meaning_and_words_are_merged_by_weight(workspace: Path, index: SeedsIndex) -> None:
    index.sync(workspace, cut, vector_of)

    hits = index.search("flour bread", vector_of("bread needs flour"))

    assert hits[0].snippet == "bread needs flour"
    assert hits[0].score > 0.7
    assert all(hit.score <= 0.7 for hit in hits[1:])


def test_all_words_must_match(workspace: Path, index: SeedsIndex) -> None:
    index.sync(workspace, cut, vector_of)
    none = np.zeros(DIMS, dtype=np.float32)
    none[0] = 1.0

    both, one_missing = (index.search(words, none) for words in ("gateway invoices", "gateway absent"))

    by_text = {hit.snippet: hit.score for hit in both}
    without = {hit.snippet: hit.score for hit in one_missing}
    assert by_text["the gateway retries invoices"] > without["the gateway retries invoices"]


def test_embeddings_are_kept_as_json_text_and_vectors_beside(
    workspace: Path, tmp_path: Path, index: SeedsIndex
) -> None:
    index.sync(workspace, cut, vector_of)

    db = apsw.Connection(str(tmp_path / "seeds.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    kept = db.execute("SELECT embedding FROM chunks WHERE text = 'bread needs flour'").fetchall()
    cached = db.execute("SELECT count(*) FROM embedding_cache").fetchall()
    db.close()
    numbers = np.asarray(json.loads(str(kept[0][0])))
    assert numbers.shape == (DIMS,)
    assert np.allclose(numbers, vector_of("bread needs flour"), atol=1e-8)
    assert cached == [(3,)]


def test_questions_are_different_and_of_four_to_nine_words() -> None:
    questions = make_questions(500, random.Random(1))

    assert len(set(questions)) == 500
    assert all(4 <= len(question.split()) <= 9 for question in questions)
    assert questions == make_questions(500, random.Random(1))
