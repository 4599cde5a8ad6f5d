"""Order of candidates."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from memd.index.keyword import Scope
from memd.search.rank.fusion import DEFAULT_VECTOR_WEIGHT
from memd.search.rank.order import Ranking, rank
from memd.search.retrieve import Candidates, retrieve
from memd.settings.schema import Hybrid, Mmr, QuerySettings, TemporalDecay
from memd.system.sqlite import Database
from tests.support.indexes import (
    SearchSpec,
    chunk_ids,
    new_index,
    publish,
    publish_note,
    search_spec,
    snapshot_of,
)

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
    wanted: SearchSpec,
    words: Mapping[str, float] | None = None,
    meaning: Mapping[str, float] | None = None,
) -> Ranking:
    """Return the ranking of candidates given by their texts."""
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
    """Return the score of a text after fusion."""
    return float(ordered.fused[ordered.located.locations.at([chunk_ids(db)[text]])[0]])


# --- keywords and vectors -------------------------------------------------------------------------


def test_keywords_outweigh_vectors_unless_weights_are_configured(db: Database) -> None:
    publish(db, "memory/a.md", ["by words", "by meaning"])
    words, meaning = {"by words": 5.0}, {"by meaning": 0.2, "by words": 0.1}
    set_so = QuerySettings(hybrid=Hybrid(vector_weight=0.7, text_weight=0.3, weights_set=True))

    assert texts(db, order(db, search_spec("?"), words, meaning)) == ["by words", "by meaning"]
    assert texts(db, order(db, search_spec("?", set_so), words, meaning)) == ["by meaning", "by words"]
    assert DEFAULT_VECTOR_WEIGHT < 0.5


@pytest.mark.parametrize("side", ["words", "meaning"])
def test_a_search_without_matches_cedes_its_weight(db: Database, side: str) -> None:
    publish(db, "memory/a.md", ["one"])
    publish(db, "memory/b.md", ["other"])
    found = {"one": 0.8, "other": 0.4}

    ordered = order(db, search_spec("?"), **{side: found})

    assert texts(db, ordered) == ["one", "other"]
    assert fused(db, ordered, "one") == 1.0


@pytest.mark.parametrize("fusion", ["normalized", "rrf"])
def test_matches_of_both_searches_rank_before_matches_of_one(db: Database, fusion: str) -> None:
    for name in ("both", "words", "meaning"):
        publish(db, f"memory/{name}.md", [name])
    wish = QuerySettings(hybrid=Hybrid(fusion="rrf" if fusion == "rrf" else "normalized"))

    found = order(
        db, search_spec("?", wish), {"both": 4.0, "words": 4.0}, {"both": 0.8, "meaning": 0.8, "words": 0.1}
    )

    assert texts(db, found)[0] == "both"
    assert all(0 <= item.score <= 1 for item in found.ranked)


def test_a_chunk_with_a_matching_neighbour_moves_up(db: Database) -> None:
    # given: two adjacent chunks of one note, and a slightly better one without neighbours
    parts = [f"## Part {number}\n" + f"entry {number} of the list " * 12 for number in range(2)]
    first, second = publish_note(db, "memory/a.md", "\n".join(parts))
    publish_note(db, "memory/b.md", "alone")

    found = order(db, search_spec("?"), {first.text: 5.0, second.text: 5.0, "alone": 5.2})

    assert set(texts(db, found)[:2]) == {first.text, second.text}
    assert fused(db, found, "alone") == 1.0


# --- the minimum score ----------------------------------------------------------------------------


def test_the_default_min_score_removes_no_hit(db: Database) -> None:
    """The default is for OpenClaw's formula."""
    publish(db, "memory/a.md", ["strong"])
    publish(db, "memory/b.md", ["weak"])
    found = order(db, search_spec("?"), {"strong": 10.0, "weak": 0.01})
    assert texts(db, found) == ["strong", "weak"]
    assert found.ranked[-1].score < QuerySettings().min_score


def test_a_requested_or_configured_min_score_removes_hits(db: Database) -> None:
    publish(db, "memory/a.md", ["strong"])
    publish(db, "memory/b.md", ["middling"])
    publish(db, "memory/c.md", ["weak"])
    found = {"strong": 10.0, "middling": 5.0, "weak": 1.0}
    everything = order(db, search_spec("?"), found)
    middling = scores(db, everything)["middling"]

    by_caller = order(db, search_spec("?", min_score=middling), found)
    by_settings = order(
        db, search_spec("?", QuerySettings(min_score=middling + 0.01, min_score_set=True)), found
    )
    overruled = order(
        db, search_spec("?", QuerySettings(min_score=1.0, min_score_set=True), min_score=0.0), found
    )

    assert texts(db, by_caller) == ["strong", "middling"]
    assert texts(db, by_settings) == ["strong"]
    assert texts(db, overruled) == ["strong", "middling", "weak"]


def test_openclaws_formula_uses_openclaws_min_score(db: Database) -> None:
    publish(db, "memory/a.md", ["near", "far"])
    found = order(db, search_spec("?", WEIGHTED), meaning={"near": 0.6, "far": 0.4})
    assert scores(db, found) == {"near": pytest.approx(0.42)}


# --- days -----------------------------------------------------------------------------------------


def test_notes_of_a_day_in_the_query_rank_first(db: Database) -> None:
    publish(db, "memory/2026-11-19.md", ["the release of yesterday"])
    publish(db, "memory/2026-10-01.md", ["the release of october"])
    words = {"the release of yesterday": 4.0, "the release of october": 4.4}

    without = order(db, search_spec("which release was it"), words)
    found = order(db, search_spec("which release was it yesterday"), words)

    assert texts(db, without)[0] == "the release of october"
    assert texts(db, found)[0] == "the release of yesterday"
    assert found.signals.of_days == {chunk_ids(db)["the release of yesterday"]}


def test_a_much_better_match_of_another_day_can_rank_first(db: Database) -> None:
    publish(db, "memory/2026-11-19.md", ["something else"])
    publish(db, "memory/2026-10-01.md", ["the release"])

    found = order(db, search_spec("which release was it yesterday"), {"the release": 9.0})

    assert texts(db, found) == ["the release", "something else"]


def test_an_exact_match_ranks_before_a_day_of_the_query(db: Database) -> None:
    publish(db, "memory/2026-11-19.md", ["many words of yesterday about a policy 358"])
    publish(db, "memory/2026-10-01.md", ["POL-358"])

    found = order(
        db,
        search_spec("what about POL-358 yesterday"),
        {"many words of yesterday about a policy 358": 9.0, "POL-358": 1.0},
        {"many words of yesterday about a policy 358": 0.9},
    )

    assert texts(db, found)[0] == "POL-358"


def test_openclaws_formula_ignores_days_and_exact_matches(db: Database) -> None:
    publish(db, "memory/2026-11-19.md", ["yesterday"])
    publish(db, "memory/2026-10-01.md", ["POL-358"])
    found = order(
        db,
        search_spec("POL-358 yesterday", WEIGHTED, min_score=0.0),
        meaning={"yesterday": 0.5, "POL-358": 0.6},
    )

    assert scores(db, found) == {"POL-358": pytest.approx(0.42), "yesterday": pytest.approx(0.35)}
    assert found.signals.of_days == frozenset()
    assert found.signals.exact_matches == {}


def test_old_notes_decay_if_configured(db: Database) -> None:
    publish(db, "memory/2026-09-21.md", ["sixty days old"])
    publish(db, "memory/2026-11-20.md", ["of today"])
    publish(db, "MEMORY.md", ["of no day"])
    words = {"sixty days old": 8.0, "of today": 4.0, "of no day": 2.0}

    plain, faded = (
        scores(db, order(db, search_spec("?", wish), words)) for wish in (QuerySettings(), DECAYED)
    )

    assert faded["sixty days old"] == pytest.approx(plain["sixty days old"] / 4, rel=0.02)
    assert faded["of today"] == pytest.approx(plain["of today"], rel=0.02)
    assert faded["of no day"] == plain["of no day"]
    assert next(iter(faded)) == "of today"


# --- exact matches ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wish",
    [QuerySettings(), DECAYED, DIVERSE, QuerySettings(hybrid=Hybrid(fusion="rrf"))],
    ids=["normalized", "decay", "mmr", "rrf"],
)
def test_an_exact_match_never_ranks_below_other_candidates(db: Database, wish: QuerySettings) -> None:
    # given: three near-duplicate exact matches in old notes with distant vectors
    names = [f"POL-358 was seen in old note {number}" for number in range(3)]
    for number, text in enumerate(names):
        publish(db, f"memory/2025-01-0{number + 1}.md", [text])
    # and other candidates that are better in every other way
    guesses = [f"POL-3580 guess {number}{LONG}" for number in range(20)]
    publish(db, "MEMORY.md", guesses)
    words = {**dict.fromkeys(guesses, 9.0), **dict.fromkeys(names, 0.1)}

    found = order(db, search_spec("what is POL-358", wish), words, dict.fromkeys(guesses, 0.95))

    assert sorted(texts(db, found)[:3]) == sorted(names)
    assert [item.score for item in found.ranked[:3]] > [item.score for item in found.ranked[3:6]]


def test_more_exact_matches_rank_first_and_whole_matches_before_parts(db: Database) -> None:
    lines = ["POL-358 and DL-7", "POL-358", "POL-358-draft", "neither"]
    for number, text in enumerate(lines):
        publish(db, f"memory/{number}.md", [text])

    found = order(db, search_spec("POL-358 or DL-7"), dict(zip(lines, (1.0, 2.0, 3.0, 9.0), strict=True)))

    assert texts(db, found) == lines
    matches = [found.signals.exact_matches.get(item.id, 0) for item in found.ranked]
    assert matches == sorted(matches, reverse=True)
    assert len(set(matches)) == 4


def test_an_exact_term_in_the_path_matches(db: Database) -> None:
    publish(db, "memory/projects/pol-358.md", ["its plan"])
    publish(db, "memory/b.md", ["another plan"])
    found = order(db, search_spec("the plan of POL-358"), {"its plan": 1.0, "another plan": 5.0})
    assert texts(db, found)[0] == "its plan"


# --- near duplicates ------------------------------------------------------------------------------


def test_a_near_duplicate_maps_to_the_better_candidate(db: Database) -> None:
    entry = (
        "Standup: deploys are frozen until Monday, Anna writes the notes, Ben watches the queue of the night"
    )
    changed = entry.replace("Monday", "Tuesday")
    other = (
        "Standup: the queue was full this night and Ben restarted the workers by hand after the alarm at four"
    )
    for name, text in zip("abc", (entry, changed, other), strict=True):
        publish(db, f"memory/{name}.md", [text])

    found = order(db, search_spec("?"), {changed: 5.0, entry: 4.0, other: 3.0})

    ids = chunk_ids(db)
    wanted = [ids[text] for text in (changed, entry, other)]
    assert [*found.near_duplicates.find_originals(wanted).items()] == list(
        zip(wanted, (ids[changed], ids[changed], ids[other]), strict=True)
    )


def test_near_duplicates_rank_later_if_configured(db: Database) -> None:
    lines = ["deploy the queue at night", "deploy the queue at noon", "cats sleep all day"]
    for number, text in enumerate(lines):
        publish(db, f"memory/{number}.md", [text])
    words = dict(zip(lines, (3.0, 2.9, 2.0), strict=True))

    plain, diverse = (
        texts(db, order(db, search_spec("?", wish), words)) for wish in (QuerySettings(), DIVERSE)
    )

    assert plain == lines
    assert diverse == [lines[0], lines[2], lines[1]]


# --- transcripts and explanations -----------------------------------------------------------------


def test_a_note_ranks_among_better_transcripts(db: Database) -> None:
    conversations = [f"talk {number}" for number in range(6)]
    publish(db, "sessions/s.jsonl", conversations, source="sessions")
    publish(db, "memory/a.md", ["a note", "a far note"])
    words = {**{text: 9.0 - at for at, text in enumerate(conversations)}, "a note": 0.5}
    meaning = {"talk 0": 0.5, "a far note": 0.1}

    crowded = order(db, search_spec("?"), words, meaning)
    seated = order(db, search_spec("?", notes_scope=Scope(("memory",))), words, meaning)

    assert texts(db, crowded)[:3] == conversations[:3]
    assert texts(db, seated)[:3] == ["talk 0", "a note", "talk 1"]
    assert texts(db, seated)[-1] == "a far note"


def test_stage_scores_are_recorded_only_for_explanations(db: Database) -> None:
    publish(db, "memory/2026-11-19.md", ["POL-358 failed"])
    words = {"POL-358 failed": 2.0}
    query = "what happened to POL-358 yesterday"

    assert order(db, search_spec(query, DECAYED), words).steps == {}
    told = order(db, search_spec(query, DECAYED, explain=True), words)

    assert list(told.steps) == ["fused", "neighbours", "lines", "days", "decay", "exact"]
    assert told.steps["exact"] == {chunk_ids(db)["POL-358 failed"]: told.ranked[0].score}
