"""The reference design that memd is compared with."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest

from benchmarks.corpus import make_queries
from benchmarks.peers.endpoint import instant_vector
from benchmarks.reference_index import ReferenceChunk, ReferenceIndex

DIMS = 384


def cut(content: str, path: str) -> Iterator[ReferenceChunk]:
    for number, line in enumerate(content.splitlines(), 1):
        yield ReferenceChunk(path, number, number, line)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("the gateway retries invoices\n")
    (folder / "memory" / "a.md").write_text("bread needs flour\nthe cellar is damp\n")
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Iterator[ReferenceIndex]:
    with ReferenceIndex(tmp_path / "seeds.sqlite", DIMS) as made:
        yield made


def test_vector_and_keyword_scores_are_merged_by_weight(workspace: Path, index: ReferenceIndex) -> None:
    index.index(workspace, cut, instant_vector)

    hits = index.search("flour bread", instant_vector("bread needs flour"))

    assert hits[0].snippet == "bread needs flour"
    assert hits[0].score > 0.7
    assert all(hit.score <= 0.7 for hit in hits[1:])


def test_keyword_match_needs_all_words(workspace: Path, index: ReferenceIndex) -> None:
    index.index(workspace, cut, instant_vector)
    none = np.zeros(DIMS, dtype=np.float32)
    none[0] = 1.0

    both, one_missing = (index.search(words, none) for words in ("gateway invoices", "gateway absent"))

    by_text = {hit.snippet: hit.score for hit in both}
    without = {hit.snippet: hit.score for hit in one_missing}
    assert by_text["the gateway retries invoices"] > without["the gateway retries invoices"]


def test_embeddings_are_stored_as_json_text_and_cached(
    workspace: Path, tmp_path: Path, index: ReferenceIndex
) -> None:
    count = index.index(workspace, cut, instant_vector)

    assert count == 3
    db = apsw.Connection(str(tmp_path / "seeds.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    kept = db.execute("SELECT embedding FROM chunks WHERE text = 'bread needs flour'").fetchall()
    cached = db.execute("SELECT count(*) FROM embedding_cache").fetchall()
    db.close()
    numbers = np.asarray(json.loads(str(kept[0][0])))
    assert numbers.shape == (DIMS,)
    assert np.allclose(numbers, instant_vector("bread needs flour"), atol=1e-8)
    assert cached == [(3,)]


def test_queries_are_distinct_and_have_four_to_nine_words() -> None:
    queries = make_queries(500, random.Random(1))

    assert len(set(queries)) == 500
    assert all(4 <= len(query.split()) <= 9 for query in queries)
    assert queries == make_queries(500, random.Random(1))
