"""Rounds of a comparison: failing sides, notes, and the table."""

from __future__ import annotations

import random
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

import pytest

from benchmarks.part import Figure
from benchmarks.peers.child import ChildError
from benchmarks.peers.contest import Contest
from benchmarks.peers.notes import PLANTED, make_queries, planted_name, write_notes
from benchmarks.peers.rounds import find_planted
from benchmarks.peers.server import QUERY_CHARACTERS
from benchmarks.peers.system import IndexingRun, ProcessSearch, ShellSearch
from benchmarks.peers.table import side_figures


class ScriptedSide:
    """A side with given answers and failures."""

    name: ClassVar[str] = "peer"

    def __init__(self, *, fails: str = "", paths: list[str] | None = None) -> None:
        self.fails = fails
        self.ended = False
        self._paths = paths or []

    def __enter__(self) -> Self:
        if self.fails == "start":
            raise ChildError("doesn't start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended = True

    def index(self) -> IndexingRun:
        """Fail if requested."""
        if self.fails == "index":
            raise ChildError("doesn't index")
        return IndexingRun(1.0, 1)

    def search(self, query: str) -> ProcessSearch:
        """Answer with the given paths."""
        return ProcessSearch(1.0, self._paths)

    @property
    def pid(self) -> int:
        """Return a constant."""
        return 1

    def processor_ms(self) -> float:
        """Return a constant."""
        return 1.0

    def rest(self) -> None:
        """Do nothing."""

    def shell(self, query: str) -> ShellSearch:
        """Fail."""
        raise ChildError("no command")


class ScriptedMemd(ScriptedSide):
    """The side that must not fail."""

    name: ClassVar[str] = "memd"


@pytest.mark.parametrize("moment", ["start", "index"])
def test_failing_peer_is_named_and_left_out(moment: str) -> None:
    # given a peer that fails at some moment
    memd, peer = ScriptedMemd(), ScriptedSide(fails=moment)
    with Contest([memd, peer], random.Random(1)) as contest:
        # when it comes
        indexed = contest.each(lambda side: side.index())
        # then memd goes on alone
        assert set(indexed) == {"memd"}
        assert set(contest.each(lambda side: side.pid)) == {"memd"}
        assert contest.failures == [f"peer dropped out: doesn't {moment}"]
    assert memd.ended


@pytest.mark.parametrize("moment", ["start", "index"])
def test_failure_of_memd_ends_the_comparison(moment: str) -> None:
    # given memd that fails
    memd, peer = ScriptedMemd(fails=moment), ScriptedSide()
    # then the contest does, and the peer has ended
    with pytest.raises(ChildError), Contest([peer, memd], random.Random(1)) as contest:
        contest.each(lambda side: side.index())
    assert peer.ended


def test_planted_notes_are_recognized_by_file_name() -> None:
    paths = ["memory/planted-ferry.md", "/tmp/x/memory/planted-rent.md", "memory/note-0001.md"]
    assert find_planted(ScriptedSide(paths=paths)) == 2


def figures(rounds: list[dict[str, float]], bar: float | None = None) -> dict[str, Figure]:
    made = side_figures("k", "searching", "ms", rounds, float, bar)
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


def test_dropped_peer_has_figures_of_its_complete_rounds() -> None:
    # given a peer that is in the first round only
    found = figures([{"memd": 2, "peer": 20}, {"memd": 4}])
    # then its figures are that round's
    assert found["k.peer"].value == 20
    assert found["k.peer.times"].value == 10
    assert found["k.memd"].value == 3


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
