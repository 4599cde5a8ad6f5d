"""Occurrences of words in any form."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.query.word_forms import find_word, fold, matched_spans, stem_word


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("deployed twice", "deploy"),
        ("we planned it", "plan"),
        ("the cities", "city"),
        ("adoption", "adopt"),
        ("部署deploy完成", "deploy"),
        ("重新部署了", "部署"),
        ("pol-358.", "pol-358"),
    ],
)
def test_a_word_is_found_in_other_forms(text: str, word: str) -> None:
    assert len(list(find_word(text, word))) == 1


@pytest.mark.parametrize(
    ("text", "word"), [("redeploy", "deploy"), ("planet", "plan"), ("pol-3580", "pol-358"), ("anything", "")]
)
def test_other_words_are_not_found(text: str, word: str) -> None:
    assert list(find_word(text, word)) == []


@given(
    st.text("abdeployß部署한 -.\nİé", max_size=60).map(fold),
    st.sampled_from(["deploy", "ab", "a", "部署", "한", "é", "a.b", "", "ployed"]),
)
def test_forms_share_the_stem_and_do_not_overlap(text: str, word: str) -> None:
    spans = list(find_word(text, word))

    assert all(text.startswith(stem_word(word)[0], start) for start, _ in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_matched_spans_are_in_order_joined_and_limited() -> None:
    text = "Déploiement of POL-358, pol-358 deployed"
    words = ("pol-358", "pol", "deploy", "déploiement")

    spans = matched_spans(text, words, 8)

    assert [text[start:end] for start, end in spans] == ["Déploiement", "POL-358", "pol-358", "deployed"]
    assert matched_spans(text, words, 2) == spans[:2]
