"""What words, meaning and days bring up, before anything is put in order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memd.index.copies import find_distinct
from memd.index.database import Database
from memd.index.files import generation
from memd.index.keyword import Scope
from memd.index.vectors.scan import ScanSearch
from memd.search.candidates import (
    CANDIDATES,
    ask_words,
    find_meaning,
    find_of_days,
    find_words,
    match_words,
    read_question,
)
from tests.support.indexes import chunk_ids, new_index, publish, publish_note, question, store, unit


@pytest.fixture
def db() -> Database:
    """An empty index."""
    return new_index()


def texts_of(db: Database, ids: set[int] | dict[int, float]) -> set[str]:
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

    found = find_words(db, question("is there a cat or a dog"))

    assert texts_of(db, found.scores) == {"the cat sleeps", "the dog runs"}
    assert all(score > 0 for score in found.scores.values())
    assert found.generation == generation(db)


def test_the_number_of_candidates_never_depends_on_how_many_results_are_wanted(db: Database) -> None:
    publish(db, "memory/a.md", [f"deploy {'word ' * number}{number}" for number in range(150)])

    few, many = (find_words(db, question("deploy", max_results=wanted)).scores for wanted in (1, 150))

    assert few == many
    assert len(few) == CANDIDATES


def test_a_chunk_that_holds_all_words_is_found_where_a_hundred_hold_one_better(db: Database) -> None:
    key = publish_crowd(db)
    assert key not in dict(find_distinct(db, '"alpha" OR "beta"', CANDIDATES))

    assert key in find_words(db, question("alpha beta")).scores


def test_a_question_without_a_word_brings_nothing_up(db: Database) -> None:
    publish(db, "memory/a.md", ["the cat sleeps"])
    assert find_words(db, question("?! …")).scores == {}


def test_a_misspelled_word_is_taken_for_one_that_is_there(db: Database) -> None:
    publish(db, "memory/a.md", ["the watchdog restarts the receiver", "the cat sleeps"])

    found = find_words(db, question("what does the watchdgo do"))

    assert found.respelled == {"watchdgo": ("watchdog",)}
    assert texts_of(db, found.scores) == {"the watchdog restarts the receiver"}


def test_words_that_only_name_a_day_bring_nothing_up(db: Database) -> None:
    publish(db, "memory/a.md", ["yesterday was fine", "the release was fine"])

    found = find_words(db, question("which release was it yesterday"))

    assert texts_of(db, found.scores) == {"the release was fine"}


def test_signs_that_no_word_tells_apart_are_found_as_they_stand(db: Database) -> None:
    # given: a hundred better matches of the only word, and one text with the very signs
    publish(db, "memory/a.md", [f"true {number}" for number in range(150)])
    wanted = "end the step with || true and " + "go on with the next one " * 8
    publish(db, "memory/b.md", [wanted])

    found = find_words(db, question("|| true"))

    assert wanted in texts_of(db, found.scores)


def test_words_may_be_looked_up_elsewhere(db: Database) -> None:
    key = publish_crowd(db)
    here, asked = find_words(db, question("alpha beta")), question("alpha beta")

    words = ask_words(db, asked)
    there = find_words(db, asked, words, match_words(db, asked, words))

    assert replace(there, took_ms=0.0) == replace(here, took_ms=0.0)
    assert key in there.scores


def test_what_was_looked_up_at_another_moment_is_looked_up_again(db: Database) -> None:
    # given: a question whose words were looked up before the index changed
    publish(db, "memory/a.md", ["the cat sleeps"])
    asked = question("cat")
    before = match_words(db, asked, ask_words(db, asked))
    publish(db, "memory/b.md", ["a cat runs"])

    found = find_words(db, asked, ask_words(db, asked), before)

    assert texts_of(db, found.scores) == {"the cat sleeps", "a cat runs"}


def test_the_scope_acts_before_the_list_is_cut(db: Database) -> None:
    publish(db, "memory/a.md", [f"deploy {number}" for number in range(150)])
    publish(db, "notes/b.md", ["a deploy " + "among other words " * 9])

    found = find_words(db, question("deploy", scope=Scope(path_prefix="notes/")))

    assert texts_of(db, found.scores) == {"a deploy " + "among other words " * 9}


def test_notes_are_found_beside_any_number_of_transcripts(db: Database) -> None:
    publish(db, "sessions/s.jsonl", [f"deploy {number}" for number in range(150)], source="sessions")
    note = "a deploy " + "among other words " * 9
    publish(db, "memory/b.md", [note])

    alone = find_words(db, question("deploy"))
    seated = find_words(db, question("deploy", notes_scope=Scope(("memory",))))

    assert note not in texts_of(db, alone.scores)
    assert note in texts_of(db, seated.scores)


# --- meaning --------------------------------------------------------------------------------------


def test_the_nearest_come_with_their_cosines(db: Database) -> None:
    texts = ["near", "nearer", "far"]
    publish(db, "memory/a.md", texts)
    store(db, texts, unit([[1, 1], [3, 1], [-1, 0]]))

    found = find_meaning(db, question("?", vector=[1, 0]), ScanSearch())

    ids = chunk_ids(db)
    assert found.scores[ids["nearer"]] == pytest.approx(3 / 10**0.5)
    assert sorted(found.scores, key=lambda key: -found.scores[key]) == [
        ids["nearer"],
        ids["near"],
        ids["far"],
    ]


def test_of_copies_the_first_stands_for_all(db: Database) -> None:
    for name in "abc":
        publish(db, f"memory/{name}.md", ["the same"])
    store(db, ["the same"], unit([[1, 0]]))

    found = find_meaning(db, question("?", vector=[1, 0]), ScanSearch())

    assert list(found.scores) == [min(row[0] for row in db.execute("SELECT id FROM chunks"))]


def test_notes_are_near_beside_any_number_of_nearer_transcripts(db: Database) -> None:
    talks = [f"talk {number}" for number in range(150)]
    publish(db, "sessions/s.jsonl", talks, source="sessions")
    publish(db, "memory/b.md", ["a note"])
    rows = unit(np.array([[1.0, 0.001 * number] for number in range(150)] + [[1.0, 1.0]]))
    store(db, [*talks, "a note"], rows)

    alone = find_meaning(db, question("?", vector=[1, 0]), ScanSearch())
    seated = find_meaning(db, question("?", vector=[1, 0], notes_scope=Scope(("memory",))), ScanSearch())

    assert "a note" not in texts_of(db, alone.scores)
    assert "a note" in texts_of(db, seated.scores)
    assert len(seated.scores) == len(alone.scores) + 1 == CANDIDATES + 1


# --- days -----------------------------------------------------------------------------------------


def of_days(db: Database, query: str) -> set[int]:
    """Return the chunks of the days a question names."""
    asked = question(query)
    read_question(db, asked)
    return find_of_days(db, asked)


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
