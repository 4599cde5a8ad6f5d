"""Spelling correction of words and paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.query.typos import Vocabulary, errors_allowed, find_similar_paths, folders_of, similar_words


def vocabulary(**counts: int) -> Vocabulary:
    """Return a vocabulary of words with the number of texts each is in."""
    return Vocabulary("\n".join(counts), list(counts.values()))


@pytest.mark.parametrize(
    ("word", "errors"),
    [
        ("cat", 0),
        ("word", 0),
        ("fridge", 1),
        ("watched", 1),
        ("kubernetes", 2),
        ("20260508", 0),
        ("a828e60", 0),
        ("v123", 0),
        ("xoshiro256", 2),
        ("部署方案", 0),
        ("x" * 41, 0),
    ],
)
def test_errors_allowed_by_word_length(word: str, errors: int) -> None:
    assert errors_allowed(word) == errors


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("watchdgo", ["watchdog"]),
        ("wachdog", ["watchdog"]),
        ("vatchdog", ["watchdog"]),
        ("watchdoog", ["watchdog"]),
        ("kubrenetse", ["kubernetes"]),
        ("watchdog", []),
        ("dog", []),
        ("catalogue", []),
        ("xoshrio256", ["xoshiro256"]),
        ("xoshiro257", []),
    ],
)
def test_misspelled_words_are_corrected(asked: str, found: list[str]) -> None:
    words = vocabulary(watchdog=1, kubernetes=2, cat=5, xoshiro256=1)

    assert similar_words(asked, words, 5) == found


def test_the_most_likely_correction_is_first() -> None:
    words = vocabulary(hotter=9, better=5, letter=7, bettor=1, butter=6, litter=2)

    assert similar_words("bettar", words, 3) == ["better", "bettor"]
    assert similar_words("betterr", words, 3) == ["better"]
    assert similar_words("batterr", words, 3, errors=2) == ["butter", "better"]
    assert similar_words("better", words, 3) == ["butter", "bettor", "letter"]
    assert similar_words("better", words, 1) == ["butter"]


def test_an_empty_vocabulary_has_no_words() -> None:
    words = Vocabulary("", [])

    assert len(words) == 0
    assert "" not in words
    assert similar_words("watchdog", words, 3) == []


def test_a_vocabulary_contains_its_words() -> None:
    words = vocabulary(watchdog=1, cat=5)

    assert len(words) == 2
    assert "cat" in words
    assert "at" not in words


def test_unequal_numbers_of_words_and_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="2 words with 1 counts"):
        Vocabulary("one\ntwo", np.array([1]))


WORDS = st.text("abcé", min_size=4, max_size=9)


@given(WORDS, st.sets(WORDS, min_size=1), st.integers(1, 2))
def test_all_words_within_the_errors_are_found(asked: str, words: set[str], errors: int) -> None:
    listed = sorted(words)
    found = similar_words(asked, Vocabulary("\n".join(listed), [1] * len(listed)), len(listed), errors)

    assert set(found) == {word for word in words if 0 < distance(asked, word) <= errors}


def distance(one: str, other: str) -> int:
    """Return the same distance, calculated by its definition."""
    table = {(i, j): max(i, j) for i in range(len(one) + 1) for j in range(len(other) + 1) if not i * j}
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            steps = [
                table[i - 1, j] + 1,
                table[i, j - 1] + 1,
                table[i - 1, j - 1] + (one[i - 1] != other[j - 1]),
            ]
            if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
                steps.append(table[i - 2, j - 2] + 1)
            table[i, j] = min(steps)
    return table[len(one), len(other)]


PATHS = [
    "MEMORY.md",
    "memory/2026-01-16.md",
    "memory/2026-01-18.md",
    "memory/projects/anvil.md",
    "memory/people/ada.md",
]


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("memory.md", "MEMORY.md"),
        ("memory/2026-01-17.md", "memory/2026-01-16.md"),
        ("anvil.md", "memory/projects/anvil.md"),
        ("./memory//people/Ada.md", "memory/people/ada.md"),
    ],
)
def test_the_most_similar_path_is_first(path: str, near: str) -> None:
    assert find_similar_paths(path, PATHS)[0] == near


@pytest.mark.parametrize("path", ["", " ", "/", "zzz", "x" * 100_000])
def test_a_path_without_similar_ones_has_no_suggestion(path: str) -> None:
    assert find_similar_paths(path, PATHS) == []


def test_folders_of_paths_are_all_parents() -> None:
    assert folders_of(PATHS) == {"memory/", "memory/projects/", "memory/people/"}
