"""Exact matches of names, whole or in part, and literal terms of a query."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.query.exact import (
    PART_MATCH_SCORE,
    WHOLE_MATCH_SCORE,
    exact_match_count,
    exact_match_counts,
    find_literals,
    is_plain_query,
)
from tests.support.growth import check_linear

NAMES = st.text(string.ascii_letters + string.digits + "-._/:@+#~\\(*[ ", min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("POL-358", "See POL-358."),
        ("POL-358", "(pol-358)"),
        ("POL-358", "POL-358"),
        ("POL-358", "it was POL-358, not POL-359"),
        ("v1.2.3", "Since v1.2.3: faster"),
        ("1.2.4", "since v1.2.4"),
        ("1.2.4", "新版本v1.2.4です"),
        ("--force", "run it with --force once"),
        (".env", "in the .env file"),
        ("C++", "in C++, mostly"),
        ("src/app", "`src/app`"),
        ("@ann", "ask @ann!"),
        ("Blue Harbor", "the blue\n  harbor plan"),
        ("東京", "来週は東京駅で"),
        ("GPU", "新しいGPUです"),
        ("POL-358", "POL-3580 and POL-358"),
    ],
)
def test_a_name_on_its_own_is_a_whole_match(name: str, text: str) -> None:
    assert exact_match_count([name], text) == WHOLE_MATCH_SCORE


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("v1.2.3", "v1.2.3-rc1"),
        ("src/app", "src/app/main.py"),
        ("app/main.py", "src/app/main.py"),
        ("main", "git_main"),
        ("ann", "ann@mail"),
        (".env", "config.env"),
        ("C++", "C++11"),
        ("src/", "src/app"),
        ("#12", "tracker#12"),
    ],
)
def test_a_name_within_a_longer_one_is_a_part_match(name: str, text: str) -> None:
    assert exact_match_count([name], text) == PART_MATCH_SCORE


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("POL-358", "POL-3580"),
        ("POL-358", "XPOL-358"),
        ("POL-358", "POL 358"),
        ("1.2", "xv1.2"),
        ("1.2", "w1.2"),
        ("v1.2", "v1.20"),
        ("v1.2", "1.2"),
        ("v1.2", "v102"),
        ("ann", "annual plan"),
        ("Blue Harbor", "blueharbor"),
        ("Blue Harbor", "the harbor is blue"),
        ("größe", "größen"),
        ("POL-358", ""),
    ],
)
def test_a_missing_name_does_not_match(name: str, text: str) -> None:
    assert exact_match_count([name], text) == 0


def test_each_name_counts_once_and_blank_names_are_ignored() -> None:
    text = "POL-1 and POL-1 again, v2-rc1, nothing else"

    assert exact_match_count(["POL-1", "v2", "v3", "", "  "], text) == WHOLE_MATCH_SCORE + PART_MATCH_SCORE
    assert exact_match_count([], text) == 0


@pytest.mark.parametrize("name", ["Straße-5", "ΟΔΟΣ", "İzmir-2", "größe"])
def test_upper_case_is_the_same_name(name: str) -> None:
    assert exact_match_count([name.upper()], f"bei {name}.") == WHOLE_MATCH_SCORE
    assert exact_match_count([name], f"BEI {name.upper()}!") == WHOLE_MATCH_SCORE


@given(NAMES.filter(str.strip))
def test_any_name_between_blanks_is_a_whole_match(name: str) -> None:
    assert exact_match_count([name], f"word {name} word") == WHOLE_MATCH_SCORE
    assert exact_match_count([f"  {name}\n"], name.swapcase()) == WHOLE_MATCH_SCORE


@given(NAMES.filter(str.strip), st.text(max_size=60))
def test_a_name_matches_only_with_all_its_letters(name: str, text: str) -> None:
    held = exact_match_count([name], text)

    assert held in (0, PART_MATCH_SCORE, WHOLE_MATCH_SCORE)
    if held:
        assert all(part.casefold() in text.casefold() for part in name.split())


@given(st.text(string.ascii_lowercase, min_size=1, max_size=8), st.sampled_from("07é"))
def test_an_adjacent_letter_or_digit_prevents_a_match(name: str, beside: str) -> None:
    assert exact_match_count([name], name + beside) == 0
    assert exact_match_count([name], f"{name}-{beside}") == PART_MATCH_SCORE


def near_misses(size: int) -> str:
    """Return a text of about four times that many characters that nearly matches `a b` and `POL-358`."""
    return "a " * size + "POL-3580 " * (size // 5) + " " * size


def test_work_on_a_text_of_near_misses_grows_with_its_length() -> None:
    names = ["a b", "POL-358"]

    check_linear(near_misses, lambda text: exact_match_count(names, text), 5_000)
    assert exact_match_count(names, near_misses(50_000)) == 0


@given(
    st.lists(NAMES, max_size=3),
    st.dictionaries(st.integers(0, 9), st.text("POL-358 v1.2é\0x", max_size=30), max_size=6),
)
def test_match_scores_are_the_same_alone_and_in_a_batch(names: list[str], texts: dict[int, str]) -> None:
    alone = {key: exact_match_count(names, text) for key, text in texts.items()}

    assert exact_match_counts(names, texts) == {key: count for key, count in alone.items() if count}
    assert exact_match_counts(["POL-358"], {1: "pol-358\0", 2: "a", 3: ""}) == {1: WHOLE_MATCH_SCORE}


@pytest.mark.parametrize(
    ("query", "literal", "whole"),
    [
        ("what did we decide?", "what did we decide", True),
        ("  what   did we\ndecide ", "what did we decide", True),
        ("what about v2 api limits", "v2", False),  # a part of the query
        ("run a_b now", "run a_b now", False),  # contains a sign
        ("caf\u00e9 au lait", "caf\u00e9 au lait", False),  # the index removes the accent
        ("|| true", "|| true", False),
    ],
)
def test_a_query_of_plain_words_is_recognized(query: str, literal: str, whole: bool) -> None:
    assert is_plain_query(literal, query) is whole


def test_a_short_query_is_a_literal() -> None:
    assert find_literals("what did we decide?") == ("what did we decide",)
    assert find_literals("gateway") == ()
