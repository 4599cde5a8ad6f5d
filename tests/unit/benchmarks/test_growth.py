"""Laws of growth: a line and a power law through measured points."""

from __future__ import annotations

import pytest

from benchmarks.scale_growth import Growth, fit_growth, share_of


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
