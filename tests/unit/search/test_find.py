"""One search from candidates to hits."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memd.index.database import READER, connect, reading
from memd.index.files import generation
from memd.index.keyword import Scope
from memd.index.vectors.scan import ScanSearch
from memd.search.rank.order import rank
from memd.search.retrieve import retrieve
from memd.settings.schema import Hybrid, Mmr, QuerySettings
from memd.system.sqlite import Database
from tests.support.indexes import (
    SPACE,
    new_cache,
    new_index,
    publish,
    publish_lines,
    publish_note,
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
        assert some_read.exact_matches == all_read.exact_matches
        assert list(some_read.ranked) == list(all_read.ranked)
        known += found.with_all_terms is not None
        some += bool(found.with_all_terms)
    assert 0 < some < known


def test_locations_in_ram_follow_changed_copies(tmp_path: Path) -> None:
    # given locations of more distinct texts than candidates
    writer = new_index(tmp_path / "main.sqlite", extension=False)
    different = [f"deploy n{number}" for number in range(120)]
    publish(writer, "memory/a.md", different)
    reader, cache = connect(tmp_path / "main.sqlite", READER), new_cache()
    with reading(reader):
        cache.locations.refresh(reader, "")

    # when copies of one text replace them
    for texts in ([], ["deploy n1"] * 119 + ["deploy n2"]):
        cache.locations.follow(publish(writer, "memory/a.md", texts).generation, "memory/a.md")
    with reading(reader):
        plain, known = (
            retrieve(snapshot, search_spec("deploy").query(snapshot))
            for snapshot in (snapshot_of(reader), snapshot_of(reader, cache=cache))
        )

    # then keyword search finds the same with and without locations in RAM
    assert known.by_keyword == plain.by_keyword
    assert len(plain.by_keyword) == 2
    assert not known.rows


HYBRIDS = {
    "by default": Hybrid(),
    "as OpenClaw fuses": Hybrid(fusion="weighted"),
    "by ranks": Hybrid(fusion="rrf"),
    "diverse": Hybrid(mmr=Mmr(enabled=True)),
    "by meaning alone": Hybrid(enabled=False),
}


@pytest.mark.parametrize("name", HYBRIDS)
def test_locations_in_ram_do_not_change_results(tmp_path: Path, name: str) -> None:
    # given notes and transcripts of few words, with copies and near duplicates, and vectors
    rng = random.Random(name)
    writer, cache = new_index(tmp_path / "main.sqlite", extension=False), new_cache()
    lines = [" ".join(rng.choices(WORDS, k=rng.randint(3, 20))) for _ in range(150)]
    store(writer, lines, unit(np.random.default_rng(1).normal(size=(len(lines), 3))))
    for number in range(40):
        source = "sessions" if number % 4 == 0 else "memory"
        publish_note(writer, f"{source}/2026-11-{number:02}.md", "\n\n".join(rng.choices(lines, k=8)), source)
    reader = connect(tmp_path / "main.sqlite", READER)
    with reading(reader):
        cache.locations.refresh(reader, SPACE.id)
    scopes = [(None, None), (None, Scope(("memory",))), (Scope(None, "memory/"), None)]
    found = 0
    for step in range(30):
        # when queries are searched while notes change
        if step % 5 == 4:
            path, text = f"memory/2026-11-{rng.randrange(1, 4):02}.md", rng.choice(lines)
            published = publish(writer, path, [text])
            cache.locations.follow(published.generation, path)
        scope, notes_scope = rng.choice(scopes)
        wanted = search_spec(
            " ".join(rng.choices(WORDS, k=4)),
            QuerySettings(hybrid=HYBRIDS[name]),
            vector=unit(np.random.default_rng(step).normal(size=(1, 3)))[0],
            scope=scope,
            notes_scope=notes_scope,
            explain=True,
        )
        with reading(reader):
            plain = search(reader, wanted, ScanSearch())
            assert cache.locations.at(reader, generation(reader)) is not None
            known = search(reader, wanted, ScanSearch(), cache=cache)
        # then the results are the same with and without locations in RAM
        assert (known.hits, known.line_check) == (plain.hits, plain.line_check)
        found += len(known.hits)
    assert found > 10
