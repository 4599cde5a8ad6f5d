"""Transcripts outnumber notes, and notes keep seats."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memd.search.rank.fusion import Ranked
from memd.search.rank.stages import interleave_notes


def ranked(kinds: str) -> list[Ranked]:
    """Return a ranking, best first: `n` a note, `w` a note without worth, `t` a transcript."""
    return [Ranked(f"{kind}{at}", "p", 1, 1, "", None, None, 1 - at / 100) for at, kind in enumerate(kinds)]


def seated(kinds: str) -> str:
    """Return the kinds in the order they are seated."""
    order = interleave_notes(
        ranked(kinds), lambda item: str(item.id)[0] == "t", lambda item: str(item.id)[0] == "n"
    )
    return "".join(str(item.id)[0] for item in order)


def test_a_note_behind_many_transcripts_gets_the_second_place() -> None:
    assert seated("ttttttn") == "tnttttt"


def test_better_notes_stay_where_they_are() -> None:
    assert seated("nnnttt") == "nnnttt"


def test_every_second_place_is_a_notes_while_there_are_any() -> None:
    assert seated("ttttttnnn") == "tntntnttt"


def test_a_note_that_has_nothing_to_do_with_the_question_takes_nobodys_place() -> None:
    assert seated("ttttw") == "ttttw"


@given(st.text("ntw", max_size=40))
def test_nobody_is_lost_and_each_kind_keeps_its_order(kinds: str) -> None:
    order = interleave_notes(
        ranked(kinds), lambda item: str(item.id)[0] == "t", lambda item: str(item.id)[0] == "n"
    )
    assert sorted(str(item.id) for item in order) == sorted(str(item.id) for item in ranked(kinds))
    for is_transcript in (True, False):
        places = [int(str(item.id)[1:]) for item in order if (str(item.id)[0] == "t") == is_transcript]
        assert places == sorted(places)


@given(st.text("nt", max_size=40))
def test_among_the_first_k_notes_have_half_as_far_as_there_are_any(kinds: str) -> None:
    order = seated(kinds)
    for k in range(len(order) + 1):
        assert order[:k].count("n") >= min(kinds.count("n"), k // 2)
