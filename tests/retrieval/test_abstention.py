"""What memory doesn't hold is answered with nothing, and what it holds is never answered with nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from memd_client import Client
from memd_client.messages import SearchReply
from tests.support.models import minilm_path
from tests.support.retrieval import Asked, load_set, serving

SET = "abstention"

NOTHING_THERE = ("nonsense", "absent")
"""Groups about which the notes say nothing at all."""

ANSWERABLE = ("words", "paraphrase", "short", "zh", "de", "ja")
"""Groups whose answers stand in the notes, in the same words or in others that a small English model takes for them:
among the first three places by meaning alone, and nearer than nine of ten unrelated questions come to any place."""

WRONGLY_EMPTY = 0.06
"""Most answerable questions of this set that may get nothing. Over a quarter of them are paraphrases without a word of
their answer; of the answerable questions of all three sets together it is 0.015 (docs/ranking.md)."""

REPORTED = ("near", "distant")
"""Groups without a bar. `near` asks for something else of whom the notes do name: the note about them is a fair
answer. `distant` says it in words so far from the note's that the small model can't tell it from an unrelated one."""

BY_BOTH = {"provider": "local", "local": {"modelPath": "minilm"}}
BY_WORDS = {"provider": "none"}


class Answers:
    """The replies to questions of the set, each asked when it is wanted first."""

    def __init__(self, client: Client, mode: str) -> None:
        self._client = client
        self._mode = mode
        self.replies: dict[Asked, SearchReply] = {}

    def of(self, groups: Iterable[str], step: int = 1) -> dict[Asked, SearchReply]:
        """Return the replies to every `step`-th question of some groups."""
        wanted = set(groups)
        questions = [asked for asked in load_set(SET) if asked.group in wanted]
        return {asked: self._ask(asked) for asked in questions[::step]}

    def _ask(self, asked: Asked) -> SearchReply:
        if asked not in self.replies:
            reply = self._client.search(asked.query)
            assert reply.mode == self._mode
            self.replies[asked] = reply
        return self.replies[asked]

    def share(self, groups: Iterable[str], holds: Callable[[SearchReply], bool]) -> float:
        """Return the share of the replies of some groups of which something holds."""
        replies = self.of(groups).values()
        return sum(map(holds, replies)) / len(replies)

    def report(self) -> str:
        """Return what a reader of a failed test wants: shares by group, then what went wrong, by group."""
        lines = []
        for group in Counter(asked.group for asked in self.replies):
            replies = self.of([group])
            share = self.share([group], is_abstained)
            wrong = [asked for asked, reply in replies.items() if is_abstained(reply) == bool(asked.relevant)]
            lines.append(f"{group}: {share:.3f} of {len(replies)} abstained")
            lines += [f"    {asked.id}  {asked.query}" for asked in wrong]
        return "\n".join(lines)


def is_abstained(reply: SearchReply) -> bool:
    """Return whether a reply is empty and says so."""
    return not reply.hits and reply.abstained


@contextmanager
def answering(search: Mapping[str, Any], mode: str) -> Iterator[Answers]:
    """Have one daemon answer inside the block."""
    with serving(SET, search) as client:
        yield Answers(client, mode)


@pytest.fixture(scope="module")
def by_both() -> Iterator[Answers]:
    """The answers of words and a small local model."""
    minilm_path()
    with answering(BY_BOTH, "hybrid") as answers:
        yield answers


@pytest.fixture(scope="module")
def by_words() -> Iterator[Answers]:
    """The answers of words alone."""
    with answering(BY_WORDS, "keyword") as answers:
        yield answers


def test_the_set_is_large_enough_to_tell() -> None:
    sizes = Counter(asked.group for asked in load_set(SET))

    assert sizes["nonsense"] >= 60
    assert sizes["absent"] >= 180
    assert sizes["near"] >= 40
    assert sum(sizes[group] for group in ANSWERABLE) >= 240
    assert set(sizes) == {*NOTHING_THERE, *ANSWERABLE, *REPORTED}
    answerable = {*ANSWERABLE, "distant"}
    assert all(bool(asked.relevant) == (asked.group in answerable) for asked in load_set(SET))


@pytest.mark.long
@pytest.mark.model
def test_what_memory_does_not_hold_is_answered_with_nothing(by_both: Answers) -> None:
    abstained = by_both.share(NOTHING_THERE, is_abstained)

    assert abstained >= 0.90, by_both.report()


@pytest.mark.model
def test_what_memory_holds_is_not_answered_with_nothing(by_both: Answers) -> None:
    empty = by_both.share(ANSWERABLE, lambda reply: not reply.hits)

    assert empty <= WRONGLY_EMPTY, by_both.report()


def test_nonsense_is_answered_with_nothing_by_words_alone(by_words: Answers) -> None:
    abstained = by_words.share(["nonsense"], is_abstained)

    assert abstained >= 0.95, by_words.report()


def test_a_word_that_stands_in_the_notes_is_found_by_words_alone(by_words: Answers) -> None:
    unanswered = [asked.query for asked, reply in by_words.of(["words", "short"]).items() if not reply.hits]

    assert unanswered == [], by_words.report()


@pytest.mark.model
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)])
def test_an_empty_answer_says_that_nothing_is_relevant(by_both: Answers, step: int) -> None:
    replies = by_both.of((*NOTHING_THERE, *ANSWERABLE, *REPORTED), step)

    unclear = [asked.query for asked, reply in replies.items() if bool(reply.hits) == reply.abstained]

    assert unclear == []
