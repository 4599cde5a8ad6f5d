"""One search from candidates to hits."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from memd.index.database import READER, connect, reading
from memd.index.files import generation
from memd.index.vectors.cache import load_facts
from memd.index.vectors.scan import ScanSearch
from memd.search.rank.order import rank
from memd.search.retrieve import retrieve
from memd.settings.schema import Hybrid, QuerySettings
from memd.system.sqlite import Database
from tests.support.indexes import (
    SPACE,
    new_cache,
    new_index,
    publish,
    publish_lines,
    search,
    search_spec,
    snapshot_of,
    store,
    unit,
)

LINES = ["the cat sleeps on the sofa", "the dog runs in the garden", "quarterly figures of the bakery"]
BY_MEANING_ALONE = QuerySettings(hybrid=Hybrid(enabled=False))


@pytest.fixture
def db() -> Database:
    """An index of three notes with vectors; the query's is `[1, 0, 0]`."""
    db = new_index()
    publish_lines(db, LINES, unit([[0.6, 0.8, 0], [0.9, 0.1, 0], [0, 0, 1]]))
    return db


VECTOR = [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("settings", "vector", "has_vectors", "mode"),
    [
        (QuerySettings(), VECTOR, True, "hybrid"),
        (QuerySettings(), None, True, "keyword"),
        (QuerySettings(), VECTOR, False, "keyword"),
        (BY_MEANING_ALONE, VECTOR, True, "vector"),
        (BY_MEANING_ALONE, None, True, "keyword"),
    ],
)
def test_the_result_reports_its_search_mode(
    db: Database, settings: QuerySettings, vector: list[float] | None, has_vectors: bool, mode: str
) -> None:
    """Keywords answer if there is no vector, regardless of the settings."""
    found = search(db, search_spec("cat", settings, vector=vector), ScanSearch() if has_vectors else None)
    assert found.mode == mode
    assert found.generation == generation(db)
    by_words = {hit.text_score is not None for hit in found.hits}
    by_meaning = {hit.vector_score is not None for hit in found.hits}
    assert (True in by_words) == (mode != "vector")
    assert (True in by_meaning) == (mode != "keyword")
    assert set(found.timings) == {"keyword_ms", "vector_ms", "ranking_ms"}


def test_in_vector_search_an_exact_match_ranks_first(db: Database) -> None:
    publish(db, "memory/pol.md", ["POL-358"])
    store(db, ["POL-358"], unit([[0.3, 0, 1]]))
    found = search(db, search_spec("dog POL-358", BY_MEANING_ALONE, vector=VECTOR), ScanSearch())
    assert found.hits[0].path == "memory/pol.md"


def test_a_search_returns_at_most_max_results(db: Database) -> None:
    for number in range(20):
        publish(db, f"memory/dogs/{number}.md", [f"dog {number}"])
    found = search(db, search_spec("dog", max_results=4))
    assert len(found.hits) == 4


def test_an_empty_list_is_an_abstention(db: Database) -> None:
    everything_is_gone = search(db, search_spec("cat"), is_current=lambda _: False)
    nothing_is_good_enough = search(db, search_spec("cat", min_score=1.1))
    for found in (everything_is_gone, nothing_is_good_enough):
        assert (found.hits, found.abstained, found.line_check) == ([], True, None)


def test_a_zero_vector_falls_back_to_keyword_matches(db: Database) -> None:
    found = search(db, search_spec("cat", vector=np.zeros(3, np.float32)), ScanSearch())
    assert [hit.path for hit in found.hits] == ["memory/0.md"]


WORDS = (
    "gateway",
    "Runs",
    "the",
    "billing",
    "v2",
    "und",
    "läuft",
    "42",
    "is",
    "shoes",
    "日記",
    "pump",
    "kiwi",
    "delta",
    "echo",
)


@pytest.mark.parametrize("seed", range(8))
def test_exact_matching_skips_only_texts_without_all_terms(seed: int) -> None:
    # given more texts than candidates, of few words, and queries of the same words
    rng = random.Random(seed)
    db = new_index(extension=False)
    for number in range(40):
        place = " ".join(rng.choices(WORDS, k=3)) if number % 4 == 0 else f"note {number}"
        lines = [" ".join(rng.choices(WORDS, k=rng.randint(2, 9))) for _ in range(6)]
        publish(db, f"memory/{place} {number}.md", lines)
    known = some = 0
    for _ in range(60):
        wanted = search_spec(" ".join(rng.choices(WORDS, k=rng.randint(2, 8))) + rng.choice(["", "?"]))
        snapshot = snapshot_of(db)
        query = wanted.query(snapshot)

        # when texts without all terms are skipped, and when all are read
        found = retrieve(snapshot, query)
        some_read = rank(snapshot, query, found)
        all_read = rank(snapshot, query, replace(found, with_all_terms=None))

        # then both match the same exact terms
        assert some_read.signals.exact_matches == all_read.signals.exact_matches
        assert list(some_read.ranked) == list(all_read.ranked)
        known += found.with_all_terms is not None
        some += bool(found.with_all_terms)
    assert 0 < some < known


def test_a_search_returns_no_lines_of_another_generation(tmp_path: Path) -> None:
    writer, cache = new_index(tmp_path / "main.sqlite", extension=False), new_cache()
    publish_lines(writer, LINES, unit([VECTOR, [0.9, 0.1, 0], [0, 0, 1]]))
    wanted = search_spec("cat", vector=VECTOR)
    reader = connect(tmp_path / "main.sqlite", READER)
    with reading(reader):
        cache.use_space(load_facts(reader, SPACE.id))
        before = search(reader, wanted, cache.searcher(), cache=cache)

        moved = publish(writer, "memory/0.md", ["a line above", LINES[0]])
        cache.follow(moved)
        during = search(reader, wanted, cache.searcher(), cache=cache)
    with reading(reader):
        after = search(reader, wanted, cache.searcher(), cache=cache)

    assert (during.hits, during.generation) == (before.hits, before.generation)
    assert (before.hits[0].path, before.hits[0].start_line) == ("memory/0.md", 1)
    assert (after.hits[0].path, after.hits[0].start_line) == ("memory/0.md", 2)
    assert after.generation == moved.generation
