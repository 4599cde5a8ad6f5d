"""Counters, histograms, estimated quantiles, and the limit on label values."""

from __future__ import annotations

import random

import pytest

from memd.system.metrics import BOUNDS, OTHER, DurationHistogram, Meter, quantile


def only(meter: Meter, name: str) -> DurationHistogram:
    """Return the one histogram of a name."""
    ((_, histogram),) = meter.histograms(name)
    return histogram


def test_a_counter_adds_up_label_by_label() -> None:
    meter = Meter()

    meter.count("memd_requests_total", "search", "ok")
    meter.count("memd_requests_total", "search", "ok", by=2)
    meter.count("memd_requests_total", "get", "path_refused")

    assert list(meter.counters("memd_requests_total")) == [
        (("search", "ok"), 3),
        (("get", "path_refused"), 1),
    ]
    assert meter.value("memd_requests_total", "get", "ok") == 0


@pytest.mark.parametrize(
    ("seconds", "bucket"), [(0.0, 0), (1e-5, 0), (1.01e-5, 1), (0.0041, 14), (630.0, 39), (1e6, 40)]
)
def test_observation_is_counted_in_the_first_bucket_that_fits(seconds: float, bucket: int) -> None:
    meter = Meter()

    meter.observe(seconds, "memd_file_seconds")

    histogram = only(meter, "memd_file_seconds")
    assert [place for place, count in enumerate(histogram.counts) if count] == [bucket]
    assert histogram.total == seconds


def test_label_values_beyond_the_limit_are_counted_together() -> None:
    meter = Meter(max_values=2)

    for agent in ("a", "b", "c", "d", "a"):
        meter.count("memd_searches_total", agent, "hybrid")

    assert dict(meter.counters("memd_searches_total")) == {
        ("a", "hybrid"): 2,
        ("b", "hybrid"): 1,
        (OTHER, "hybrid"): 2,
    }


def test_label_limit_is_shared_by_all_metrics() -> None:
    meter = Meter(max_values=1)

    meter.count("memd_chunks_written_total", "a", by=5)
    meter.count("memd_texts_embedded_total", "b", by=7)

    assert meter.value("memd_texts_embedded_total", OTHER) == 7


def test_undeclared_metrics_are_refused() -> None:
    with pytest.raises(KeyError):
        Meter().count("memd_typo_total")
    with pytest.raises(ValueError, match="zip"):
        Meter().count("memd_requests_total", "search")


def test_bounds_ascend_from_microseconds_to_minutes() -> None:
    assert list(BOUNDS) == sorted(set(BOUNDS))
    assert BOUNDS[0] == 1e-5
    assert BOUNDS[-1] >= 600


@pytest.mark.parametrize("share", [0.5, 0.95, 0.99])
def test_estimated_quantile_is_near_the_true_one(share: float) -> None:
    chance = random.Random(7)
    values = sorted(chance.lognormvariate(-6, 1.2) for _ in range(5000))
    meter = Meter()
    for value in values:
        meter.observe(value, "memd_file_seconds")

    found = quantile(BOUNDS, only(meter, "memd_file_seconds").counts, share)

    assert found == pytest.approx(values[int(share * len(values))], rel=0.1)


def test_quantile_is_zero_without_observations_and_never_above_the_last_bound() -> None:
    assert quantile(BOUNDS, [0] * (len(BOUNDS) + 1), 0.5) == 0
    assert quantile(BOUNDS, [0] * len(BOUNDS) + [3], 0.5) == BOUNDS[-1]
