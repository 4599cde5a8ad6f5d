"""`memctl facts`: facts listed, added, edited, forgotten and imported."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import click
import pytest

from memd.cli import lancedb
from memd.cli.connect import Session
from memd.cli.facts import command
from memd.cli.lancedb import FoundFact
from memd.cli.main import root
from memd.cli.output import Output, Stream
from memd_client import Client
from memd_client.errors import BadParamsError, FactChangedError, FactMissingError, FileMissingError
from memd_client.facts import (
    FactRow,
    MemoryEditReply,
    MemoryForgetReply,
    MemoryRecallReply,
    MemoryStoreReply,
)
from tests.unit.cli.stage import Ran, memctl

ROW = FactRow("01J", "I prefer dark mode", 0.75, "preference", 1_795_348_800_000, 0.0, "memory/facts.md", 3)


@dataclass
class FakeClient:
    """A client that keeps facts in memory."""

    facts: list[FactRow] = field(default_factory=list)
    total: int | None = None
    stored: dict[str, dict[str, Any]] = field(default_factory=dict)

    def status(self) -> Any:
        return SimpleNamespace(state_dir="/home/ann/.openclaw")

    def memory_recall(self, query: str, **params: Any) -> MemoryRecallReply:
        assert (query, params["min_score"]) == ("", 0.0)
        total = len(self.facts) if self.total is None else self.total
        return MemoryRecallReply(params["agent"] or "main", self.facts, "none", total)

    def memory_store(self, text: str, **facts: Any) -> MemoryStoreReply:
        fact_id = facts.pop("id")
        if len(text) > 50:
            raise BadParamsError("memory_store: `text` must have from 1 to 50 characters")
        known = fact_id in self.stored
        self.stored.setdefault(fact_id, {"text": text, **facts})
        reply = MemoryStoreReply("main", fact_id, not known, "fact", "memory/facts.md", 3, "id")
        return replace(reply, vector_used=facts["vector"] is not None)

    def close(self) -> None:
        """End the conversation."""


def ran(client: FakeClient, *arguments: str) -> tuple[str, str]:
    """Run `memctl facts` and return what it wrote to both streams."""
    out, err = io.StringIO(), io.StringIO()
    output = Output(Stream(out, terminal=False), Stream(err, terminal=False), lambda: 0.0)
    session = Session(lambda: cast(Client, client), output, lambda: 0)
    root.main(["facts", *arguments], standalone_mode=False, obj=session)
    return out.getvalue(), err.getvalue()


def test_facts_are_listed_with_their_lines() -> None:
    by_hand = replace(ROW, text="tea\x1b[2J", created_ms=None, category="other", line=12)

    out, err = ran(FakeClient([ROW, by_hand]), "list")

    assert out.splitlines() == [
        "memory/facts.md:3  2026-11-22 · preference · importance 0.75 · 01J",
        "  I prefer dark mode",
        "memory/facts.md:12  other · importance 0.75 · 01J",
        "  tea\\x1b[2J",
    ]
    assert err == ""


def test_no_facts_is_said_beside_the_answer() -> None:
    out, err = ran(FakeClient(), "list", "--agent", "other")

    assert out == ""
    assert "agent other keeps no facts" in err


def test_more_facts_than_are_listed_are_counted() -> None:
    assert "1,999 more stand in memory/facts.md" in ran(FakeClient([ROW], total=2_000), "list")[1]


def test_a_script_gets_the_reply() -> None:
    assert json.loads(ran(FakeClient([ROW]), "list", "--json")[0])["facts"][0]["text"] == "I prefer dark mode"


FOUND = [
    FoundFact("a", "I prefer dark mode", 0.8, "preference", 1, b"\0\0\x80?"),
    FoundFact("b", "Anna lives in Lisbon", None, "mood", None),
    FoundFact("c", "x" * 51, 0.5, "other", 2),
]


def found_in(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Have a database hold FOUND; return the folders it was looked for in."""
    folders: list[Path] = []

    def load_table(folder: Path) -> list[FoundFact]:
        folders.append(folder)
        return FOUND

    monkeypatch.setattr(lancedb, "load_table", load_table)
    return folders


def test_facts_are_taken_over_with_what_is_known_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    folders, client = found_in(monkeypatch), FakeClient()

    out, err = ran(client, "import")

    assert folders == [Path("/home/ann/.openclaw/memory/lancedb")]
    assert client.stored == {
        "a": {
            "text": "I prefer dark mode",
            "agent": None,
            "importance": 0.8,
            "category": "preference",
            "created_ms": 1,
            "vector": b"\0\0\x80?",
            "vector_model": "text-embedding-3-small",
        },
        "b": {
            "text": "Anna lives in Lisbon",
            "agent": None,
            "importance": None,
            "category": None,
            "created_ms": None,
            "vector": None,
            "vector_model": "text-embedding-3-small",
        },
    }
    assert out == "3 facts found: 2 stored, 0 known already; vectors taken over: 1\n"
    assert "c is left out: memory_store: `text` must have" in err


def test_a_second_import_adds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found_in(monkeypatch)
    client = FakeClient()
    ran(client, "import")

    out, _ = ran(client, "import", "--json")

    report = json.loads(out)
    assert (report["stored"], report["known"], [each["id"] for each in report["refused"]]) == (0, 2, ["c"])


def test_another_folder_and_agent_may_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folders, client = found_in(monkeypatch), FakeClient()

    ran(client, "import", str(tmp_path), "--agent", "other")

    assert folders == [tmp_path]
    assert {each["agent"] for each in client.stored.values()} == {"other"}


def test_where_there_is_no_database_the_way_out_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileMissingError, match="LanceDB"):
        ran(FakeClient(), "import", str(tmp_path / "nothing"))


def test_help_names_all_commands() -> None:
    assert isinstance(command, click.Group)
    assert set(command.commands) == {"list", "add", "edit", "forget", "import"}


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
