"""One search from candidates to hits."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memd.index.database import READER, Database, connect, reading
from memd.index.files import generation
from memd.index.keyword import Scope
from memd.index.tracked_locations import FollowedPlaces
from memd.index.vectors.scan import ScanSearch
from memd.search.candidates import find_meaning, find_words
from memd.search.find import find_hits
from memd.search.query import Candidates
from memd.settings.schema import Hybrid, Mmr, Query
from tests.support.indexes import (
    SPACE,
    new_index,
    publish,
    publish_lines,
    publish_note,
    question,
    store,
    unit,
)

LINES = ["the cat sleeps on the sofa", "the dog runs in the garden", "quarterly figures of the bakery"]
BY_MEANING_ALONE = Query(hybrid=Hybrid(enabled=False))


@pytest.fixture
def db() -> Database:
    """An index of three notes with vectors; the question's is `[1, 0, 0]`."""
    db = new_index()
    publish_lines(db, LINES, unit([[0.6, 0.8, 0], [0.9, 0.1, 0], [0, 0, 1]]))
    return db


VECTOR = [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("settings", "vector", "search", "mode"),
    [
        (Query(), VECTOR, True, "hybrid"),
        (Query(), None, True, "keyword"),
        (Query(), VECTOR, False, "keyword"),
        (BY_MEANING_ALONE, VECTOR, True, "vector"),
        (BY_MEANING_ALONE, None, True, "keyword"),
    ],
)
def test_the_answer_says_how_it_was_found(
    db: Database, settings: Query, vector: list[float] | None, search: bool, mode: str
) -> None:
    """Words answer where there is no vector, whatever the settings: less is better than nothing."""
    found = find_hits(db, question("cat", settings, vector=vector), ScanSearch() if search else None)
    assert found.mode == mode
    assert found.generation == generation(db)
    by_words = {hit.text_score is not None for hit in found.hits}
    by_meaning = {hit.vector_score is not None for hit in found.hits}
    assert (True in by_words) == (mode != "vector")
    assert (True in by_meaning) == (mode != "keyword")
    assert set(found.timings) == {"words_ms", "meaning_ms", "ranking_ms"}


def test_by_meaning_alone_a_very_name_still_comes_first(db: Database) -> None:
    publish(db, "memory/pol.md", ["POL-358"])
    store(db, ["POL-358"], unit([[0.3, 0, 1]]))
    found = find_hits(db, question("dog POL-358", BY_MEANING_ALONE, vector=VECTOR), ScanSearch())
    assert found.hits[0].path == "memory/pol.md"
    assert found.held[0] > 0
    assert not any(found.held[1:])


def test_what_was_found_already_is_used_as_long_as_the_index_is_the_same(db: Database) -> None:
    # given: candidates, and an index that would bring up others by now, of the same generation
    asked = question("cat", vector=VECTOR)
    words, meaning = find_words(db, asked), find_meaning(db, asked, ScanSearch())
    only_words = Candidates(words.generation, words.scores, 1.5)
    only_meaning = Candidates(meaning.generation, dict([*meaning.scores.items()][:1]), 2.5)
    # when
    found = find_hits(db, asked, ScanSearch(), only_words, only_meaning)
    # then
    assert (found.timings["words_ms"], found.timings["meaning_ms"]) == (1.5, 2.5)
    assert {hit.path for hit in found.hits} == {"memory/0.md", "memory/1.md"}


def test_what_was_found_before_the_index_changed_is_found_again(db: Database) -> None:
    asked = question("cat", vector=VECTOR)
    words, meaning = find_words(db, asked), find_meaning(db, asked, ScanSearch())
    publish(db, "memory/0.md", ["nothing of the kind any more"])
    publish(db, "memory/new.md", ["a new cat"])
    store(db, ["a new cat"], unit([[1, 0, 0]]))

    found = find_hits(db, asked, ScanSearch(), words, meaning)

    assert (found.hits[0].path, found.hits[0].vector_score) == ("memory/new.md", 1.0)
    assert "memory/0.md" not in [hit.path for hit in found.hits if hit.text_score is not None]
    assert found.generation > words.generation


def test_no_more_hits_than_wanted_and_one_says_how_well_each_holds_the_names(db: Database) -> None:
    for number in range(20):
        publish(db, f"memory/dogs/{number}.md", [f"dog {number}"])
    found = find_hits(db, question("dog", max_results=4), None)
    assert len(found.hits) == len(found.held) == 4


def test_an_empty_list_is_an_abstention(db: Database) -> None:
    everything_is_gone = find_hits(db, question("cat"), None, is_there=lambda _: False)
    nothing_is_good_enough = find_hits(db, question("cat", min_score=1.1), None)
    for found in (everything_is_gone, nothing_is_good_enough):
        assert (found.hits, list(found.held), found.abstained) == ([], [], True)
        assert found.closer_look is None


def test_a_vector_without_direction_finds_by_words(db: Database) -> None:
    found = find_hits(db, question("cat", vector=np.zeros(3, np.float32)), ScanSearch())
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
def test_texts_that_can_t_hold_a_question_as_it_stands_needn_t_be_looked_at(seed: int) -> None:
    # given more texts than there are candidates, of few words, and questions of the same
    rng = random.Random(seed)
    db = new_index(extension=False)
    for number in range(40):
        place = " ".join(rng.choices(WORDS, k=3)) if number % 4 == 0 else f"note {number}"
        lines = [" ".join(rng.choices(WORDS, k=rng.randint(2, 9))) for _ in range(6)]
        publish(db, f"memory/{place} {number}.md", lines)
    known = some = 0
    for _ in range(60):
        asked = question(" ".join(rng.choices(WORDS, k=rng.randint(2, 8))) + rng.choice(["", "?"]))

        # when they are left out, and when all are looked at
        words = find_words(db, asked)
        found = find_hits(db, asked, None, words)
        whole = find_hits(db, asked, None, replace(words, whole=None))

        # then both find the same
        assert (found.hits, found.held) == (whole.hits, whole.held)
        known += words.whole is not None
        some += bool(words.whole)
    assert 0 < some < known


def test_places_in_memory_tell_copies_apart_as_they_are_now(tmp_path: Path) -> None:
    # given places of more different texts than there are candidates
    writer = new_index(tmp_path / "main.sqlite", extension=False)
    different = [f"deploy n{number}" for number in range(120)]
    publish(writer, "memory/a.md", different)
    reader, places = connect(tmp_path / "main.sqlite", READER), FollowedPlaces()
    with reading(reader):
        places.renew(reader, "")

    # when copies of one text take their ids
    for texts in ([], ["deploy n1"] * 119 + ["deploy n2"]):
        places.note(publish(writer, "memory/a.md", texts).generation, "memory/a.md")
    asked = question("deploy")
    with reading(reader):
        plain = find_words(reader, asked).scores
        asked.places = places
        known = find_words(reader, asked)

    # then what words find is what they find without them
    assert known.scores == plain
    assert len(plain) == 2
    assert not known.rows


HYBRIDS = {
    "by default": Hybrid(),
    "as OpenClaw fuses": Hybrid(fusion="weighted"),
    "by ranks": Hybrid(fusion="rrf"),
    "diverse": Hybrid(mmr=Mmr(enabled=True)),
    "by meaning alone": Hybrid(enabled=False),
}


@pytest.mark.parametrize("name", HYBRIDS)
def test_places_in_memory_change_no_answer(tmp_path: Path, name: str) -> None:
    # given notes and transcripts of few words, copies and near repetitions among them, with vectors
    rng = random.Random(name)
    writer, followed = new_index(tmp_path / "main.sqlite", extension=False), FollowedPlaces()
    lines = [" ".join(rng.choices(WORDS, k=rng.randint(3, 20))) for _ in range(150)]
    store(writer, lines, unit(np.random.default_rng(1).normal(size=(len(lines), 3))))
    for number in range(40):
        source = "sessions" if number % 4 == 0 else "memory"
        publish_note(writer, f"{source}/2026-11-{number:02}.md", "\n\n".join(rng.choices(lines, k=8)), source)
    reader = connect(tmp_path / "main.sqlite", READER)
    with reading(reader):
        followed.renew(reader, SPACE.id)
    scopes = [(None, None), (None, Scope(("memory",))), (Scope(None, "memory/"), None)]
    found = 0
    for step in range(30):
        # when questions are asked, and notes change meanwhile
        if step % 5 == 4:
            path, text = f"memory/2026-11-{rng.randrange(1, 4):02}.md", rng.choice(lines)
            published = publish(writer, path, [text])
            followed.note(published.generation, path)
        scope, notes_scope = rng.choice(scopes)
        asked = question(
            " ".join(rng.choices(WORDS, k=4)),
            Query(hybrid=HYBRIDS[name]),
            vector=unit(np.random.default_rng(step).normal(size=(1, 3)))[0],
            scope=scope,
            notes_scope=notes_scope,
            explain=True,
        )
        with reading(reader):
            plain = find_hits(reader, asked, ScanSearch())
            asked.places = followed
            assert followed.at(reader, generation(reader)) is not None
            known = find_hits(reader, asked, ScanSearch())
        # then the answer is the same with them and without
        assert (known.hits, known.held, known.closer_look) == (plain.hits, plain.held, plain.closer_look)
        found += len(known.hits)
    assert found > 10
