"""The fact tools store, find and remove facts, and describe mistakes in calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
import trio

from memd.agents.agent import Agent
from memd.lifecycle.facts.facts import Facts
from memd.lifecycle.facts.tools import fact_tools
from memd.lifecycle.tools.definitions import STORE
from memd.lifecycle.tools.tools import Tools
from memd_client.errors import BadParamsError, NoteUnwritableError
from memd_client.facts import (
    FactRow,
    MemoryForgetParams,
    MemoryForgetReply,
    MemoryRecallParams,
    MemoryRecallReply,
    MemoryStoreParams,
    MemoryStoreReply,
)
from memd_client.limits import CATEGORIES
from memd_client.tooling import CallToolParams, CallToolReply
from tests.support.agents import unopened_agent

ROW = FactRow("f1", "Likes <b>tea</b>", 0.7, "preference", None, 0.91239, "memory/facts.md", 3)
SHOWN = {
    "id": "f1",
    "text": "Likes <b>tea</b>",
    "importance": 0.7,
    "category": "preference",
    "score": 0.9124,
    "path": "memory/facts.md",
    "line": 3,
}


class OneFact:
    """A single fact, which duplicates every text and matches every query."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.asked: list[Any] = []
        self.failure: Exception | None = None
        self.total = 1

    def _note(self, params: Any) -> None:
        self.asked.append(params)
        if self.failure is not None:
            raise self.failure

    async def store(self, params: MemoryStoreParams) -> MemoryStoreReply:
        """Keep what isn't about tea."""
        self._note(params)
        stored = "tea" not in params.text
        return MemoryStoreReply(
            "main",
            "f2" if stored else "f1",
            stored,
            "preference",
            "memory/facts.md",
            4,
            "words",
            None if stored else "f1",
            "" if stored else ROW.text,
        )

    async def recall(self, params: MemoryRecallParams) -> MemoryRecallReply:
        """Return it."""
        self._note(params)
        return MemoryRecallReply("main", [ROW][: self.total % 2], "words", self.total)

    async def forget(self, params: MemoryForgetParams) -> MemoryForgetReply:
        """Forget it by its id, else name it."""
        self._note(params)
        return MemoryForgetReply("main", ROW) if params.id else MemoryForgetReply("main", None, [ROW])


@pytest.fixture
def facts(tmp_path: Path) -> OneFact:
    return OneFact(unopened_agent(tmp_path))


def _call(facts: OneFact, name: str, arguments: Any) -> CallToolReply:
    tools = Tools(facts.agent, fact_tools(cast(Facts, facts)))
    return trio.run(tools.call, CallToolParams(name, arguments))


def test_a_fact_is_stored_with_what_the_model_said(facts: OneFact) -> None:
    reply = _call(facts, "memory_store", {"text": "Likes dogs", "importance": "0.9"})

    assert reply.ok
    assert reply.result == {"id": "f2", "stored": True, "category": "preference"}
    assert facts.asked == [MemoryStoreParams("Likes dogs", importance=0.9)]


def test_a_twin_is_named(facts: OneFact) -> None:
    result = _call(facts, "memory_store", {"text": "tea it is"}).result

    assert (result["stored"], result["duplicate_of"], result["duplicate_text"]) == (False, "f1", ROW.text)


def test_facts_are_found_with_their_ids(facts: OneFact) -> None:
    reply = _call(facts, "memory_recall", '{"query": "tea", "limit": 2}')

    assert reply.result == {"facts": [SHOWN], "total": 1}
    assert facts.asked == [MemoryRecallParams("tea", limit=2)]


@pytest.mark.parametrize(
    ("total", "reason"), [(0, "No facts are stored."), (12, "None of the 12 stored facts is near.")]
)
def test_a_recall_without_facts_says_why(facts: OneFact, total: int, reason: str) -> None:
    facts.total = total

    reply = _call(facts, "memory_recall", {"query": "tea"})

    assert reply.result == {"facts": [], "total": total, "reason": reason}


def test_forget_answers_with_the_fact_or_the_candidates(facts: OneFact) -> None:
    assert _call(facts, "memory_forget", {"id": "f1"}).result == {"forgotten": SHOWN, "candidates": []}
    assert _call(facts, "memory_forget", {"query": "x"}).result == {"forgotten": None, "candidates": [SHOWN]}


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("memory_forget", {}, "`id` or `query`"),
        ("memory_forget", {"id": "f1", "query": "tea"}, "`id` or `query`"),
        ("memory_store", {"text": "x" * 4_001}, "text of 1 to 4000 characters"),
        ("memory_store", {"text": " "}, "text of 1 to 4000 characters"),
        ("memory_store", {"text": "x", "category": "gossip"}, "one of preference"),
        ("memory_store", {"text": "x", "id": "mine"}, "no argument"),
        ("memory_recall", {}, "`query` is missing"),
    ],
)
def test_a_wrong_call_is_answered(facts: OneFact, name: str, arguments: Any, told: str) -> None:
    reply = _call(facts, name, arguments)

    assert not reply.ok
    assert told in reply.result["error"]
    assert facts.asked == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("memory_store", {"text": "x"}), ("memory_recall", {"query": "x"}), ("memory_forget", {"id": "x"})],
)
def test_what_the_facts_dont_take_is_answered_and_what_they_fail_of_is_raised(
    facts: OneFact, name: str, arguments: Any
) -> None:
    facts.failure = BadParamsError("there is no word in it")
    assert _call(facts, name, arguments).result["error"] == "there is no word in it"

    facts.failure = NoteUnwritableError("the disk is full")
    with pytest.raises(NoteUnwritableError):
        _call(facts, name, arguments)


def test_categories_are_those_of_the_facts() -> None:
    assert STORE.properties["category"]["enum"] == list(CATEGORIES)
