"""The order of candidates: what outweighs what."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from memd.index.database import Database
from memd.index.keyword import Scope
from memd.search.rank.order import DEFAULT_VECTOR_WEIGHT, Ranking, rank
from memd.search.retrieve import Candidates, retrieve
from memd.settings.schema import Hybrid, Mmr, QuerySettings, TemporalDecay
from tests.support.indexes import Asked, asked, chunk_ids, new_index, publish, publish_note, snapshot_of

WEIGHTED = QuerySettings(hybrid=Hybrid(fusion="weighted"))
DECAYED = QuerySettings(hybrid=Hybrid(temporal_decay=TemporalDecay(enabled=True, half_life_days=30)))
DIVERSE = QuerySettings(hybrid=Hybrid(mmr=Mmr(enabled=True, lambda_=0.3)))
LONG = " and so on with words enough to be told from others by what they say"


@pytest.fixture
def db() -> Database:
    """An empty index."""
    return new_index(extension=False)


def order(
    db: Database,
    wanted: Asked,
    words: Mapping[str, float] | None = None,
    meaning: Mapping[str, float] | None = None,
) -> Ranking:
    """Return the order of candidates given by their texts."""
    snapshot = snapshot_of(db)
    query = wanted.query(snapshot)
    ids = chunk_ids(db)
    by_keyword, by_vector = (
        {ids[text]: score for text, score in (scores or {}).items()} for scores in (words, meaning)
    )
    of_days = retrieve(snapshot, query).of_days
    return rank(snapshot, query, Candidates(by_keyword, by_vector, of_days))


def texts(db: Database, ordered: Ranking) -> list[str]:
    """Return texts of candidates in their order."""
    by_id = {key: text for text, key in chunk_ids(db).items()}
    return [by_id[int(item.id)] for item in ordered.ranked]


def scores(db: Database, ordered: Ranking) -> dict[str, float]:
    """Return the score of each text."""
    by_id = {key: text for text, key in chunk_ids(db).items()}
    return {by_id[int(item.id)]: item.score for item in ordered.ranked}


def fused(db: Database, ordered: Ranking, text: str) -> float:
    """Return the score of a text by words and meaning alone."""
    return float(ordered.fused[ordered.locations.at([chunk_ids(db)[text]])[0]])


# --- words and meaning ----------------------------------------------------------------------------


def test_words_count_more_than_meaning_unless_weights_were_set(db: Database) -> None:
    publish(db, "memory/a.md", ["by words", "by meaning"])
    words, meaning = {"by words": 5.0}, {"by meaning": 0.9, "by words": 0.1}
    set_so = QuerySettings(hybrid=Hybrid(vector_weight=0.7, text_weight=0.3, weights_set=True))

    assert texts(db, order(db, asked("?"), words, meaning)) == ["by words", "by meaning"]
    assert texts(db, order(db, asked("?", set_so), words, meaning)) == ["by meaning", "by words"]
    assert DEFAULT_VECTOR_WEIGHT < 0.5


@pytest.mark.parametrize("side", ["words", "meaning"])
def test_a_side_that_found_nothing_leaves_everything_to_the_other(db: Database, side: str) -> None:
    publish(db, "memory/a.md", ["one"])
    publish(db, "memory/b.md", ["other"])
    found = {"one": 0.8, "other": 0.4}

    ordered = order(db, asked("?"), **{side: found})

    assert texts(db, ordered) == ["one", "other"]
    assert fused(db, ordered, "one") == 1.0


@pytest.mark.parametrize("fusion", ["normalized", "rrf"])
def test_what_both_sides_found_comes_before_what_one_did(db: Database, fusion: str) -> None:
    for name in ("both", "words", "meaning"):
        publish(db, f"memory/{name}.md", [name])
    wish = QuerySettings(hybrid=Hybrid(fusion="rrf" if fusion == "rrf" else "normalized"))

    found = order(
        db, asked("?", wish), {"both": 4.0, "words": 4.0}, {"both": 0.8, "meaning": 0.8, "words": 0.1}
    )

    assert texts(db, found)[0] == "both"
    assert all(0 <= item.score <= 1 for item in found.ranked)


def test_a_passage_whose_neighbour_was_found_as_well_moves_up(db: Database) -> None:
    # given: two passages of one note side by side, and one that is alone and a little better
    parts = [f"## Part {number}\n" + f"entry {number} of the list " * 12 for number in range(2)]
    first, second = publish_note(db, "memory/a.md", "\n".join(parts))
    publish_note(db, "memory/b.md", "alone")

    found = order(db, asked("?"), {first.text: 5.0, second.text: 5.0, "alone": 5.2})

    assert set(texts(db, found)[:2]) == {first.text, second.text}
    assert fused(db, found, "alone") == 1.0


# --- the lowest score -----------------------------------------------------------------------------


def test_the_default_lowest_score_cuts_nothing(db: Database) -> None:
    """It belongs to OpenClaw's formula."""
    publish(db, "memory/a.md", ["strong"])
    publish(db, "memory/b.md", ["weak"])
    found = order(db, asked("?"), {"strong": 10.0, "weak": 0.01})
    assert texts(db, found) == ["strong", "weak"]
    assert found.ranked[-1].score < QuerySettings().min_score


def test_a_lowest_score_of_the_caller_or_the_settings_cuts(db: Database) -> None:
    publish(db, "memory/a.md", ["strong"])
    publish(db, "memory/b.md", ["middling"])
    publish(db, "memory/c.md", ["weak"])
    found = {"strong": 10.0, "middling": 5.0, "weak": 1.0}
    everything = order(db, asked("?"), found)
    middling = scores(db, everything)["middling"]

    by_caller = order(db, asked("?", min_score=middling), found)
    by_settings = order(db, asked("?", QuerySettings(min_score=middling + 0.01, min_score_set=True)), found)
    overruled = order(db, asked("?", QuerySettings(min_score=1.0, min_score_set=True), min_score=0.0), found)

    assert texts(db, by_caller) == ["strong", "middling"]
    assert texts(db, by_settings) == ["strong"]
    assert texts(db, overruled) == ["strong", "middling", "weak"]


def test_openclaws_formula_has_openclaws_lowest_score(db: Database) -> None:
    publish(db, "memory/a.md", ["near", "far"])
    found = order(db, asked("?", WEIGHTED), meaning={"near": 0.6, "far": 0.4})
    assert scores(db, found) == {"near": pytest.approx(0.42)}


# --- days -----------------------------------------------------------------------------------------


def test_notes_of_a_day_that_was_asked_for_come_first(db: Database) -> None:
    publish(db, "memory/2026-11-19.md", ["the release of yesterday"])
    publish(db, "memory/2026-10-01.md", ["the release of october"])
    words = {"the release of yesterday": 4.0, "the release of october": 4.4}

    without = order(db, asked("which release was it"), words)
    found = order(db, asked("which release was it yesterday"), words)

    assert texts(db, without)[0] == "the release of october"
    assert texts(db, found)[0] == "the release of yesterday"
    assert found.of_days == {chunk_ids(db)["the release of yesterday"]}


def test_a_far_better_match_of_another_day_may_still_be_first(db: Database) -> None:
    publish(db, "memory/2026-11-19.md", ["something else"])
    publish(db, "memory/2026-10-01.md", ["the release"])

    found = order(db, asked("which release was it yesterday"), {"the release": 9.0})

    assert texts(db, found) == ["the release", "something else"]


def test_a_day_never_comes_before_the_very_name_that_was_asked_for(db: Database) -> None:
    publish(db, "memory/2026-11-19.md", ["many words of yesterday about a policy 358"])
    publish(db, "memory/2026-10-01.md", ["POL-358"])

    found = order(
        db,
        asked("what about POL-358 yesterday"),
        {"many words of yesterday about a policy 358": 9.0, "POL-358": 1.0},
        {"many words of yesterday about a policy 358": 0.9},
    )

    assert texts(db, found)[0] == "POL-358"


def test_openclaws_formula_knows_no_days_and_no_names(db: Database) -> None:
    publish(db, "memory/2026-11-19.md", ["yesterday"])
    publish(db, "memory/2026-10-01.md", ["POL-358"])
    found = order(
        db, asked("POL-358 yesterday", WEIGHTED, min_score=0.0), meaning={"yesterday": 0.5, "POL-358": 0.6}
    )

    assert scores(db, found) == {"POL-358": pytest.approx(0.42), "yesterday": pytest.approx(0.35)}
    assert found.of_days == frozenset()
    assert found.exact_matches == {}


def test_old_notes_fade_where_that_is_wanted(db: Database) -> None:
    publish(db, "memory/2026-09-21.md", ["sixty days old"])
    publish(db, "memory/2026-11-20.md", ["of today"])
    publish(db, "MEMORY.md", ["of no day"])
    words = {"sixty days old": 8.0, "of today": 4.0, "of no day": 2.0}

    plain, faded = (scores(db, order(db, asked("?", wish), words)) for wish in (QuerySettings(), DECAYED))

    assert faded["sixty days old"] == pytest.approx(plain["sixty days old"] / 4, rel=0.02)
    assert faded["of today"] == pytest.approx(plain["of today"], rel=0.02)
    assert faded["of no day"] == plain["of no day"]
    assert next(iter(faded)) == "of today"


# --- the very name --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wish",
    [QuerySettings(), DECAYED, DIVERSE, QuerySettings(hybrid=Hybrid(fusion="rrf"))],
    ids=["normalized", "decay", "mmr", "rrf"],
)
def test_what_holds_the_very_name_is_never_below_a_guess(db: Database, wish: QuerySettings) -> None:
    # given: three places of the name in old notes, nearly alike and far from the question
    names = [f"POL-358 was seen in old note {number}" for number in range(3)]
    for number, text in enumerate(names):
        publish(db, f"memory/2025-01-0{number + 1}.md", [text])
    # and guesses that are better in every other way
    guesses = [f"POL-3580 guess {number}{LONG}" for number in range(20)]
    publish(db, "MEMORY.md", guesses)
    words = {**dict.fromkeys(guesses, 9.0), **dict.fromkeys(names, 0.1)}

    found = order(db, asked("what is POL-358", wish), words, dict.fromkeys(guesses, 0.95))

    assert sorted(texts(db, found)[:3]) == sorted(names)
    assert [item.score for item in found.ranked[:3]] > [item.score for item in found.ranked[3:6]]


def test_more_of_the_names_come_before_fewer_and_alone_before_a_part_of_another(db: Database) -> None:
    lines = ["POL-358 and DL-7", "POL-358", "POL-358-draft", "neither"]
    for number, text in enumerate(lines):
        publish(db, f"memory/{number}.md", [text])

    found = order(db, asked("POL-358 or DL-7"), dict(zip(lines, (1.0, 2.0, 3.0, 9.0), strict=True)))

    assert texts(db, found) == lines
    matches = [found.exact_matches.get(item.id, 0) for item in found.ranked]
    assert matches == sorted(matches, reverse=True)
    assert len(set(matches)) == 4


def test_a_name_in_the_path_is_held_as_well(db: Database) -> None:
    publish(db, "memory/projects/pol-358.md", ["its plan"])
    publish(db, "memory/b.md", ["another plan"])
    found = order(db, asked("the plan of POL-358"), {"its plan": 1.0, "another plan": 5.0})
    assert texts(db, found)[0] == "its plan"


# --- repetitions ----------------------------------------------------------------------------------


def test_a_near_repetition_is_known_as_one_of_the_best(db: Database) -> None:
    entry = (
        "Standup: deploys are frozen until Monday, Anna writes the notes, Ben watches the queue of the night"
    )
    changed = entry.replace("Monday", "Tuesday")
    other = (
        "Standup: the queue was full this night and Ben restarted the workers by hand after the alarm at four"
    )
    for name, text in zip("abc", (entry, changed, other), strict=True):
        publish(db, f"memory/{name}.md", [text])

    found = order(db, asked("?"), {changed: 5.0, entry: 4.0, other: 3.0})

    ids = chunk_ids(db)
    wanted = [ids[text] for text in (changed, entry, other)]
    assert [*found.near_duplicates.firsts_of(wanted).items()] == list(
        zip(wanted, (ids[changed], ids[changed], ids[other]), strict=True)
    )


def test_repetitions_come_later_where_that_is_wanted(db: Database) -> None:
    lines = ["deploy the queue at night", "deploy the queue at noon", "cats sleep all day"]
    for number, text in enumerate(lines):
        publish(db, f"memory/{number}.md", [text])
    words = dict(zip(lines, (3.0, 2.9, 2.0), strict=True))

    plain, diverse = (texts(db, order(db, asked("?", wish), words)) for wish in (QuerySettings(), DIVERSE))

    assert plain == lines
    assert diverse == [lines[0], lines[2], lines[1]]


# --- transcripts and explanations -----------------------------------------------------------------


def test_a_note_has_its_seat_among_better_transcripts(db: Database) -> None:
    talks = [f"talk {number}" for number in range(6)]
    publish(db, "sessions/s.jsonl", talks, source="sessions")
    publish(db, "memory/a.md", ["a note", "a far note"])
    words = {**{text: 9.0 - at for at, text in enumerate(talks)}, "a note": 0.5}
    meaning = {"talk 0": 0.5, "a far note": 0.1}

    crowded = order(db, asked("?"), words, meaning)
    seated = order(db, asked("?", notes_scope=Scope(("memory",))), words, meaning)

    assert texts(db, crowded)[:3] == talks[:3]
    assert texts(db, seated)[:3] == ["talk 0", "a note", "talk 1"]
    assert texts(db, seated)[-1] == "a far note"


def test_steps_are_kept_only_where_somebody_wants_them_explained(db: Database) -> None:
    publish(db, "memory/2026-11-19.md", ["POL-358 failed"])
    words = {"POL-358 failed": 2.0}
    query = "what happened to POL-358 yesterday"

    assert order(db, asked(query, DECAYED), words).scores == {}
    told = order(db, asked(query, DECAYED, explain=True), words)

    assert list(told.scores) == ["fused", "neighbours", "days", "decay", "exact"]
    assert told.scores["exact"] == {chunk_ids(db)["POL-358 failed"]: told.ranked[0].score}
