"""Abstention: queries without an answer return no hits, answerable queries do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from memd_client import Client
from memd_client.messages import SearchReply
from tests.support.models import minilm_path
from tests.support.retrieval import RetrievalQuery, load_queries, serve_set

SET = "abstention"

NOTHING_THERE = ("nonsense", "absent")
"""Groups of queries without an answer in the notes."""

ANSWERABLE = ("words", "paraphrase", "short", "zh", "de", "ja")
"""Groups with answers in the notes, in the same words or in paraphrases that a small English model recognizes: ranked
among the first three by vectors alone, and closer than 90 % of unrelated queries come to any chunk."""

MAX_WRONGLY_EMPTY = 0.06
"""Maximum share of answerable queries without hits in this set. Over a quarter of them are paraphrases without a common
word."""

REPORTED = ("near", "distant")
"""Groups without a threshold. `near` asks for something else about a person in the notes, and the note about the person
is acceptable. `distant` paraphrases so freely that the small model can't tell it from unrelated queries."""

HYBRID_SEARCH = {"provider": "local", "local": {"modelPath": "minilm"}}
KEYWORD_SEARCH = {"provider": "none"}


class SetReplies:
    """Replies to queries of the set, each searched on first use."""

    def __init__(self, client: Client, mode: str) -> None:
        self._client = client
        self._mode = mode
        self.replies: dict[RetrievalQuery, SearchReply] = {}

    def of(self, groups: Iterable[str], step: int = 1) -> dict[RetrievalQuery, SearchReply]:
        """Return the replies to every `step`-th query of some groups."""
        wanted = set(groups)
        queries = [asked for asked in load_queries(SET) if asked.group in wanted]
        return {asked: self._ask(asked) for asked in queries[::step]}

    def _ask(self, asked: RetrievalQuery) -> SearchReply:
        if asked not in self.replies:
            reply = self._client.search(asked.query)
            assert reply.mode == self._mode
            self.replies[asked] = reply
        return self.replies[asked]

    def share(self, groups: Iterable[str], holds: Callable[[SearchReply], bool]) -> float:
        """Return the share of replies of some groups for which a condition is true."""
        replies = self.of(groups).values()
        return sum(map(holds, replies)) / len(replies)

    def report(self) -> str:
        """Return shares by group and the failed queries, for the message of a failed test."""
        lines = []
        for group in Counter(asked.group for asked in self.replies):
            replies = self.of([group])
            share = self.share([group], is_abstained)
            wrong = [asked for asked, reply in replies.items() if is_abstained(reply) == bool(asked.relevant)]
            lines.append(f"{group}: {share:.3f} of {len(replies)} abstained")
            lines += [f"    {asked.id}  {asked.query}" for asked in wrong]
        return "\n".join(lines)


def is_abstained(reply: SearchReply) -> bool:
    """Return whether a reply is empty and reports an abstention."""
    return not reply.hits and reply.abstained


@contextmanager
def answering(search: Mapping[str, Any], mode: str) -> Iterator[SetReplies]:
    """Run a daemon inside the block."""
    with serve_set(SET, search) as client:
        yield SetReplies(client, mode)


@pytest.fixture(scope="module")
def hybrid_replies() -> Iterator[SetReplies]:
    """Replies of hybrid search with a small local model."""
    minilm_path()
    with answering(HYBRID_SEARCH, "hybrid") as answers:
        yield answers


@pytest.fixture(scope="module")
def keyword_replies() -> Iterator[SetReplies]:
    """Replies of keyword search."""
    with answering(KEYWORD_SEARCH, "keyword") as answers:
        yield answers


def test_the_set_is_large_enough() -> None:
    sizes = Counter(asked.group for asked in load_queries(SET))

    assert sizes["nonsense"] >= 60
    assert sizes["absent"] >= 180
    assert sizes["near"] >= 40
    assert sum(sizes[group] for group in ANSWERABLE) >= 240
    assert set(sizes) == {*NOTHING_THERE, *ANSWERABLE, *REPORTED}
    answerable = {*ANSWERABLE, "distant"}
    assert all(bool(asked.relevant) == (asked.group in answerable) for asked in load_queries(SET))


@pytest.mark.long
@pytest.mark.model
def test_queries_without_an_answer_return_no_hits(hybrid_replies: SetReplies) -> None:
    abstained = hybrid_replies.share(NOTHING_THERE, is_abstained)

    assert abstained >= 0.90, hybrid_replies.report()


@pytest.mark.model
def test_answerable_queries_return_hits(hybrid_replies: SetReplies) -> None:
    empty = hybrid_replies.share(ANSWERABLE, lambda reply: not reply.hits)

    assert empty <= MAX_WRONGLY_EMPTY, hybrid_replies.report()


def test_keyword_search_returns_no_hits_for_nonsense(keyword_replies: SetReplies) -> None:
    abstained = keyword_replies.share(["nonsense"], is_abstained)

    assert abstained >= 0.95, keyword_replies.report()


def test_keyword_search_finds_a_word_of_the_notes(keyword_replies: SetReplies) -> None:
    unanswered = [
        asked.query for asked, reply in keyword_replies.of(["words", "short"]).items() if not reply.hits
    ]

    assert unanswered == [], keyword_replies.report()


@pytest.mark.model
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)])
def test_an_empty_reply_reports_no_relevant_results(hybrid_replies: SetReplies, step: int) -> None:
    replies = hybrid_replies.of((*NOTHING_THERE, *ANSWERABLE, *REPORTED), step)

    unclear = [asked.query for asked, reply in replies.items() if bool(reply.hits) == reply.abstained]

    assert unclear == []
