"""Identifiers are found by their parts and other spellings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.language.stems import STEM_MARK, find_language_words, languages_of_text
from memd.text.query.identifiers import (
    camel_parts,
    exact_names,
    extra_words,
    find_symbols,
    index_names,
    join_parts,
    phone_numbers,
    quoted_phrases,
    select_names,
    short_hashes,
    symbol_words,
)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("retryBackoffMs", ["retry", "backoff", "ms"]),
        ("RetryBackoff", ["retry", "backoff"]),
        ("HTTPServer", ["http", "server"]),
        ("parseJSONFile", ["parse", "json", "file"]),
        ("utf8Decode", ["utf8", "decode"]),
        ("größeÄndern", ["größe", "ändern"]),
        ("APIs", []),
        ("README", []),
        ("retry", []),
        ("Retry", []),
        ("aGVsbG8gd29ybGQhIQ", []),
        ("x" * 40 + "Y" + "z" * 40, []),
    ],
)
def test_camel_case_names_are_split(name: str, parts: list[str]) -> None:
    assert camel_parts(name) == parts


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("retry_backoff_ms", "retrybackoffms"),
        ("POL-358", "pol358"),
        ("2026-05-08", "20260508"),
        ("10-12", ""),
        ("retry", ""),
        ("a_b_c_d_e_f_g_h_i_j", ""),
    ],
)
def test_hyphens_and_underscores_are_removed(name: str, whole: str) -> None:
    assert join_parts(name) == whole


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("C++ and C++17", ["cplusplus", "cpp", "cplusplus", "cpp"]),
        ("g++", ["gplusplus"]),
        ("C# or F#", ["csharp", "fsharp"]),
        (".NET, ASP.NET", ["dotnet", "dotnet"]),
        ("Node.js", ["nodejs"]),
        ("用C++和Node.js写", ["cplusplus", "cpp", "nodejs"]),
        ("example.net, i++ + ++j, issue#5, # heading, a+b", ["iplusplus"]),
    ],
)
def test_names_with_signs_become_words(text: str, words: list[str]) -> None:
    assert symbol_words(text) == words


def test_the_spellings_of_names_are_found_in_a_text() -> None:
    text = "set `retryBackoffMs` or RETRY_BACKOFF_MS in C++, see PodBudget"

    assert index_names(text, text.split()) == [
        "retry backoff ms",
        "pod budget",
        "retrybackoffms",
        "cplusplus",
        "cpp",
    ]


def test_names_within_chinese_text_are_found() -> None:
    text = "重跑retryBackoff任务，改max_retries参数"

    assert index_names(text, text.split()) == ["retry backoff", "maxretries"]


def test_prose_has_no_names() -> None:
    text = "She went to the lake with Ann, and they painted. It wasn't good: 5 of 10!"

    assert index_names(text, text.split()) == []


@given(st.text("aB9-_+#. \u2011éÉ漢", max_size=60))
def test_any_text_is_searched_for_names(text: str) -> None:
    names = index_names(text, text.split())

    assert all(name and "\n" not in name for name in names)
    assert all(text[start:end].strip() for start, end, _ in find_symbols(text))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("call +49 421 555-0183 now", ["494215550183"]),
        ("+1 (415) 555 2671", ["14155552671"]),
        ("+494215550183", ["494215550183"]),
        ("5 + 12, +3 points", []),
    ],
)
def test_telephone_numbers_are_one_word(text: str, numbers: list[str]) -> None:
    assert phone_numbers(text) == numbers


@pytest.mark.parametrize(
    ("word", "short"),
    [
        ("a828e60", []),
        ("a828e60f1", ["a828e60", "a828e60f"]),
        ("1234567890", []),
        ("defaced", []),
        ("a828e6z", []),
    ],
)
def test_hashes_have_short_forms(word: str, short: list[str]) -> None:
    assert short_hashes(word) == short


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('he said "ship it"', ["ship it"]),
        ("„alles gut“ and «très bien»", ["alles gut", "très bien"]),
        ("「蓝绿」『赤』", ["蓝绿", "赤"]),
        ("run `make all` 'right now'", ["make all", "right now"]),
        ("don't say Ann's, it's 5'", []),
        ('"!?" "', []),
    ],
)
def test_quoted_phrases_lose_their_quotes(text: str, phrases: list[str]) -> None:
    assert quoted_phrases(text) == phrases


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("POL-358 user@example.com v2", ["POL-358", "user@example.com", "v2"]),
        (
            "#general @anna $HOME /etc/hosts .env --force",
            ["#general", "@anna", "$HOME", "/etc/hosts", ".env", "--force"],
        ),
        ("部署API-v2方案，用C++写的retryBackoffMs", ["API-v2", "C++", "retryBackoffMs"]),
        ("Q&A with R&D", ["Q&A", "R&D"]),
        ("well ...and then ~5 or .5, ../lib ./run", ["../lib", "./run"]),
        ("on-call follow-up and/or e.g. U.S", []),
        ("in 2022, 3rd, 5pm, 80s, 10x", []),
        ("12345 1234", ["12345"]),
    ],
)
def test_exact_names_of_a_query(text: str, names: list[str]) -> None:
    assert exact_names(text) == names


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
def test_extra_words_are_the_same_alone_and_in_a_batch(texts: list[str]) -> None:
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
    assert f"besprech{STEM_MARK}" in other.split()


@given(TEXTS)
def test_words_outside_select_names_have_no_entries(text: str) -> None:
    words = dict.fromkeys(text.split())
    named = select_names(words)

    assert index_names(text, [word for word in words if word in named]) == index_names(text, words)


@given(st.lists(st.sampled_from("the cat Die wird les avec nicht was of".split()), max_size=12))
def test_an_ascii_text_without_language_words_is_english(words: list[str]) -> None:
    speaking = find_language_words(frozenset(words))

    quiet = [word for word in words if word not in speaking]

    assert languages_of_text({word.lower() for word in quiet}, " ".join(quiet)) == ()


def test_no_texts_have_no_words() -> None:
    assert extra_words([]) == []
