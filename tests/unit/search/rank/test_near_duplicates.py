"""Near duplicates map to the best similar text; distinct texts stay."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.search.rank.near_duplicates import MAX_DIFFERENT_BITS, MIN_JACCARD, MIN_WORDS, NearDuplicates
from memd.text.cut.simhash import simhashes

TEMPLATE = """Daily report of the nightly backup job. Host alpha finished in {0} minutes and wrote {1} files to the
archive. Checks of the restored copy passed, nobody had to be called, and the next run is planned as usual on {2}."""

DECISION = """We chose PostgreSQL over MySQL for the catalog because of its JSON columns and its partial indexes; moving
the old data takes a weekend, the shop stays open, orders are written to both until Monday."""

VOCABULARY = [f"word{at}" for at in range(40)]


class CountedTexts:
    """Texts by id that count how often they are loaded."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self.texts = texts
        self.asked: list[list[int]] = []

    def load(self, ids: list[int]) -> Mapping[int, str]:
        """Return the texts of some ids."""
        self.asked.append(ids)
        return {key: self.texts[key] for key in ids}


def grouped(texts: Mapping[int, str], numbers: Mapping[int, int] | None = None) -> dict[int, int]:
    """Return the original of each candidate; the order of the texts is the ranking."""
    if numbers is None:
        numbers = dict(zip(texts, simhashes(list(texts.values())), strict=True))
    return firsts(list(texts), numbers, CountedTexts(texts))


def firsts(ids: list[int], numbers: Mapping[int, int], texts: CountedTexts) -> dict[int, int]:
    """Return the original of each candidate, requested from last to first: the order of requests is irrelevant."""
    repeats = NearDuplicates(ids, [numbers[key] for key in ids], texts.load)
    found = {key: first_of(repeats, key) for key in reversed(ids)}
    assert repeats.find_originals(ids) == found
    groups = {key: [key, *(each for each in ids if found[each] == key != each)] for key in found.values()}
    assert {key: repeats.find_groups([key])[key] for key in groups} == groups
    assert repeats.find_groups(groups.keys()) == groups
    return {key: found[key] for key in ids}


def first_of(repeats: NearDuplicates, key: int) -> int:
    """Return the original of one candidate."""
    return repeats.find_originals([key])[key]


def words(first: int, last: int) -> str:
    """Return the words of the vocabulary from `first` up to `last`."""
    return " ".join(f"word{at}" for at in range(first, last))


def share(one: str, other: str) -> float:
    """Return the share of common words of two texts."""
    left, right = set(one.split()), set(other.split())
    return len(left & right) / len(left | right)


@given(st.lists(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=40).map(" ".join), max_size=8))
def test_each_duplicate_maps_to_a_better_similar_original(lines: list[str]) -> None:
    texts = {100 - at: line for at, line in enumerate(lines)}
    place = {key: at for at, key in enumerate(texts)}

    first = grouped(texts, dict.fromkeys(texts, 5))

    assert first.keys() == texts.keys()
    for key, best in first.items():
        assert first[best] == best
        assert place[best] <= place[key]
        assert key == best or share(texts[key], texts[best]) >= MIN_JACCARD
    firsts = [key for key in texts if first[key] == key]
    for at, one in enumerate(firsts):
        for other in firsts[at + 1 :]:
            assert set(texts[one].split()) != set(texts[other].split())


def test_copies_map_to_the_best_for_any_ids() -> None:
    assert grouped({7: DECISION, 3: TEMPLATE, 9: DECISION, 1: DECISION}) == {7: 7, 3: 3, 9: 7, 1: 7}


def test_a_template_with_other_numbers_is_a_near_duplicate() -> None:
    days = ["Monday", "Tuesday", "Wednesday"]
    texts = {at: TEMPLATE.format(10 + at, 4000 + 31 * at, day) for at, day in enumerate(days)}

    assert grouped(texts) == {0: 0, 1: 0, 2: 0}


def test_a_template_with_other_words_is_distinct() -> None:
    one = TEMPLATE.format(12, 4031, "Monday")
    other = one.replace("passed, nobody had to be called", "failed at once, Ann was woken up by Ben").replace(
        "finished in 12 minutes and wrote 4031 files",
        "stopped after half of its tables, since the disk was full,",
    )

    assert grouped({1: one, 2: other}) == {1: 1, 2: 2}


def test_case_punctuation_and_line_ends_are_ignored() -> None:
    other = DECISION.upper().replace(" ", "\n- ")

    assert grouped({1: DECISION, 2: other}) == {1: 1, 2: 1}


def test_chinese_is_compared_letter_by_letter() -> None:
    note = "我们决定下周发布新版本。安娜负责检查备份,本负责更新文档。如果星期五之前测试没有通过,就推迟到下个月再说。"

    assert grouped({1: note, 2: note.replace("下周", "下月")}) == {1: 1, 2: 1}


@pytest.mark.parametrize(
    ("one", "other", "is_alike"),
    [
        ("Standup at 9", "Standup at 10", False),
        ("Standup at 9", "standup, at 9!", True),
        (words(0, MIN_WORDS - 1), words(0, MIN_WORDS), False),
        (words(0, MIN_WORDS), words(0, MIN_WORDS + 1), True),
        (words(0, 40), words(0, MIN_WORDS - 1), False),
        (words(0, 16), words(0, 20), True),
        (words(0, 15), words(0, 20), False),
        (words(0, 18), words(2, 20), True),
        (words(0, 17), words(3, 20), False),
    ],
)
def test_short_texts_must_be_equal_and_longer_ones_share_80_percent_of_words(
    one: str, other: str, is_alike: bool
) -> None:
    assert grouped({1: one, 2: other}, {1: 5, 2: 5})[2] == (1 if is_alike else 2)


def test_a_text_similar_to_a_duplicate_alone_is_an_original() -> None:
    texts = {1: words(0, 20), 2: words(2, 22), 3: words(4, 24)}

    # The third is similar to the second, a duplicate of the first, but not to the first.
    assert grouped(texts, dict.fromkeys(texts, 5)) == {1: 1, 2: 1, 3: 3}


def test_the_next_text_of_a_chain_maps_to_the_second_original() -> None:
    texts = {1: words(0, 20), 2: words(2, 22), 3: words(4, 24), 4: words(5, 25)}

    assert grouped(texts, dict.fromkeys(texts, 5)) == {1: 1, 2: 1, 3: 3, 4: 3}


def test_a_duplicate_of_two_originals_maps_to_the_better() -> None:
    texts = {1: words(0, 20), 2: words(4, 24), 3: words(2, 22)}

    assert grouped(texts, dict.fromkeys(texts, 5)) == {1: 1, 2: 2, 3: 1}


@pytest.mark.parametrize(
    ("bits", "is_alike"),
    [(0, True), (1, True), (MAX_DIFFERENT_BITS, True), (MAX_DIFFERENT_BITS + 1, False), (63, False)],
)
def test_texts_with_distant_fingerprints_are_not_compared(bits: int, is_alike: bool) -> None:
    texts = CountedTexts({1: DECISION, 2: DECISION})

    first = firsts([1, 2], {1: -1, 2: -1 ^ ((1 << bits) - 1)}, texts)

    assert first == {1: 1, 2: 1 if is_alike else 2}
    assert len(texts.asked) == is_alike


def test_a_fingerprint_of_0_matches_nothing() -> None:
    assert grouped({1: DECISION, 2: DECISION, 3: DECISION}, {1: 0, 2: 0, 3: 1}) == {1: 1, 2: 2, 3: 3}


def test_texts_with_similar_fingerprints_are_loaded_once() -> None:
    texts = CountedTexts({1: DECISION, 2: TEMPLATE, 3: DECISION, 4: TEMPLATE})

    firsts([1, 2, 3, 4], {1: 7, 2: 2**62 - 1, 3: 7, 4: -(2**32)}, texts)

    assert texts.asked == [[1, 3]]


@pytest.mark.parametrize("texts", [{}, {4: DECISION}])
def test_a_single_text_is_an_original(texts: dict[int, str]) -> None:
    loaded = CountedTexts(texts)

    assert firsts(list(texts), {4: 5}, loaded) == {key: key for key in texts}
    assert loaded.asked == []


def test_texts_outside_the_request_are_not_loaded() -> None:
    texts = CountedTexts(dict.fromkeys(range(1, 60), DECISION))
    repeats = NearDuplicates(list(texts.texts), [7] * 58 + [2**62 - 1], texts.load)

    assert first_of(repeats, 59) == 59
    assert texts.asked == []
    assert first_of(repeats, 2) == 1
    assert texts.asked == [[1, 2]]


def test_a_long_chain_is_resolved_without_recursion() -> None:
    texts = {at: words(2 * at, 2 * at + 20) for at in range(1_200)}  # longer than Python's recursion limit

    assert first_of(NearDuplicates(list(texts), [5] * len(texts), CountedTexts(texts).load), 1_199) == 1_198
