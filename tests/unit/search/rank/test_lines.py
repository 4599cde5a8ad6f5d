"""Matches of a query in the lines of candidates: words, speakers, adjacent words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.search.rank.lines import MIN_SPEAKER_LINES, LineMatches, line_scores, match_lines

CHAT = "\n".join(
    ["Ann: the harbour was cold", "Bob: I liked the museum", "Ann: the museum was shut", "Bob: a pity"]
)


def read(query: str, words: list[str], texts: list[str]) -> LineMatches:
    """Return the matches of a query whose words to search for are given."""
    return match_lines(texts, query, words)


def best(query: str, words: list[str], texts: list[str]) -> int:
    """Return the number of the text with the highest score; each text is a file of its own."""
    return int(np.argmax(line_scores(read(query, words, texts), np.arange(len(texts)))))


def test_lines_and_their_words_are_found_in_each_text() -> None:
    lines = read("harbour museum", ["harbour", "museum"], ["the harbour\n\nand more", "the museums"])

    assert lines.texts.tolist() == [0, 0, 0, 1]
    assert list(zip(lines.starts.tolist(), lines.ends.tolist(), strict=True)) == [
        (0, 11),
        (12, 12),
        (13, 21),
        (0, 11),
    ]
    assert lines.words.tolist() == [[True, False], [False, True]]


def test_a_rare_word_weighs_more() -> None:
    lines = read("harbour pool", ["harbour", "pool"], ["harbour pool", "harbour", "harbour"])

    assert lines.weights[1] > lines.weights[0]
    assert np.isclose(lines.weights.sum(), 1)


def test_adjacent_words_of_the_query_count_if_they_are_adjacent_in_a_text() -> None:
    texts = ["the tide in the pool is high", "high above, the tide pool is dry"]

    assert best("where is the tide pool", ["tide", "pool"], texts) == 1


def test_words_in_lines_of_the_speaker_that_a_query_names_count() -> None:
    texts = [CHAT, CHAT.replace("Ann: the museum was shut", "Ann: it was shut")]

    assert best("what did Ann say about the museum", ["ann", "museum"], texts) == 0


def test_a_label_of_a_few_lines_is_no_speaker() -> None:
    lines = read("which port", ["port"], ["port: 8080", "host: a"])
    assert not lines.names.any()
    assert MIN_SPEAKER_LINES > 2


def test_queries_about_the_user_prefer_what_the_user_said() -> None:
    said = "\n".join(["User: the sprint ends on Friday", "User: and so on", "Assistant: noted"])
    answered = "\n".join(["Assistant: a sprint ends with a review", "Assistant: so", "User: ok", "User: yes"])

    assert best("when does my sprint end", ["sprint", "end"], [answered, said, "Assistant: sprint"]) in (0, 1)
    lines = read("when does my sprint end", ["sprint", "end"], [answered, said])
    assert lines.by_user.tolist() == [False, False, True, True, True, True, False]


def test_a_line_without_label_continues_the_line_above_within_its_text() -> None:
    texts = ["User: one\nand two\nAssistant: three\nfour", "nobody said this", "User: a\nUser: b\nUser: c"]

    lines = read("what did I say", ["say"], texts)

    assert lines.by_user.tolist() == [True, True, False, False, False, True, True, True]


@pytest.mark.parametrize("line", ["next, the prototype of the ferry:", "**The ferry:**", "渡轮ferry："])
def test_the_matching_part_has_the_line_after_an_announcement(line: str) -> None:
    text = f"hello\n{line}\nit has two decks\nbye"
    lines = read("ferry", ["ferry"], [text, "other"])

    first, end = lines.matching_span(0, 0, len(text)) or (0, 0)
    alone = lines.matching_span(0, 0, len(text), with_announced=False) or (0, 0)

    assert text[first:end] == f"{line}\nit has two decks"
    assert text[slice(*alone)] == line


def test_the_matching_part_has_the_lines_with_the_words_and_the_answer_to_a_question() -> None:
    text = "hello\nwhen is the ferry?\nat nine\nbye"

    lines = read("ferry", ["ferry"], [text, "other"])

    part = lines.matching_span(0, 0, len(text))
    assert part is not None
    assert text[slice(*part)] == "when is the ferry?\nat nine"
    assert lines.matching_span(1, 0, 5) is None


@given(
    st.lists(st.text("ab:?\n é部", max_size=30), min_size=1, max_size=6),
    st.text("ab I部", max_size=20),
    st.lists(st.sampled_from(["a", "ab", "部", "é", ""]), max_size=4),
)
def test_any_texts_can_be_read(texts: list[str], query: str, words: list[str]) -> None:
    lines = match_lines(texts, query, words)

    joined = [line for text in texts for line in text.split("\n")]
    shown = [
        texts[at][start:end] for at, start, end in zip(lines.texts, lines.starts, lines.ends, strict=True)
    ]
    assert shown == joined
    scores = line_scores(lines, np.zeros(len(texts), np.int64))
    assert np.isfinite(scores).all()
    assert (scores >= 0).all()
    for number, text in enumerate(texts):
        part = lines.matching_span(number, 0, len(text))
        assert part is None or 0 <= part[0] <= part[1] <= len(text)
