"""`memctl facts add`, `edit` and `forget`: what is asked for, said, and refused before anything is sent."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import pytest

from memd_client.errors import FactChangedError, FactMissingError
from memd_client.facts import (
    FactRow,
    MemoryEditReply,
    MemoryForgetReply,
    MemoryRecallReply,
    MemoryStoreReply,
)
from tests.unit.cli.stage import Ran, memctl

TEA = FactRow("01J", "I like tea", 0.7, "preference", 1_795_348_800_000, 0.8, "memory/facts.md", 3)
MATE = replace(TEA, id="01K", text="I like mate", line=4, score=0.5)

STORED = MemoryStoreReply("main", "01J", True, "preference", "memory/facts.md", 3, "words")
EDITED = MemoryEditReply("main", "01J", True, "preference", "memory/facts.md", 3)


def test_a_fact_is_stored_with_what_is_known_of_it() -> None:
    options = ["--category", "preference", "--importance", "0.5", "--agent", "work"]
    ran = memctl("facts", "add", "I", "like", "tea", *options, memory_store=STORED)

    asked = {"text": "I like tea", "agent": "work", "importance": 0.5, "category": "preference"}
    assert ran.client.calls == [("memory_store", asked)]
    assert (ran.code, ran.out) == (0, "stored  memory/facts.md:3  preference · 01J\n")


def test_a_fact_that_is_known_is_shown() -> None:
    known = replace(STORED, stored=False, duplicate_of="01J", duplicate_text="I like tea")

    ran = memctl("facts", "add", "I like tea!", memory_store=known)

    assert (ran.code, ran.out) == (
        0,
        "known already  memory/facts.md:3  preference · 01J\n  I like tea\n",
    )


def test_a_fact_is_changed() -> None:
    ran = memctl("facts", "edit", "01J", "I", "like", "mate", "--was", "I like tea", memory_edit=EDITED)

    asked = {"id": "01J", "text": "I like mate", "agent": None, "was": "I like tea"}
    assert ran.client.calls == [("memory_edit", {**asked, "importance": None, "category": None})]
    assert (ran.code, ran.out) == (0, "changed  memory/facts.md:3  preference · 01J\n")


def test_a_change_to_what_another_fact_says_is_not_made_and_exits_1() -> None:
    known = replace(EDITED, stored=False, duplicate_of="01K", duplicate_text="I like mate")

    ran = memctl("facts", "edit", "01J", "I like mate", memory_edit=known)
    script = memctl("facts", "edit", "01J", "I like mate", "--json", memory_edit=known)

    assert (ran.code, script.code) == (1, 1)
    assert ran.out == "not changed: fact 01K says so already\n  I like mate\n"
    assert json.loads(script.out)["duplicate_of"] == "01K"


@pytest.mark.parametrize(
    ("error", "code", "hint"),
    [
        (FactMissingError("there is no fact 'x'"), "fact_missing", "`memctl facts list` shows"),
        (FactChangedError("it says something else"), "fact_changed", "List the facts again"),
    ],
)
def test_a_conflict_or_a_missing_id_says_what_to_do(error: Exception, code: str, hint: str) -> None:
    ran = memctl("facts", "edit", "x", "I like mate", memory_edit=error)

    assert (ran.code, ran.out) == (1, "")
    assert hint in ran.err
    assert f"code: {code}" in ran.err


def store(*facts: FactRow, sure: bool = False) -> dict[str, Any]:
    """Return the replies of a daemon that has these facts, the first of which a query means most."""
    left = {each.id: each for each in facts}

    def forget(*, id: str | None, agent: str | None, query: str | None = None) -> MemoryForgetReply:  # noqa: A002
        if query is not None and sure:
            id = facts[0].id  # noqa: A001
        gone = left.pop(id, None) if id is not None else None
        return MemoryForgetReply("main", gone, [] if gone or query is None else list(left.values()), "words")

    def recall(*, query: str, agent: str | None, limit: int, min_score: float) -> MemoryRecallReply:
        return MemoryRecallReply("main", list(left.values())[:limit], "words", len(left))

    return {"memory_forget": forget, "memory_recall": recall}


class Keyboard(io.StringIO):
    """A terminal on which something was typed."""

    def isatty(self) -> bool:
        return True


def forget(typed: str | None, *words: str, monkeypatch: pytest.MonkeyPatch, **replies: Any) -> Ran:
    """Run `memctl facts forget` on a terminal where something is typed, or on none."""
    monkeypatch.setattr("sys.stdin", io.StringIO() if typed is None else Keyboard(typed))
    return memctl("facts", "forget", *words, **replies)


def forgotten(ran: Ran) -> list[str]:
    """Return the ids that were asked to be removed."""
    return [params["id"] for name, params in ran.client.calls if name == "memory_forget" and params["id"]]


def test_an_id_removes_its_fact_without_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = forget(None, "01J", monkeypatch=monkeypatch, **store(TEA, MATE))

    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "forgotten  memory/facts.md:3  preference · 01J\n  I like tea\n"
    assert [name for name, _ in ran.client.calls] == ["memory_forget"]


def test_a_query_shows_its_one_fact_and_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = forget("n\n", "what", "I", "drink", monkeypatch=monkeypatch, **store(TEA))
    removed = forget("y\n", "what", "I", "drink", monkeypatch=monkeypatch, **store(TEA))

    assert (kept.code, forgotten(kept)) == (130, [])
    assert (removed.code, forgotten(removed)) == (0, ["01J"])
    assert removed.out.startswith("1. memory/facts.md:3  2026-11-22 · preference · importance 0.7 · 01J\n")
    assert removed.out.endswith("forgotten  memory/facts.md:3  preference · 01J\n  I like tea\n")


def test_a_query_that_may_mean_several_facts_asks_which(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = forget("\n", "what I drink", monkeypatch=monkeypatch, **store(TEA, MATE))
    removed = forget("7\n2\n", "what I drink", monkeypatch=monkeypatch, **store(TEA, MATE))

    assert (kept.code, forgotten(kept)) == (130, [])
    assert (removed.code, forgotten(removed)) == (0, ["01K"])


def test_without_a_terminal_nothing_is_removed_by_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = forget(None, "what I drink", monkeypatch=monkeypatch, **store(TEA, MATE))
    script = forget(None, "what I drink", "--json", monkeypatch=monkeypatch, **store(TEA, MATE))

    assert (ran.code, forgotten(ran)) == (2, [])
    assert "there is no terminal to ask on" in ran.err
    assert (script.code, forgotten(script)) == (2, [])
    document = json.loads(script.out)
    assert (document["forgotten"], [each["id"] for each in document["candidates"]]) == (None, ["01J", "01K"])


@pytest.mark.parametrize(("sure", "code"), [(True, 0), (False, 1)])
def test_yes_removes_only_what_a_query_clearly_means(
    sure: bool, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = store(TEA, MATE, sure=sure)
    ran = forget(None, "--yes", "what I drink", monkeypatch=monkeypatch, **replies)

    assert ran.code == code
    assert ("forgotten  memory/facts.md:3" in ran.out) is sure
    assert ("not clear which fact is meant" in ran.err) is not sure


@pytest.mark.parametrize("words", [["zebra"], ["--yes", "striped zebra"]])
def test_a_query_that_means_nothing_is_an_error(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ran = forget(None, *words, monkeypatch=monkeypatch, **store())

    assert (ran.code, ran.out) == (1, "")
    assert "code: fact_missing" in ran.err
    assert "`memctl facts list` shows" in ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add", ""], "it is empty"),
        (["add", "?!"], "it has no letter or digit"),
        (["add", "é" * 4_001], "it has more than 4,000 characters"),
        (["add", "x" * 16_001], "it has more than 4,000 characters"),
        (["add", "--importance", "nan", "x"], "nan is not in the range 0<=x<=1."),
        (["add", "--importance", "1.1", "x"], "1.1 is not in the range 0<=x<=1."),
        (["edit", "01J", " "], "it is empty"),
        (["edit", "x" * 129, "tea"], "it has 129 characters; at most 128 are possible."),
        (["forget", "?"], "'?' has no letter, digit or symbol"),
    ],
)
def test_what_is_no_fact_is_refused_before_anything_is_sent(arguments: list[str], message: str) -> None:
    ran = memctl("facts", *arguments)

    assert (ran.code, ran.out, ran.opened) == (2, "", 0)
    assert message in ran.err.splitlines()[0]
