"""Questions that nest relations, and names in lines."""

from __future__ import annotations

import pytest

from memd.text.query.relations import has_text, link_names, nests_relations, starts_with


@pytest.mark.parametrize(
    "query",
    [
        "Where does Ann's sister work?",
        "Which city is the employer of Ann's sister based in?",
        "What is the port of the service that handles invoices?",
        "Who maintains the rack of the host that runs heron?",
        "Wo arbeitet die Schwester von Anna?",
        "Où travaille la sœur de Anne?",
        "小李的姐姐的公司在什么地方",
    ],
)
def test_a_question_through_another_thing_nests_relations(query: str) -> None:
    assert nests_relations(query)


@pytest.mark.parametrize(
    "query",
    [
        "Who is Ann's sister?",
        "how do we roll back a bad release",
        "What's the port of heron?",
        "What does Paola like to do when traveling?",
        "It's the plan of Ann's sister. I'm ready.",
    ],
)
def test_a_plain_question_and_a_message_nest_none(query: str) -> None:
    assert not nests_relations(query)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("- Clara Berg works at Nordwind.", ["Clara Berg", "Nordwind"]),
        ("12. the service runs on ox-17 in rack R4", ["ox-17", "R4"]),
        ("it listens on 8080", []),
    ],
)
def test_names_have_a_capital_a_digit_or_a_sign(line: str, names: list[str]) -> None:
    assert link_names(line) == names


def test_a_name_is_found_at_the_beginning_of_a_word_in_the_same_case() -> None:
    assert starts_with("with Annas friend", "Anna")
    assert not starts_with("with Susanna", "anna")
    assert has_text("the deploys", "deploy")
