"""Figures of growth and load, and the corpora they are measured on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.indexed import StateError, only_indexed
from benchmarks.load_results import LoadResult, add_up
from benchmarks.scale import crowd_figures, growth, size_figures
from benchmarks.scale_agents import AgentsFound, names_of
from benchmarks.scale_corpora import Corpus
from benchmarks.scale_growth import Growth, fit_growth, share_of
from benchmarks.scale_sizes import SizeFound
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome


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


def test_points_on_a_line_give_that_line() -> None:
    # given values of 0.9 and 0.011 for each 1
    sizes = [1_000.0, 15_000.0, 100_000.0, 300_000.0]
    # when
    law = fit_growth(sizes, [0.9 + 0.011 * size for size in sizes])
    # then
    assert law.start == pytest.approx(0.9, rel=1e-6)
    assert law.slope == pytest.approx(0.011)
    assert law.at(2_000) == pytest.approx(22.9)


def test_points_of_a_power_law_give_its_exponent() -> None:
    sizes = [1.0, 20.0, 100.0]
    law = fit_growth(sizes, [3 * size**0.62 for size in sizes])
    assert law.power == pytest.approx(0.62)


def test_values_that_stay_the_same_do_not_grow() -> None:
    law = fit_growth([1.0, 20.0, 100.0], [7.0, 7.0, 7.0])
    assert law.start == pytest.approx(7.0)
    assert law.slope == pytest.approx(0.0)
    assert law.power == pytest.approx(0.0)


def test_a_line_is_the_least_wrong_one_where_points_lie_beside_it() -> None:
    # given points whose line is known: slope 7/5 and start 1/2, by hand
    law = fit_growth([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 5.0, 6.0])
    # then
    assert law.slope == pytest.approx(1.4)
    assert law.start == pytest.approx(0.5)


def test_a_value_of_nothing_has_a_line_and_no_power_law() -> None:
    law = fit_growth([1.0, 2.0], [0.0, 4.0])
    assert law.power is None
    assert law.slope == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("sizes", "values"),
    [([], []), ([5.0], [1.0]), ([5.0, 5.0], [1.0, 2.0]), ([1.0, 2.0], [1.0]), ([0.0, 1.0], [1.0, 2.0])],
)
def test_points_that_say_nothing_of_growth_are_refused(sizes: list[float], values: list[float]) -> None:
    with pytest.raises(ValueError, match="give no law"):
        fit_growth(sizes, values)


def test_a_legend_names_start_slope_and_power() -> None:
    law = Growth(start=0.9, slope=0.000011, power=0.62)
    assert law.describe("ms", per=1_000, of="k") == "0.9 ms + 0.011 ms/k, grows as n^0.62"


def test_a_legend_writes_large_numbers_out() -> None:
    law = Growth(start=12_345.6, slope=1_000.0, power=None)
    assert law.describe("ms", of="agent") == "12,346 ms + 1,000 ms/agent"


def test_a_legend_of_a_falling_line_says_less() -> None:
    law = Growth(start=12.0, slope=-0.5, power=None)
    assert law.describe("MB", of="agent") == "12 MB - 0.5 MB/agent"


def test_a_share_between_two_values_lies_the_way_between() -> None:
    values = [10.0, 30.0, 20.0]
    assert share_of(values, 50) == 20.0
    assert share_of(values, 75) == 25.0
    assert share_of(values, 100) == 30.0


def told(answers: list[int], **others: Any) -> dict[str, Any]:
    """Return what one process of clients writes."""
    facts: dict[str, Any] = {
        "answers": answers,
        "took_ms": [4.0] * sum(answers),
        "errors": {},
        "less": 0,
        "elapsed_s": 10.0,
        "processor_s": 1.0,
        "unanswered": 0,
    }
    return {**facts, **others}


def added(*processes: dict[str, Any], cores: int = 2, daemon_s: float = 0.0) -> LoadResult:
    """Return the result of processes that asked for ten seconds."""
    return add_up(processes, seconds=10.0, cores=cores, daemon_s=daemon_s)


def test_answers_of_all_processes_make_the_rate() -> None:
    assert added(told([100, 100]), told([300])).rate == 50.0


def test_who_got_least_and_most_is_held_against_the_middle_client() -> None:
    # given five clients of two processes; the middle one got 40
    result = added(told([10, 40, 40]), told([60, 40]))
    # then
    assert result.least_served == pytest.approx(0.25)
    assert result.most_served == pytest.approx(1.5)


def test_clients_that_got_nothing_at_all_are_starved() -> None:
    assert added(told([0, 0])).least_served == 0.0


def test_what_clients_cost_is_a_share_of_all_cores() -> None:
    # given two processes, of a second each in ten, on two cores
    assert added(told([1]), told([1]), cores=2).clients_share == pytest.approx(0.1)


def test_what_the_daemon_cost_is_shared_among_answers_late_ones_too() -> None:
    # given 98 answers within the time, two after it, and 5 s of processor time
    result = added(told([98], took_ms=[4.0] * 100), daemon_s=5.0)
    # then
    assert result.daemon_ms == pytest.approx(50.0)
    assert result.daemon_cores == pytest.approx(0.5)


def test_refused_and_missing_answers_of_all_processes_are_kept() -> None:
    result = added(
        told([1], errors={"daemon_busy": 2}, unanswered=1),
        told([1], errors={"daemon_busy": 1, "internal": 4}, less=3),
    )
    assert result.errors == {"daemon_busy": 3, "internal": 4}
    assert (result.unanswered, result.less) == (1, 3)


def test_a_whole_sync_is_taken_and_one_that_knows_other_files_is_refused() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        home.note("memory/a.md", "bread needs flour\n")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            reply = client.index()

    assert only_indexed(reply, 1).chunks == 1
    with pytest.raises(StateError, match="1 files indexed of 2"):
        only_indexed(reply, 2)
