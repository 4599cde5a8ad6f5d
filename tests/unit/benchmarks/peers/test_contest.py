"""A contest of sides: a peer that fails is named and left out, memd's own failure is everybody's."""

from __future__ import annotations

import random
from types import TracebackType
from typing import ClassVar, Self

import pytest

from benchmarks.peers.child import ChildError
from benchmarks.peers.contest import Contest
from benchmarks.peers.rounds import find_planted
from benchmarks.peers.side import Answer, Indexed, ShellAnswer


class ScriptedSide:
    """A side that answers what it is told, and fails when it is told."""

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

    def index(self) -> Indexed:
        """Fail, or not."""
        if self.fails == "index":
            raise ChildError("doesn't index")
        return Indexed(1.0, 1)

    def search(self, question: str) -> Answer:
        """Answer with the paths it was made with."""
        return Answer(1.0, self._paths)

    @property
    def pid(self) -> int:
        """Nothing of interest."""
        return 1

    def processor_ms(self) -> float:
        """Return nothing of interest."""
        return 1.0

    def rest(self) -> None:
        """Do nothing."""

    def shell(self, question: str) -> ShellAnswer:
        """Have no command."""
        raise ChildError("no command")


class ScriptedMemd(ScriptedSide):
    """The side without which there is no contest."""

    name: ClassVar[str] = "memd"


@pytest.mark.parametrize("moment", ["start", "index"])
def test_a_peer_that_fails_is_named_and_left_out(moment: str) -> None:
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
def test_without_memd_there_is_no_contest(moment: str) -> None:
    # given memd that fails
    memd, peer = ScriptedMemd(fails=moment), ScriptedSide()
    # then the contest does, and the peer has ended
    with pytest.raises(ChildError), Contest([peer, memd], random.Random(1)) as contest:
        contest.each(lambda side: side.index())
    assert peer.ended


def test_a_planted_note_counts_by_its_name_wherever_a_side_says_it_is() -> None:
    paths = ["memory/planted-ferry.md", "/tmp/x/memory/planted-rent.md", "memory/note-0001.md"]
    assert find_planted(ScriptedSide(paths=paths)) == 2
