"""Queries about the past, in several languages."""

from __future__ import annotations

import pytest

from memd.text.statements import asks_about_past


@pytest.mark.parametrize(
    "query",
    [
        "what was the staging port before",
        "which port did we originally use",
        "what did deploys used to depend on",
        "what was the first port",
        "welcher Port war es früher",
        "quel était le port avant",
        "cuál era el puerto antes",
        "qual era a porta anteriormente",
        "qual era la porta prima",
        "какой порт был раньше",
        "之前的端口是什么",
        "以前のポートは",
        "이전 포트는",
    ],
)
def test_queries_about_the_past_are_recognized(query: str) -> None:
    assert asks_about_past(query)


@pytest.mark.parametrize(
    "query", ["staging database port", "what is the deadline of the first sprint", "welcher Port ist es"]
)
def test_other_queries_ask_about_the_present(query: str) -> None:
    assert not asks_about_past(query)
