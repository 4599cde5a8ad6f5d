"""Sums over all clients of a load."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.load import LoadResult, add_up


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


def added(*processes: dict[str, Any], cores: int = 2) -> LoadResult:
    """Return the result of processes that ran for ten seconds."""
    return add_up(processes, seconds=10.0, cores=cores)


def test_rate_counts_answers_of_all_processes() -> None:
    assert added(client_counts([100, 100]), client_counts([300])).rate == 50.0


def test_least_served_client_is_compared_with_the_median() -> None:
    # given five clients of two processes; the middle one got 40
    result = added(client_counts([10, 40, 40]), client_counts([60, 40]))
    # then
    assert result.least_served == pytest.approx(0.25)


def test_percentile_between_two_answers_is_interpolated() -> None:
    result = added(client_counts([3], took_ms=[10.0, 30.0, 20.0]))
    assert result.percentile(50) == 20.0
    assert result.percentile(75) == 25.0


def test_clients_without_answers_are_starved() -> None:
    assert added(client_counts([0, 0])).least_served == 0.0


def test_cost_of_clients_is_a_share_of_all_cores() -> None:
    # given two processes, of a second each in ten, on two cores
    assert added(client_counts([1]), client_counts([1]), cores=2).clients_share == pytest.approx(0.1)


def test_errors_and_missing_answers_of_all_processes_are_added() -> None:
    result = added(
        client_counts([1], errors={"daemon_busy": 2}, unanswered=1),
        client_counts([1], errors={"daemon_busy": 1, "internal": 4}, less=3),
    )
    assert result.errors == {"daemon_busy": 3, "internal": 4}
    assert (result.unanswered, result.less) == (1, 3)
