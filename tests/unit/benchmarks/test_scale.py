"""Figures of growth and load, and the corpora they are measured on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.load_results import LoadResult, add_up
from benchmarks.scale import agents_figures, growth, size_figures
from benchmarks.scale_agents import AgentsMeasurement, names_of
from benchmarks.scale_corpora import CachedCorpus
from benchmarks.scale_growth import Growth, fit_growth, share_of
from benchmarks.scale_sizes import SizeMeasurement
from benchmarks.sync_checks import StateError, check_one_indexed
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome


def sized(chunks: int, warm_ms: float = 5.0) -> SizeMeasurement:
    """Return a measurement of a corpus: 5 kB per chunk on disk, everything else constant."""
    corpus = CachedCorpus(Path("corpus"), chunks, chunks // 30, chunks * 5_000)
    return SizeMeasurement(
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


def crowd(agents: int, chunks: int = 1_000, first_ms: float = 200.0) -> AgentsMeasurement:
    """Return a measurement of some agents: 2 MB each."""
    corpus = CachedCorpus(Path("corpus"), chunks, chunks // 30, chunks * 5_000)
    return AgentsMeasurement(
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
def test_largest_corpus_has_a_bar_of_60_ms(warm_ms: float, holds: bool) -> None:
    judged = [figure for figure in size_figures(sized(300_411, warm_ms)) if figure.bar]
    assert [(figure.key, figure.holds) for figure in judged] == [("scale.300k.warm.p50", holds)]


def test_smaller_corpora_have_no_bar() -> None:
    assert not [figure for figure in size_figures(sized(104_656)) if figure.bar]


@pytest.mark.parametrize(("first_ms", "holds"), [(299.0, True), (301.0, False)])
def test_first_search_with_twenty_large_agents_has_a_bar_of_300_ms(first_ms: float, holds: bool) -> None:
    judged = [figure for figure in agents_figures(crowd(20, 15_707, first_ms)) if figure.bar]
    assert [(figure.key, figure.holds) for figure in judged] == [("scale.agents.20x15k.first", holds)]


def test_figure_keys_are_unique() -> None:
    # given
    sizes, crowds = [sized(1_039), sized(15_707)], [crowd(1), crowd(20)]
    # when
    laws, _ = growth(sizes, crowds)
    figures = [figure for found in sizes for figure in size_figures(found)]
    figures += [figure for found in crowds for figure in agents_figures(found)]
    keys = [figure.key for figure in [*figures, *laws]]
    # then
    assert len(set(keys)) == len(keys)


def test_fits_have_growth_per_thousand_chunks_and_per_agent() -> None:
    # given an index of 5 kB a chunk, agents of 2 MB each
    laws, plots = growth([sized(1_000), sized(15_000), sized(100_000)], [crowd(1), crowd(20), crowd(100)])
    # then
    added = {figure.key: f"{figure.value:.2f} {figure.unit}" for figure in laws}
    assert added["scale.law.index"] == "5.00 MB/k"
    assert added["scale.law.agents.rss.idle"] == "2.00 MB/agent"
    fits = {curve.label: curve.fit for plot in plots for curve in plot.curves}
    assert fits["index on disk"].endswith("5 MB/k, grows as n^1.00")


def test_first_agent_is_main() -> None:
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


def test_constant_values_have_no_growth() -> None:
    law = fit_growth([1.0, 20.0, 100.0], [7.0, 7.0, 7.0])
    assert law.start == pytest.approx(7.0)
    assert law.slope == pytest.approx(0.0)
    assert law.power == pytest.approx(0.0)


def test_fit_of_scattered_points_is_the_least_squares_line() -> None:
    # given points whose line is known: slope 7/5 and start 1/2, by hand
    law = fit_growth([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 5.0, 6.0])
    # then
    assert law.slope == pytest.approx(1.4)
    assert law.start == pytest.approx(0.5)


def test_zero_value_has_a_line_but_no_power_law() -> None:
    law = fit_growth([1.0, 2.0], [0.0, 4.0])
    assert law.power is None
    assert law.slope == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("sizes", "values"),
    [([], []), ([5.0], [1.0]), ([5.0, 5.0], [1.0, 2.0]), ([1.0, 2.0], [1.0]), ([0.0, 1.0], [1.0, 2.0])],
)
def test_too_few_points_are_refused(sizes: list[float], values: list[float]) -> None:
    with pytest.raises(ValueError, match="give no law"):
        fit_growth(sizes, values)


def test_legend_has_start_slope_and_power() -> None:
    law = Growth(start=0.9, slope=0.000011, power=0.62)
    assert law.describe("ms", per=1_000, of="k") == "0.9 ms + 0.011 ms/k, grows as n^0.62"


def test_legend_has_all_digits_of_large_numbers() -> None:
    law = Growth(start=12_345.6, slope=1_000.0, power=None)
    assert law.describe("ms", of="agent") == "12,346 ms + 1,000 ms/agent"


def test_legend_of_a_falling_line_has_a_minus() -> None:
    law = Growth(start=12.0, slope=-0.5, power=None)
    assert law.describe("MB", of="agent") == "12 MB - 0.5 MB/agent"


def test_percentile_between_two_values_is_interpolated() -> None:
    values = [10.0, 30.0, 20.0]
    assert share_of(values, 50) == 20.0
    assert share_of(values, 75) == 25.0
    assert share_of(values, 100) == 30.0


def client_counts(answers: list[int], **others: Any) -> dict[str, Any]:
    """Return the counts of one client process."""
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
    """Return the result of processes that ran for ten seconds."""
    return add_up(processes, seconds=10.0, cores=cores, daemon_s=daemon_s)


def test_rate_counts_answers_of_all_processes() -> None:
    assert added(client_counts([100, 100]), client_counts([300])).rate == 50.0


def test_least_and_most_served_clients_are_compared_with_the_median() -> None:
    # given five clients of two processes; the middle one got 40
    result = added(client_counts([10, 40, 40]), client_counts([60, 40]))
    # then
    assert result.least_served == pytest.approx(0.25)
    assert result.most_served == pytest.approx(1.5)


def test_clients_without_answers_are_starved() -> None:
    assert added(client_counts([0, 0])).least_served == 0.0


def test_cost_of_clients_is_a_share_of_all_cores() -> None:
    # given two processes, of a second each in ten, on two cores
    assert added(client_counts([1]), client_counts([1]), cores=2).clients_share == pytest.approx(0.1)


def test_cost_of_the_daemon_is_divided_by_all_answers_late_ones_included() -> None:
    # given 98 answers within the time, two after it, and 5 s of processor time
    result = added(client_counts([98], took_ms=[4.0] * 100), daemon_s=5.0)
    # then
    assert result.daemon_ms == pytest.approx(50.0)
    assert result.daemon_cores == pytest.approx(0.5)


def test_errors_and_missing_answers_of_all_processes_are_added() -> None:
    result = added(
        client_counts([1], errors={"daemon_busy": 2}, unanswered=1),
        client_counts([1], errors={"daemon_busy": 1, "internal": 4}, less=3),
    )
    assert result.errors == {"daemon_busy": 3, "internal": 4}
    assert (result.unanswered, result.less) == (1, 3)


def test_sync_of_another_number_of_files_is_refused() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        home.note("memory/a.md", "bread needs flour\n")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            reply = client.index()

    assert check_one_indexed(reply, 1).chunks == 1
    with pytest.raises(StateError, match="1 files indexed of 2"):
        check_one_indexed(reply, 2)
