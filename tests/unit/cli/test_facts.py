"""`memctl facts`: what an agent keeps, and what it takes over."""

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
from memd.cli.connect import MemoryClient, Session
from memd.cli.facts import command
from memd.cli.lancedb import FoundFact
from memd.cli.main import root
from memd.cli.output import Output, Stream
from memd_client.errors import BadParamsError, FileMissingError
from memd_client.facts import FactRow, MemoryRecallReply, MemoryStoreReply

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
    session = Session(lambda: cast(MemoryClient, client), output, lambda: 0)
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
