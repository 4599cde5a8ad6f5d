"""Figures of the sides: ratios are those of the same round, and a bar is judged by their median."""

from __future__ import annotations

from benchmarks.part import Figure
from benchmarks.peers.table import side_figures


def figures(rounds: list[dict[str, float]], bar: float | None = None) -> dict[str, Figure]:
    made = side_figures("k", "searching", "ms", rounds, float, bar)
    return {figure.key: figure for figure in made}


def test_a_ratio_is_taken_within_each_round() -> None:
    # given a machine that was ten times slower in the second round
    found = figures([{"memd": 2, "peer": 20}, {"memd": 20, "peer": 200}, {"memd": 2, "peer": 24}], bar=5)
    # then the ratio didn't change, though the times did
    assert found["k.peer.times"].value == 10
    assert (found["k.peer.times"].low, found["k.peer.times"].high) == (10, 12)
    assert (found["k.memd"].value, found["k.memd"].high) == (2, 20)


def test_a_bar_is_missed_below_it() -> None:
    assert figures([{"memd": 2, "peer": 20}], bar=5)["k.peer.times"].holds is True
    assert figures([{"memd": 2, "peer": 8}], bar=5)["k.peer.times"].holds is False
    assert figures([{"memd": 2, "peer": 8}])["k.peer.times"].holds is None


def test_a_peer_that_dropped_out_is_judged_by_the_rounds_it_was_in() -> None:
    # given a peer that is in the first round only
    found = figures([{"memd": 2, "peer": 20}, {"memd": 4}])
    # then its figures are that round's
    assert found["k.peer"].value == 20
    assert found["k.peer.times"].value == 10
    assert found["k.memd"].value == 3
