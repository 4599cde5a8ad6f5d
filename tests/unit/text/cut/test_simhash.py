"""Similar texts have similar fingerprints."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.search.rank.near_duplicates import MAX_DIFFERENT_BITS
from memd.text.cut.simhash import simhashes

REPORT = """The nightly backup of the ledger ran from two to three. All tables were copied, the copy was restored on
the spare host, and its sums were compared with those of the day before. Nothing was missing. Ann looks at it once a
week and writes down here what she saw; Ben does so while she is away."""

OTHERS = [
    """We chose PostgreSQL over MySQL for the catalog because of its JSON columns and its partial indexes. Moving the
old data takes a weekend; the shop stays open, orders are written to both until Monday.""",
    """Grandmother's soup: leeks, two potatoes, a spoon of butter, no cream. Let it stand overnight, warm it up slowly,
and put the parsley in at the very end so that it keeps its colour and its taste.""",
    """我们决定下周发布新版本。安娜负责检查备份,本负责更新文档。如果星期五之前测试没有通过,就推迟到下个月再说。""",
]


def simhash(text: str) -> int:
    """Return the fingerprint of one text."""
    return simhashes([text])[0]


def bits_apart(one: int, other: int) -> int:
    """Return the number of different bits of two fingerprints."""
    return ((one ^ other) & (2**64 - 1)).bit_count()


@given(st.text(max_size=300))
def test_a_fingerprint_is_a_signed_64_bit_number_and_0_only_without_words(text: str) -> None:
    number = simhash(text)

    assert -(2**63) <= number < 2**63
    assert number == simhash(text)
    assert number != 0 or not any(each.isalnum() for each in text)


@pytest.mark.parametrize("text", ["", " \n", "---", "…!?", "🙂"])
def test_a_text_without_a_word_is_0(text: str) -> None:
    assert simhash(text) == 0


@given(st.lists(st.text("abcé部한7", min_size=1, max_size=6), min_size=1, max_size=30))
def test_fingerprints_ignore_case_blanks_and_punctuation(words: list[str]) -> None:
    assert simhash(" ".join(words)) == simhash("\n- ".join(words).upper() + " …")


def test_fingerprints_are_the_same_in_every_release() -> None:
    assert simhash("The backup ran.") == 7076748480460082095


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("One two three. " * 100, 8766653954367938914),
        ("Größe, 部署 und 한국어 — \ud800", -6957446961248886421),
    ],
    ids=["more words than are counted at once", "letters beyond ASCII"],
)
def test_fingerprints_of_long_and_non_latin_texts_are_the_same_in_every_release(
    text: str, number: int
) -> None:
    assert simhash(text) == number


@given(st.lists(st.one_of(st.text(max_size=40), st.sampled_from([REPORT, REPORT * 4, "", "…"])), max_size=8))
def test_fingerprints_are_the_same_alone_and_in_a_batch(texts: list[str]) -> None:
    assert simhashes(texts) == [simhash(text) for text in texts]


@pytest.mark.parametrize(
    "edited",
    [
        REPORT.replace("three", "four").replace("Ben", "Carla").replace("once a week", "twice a week"),
        f"{REPORT}\nThe spare host is slow.",
    ],
    ids=["other words", "one more line"],
)
def test_an_edited_text_differs_in_few_bits(edited: str) -> None:
    assert 0 < bits_apart(simhash(REPORT), simhash(edited)) <= MAX_DIFFERENT_BITS


@pytest.mark.parametrize("other", OTHERS, ids=["decision", "recipe", "chinese"])
def test_unrelated_texts_have_distant_fingerprints(other: str) -> None:
    assert bits_apart(simhash(REPORT), simhash(other)) > MAX_DIFFERENT_BITS


def test_the_order_of_words_counts() -> None:
    backwards = " ".join(reversed(REPORT.split()))

    assert bits_apart(simhash(REPORT), simhash(backwards)) > 0
