"""Queries that several pieces of evidence answer, and what a query says about its answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.query.breadth import is_broad, split_parts, without_framing
from tests.support.growth import check_linear


@pytest.mark.parametrize(
    "query",
    [
        "list the bugs of the parser",
        "how many times did we roll back",
        "in which order did we deploy the services",
        "compare Redis with Postgres",
        "a summary of the migration",
        "what do Ann and Bob have in common",
        "which cities has Ann visited",
        "What are Ann's hobbies?",
        "wie oft war der Server weg",
        "combien de fois",
        "cuántas veces",
        "сколько раз",
        "列出所有服务器",
        "何回デプロイしましたか",
        "몇 번 배포했나요",
    ],
)
def test_lists_counts_orders_comparisons_and_summaries_are_broad(query: str) -> None:
    assert is_broad(query)


@pytest.mark.parametrize(
    "query",
    [
        "when did Ann visit Rome",
        "staging port",
        "who maintains the gateway",
        "POL-358",
        "wo liegt der Schlüssel",
        "",
    ],
)
def test_a_query_for_one_fact_is_not_broad(query: str) -> None:
    assert not is_broad(query)


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        (
            "Which cities did both Ann and Bob visit?",
            ("Which cities did Ann visit?", "Which cities did Bob visit?"),
        ),
        ("where do Ann and Bob live", ("where do Ann live", "where do Bob live")),
        (
            "the difference between staging and production",
            ("the difference staging", "the difference production"),
        ),
        ("tabs vs spaces", ("tabs", "spaces")),
        (
            "what changed before the release and after the outage",
            ("what changed before the release", "what changed after the outage"),
        ),
    ],
)
def test_a_query_for_two_subjects_is_split_into_one_for_each(query: str, parts: tuple[str, ...]) -> None:
    assert split_parts(query) == parts


@pytest.mark.parametrize("start", ["", "what are the ", "between ", "compare ", "Ann-"])
@pytest.mark.parametrize("unit", ["a", "aB", "_", "'", "数"])
def test_work_on_a_long_word_grows_with_its_length(start: str, unit: str) -> None:
    check_linear(lambda size: start + unit * size, is_broad, 1_000)


def test_long_names_are_subjects() -> None:
    one, other = "retry_backoff_" + "x" * 80, "service-" + "y" * 80
    assert split_parts(f"{one} vs {other}") == (one, other)


@pytest.mark.parametrize(
    "query",
    ["ONLY and ONLY three items", "bread and butter", "Ann and Ann", "what did Ann say", "and", "both"],
)
def test_other_queries_have_no_parts(query: str) -> None:
    assert split_parts(query) == ()


@pytest.mark.parametrize(
    ("query", "subject"),
    [
        (
            "Can you list the order in which I brought up different aspects of the parser throughout our "
            "conversations, in order? Mention ONLY and ONLY five items.",
            "parser",
        ),
        ("Please give me a comprehensive summary of the migration so far", "migration"),
        ("walk me through the deploy", "deploy"),
    ],
)
def test_what_a_query_says_about_its_answer_is_left_out(query: str, subject: str) -> None:
    bare = without_framing(query)

    assert subject in bare
    assert not {"list", "order", "conversations", "mention", "summary", "walk"} & set(bare.lower().split())


@pytest.mark.parametrize(
    "query", ["list", "summarize", "in order", "staging port", "which order did we place"]
)
def test_a_query_never_becomes_empty(query: str) -> None:
    assert without_framing(query)


@given(st.text(max_size=200))
def test_any_text_can_be_read(query: str) -> None:
    is_broad(query)
    assert bool(without_framing(query).strip()) == bool(query.strip())
    assert len(split_parts(query)) in (0, 2)
