"""Labels of lines in dialogues, and queries about the user."""

from __future__ import annotations

import pytest

from memd.text.query.speakers import USER_LABELS, find_labels, is_first_person, is_message, names_label


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("Ann: hello", "ann"),
        ("**Ann** (22:42): hello", "ann"),
        ("**User**: hello", "user"),
        ("- Ann Lee [09:00]: hello", "ann lee"),
        ("小明：你好", "小明"),
        ("> Bob: hello", "bob"),
    ],
)
def test_a_label_is_the_name_before_the_colon(line: str, label: str) -> None:
    assert find_labels(line.lower()) == [(0, label)]


@pytest.mark.parametrize(
    "line",
    [
        "no colon here",
        "22:42 was the time",
        "",
        ": nothing",
        "a long sentence that ends with a colon: like this",
    ],
)
def test_other_lines_have_no_label(line: str) -> None:
    assert find_labels(line) == []


def test_labels_come_with_the_places_of_their_lines() -> None:
    assert find_labels("ann: one\n\nstill ann\nbob: two") == [(0, "ann"), (20, "bob")]


@pytest.mark.parametrize(
    "query",
    [
        "what did I say about it",
        "my first sprint",
        "wann war mein Termin",
        "我说过什么",
        "где мой ключ",
        "내가 말한 것",
    ],
)
def test_first_person_queries_ask_about_the_user(query: str) -> None:
    assert is_first_person(query)


@pytest.mark.parametrize("query", ["what did Ann say", "mining in the alps", "iOS build", ""])
def test_other_queries_do_not(query: str) -> None:
    assert not is_first_person(query)


def test_any_word_of_a_label_names_its_speaker() -> None:
    assert names_label("ann lee", ("lee", "port"))
    assert not names_label("ann lee", ("an", "port"))
    assert "user" in USER_LABELS


@pytest.mark.parametrize(
    ("query", "is_one"),
    [
        ("when does my sprint end?", False),
        ("When does my sprint end? ", False),
        ("which version is it, 1.2.3 or v1.3?", False),
        ("I'm back. What do we do next?", True),
        ("我回来了。下一步是什么？", True),
        ("the build fails\nwhat now", True),
    ],
)
def test_several_sentences_are_a_message(query: str, is_one: bool) -> None:
    assert is_message(query) == is_one
