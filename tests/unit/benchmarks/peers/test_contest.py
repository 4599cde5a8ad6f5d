"""Rounds of a comparison: notes and the table."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.part import Figure
from benchmarks.peers.comparison import count_planted, side_figures
from benchmarks.peers.endpoint import QUERY_CHARACTERS
from benchmarks.peers.notes import PLANTED, make_queries, planted_name, write_notes
from benchmarks.peers.systems import ComparedSystem, IndexingRun, ProcessSearch


class ScriptedSide(ComparedSystem):
    """A side that finds the given notes."""

    name = "peer"

    def __init__(self, *paths: str) -> None:
        self._paths = list(paths)

    def start(self) -> None:
        """Do nothing."""

    def index(self) -> IndexingRun:
        """Return constants."""
        return IndexingRun(1.0, 1)

    def search(self, query: str) -> ProcessSearch:
        """Answer with the given paths."""
        return ProcessSearch(1.0, self._paths)

    @property
    def pid(self) -> int:
        """Return a constant."""
        return 1

    def shell_ms(self, query: str) -> float:
        """Return a constant."""
        return 1.0


def test_planted_notes_are_recognized_by_file_name() -> None:
    paths = ["memory/planted-ferry.md", "/tmp/x/memory/planted-rent.md", "memory/note-0001.md"]
    assert count_planted(ScriptedSide(*paths)) == 2


def figures(rounds: list[dict[str, float]], bar: float | None = None) -> dict[str, Figure]:
    made = side_figures("k", "searching", "ms", rounds, bar)
    return {figure.key: figure for figure in made}


def test_ratios_are_taken_within_rounds() -> None:
    # given a machine that was ten times slower in the second round
    found = figures([{"memd": 2, "peer": 20}, {"memd": 20, "peer": 200}, {"memd": 2, "peer": 24}], bar=5)
    # then the ratio didn't change, though the times did
    assert found["k.peer.times"].value == 10
    assert (found["k.peer.times"].low, found["k.peer.times"].high) == (10, 12)
    assert (found["k.memd"].value, found["k.memd"].high) == (2, 20)


def test_ratio_below_the_bar_misses_it() -> None:
    assert figures([{"memd": 2, "peer": 20}], bar=5)["k.peer.times"].holds is True
    assert figures([{"memd": 2, "peer": 8}], bar=5)["k.peer.times"].holds is False
    assert figures([{"memd": 2, "peer": 8}])["k.peer.times"].holds is None


def test_same_seed_writes_the_same_notes(tmp_path: Path) -> None:
    # given two folders
    sizes = [write_notes(tmp_path / name, 15, random.Random(3)) for name in ("one", "other")]
    # then they hold the same
    texts = [
        {path.name: path.read_text() for path in (tmp_path / name).iterdir()} for name in ("one", "other")
    ]
    assert texts[0] == texts[1]
    assert sizes[0] == sizes[1] > 15_000


def test_planted_notes_are_longer_than_queries(tmp_path: Path) -> None:
    # when notes are written
    write_notes(tmp_path / "notes", 15, random.Random(3))
    # then each planted one says its sentence, and has more characters than a query may
    for name, (says, _) in PLANTED.items():
        text = (tmp_path / "notes" / planted_name(name)).read_text()
        assert says in text
        assert len(text) > QUERY_CHARACTERS


def test_queries_are_distinct_and_short(tmp_path: Path) -> None:
    write_notes(tmp_path / "notes", 60, random.Random(3))
    queries = make_queries(tmp_path / "notes", 400, random.Random(3)) + [
        query for _, query in PLANTED.values()
    ]
    assert len(set(queries)) == 420
    assert max(map(len, queries)) <= QUERY_CHARACTERS
