"""Texts together are given what each alone is given, and words that say nothing stay out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.extra import extra_words
from memd.text.language.stems import MARK, languages_of_text, speaking_for_languages
from memd.text.query.identifiers import index_names, may_be_named

WORDS = st.one_of(
    st.sampled_from(
        """the die der und nicht wird les avec está привет как дела Σας fooBar HTTPServer getURLs retry_backoff_ms
        follow-up foo‐bar 2026-05-08 C++ c++; (c#) a++b node.js .NET x.net, +49 30 1234567 - #
        “iPhone” straße ÉtatMajor e.g. 部署""".split()
    ),
    st.text("abAB-_.+#é ǀ部\u2010\u2011\x1c", max_size=8),
)
TEXTS = st.lists(WORDS, max_size=40).map(" ".join)


@given(st.lists(TEXTS, max_size=6))
def test_texts_together_are_given_what_each_alone_is_given(texts: list[str]) -> None:
    assert extra_words(texts) == [extra_words([text])[0] for text in texts]


@pytest.mark.parametrize(
    ("text", "extra"),
    [
        ("The retryBackoffMs of POL-358.", ["retry", "backoff", "ms", "pol358"]),
        ("Call +49 30 1234567 first.", ["49301234567"]),
        ("Rewritten in C++ and C#.", ["cplusplus", "cpp", "csharp"]),
        ("Prose in English, and nothing else: it has its stems already.", []),
    ],
)
def test_names_are_found_by_their_parts_and_other_spellings(text: str, extra: list[str]) -> None:
    assert extra_words(["Another text.", text])[1].split() == extra


def test_only_the_text_in_another_language_is_stemmed() -> None:
    german = "Die Besprechung ist am Freitag und wird nicht verschoben."

    english, other = extra_words(["The meeting is on Friday.", german])

    assert english == ""
    assert f"besprech{MARK}" in other.split()


@given(TEXTS)
def test_a_word_left_out_of_the_named_changes_no_names(text: str) -> None:
    words = dict.fromkeys(text.split())
    named = may_be_named(words)

    assert index_names(text, [word for word in words if word in named]) == index_names(text, words)


@given(st.lists(st.sampled_from("the cat Die wird les avec nicht was of".split()), max_size=12))
def test_an_ascii_text_without_a_speaking_word_is_in_no_other_language(words: list[str]) -> None:
    speaking = speaking_for_languages(frozenset(words))

    quiet = [word for word in words if word not in speaking]

    assert languages_of_text({word.lower() for word in quiet}, " ".join(quiet)) == ()


def test_no_texts_have_no_words() -> None:
    assert extra_words([]) == []
