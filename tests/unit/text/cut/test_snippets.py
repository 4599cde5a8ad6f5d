"""A snippet is the exact slice that shows the matched words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.cut.snippets import cut_snippet

TEXTS = st.lists(
    st.one_of(st.text("ab cé. İ", max_size=60), st.text("部署한 ก", max_size=30), st.just(" ")), max_size=30
).map("\n".join)
WORDS = st.lists(
    st.sampled_from(["ab", "a", "部", "部署", "한", "cé", "c.a", "İ", "", "missing"]), max_size=5
)


@given(TEXTS, WORDS, st.integers(1, 120), st.integers(1, 1000))
def test_a_snippet_is_an_exact_slice_with_its_own_lines(
    text: str, words: list[str], limit: int, start_line: int
) -> None:
    snippet = cut_snippet(text, start_line, words, limit)

    assert len(snippet.text) <= limit
    lines = text.split("\n")[snippet.start_line - start_line : snippet.end_line - start_line + 1]
    assert snippet.text in "\n".join(lines)
    assert snippet.text.count("\n") == snippet.end_line - snippet.start_line
    if len(text) <= limit:
        assert snippet.text == text
    elif text.strip():
        assert snippet.text.strip()


@given(TEXTS, WORDS, st.integers(1, 120))
def test_lines_that_fit_are_not_split(text: str, words: list[str], limit: int) -> None:
    lines = text.split("\n")
    if all(len(line) <= limit for line in lines):
        snippet = cut_snippet(text, 1, words, limit)

        if text.strip():
            assert snippet.text == "\n".join(lines[snippet.start_line - 1 : snippet.end_line])


def turns(count: int, **said: str) -> str:
    """Return a dialogue of some turns of about 140 characters, some with a given text (`t3="..."`)."""
    filler = "we talked about the weather and the garden and what to cook on a long and quiet evening at home"
    return "\n".join(
        f"{'Ann' if at % 2 else 'Bob'}: {said.get(f't{at}', f'turn {at}: {filler}')}" for at in range(count)
    )


def test_the_window_shows_the_words_rather_than_the_beginning() -> None:
    text = turns(14, t9="The vendor moved the deadline to Friday.")

    snippet = cut_snippet(text, 100, ("vendor", "deadline"))

    assert "Bob: The vendor" not in snippet.text
    assert "Ann: The vendor moved the deadline to Friday." in snippet.text.split("\n")
    assert snippet.start_line <= 109 <= snippet.end_line


def test_a_rare_word_outweighs_a_frequent_one() -> None:
    text = turns(14, **{f"t{at}": "the garden " * 8 for at in range(6)}, t12="the sunrise, painted")

    snippet = cut_snippet(text, 1, ("garden", "sunrise"))

    assert "sunrise" in snippet.text


def test_two_words_in_one_line_outweigh_one_repeated_word() -> None:
    text = turns(16, t1="a gateway", t2="a gateway", t3="a gateway", t13="the gateway timeout")

    assert "gateway timeout" in cut_snippet(text, 1, ("gateway", "timeout")).text


def test_distinct_words_are_shown_before_repeated_ones() -> None:
    text = turns(16, t1="red red red", t9="red", t11="blue", t12="green")

    snippet = cut_snippet(text, 1, ("red", "blue", "green"))

    assert all(word in snippet.text for word in ("blue", "green"))


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("painted", "painting"),
        ("hiked", "hike"),
        ("hobbies", "hobby"),
        ("running", "runs"),
        ("adopt", "adoption"),
        ("cafe", "Café"),
        ("RÉSUMÉ", "resume"),
        ("2022", "2022"),
        ("pol-358", "POL-358"),
        ("部署", "明天部署"),
        ("gen", "重跑gen任务"),
    ],
)
def test_other_forms_of_a_word_are_found(word: str, shown: str) -> None:
    text = turns(14, t10=f"so, {shown} it was")

    assert shown in cut_snippet(text, 1, (word,)).text


@pytest.mark.parametrize(
    ("word", "other"), [("art", "article"), ("car", "Caroline"), ("22", "2022"), ("ice", "nice")]
)
def test_words_with_only_a_common_beginning_or_end_do_not_match(word: str, other: str) -> None:
    text = turns(14, t10=f"so, {other} it was")

    assert other not in cut_snippet(text, 1, (word,)).text


def test_a_snippet_without_a_match_is_the_beginning() -> None:
    text = turns(14)

    snippet = cut_snippet(text, 7, ("submarine",))

    assert text.startswith(snippet.text)
    assert snippet.start_line == 7


def test_a_long_line_is_split_between_sentences() -> None:
    text = (
        "A plain sentence about nothing. " * 40 + "The vendor is Martine! " + "More of the same here. " * 40
    )

    snippet = cut_snippet(text, 1, ("martine",))

    assert "The vendor is Martine!" in snippet.text
    assert snippet.text[0].isupper()
    assert snippet.text[-1] in ".!"


def test_a_line_without_sentences_is_split_between_words() -> None:
    text = "alpha beta gamma " * 100 + "martine " + "alpha beta gamma " * 100

    snippet = cut_snippet(text, 1, ("martine",))

    assert "martine" in snippet.text
    assert set(snippet.text.split()) <= {"alpha", "beta", "gamma", "martine"}


def test_a_line_without_words_is_split_anywhere() -> None:
    snippet = cut_snippet("x" * 5000, 3, ("x",))

    assert 0 < len(snippet.text) <= 700
    assert (snippet.start_line, snippet.end_line) == (3, 3)
