"""What words, meaning and days bring up, before anything is put in order."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest

from memd.index.copies import find_distinct
from memd.index.database import Database
from memd.index.keyword import Scope
from memd.index.vectors.scan import ScanSearch
from memd.search.retrieve import CANDIDATES, Candidates, retrieve
from tests.support.indexes import (
    Asked,
    asked,
    chunk_ids,
    new_index,
    publish,
    publish_note,
    snapshot_of,
    store,
    unit,
)


@pytest.fixture
def db() -> Database:
    """An empty index."""
    return new_index()


def candidates(db: Database, wanted: Asked) -> Candidates:
    """Return the candidates of a search, by vectors as well if it has one."""
    snapshot = snapshot_of(db, ScanSearch() if wanted.vector is not None else None)
    return retrieve(snapshot, wanted.query(snapshot))


def texts_of(db: Database, ids: Collection[int]) -> set[str]:
    """Return the texts of chunks."""
    return {text for text, key in chunk_ids(db).items() if key in ids}


def publish_crowd(db: Database) -> int:
    """Publish short texts that repeat one of two words so often that the long one with both isn't among the best."""
    publish(db, "memory/a.md", [f"alpha alpha alpha {number}" for number in range(60)])
    publish(db, "memory/b.md", [f"beta beta beta {number}" for number in range(60)])
    publish(db, "memory/c.md", [f"filler {number}" for number in range(400)])
    both = "alpha " + "filler words in between " * 40 + "beta"
    publish(db, "memory/both.md", [both])
    return chunk_ids(db)[both]


# --- words ----------------------------------------------------------------------------------------


def test_any_of_the_words_brings_a_chunk_up(db: Database) -> None:
    publish(db, "memory/a.md", ["the cat sleeps", "the dog runs", "nothing of it"])

    found = candidates(db, asked("is there a cat or a dog"))

    assert texts_of(db, found.by_keyword) == {"the cat sleeps", "the dog runs"}
    assert all(score > 0 for score in found.by_keyword.values())


def test_the_number_of_candidates_never_depends_on_how_many_results_are_wanted(db: Database) -> None:
    publish(db, "memory/a.md", [f"deploy {'word ' * number}{number}" for number in range(150)])

    few, many = (candidates(db, asked("deploy", max_results=wanted)).by_keyword for wanted in (1, 150))

    assert few == many
    assert len(few) == CANDIDATES


def test_a_chunk_that_holds_all_words_is_found_where_a_hundred_hold_one_better(db: Database) -> None:
    key = publish_crowd(db)
    assert key not in dict(find_distinct(db, '"alpha" OR "beta"', CANDIDATES))

    assert key in candidates(db, asked("alpha beta")).by_keyword


def test_a_question_without_a_word_brings_nothing_up(db: Database) -> None:
    publish(db, "memory/a.md", ["the cat sleeps"])
    assert candidates(db, asked("?! …")).by_keyword == {}


def test_a_misspelled_word_is_taken_for_one_that_is_there(db: Database) -> None:
    publish(db, "memory/a.md", ["the watchdog restarts the receiver", "the cat sleeps"])

    found = candidates(db, asked("what does the watchdgo do"))

    assert found.corrections == {"watchdgo": ("watchdog",)}
    assert texts_of(db, found.by_keyword) == {"the watchdog restarts the receiver"}


def test_words_that_only_name_a_day_bring_nothing_up(db: Database) -> None:
    publish(db, "memory/a.md", ["yesterday was fine", "the release was fine"])

    found = candidates(db, asked("which release was it yesterday"))

    assert texts_of(db, found.by_keyword) == {"the release was fine"}


def test_signs_that_no_word_tells_apart_are_found_as_they_stand(db: Database) -> None:
    # given: a hundred better matches of the only word, and one text with the very signs
    publish(db, "memory/a.md", [f"true {number}" for number in range(150)])
    wanted = "end the step with || true and " + "go on with the next one " * 8
    publish(db, "memory/b.md", [wanted])

    found = candidates(db, asked("|| true"))

    assert wanted in texts_of(db, found.by_keyword)


def test_the_scope_acts_before_the_list_is_cut(db: Database) -> None:
    publish(db, "memory/a.md", [f"deploy {number}" for number in range(150)])
    publish(db, "notes/b.md", ["a deploy " + "among other words " * 9])

    found = candidates(db, asked("deploy", scope=Scope(path_prefix="notes/")))

    assert texts_of(db, found.by_keyword) == {"a deploy " + "among other words " * 9}


def test_notes_are_found_beside_any_number_of_transcripts(db: Database) -> None:
    publish(db, "sessions/s.jsonl", [f"deploy {number}" for number in range(150)], source="sessions")
    note = "a deploy " + "among other words " * 9
    publish(db, "memory/b.md", [note])

    alone = candidates(db, asked("deploy"))
    seated = candidates(db, asked("deploy", notes_scope=Scope(("memory",))))

    assert note not in texts_of(db, alone.by_keyword)
    assert note in texts_of(db, seated.by_keyword)


# --- meaning --------------------------------------------------------------------------------------


def test_the_nearest_come_with_their_cosines(db: Database) -> None:
    texts = ["near", "nearer", "far"]
    publish(db, "memory/a.md", texts)
    store(db, texts, unit([[1, 1], [3, 1], [-1, 0]]))

    found = candidates(db, asked("?", vector=[1, 0]))

    ids = chunk_ids(db)
    assert found.by_vector[ids["nearer"]] == pytest.approx(3 / 10**0.5)
    assert sorted(found.by_vector, key=lambda key: -found.by_vector[key]) == [
        ids["nearer"],
        ids["near"],
        ids["far"],
    ]


def test_of_copies_the_first_stands_for_all(db: Database) -> None:
    for name in "abc":
        publish(db, f"memory/{name}.md", ["the same"])
    store(db, ["the same"], unit([[1, 0]]))

    found = candidates(db, asked("?", vector=[1, 0]))

    assert list(found.by_vector) == [min(row[0] for row in db.execute("SELECT id FROM chunks"))]


def test_notes_are_near_beside_any_number_of_nearer_transcripts(db: Database) -> None:
    talks = [f"talk {number}" for number in range(150)]
    publish(db, "sessions/s.jsonl", talks, source="sessions")
    publish(db, "memory/b.md", ["a note"])
    rows = unit(np.array([[1.0, 0.001 * number] for number in range(150)] + [[1.0, 1.0]]))
    store(db, [*talks, "a note"], rows)

    alone = candidates(db, asked("?", vector=[1, 0]))
    seated = candidates(db, asked("?", vector=[1, 0], notes_scope=Scope(("memory",))))

    assert "a note" not in texts_of(db, alone.by_vector)
    assert "a note" in texts_of(db, seated.by_vector)
    assert len(seated.by_vector) == len(alone.by_vector) + 1 == CANDIDATES + 1


# --- days -----------------------------------------------------------------------------------------


def of_days(db: Database, query: str) -> frozenset[int]:
    """Return the chunks of the days a query names."""
    return candidates(db, asked(query)).of_days


def test_a_day_brings_up_what_its_notes_hold_whatever_the_words(db: Database) -> None:
    publish(db, "memory/2026-11-19.md", ["of yesterday"])
    publish(db, "memory/2026-11-18.md", ["of the day before"])
    publish(db, "memory/yesterday.md", ["of no day"])

    assert texts_of(db, of_days(db, "what was yesterday")) == {"of yesterday"}
    assert texts_of(db, of_days(db, "yesterday or on 2026-11-18")) == {
        "of yesterday",
        "of the day before",
    }


def test_of_many_days_so_many_chunks_are_looked_at_and_the_newest(db: Database) -> None:
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
    assert len(found) == CANDIDATES
    assert paths == {"memory/2026-11-19.md"}
    assert max(row[0] for row in db.execute("SELECT id FROM chunks")) in found
    assert min(row[0] for row in db.execute("SELECT id FROM chunks")) not in found
