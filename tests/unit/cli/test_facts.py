"""`memctl facts`: facts listed, added, edited, forgotten and imported."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import click
import pytest
from msgspec.structs import replace

from memd.cli import lancedb
from memd.cli.connect import CliSession
from memd.cli.facts import command
from memd.cli.lancedb import LanceDbFact
from memd.cli.main import root
from memd.cli.output import Output, OutputStream
from memd_client import Client
from memd_client.errors import BadParamsError, FactChangedError, FactMissingError, FileMissingError
from memd_client.facts import (
    FactRow,
    MemoryEditReply,
    MemoryForgetReply,
    MemoryRecallReply,
    MemoryStoreReply,
)
from tests.unit.cli.memctl_runner import MemctlResult, memctl

ROW = FactRow("01J", "I prefer dark mode", 0.75, "preference", 1_795_348_800_000, 0.0, "memory/facts.md", 3)


@dataclass
class FactsClient:
    """A client that stores facts in a list."""

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
        """Close the client."""


def ran(client: FactsClient, *arguments: str) -> tuple[str, str]:
    """Run `memctl facts` and return what it wrote to both streams."""
    out, err = io.StringIO(), io.StringIO()
    output = Output(OutputStream(out, terminal=False), OutputStream(err, terminal=False), lambda: 0.0)
    session = CliSession(lambda: cast(Client, client), output, lambda: 0)
    root.main(["facts", *arguments], standalone_mode=False, obj=session)
    return out.getvalue(), err.getvalue()


def test_facts_are_listed_with_their_locations() -> None:
    by_hand = replace(ROW, text="tea\x1b[2J", created_ms=None, category="other", line=12)

    out, err = ran(FactsClient([ROW, by_hand]), "list")

    assert out.splitlines() == [
        "memory/facts.md:3  2026-11-22 · preference · importance 0.75 · 01J",
        "  I prefer dark mode",
        "memory/facts.md:12  other · importance 0.75 · 01J",
        "  tea\\x1b[2J",
    ]
    assert err == ""


def test_list_without_facts_prints_a_note() -> None:
    out, err = ran(FactsClient(), "list", "--agent", "other")

    assert out == ""
    assert "agent other has no facts" in err


def test_more_facts_than_are_listed_are_counted() -> None:
    assert "1,999 more in memory/facts.md" in ran(FactsClient([ROW], total=2_000), "list")[1]


def test_a_script_gets_the_reply() -> None:
    assert (
        json.loads(ran(FactsClient([ROW]), "list", "--json")[0])["facts"][0]["text"] == "I prefer dark mode"
    )


FOUND = [
    LanceDbFact("a", "I prefer dark mode", 0.8, "preference", 1, b"\0\0\x80?"),
    LanceDbFact("b", "Anna lives in Lisbon", None, "mood", None),
    LanceDbFact("c", "x" * 51, 0.5, "other", 2),
]


def found_in(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Make every database contain FOUND; return the folders that are read."""
    folders: list[Path] = []

    def load_table(folder: Path) -> list[LanceDbFact]:
        folders.append(folder)
        return FOUND

    monkeypatch.setattr(lancedb, "load_table", load_table)
    return folders


def test_import_keeps_ids_categories_and_dates(monkeypatch: pytest.MonkeyPatch) -> None:
    folders, client = found_in(monkeypatch), FactsClient()

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
    assert out == "3 facts found: 2 stored, 0 stored already, 1 vector reused\n"
    assert "c was not imported: memory_store: `text` must have" in err


def test_a_second_import_adds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found_in(monkeypatch)
    client = FactsClient()
    ran(client, "import")

    out, _ = ran(client, "import", "--json")

    report = json.loads(out)
    assert (report["stored"], report["known"], [each["id"] for each in report["refused"]]) == (0, 2, ["c"])


def test_import_accepts_a_folder_and_an_agent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folders, client = found_in(monkeypatch), FactsClient()

    ran(client, "import", str(tmp_path), "--agent", "other")

    assert folders == [tmp_path]
    assert {each["agent"] for each in client.stored.values()} == {"other"}


def test_missing_database_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(FileMissingError, match="LanceDB"):
        ran(FactsClient(), "import", str(tmp_path / "nothing"))


def test_help_lists_all_commands() -> None:
    assert isinstance(command, click.Group)
    assert set(command.commands) == {"list", "add", "edit", "forget", "import"}


TEA = FactRow("01J", "I like tea", 0.7, "preference", 1_795_348_800_000, 0.8, "memory/facts.md", 3)
MATE = replace(TEA, id="01K", text="I like mate", line=4, score=0.5)

STORED = MemoryStoreReply("main", "01J", True, "preference", "memory/facts.md", 3, "words")
EDITED = MemoryEditReply("main", "01J", True, "preference", "memory/facts.md", 3)


def test_fact_is_stored_with_its_properties() -> None:
    options = ["--category", "preference", "--importance", "0.5", "--agent", "work"]
    ran = memctl("facts", "add", "I", "like", "tea", *options, memory_store=STORED)

    asked = {"text": "I like tea", "agent": "work", "importance": 0.5, "category": "preference"}
    assert ran.client.calls == [("memory_store", asked)]
    assert (ran.code, ran.out) == (0, "stored  memory/facts.md:3  preference · 01J\n")


def test_duplicate_fact_is_shown() -> None:
    known = replace(STORED, stored=False, duplicate_of="01J", duplicate_text="I like tea")

    ran = memctl("facts", "add", "I like tea!", memory_store=known)

    assert (ran.code, ran.out) == (
        0,
        "stored already  memory/facts.md:3  preference · 01J\n  I like tea\n",
    )


def test_a_fact_is_changed() -> None:
    ran = memctl("facts", "edit", "01J", "I", "like", "mate", "--if-text", "I like tea", memory_edit=EDITED)

    asked = {"id": "01J", "text": "I like mate", "agent": None, "expected_text": "I like tea"}
    assert ran.client.calls == [("memory_edit", {**asked, "importance": None, "category": None})]
    assert (ran.code, ran.out) == (0, "changed  memory/facts.md:3  preference · 01J\n")


def test_edit_to_the_text_of_another_fact_exits_with_1() -> None:
    known = replace(EDITED, stored=False, duplicate_of="01K", duplicate_text="I like mate")

    ran = memctl("facts", "edit", "01J", "I like mate", memory_edit=known)
    script = memctl("facts", "edit", "01J", "I like mate", "--json", memory_edit=known)

    assert (ran.code, script.code) == (1, 1)
    assert ran.out == "not changed: fact 01K has this text already\n  I like mate\n"
    assert json.loads(script.out)["duplicate_of"] == "01K"


@pytest.mark.parametrize(
    ("error", "code", "hint"),
    [
        (FactMissingError("there is no fact 'x'"), "fact_missing", "`memctl facts list`"),
        (FactChangedError("it says something else"), "fact_changed", "list the facts again"),
    ],
)
def test_conflict_or_missing_id_has_a_hint(error: Exception, code: str, hint: str) -> None:
    ran = memctl("facts", "edit", "x", "I like mate", memory_edit=error)

    assert (ran.code, ran.out) == (1, "")
    assert hint in ran.err
    assert f"code: {code}" in ran.err


def store(*facts: FactRow, sure: bool = False) -> dict[str, Any]:
    """Return the replies of a daemon with these facts, best match first."""
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
    """A terminal with typed input."""

    def isatty(self) -> bool:
        return True


def forget(typed: str | None, *words: str, monkeypatch: pytest.MonkeyPatch, **replies: Any) -> MemctlResult:
    """Run `memctl facts forget` with typed input, or without a terminal."""
    monkeypatch.setattr("sys.stdin", io.StringIO() if typed is None else Keyboard(typed))
    return memctl("facts", "forget", *words, **replies)


def forgotten(ran: MemctlResult) -> list[str]:
    """Return the ids in requests to remove."""
    return [params["id"] for name, params in ran.client.calls if name == "memory_forget" and params["id"]]


def test_id_removes_its_fact_without_confirmation(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = forget(None, "01J", monkeypatch=monkeypatch, **store(TEA, MATE))

    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "forgotten  memory/facts.md:3  preference · 01J\n  I like tea\n"
    assert [name for name, _ in ran.client.calls] == ["memory_forget"]


def test_query_with_one_match_asks_for_confirmation(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = forget("n\n", "what", "I", "drink", monkeypatch=monkeypatch, **store(TEA))
    removed = forget("y\n", "what", "I", "drink", monkeypatch=monkeypatch, **store(TEA))

    assert (kept.code, forgotten(kept)) == (130, [])
    assert (removed.code, forgotten(removed)) == (0, ["01J"])
    assert removed.out.startswith("1. memory/facts.md:3  2026-11-22 · preference · importance 0.7 · 01J\n")
    assert removed.out.endswith("forgotten  memory/facts.md:3  preference · 01J\n  I like tea\n")


def test_query_with_several_matches_asks_which_to_remove(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = forget("\n", "what I drink", monkeypatch=monkeypatch, **store(TEA, MATE))
    removed = forget("7\n2\n", "what I drink", monkeypatch=monkeypatch, **store(TEA, MATE))

    assert (kept.code, forgotten(kept)) == (130, [])
    assert (removed.code, forgotten(removed)) == (0, ["01K"])


def test_query_without_a_terminal_removes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = forget(None, "what I drink", monkeypatch=monkeypatch, **store(TEA, MATE))
    script = forget(None, "what I drink", "--json", monkeypatch=monkeypatch, **store(TEA, MATE))

    assert (ran.code, forgotten(ran)) == (2, [])
    assert "no terminal for a confirmation" in ran.err
    assert (script.code, forgotten(script)) == (2, [])
    document = json.loads(script.out)
    assert (document["forgotten"], [each["id"] for each in document["candidates"]]) == (None, ["01J", "01K"])


@pytest.mark.parametrize(("sure", "code"), [(True, 0), (False, 1)])
def test_yes_removes_only_a_clear_match(sure: bool, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    replies = store(TEA, MATE, sure=sure)
    ran = forget(None, "--yes", "what I drink", monkeypatch=monkeypatch, **replies)

    assert ran.code == code
    assert ("forgotten  memory/facts.md:3" in ran.out) is sure
    assert ("no fact clearly matches" in ran.err) is not sure


@pytest.mark.parametrize("words", [["zebra"], ["--yes", "striped zebra"]])
def test_query_without_a_match_is_an_error(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ran = forget(None, *words, monkeypatch=monkeypatch, **store())

    assert (ran.code, ran.out) == (1, "")
    assert "code: fact_missing" in ran.err
    assert "`memctl facts list`" in ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add", ""], "it is empty"),
        (["add", "?!"], "it has no letter or digit"),
        (["add", "é" * 4_001], "it has more than 4,000 characters"),
        (["add", "x" * 16_001], "it has more than 4,000 characters"),
        (["add", "--importance", "nan", "x"], "nan is not in the range 0<=x<=1"),
        (["add", "--importance", "1.1", "x"], "1.1 is not in the range 0<=x<=1"),
        (["edit", "01J", " "], "it is empty"),
        (["edit", "x" * 129, "tea"], "it has 129 characters; the limit is 128"),
        (["forget", "?"], "'?' has no letter, digit or symbol"),
    ],
)
def test_invalid_fact_is_refused_without_a_request(arguments: list[str], message: str) -> None:
    ran = memctl("facts", *arguments)

    assert (ran.code, ran.out, ran.opened) == (2, "", 0)
    assert message in ran.err.splitlines()[0]
