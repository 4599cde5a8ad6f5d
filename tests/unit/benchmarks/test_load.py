"""What the clients of a load found, added up."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.load_results import LoadResult, add_up


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
