"""Facts of a LanceDB table, and errors with hints."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.cli.lancedb import COLUMNS, LanceDbFact, facts_of, load_table
from memd.lifecycle.facts.lines import ID_LETTERS
from memd_client.errors import FileMissingError, FileUnreadableError
from memd_client.installation import Installation

MOMENT = 1_700_000_000_123

UUID = "8d9c0c1e-6f3f-4a3a-8a67-0f0f4a1b2c3d"

ROW = {
    "id": UUID,
    "text": "I prefer dark mode",
    "importance": 0.8,
    "category": "preference",
    "createdAt": float(MOMENT),
}

FACT = LanceDbFact(UUID, "I prefer dark mode", 0.8, "preference", MOMENT)


class StubTable:
    """A table with the interface of lancedb."""

    def __init__(self, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
        self.rows, self.selected, self.asked = rows, columns, 0
        self.schema = SimpleNamespace(names=[*columns, "vector"])

    def count_rows(self) -> int:
        return len(self.rows)

    def search(self) -> StubTable:
        return self

    def select(self, columns: list[str]) -> StubTable:
        assert set(columns) <= set(self.schema.names)
        self.selected = tuple(columns)
        return self

    def limit(self, count: int) -> StubTable:
        self.asked = count
        return self

    def to_list(self) -> list[dict[str, Any]]:
        return [{name: row[name] for name in self.selected if name in row} for row in self.rows[: self.asked]]


def install(monkeypatch: pytest.MonkeyPatch, table: StubTable | Exception) -> None:
    """Install a fake package lancedb with one table, or with an error."""

    def open_table(name: str) -> StubTable:
        assert name == "memories"
        if isinstance(table, Exception):
            raise table
        return table

    package = ModuleType("lancedb")
    package.connect = lambda path: SimpleNamespace(open_table=open_table)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lancedb", package)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "memories.lance").mkdir()
    return tmp_path


def test_rows_are_read_oldest_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = {**ROW, "id": "b", "createdAt": MOMENT + 1}
    install(monkeypatch, StubTable([newer, ROW], COLUMNS))

    assert [fact.id for fact in load_table(folder)] == [UUID, "b"]
    assert load_table(folder)[0] == FACT


def test_table_without_a_column_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, StubTable([ROW], ("id", "text")))

    assert load_table(folder) == [LanceDbFact(UUID, "I prefer dark mode", None, None, None)]


def test_an_empty_table_has_no_facts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, StubTable([], COLUMNS))

    assert load_table(folder) == []


def test_folder_without_the_table_is_reported_and_not_created(tmp_path: Path) -> None:
    missing = tmp_path / "lancedb"

    with pytest.raises(FileMissingError) as caught:
        load_table(missing)

    assert str(missing) in caught.value.message
    assert "memctl facts import PATH" in caught.value.hint
    assert not missing.exists()


def test_missing_package_is_reported_with_the_install_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lancedb", None)

    with pytest.raises(FileUnreadableError) as caught:
        load_table(folder)

    assert f"`{Installation().add_extra('lancedb')}`" in caught.value.hint


@pytest.mark.parametrize(
    "failure", [ValueError("Table 'memories' was not found"), OSError("torn"), RuntimeError()]
)
def test_broken_database_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    install(monkeypatch, failure)

    with pytest.raises(FileUnreadableError) as caught:
        load_table(folder)

    assert str(folder) in caught.value.message


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"importance": 1.5}, {"importance": None}),
        ({"importance": True}, {"importance": None}),
        ({"importance": float("nan")}, {"importance": None}),
        ({"importance": 0.699999988079071}, {"importance": 0.7}),
        ({"category": 7}, {"category": None}),
        ({"createdAt": 0}, {"created_ms": None}),
        ({"createdAt": float("inf")}, {"created_ms": None}),
        ({"createdAt": "2026"}, {"created_ms": None}),
        ({"createdAt": datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC)}, {"created_ms": MOMENT}),
    ],
)
def test_invalid_values_are_ignored(changed: dict[str, Any], expected: dict[str, Any]) -> None:
    (fact,) = facts_of([{**ROW, **changed}])

    assert {name: getattr(fact, name) for name in expected} == expected


def test_rows_without_text_are_skipped() -> None:
    rows: list[dict[str, Any]] = [
        {**ROW, "id": "__schema__"},
        {**ROW, "text": " "},
        {**ROW, "text": None},
        {"id": "x"},
    ]

    assert list(facts_of(rows)) == []


@given(st.one_of(st.none(), st.integers(), st.text(max_size=80)), st.text(min_size=1).filter(str.strip))
def test_every_row_gets_a_valid_and_stable_id(given_id: object, text: str) -> None:
    if given_id == "__schema__":
        return
    (one,) = facts_of([{"id": given_id, "text": text}])
    (again,) = facts_of([{"id": given_id, "text": text}])

    assert ID_LETTERS.fullmatch(one.id)
    assert one == again


def test_a_real_table_is_read(tmp_path: Path) -> None:
    lancedb = pytest.importorskip("lancedb", reason="the extra lancedb is not installed")
    rows: list[dict[str, Any]] = [
        {**ROW, "id": f"id-{at}", "text": f"fact {at}", "vector": [0.1, 0.2]} for at in range(30)
    ]
    lancedb.connect(str(tmp_path)).create_table("memories", data=rows)

    found = load_table(tmp_path)

    assert sorted(fact.id for fact in found) == sorted(f"id-{at}" for at in range(30))
    assert {(fact.importance, fact.category, fact.created_ms) for fact in found} == {
        (0.8, "preference", MOMENT)
    }
