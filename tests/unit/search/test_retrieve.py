"""Candidates by keywords, vectors and days."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest

from memd.index.copies import find_distinct
from memd.index.keyword import Scope
from memd.index.vectors.scan import ScanSearch
from memd.search.retrieve import MAX_CANDIDATES, Candidates, retrieve
from memd.system.sqlite import Database
from tests.support.indexes import (
    SearchSpec,
    chunk_ids,
    new_index,
    publish,
    publish_note,
    search_spec,
    snapshot_of,
    store,
    unit,
)


@pytest.fixture
def db() -> Database:
    """An empty index."""
    return new_index()


def candidates(db: Database, wanted: SearchSpec) -> Candidates:
    """Return the candidates of a search, with vectors if it has one."""
    snapshot = snapshot_of(db, ScanSearch() if wanted.vector is not None else None)
    return retrieve(snapshot, wanted.query(snapshot))


def texts_of(db: Database, ids: Collection[int]) -> set[str]:
    """Return the texts of chunks."""
    return {text for text, key in chunk_ids(db).items() if key in ids}


def publish_crowd(db: Database) -> int:
    """Publish so many short texts with one of two words that the long one with both is not among the best."""
    publish(db, "memory/a.md", [f"alpha alpha alpha {number}" for number in range(60)])
    publish(db, "memory/b.md", [f"beta beta beta {number}" for number in range(60)])
    publish(db, "memory/c.md", [f"filler {number}" for number in range(400)])
    both = "alpha " + "filler words in between " * 40 + "beta"
    publish(db, "memory/both.md", [both])
    return chunk_ids(db)[both]


# --- keywords -------------------------------------------------------------------------------------


def test_any_term_retrieves_a_chunk(db: Database) -> None:
    publish(db, "memory/a.md", ["the cat sleeps", "the dog runs", "nothing of it"])

    found = candidates(db, search_spec("is there a cat or a dog"))

    assert texts_of(db, found.by_keyword) == {"the cat sleeps", "the dog runs"}
    assert all(score > 0 for score in found.by_keyword.values())


def test_the_number_of_candidates_is_independent_of_max_results(db: Database) -> None:
    publish(db, "memory/a.md", [f"deploy {'word ' * number}{number}" for number in range(150)])

    few, many = (candidates(db, search_spec("deploy", max_results=wanted)).by_keyword for wanted in (1, 150))

    assert few == many
    assert len(few) == MAX_CANDIDATES


def test_a_chunk_with_all_terms_is_retrieved_besides_100_better_ones_with_one(db: Database) -> None:
    key = publish_crowd(db)
    assert key not in dict(find_distinct(db, '"alpha" OR "beta"', MAX_CANDIDATES))

    assert key in candidates(db, search_spec("alpha beta")).by_keyword


def test_a_query_without_terms_retrieves_nothing(db: Database) -> None:
    publish(db, "memory/a.md", ["the cat sleeps"])
    assert candidates(db, search_spec("?! …")).by_keyword == {}


def test_a_misspelled_term_is_corrected_to_an_indexed_word(db: Database) -> None:
    publish(db, "memory/a.md", ["the watchdog restarts the receiver", "the cat sleeps"])

    found = candidates(db, search_spec("what does the watchdgo do"))

    assert found.corrections == {"watchdgo": ("watchdog",)}
    assert texts_of(db, found.by_keyword) == {"the watchdog restarts the receiver"}


def test_words_that_only_name_a_day_retrieve_nothing(db: Database) -> None:
    publish(db, "memory/a.md", ["yesterday was fine", "the release was fine"])

    found = candidates(db, search_spec("which release was it yesterday"))

    assert texts_of(db, found.by_keyword) == {"the release was fine"}


def test_an_exact_term_of_signs_is_retrieved(db: Database) -> None:
    # given: a hundred better matches of the only word, and one text with the exact signs
    publish(db, "memory/a.md", [f"true {number}" for number in range(150)])
    wanted = "end the step with || true and " + "go on with the next one " * 8
    publish(db, "memory/b.md", [wanted])

    found = candidates(db, search_spec("|| true"))

    assert wanted in texts_of(db, found.by_keyword)


def test_the_scope_applies_before_the_candidate_limit(db: Database) -> None:
    publish(db, "memory/a.md", [f"deploy {number}" for number in range(150)])
    publish(db, "notes/b.md", ["a deploy " + "among other words " * 9])

    found = candidates(db, search_spec("deploy", scope=Scope(path_prefix="notes/")))

    assert texts_of(db, found.by_keyword) == {"a deploy " + "among other words " * 9}


def test_keyword_search_retrieves_notes_among_many_transcripts(db: Database) -> None:
    publish(db, "sessions/s.jsonl", [f"deploy {number}" for number in range(150)], source="sessions")
    note = "a deploy " + "among other words " * 9
    publish(db, "memory/b.md", [note])

    alone = candidates(db, search_spec("deploy"))
    seated = candidates(db, search_spec("deploy", notes_scope=Scope(("memory",))))

    assert note not in texts_of(db, alone.by_keyword)
    assert note in texts_of(db, seated.by_keyword)


# --- vectors --------------------------------------------------------------------------------------


def test_vector_matches_have_their_cosines(db: Database) -> None:
    texts = ["near", "nearer", "far"]
    publish(db, "memory/a.md", texts)
    store(db, texts, unit([[1, 1], [3, 1], [-1, 0]]))

    found = candidates(db, search_spec("?", vector=[1, 0]))

    ids = chunk_ids(db)
    assert found.by_vector[ids["nearer"]] == pytest.approx(3 / 10**0.5)
    assert sorted(found.by_vector, key=lambda key: -found.by_vector[key]) == [
        ids["nearer"],
        ids["near"],
        ids["far"],
    ]


def test_vector_search_retrieves_one_of_several_copies(db: Database) -> None:
    for name in "abc":
        publish(db, f"memory/{name}.md", ["the same"])
    store(db, ["the same"], unit([[1, 0]]))

    found = candidates(db, search_spec("?", vector=[1, 0]))

    assert list(found.by_vector) == [min(row[0] for row in db.execute("SELECT id FROM chunks"))]


def test_vector_search_retrieves_notes_among_many_closer_transcripts(db: Database) -> None:
    conversations = [f"talk {number}" for number in range(150)]
    publish(db, "sessions/s.jsonl", conversations, source="sessions")
    publish(db, "memory/b.md", ["a note"])
    rows = unit(np.array([[1.0, 0.001 * number] for number in range(150)] + [[1.0, 1.0]]))
    store(db, [*conversations, "a note"], rows)

    alone = candidates(db, search_spec("?", vector=[1, 0]))
    seated = candidates(db, search_spec("?", vector=[1, 0], notes_scope=Scope(("memory",))))

    assert "a note" not in texts_of(db, alone.by_vector)
    assert "a note" in texts_of(db, seated.by_vector)
    assert len(seated.by_vector) == len(alone.by_vector) + 1 == MAX_CANDIDATES + 1


# --- days -----------------------------------------------------------------------------------------


def of_days(db: Database, query: str) -> frozenset[int]:
    """Return the chunks of the days a query names."""
    return candidates(db, search_spec(query)).of_days


def test_a_day_retrieves_all_chunks_of_its_notes(db: Database) -> None:
    publish(db, "memory/2026-11-19.md", ["of yesterday"])
    publish(db, "memory/2026-11-18.md", ["of the day before"])
    publish(db, "memory/yesterday.md", ["of no day"])

    assert texts_of(db, of_days(db, "what was yesterday")) == {"of yesterday"}
    assert texts_of(db, of_days(db, "yesterday or on 2026-11-18")) == {
        "of yesterday",
        "of the day before",
    }


def test_many_days_retrieve_a_limited_number_of_the_newest_chunks(db: Database) -> None:
    for day in range(1, 20):
        lines = [f"day {day} line {number}" for number in range(10)]
        publish_note(
            db, f"memory/2026-11-{day:02d}.md", "\n\n".join(f"# {line}\n{line} " * 9 for line in lines)
        )

    found = of_days(db, "this month")

    paths = {
        row[0]
        for row in db.execute("SELECT DISTINCT path FROM chunks WHERE id IN (SELECT max(id) FROM chunks)")
    }
    assert len(found) == MAX_CANDIDATES
    assert paths == {"memory/2026-11-19.md"}
    assert max(row[0] for row in db.execute("SELECT id FROM chunks")) in found
    assert min(row[0] for row in db.execute("SELECT id FROM chunks")) not in found
