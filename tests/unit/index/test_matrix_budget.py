"""The RAM budget of all agents' matrices: admission and eviction."""

from __future__ import annotations

import pytest

from memd.index.vectors.cache import MatrixBudget, VectorCache
from memd.index.vectors.sqlite_vec import VectorExtension

EXTENSION = VectorExtension(enabled=False)


class CountingEvictable(VectorCache):
    """Vectors that count how often they were evicted."""

    drops = 0

    def drop(self) -> None:
        """Count an eviction."""
        self.drops += 1


class BudgetClock:
    """A clock that a test advances."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def clock() -> BudgetClock:
    """A clock."""
    return BudgetClock()


@pytest.fixture
def budget(clock: BudgetClock) -> MatrixBudget:
    """A budget of 100 bytes."""
    return MatrixBudget(100, clock)


def agents(budget: MatrixBudget, count: int) -> list[CountingEvictable]:
    """Return the vectors of some agents."""
    return [CountingEvictable(EXTENSION, budget) for _ in range(count)]


def test_least_recently_searched_agent_is_evicted_first(budget: MatrixBudget) -> None:
    first, second, third = agents(budget, 3)
    budget.admit(first, 50)
    budget.admit(second, 50)
    budget.admit(first, 50)

    budget.admit(third, 50)

    assert [each.drops for each in (first, second, third)] == [0, 1, 0]


def test_matrix_larger_than_the_budget_evicts_no_other(budget: MatrixBudget) -> None:
    first, large = agents(budget, 2)
    budget.admit(first, 50)

    budget.admit(large, 101)

    assert first.drops == 0


def test_unused_matrix_is_evicted(budget: MatrixBudget, clock: BudgetClock) -> None:
    idle, busy = agents(budget, 2)
    budget.admit(idle, 10)
    clock.now = 59.0
    budget.admit(busy, 10)
    assert budget.drop_unused(60) == 0

    clock.now = 60.0

    assert budget.drop_unused(60) == 1
    assert (idle.drops, busy.drops) == (1, 0)
    assert budget.drop_unused(60) == 0


def test_closed_agent_releases_its_budget(budget: MatrixBudget) -> None:
    closed, first, second = agents(budget, 3)
    budget.admit(first, 40)
    budget.admit(closed, 60)

    closed.close()
    budget.admit(second, 60)

    assert (closed.drops, first.drops) == (1, 0)
