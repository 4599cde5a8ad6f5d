"""What is made of measured sizes and numbers of agents: figures, bars and laws."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.scale import crowd_figures, growth, size_figures
from benchmarks.scale_agents import AgentsFound, names_of
from benchmarks.scale_corpora import Corpus
from benchmarks.scale_sizes import SizeFound


def sized(passages: int, warm_ms: float = 5.0) -> SizeFound:
    """Return what might be measured of a corpus: 5 kB a passage on disk, everything else flat."""
    corpus = Corpus(Path("corpus"), passages, passages // 30, passages * 5_000)
    return SizeFound(
        corpus,
        path="memory",
        start_ms=[700.0],
        start_cpu_ms=[600.0],
        first_ms=[250.0],
        second_ms=[20.0],
        idle_mb=[60.0],
        searched_mb=90.0,
        cold=[10.0, 12.0],
        warm=[[warm_ms] * 3, [warm_ms] * 3],
        daemon_ms=[4.0, 4.2],
        sync_ms=[3.0],
    )


def crowd(agents: int, passages: int = 1_000, first_ms: float = 200.0) -> AgentsFound:
    """Return what might be measured of some agents: 2 MB each."""
    corpus = Corpus(Path("corpus"), passages, passages // 30, passages * 5_000)
    return AgentsFound(
        agents,
        corpus,
        start_ms=[500.0],
        start_cpu_ms=[400.0],
        first_ms=[first_ms],
        spawn_ms=[500.0 + first_ms],
        next_ms=[20.0] * (agents - 1),
        idle_mb=[60.0 + 2 * agents],
        searched_mb=[70.0 + 3 * agents],
        model_mb=[130.0],
    )


@pytest.mark.parametrize(("warm_ms", "holds"), [(59.0, True), (61.0, False)])
def test_the_largest_corpus_is_held_to_60_ms(warm_ms: float, holds: bool) -> None:
    judged = [figure for figure in size_figures(sized(300_411, warm_ms)) if figure.bar]
    assert [(figure.key, figure.holds) for figure in judged] == [("scale.300k.warm.p50", holds)]


def test_smaller_corpora_are_held_to_nothing() -> None:
    assert not [figure for figure in size_figures(sized(104_656)) if figure.bar]


@pytest.mark.parametrize(("first_ms", "holds"), [(299.0, True), (301.0, False)])
def test_a_first_search_beside_twenty_large_agents_is_held_to_300_ms(first_ms: float, holds: bool) -> None:
    judged = [figure for figure in crowd_figures(crowd(20, 15_707, first_ms)) if figure.bar]
    assert [(figure.key, figure.holds) for figure in judged] == [("scale.agents.20x15k.first", holds)]


def test_every_figure_has_a_key_of_its_own() -> None:
    # given
    sizes, crowds = [sized(1_039), sized(15_707)], [crowd(1), crowd(20)]
    # when
    laws, _ = growth(sizes, crowds)
    figures = [figure for found in sizes for figure in size_figures(found)]
    figures += [figure for found in crowds for figure in crowd_figures(found)]
    keys = [figure.key for figure in [*figures, *laws]]
    # then
    assert len(set(keys)) == len(keys)


def test_laws_say_what_a_thousand_passages_and_an_agent_add() -> None:
    # given an index of 5 kB a passage, agents of 2 MB each
    laws, plots = growth([sized(1_000), sized(15_000), sized(100_000)], [crowd(1), crowd(20), crowd(100)])
    # then
    added = {figure.key: f"{figure.value:.2f} {figure.unit}" for figure in laws}
    assert added["scale.law.index"] == "5.00 MB/k"
    assert added["scale.law.agents.rss.idle"] == "2.00 MB/agent"
    fits = {curve.label: curve.fit for plot in plots for curve in plot.curves}
    assert fits["index on disk"].endswith("5 MB/k, grows as n^1.00")


def test_one_of_the_agents_is_main() -> None:
    assert names_of(3) == ["main", "agent001", "agent002"]
