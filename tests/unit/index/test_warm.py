"""The memory all agents' matrices share: who stays in it, and for how long."""

from __future__ import annotations

import pytest

from memd.index.vectors.sqlite_vec import VectorExtension
from memd.index.vectors.warm import MatrixBudget, WarmVectors

EXTENSION = VectorExtension(enabled=False)


class Dropping(WarmVectors):
    """Vectors that count how often their memory was given back."""

    drops = 0

    def drop(self) -> None:
        """Count."""
        self.drops += 1


class Clock:
    """Seconds that pass when told to."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock."""
    return Clock()


@pytest.fixture
def budget(clock: Clock) -> MatrixBudget:
    """A budget of 100 bytes."""
    return MatrixBudget(100, clock)


def agents(budget: MatrixBudget, count: int) -> list[Dropping]:
    """Return the vectors of some agents."""
    return [Dropping(EXTENSION, budget) for _ in range(count)]


def test_the_agent_searched_least_recently_leaves_first(budget: MatrixBudget) -> None:
    first, second, third = agents(budget, 3)
    budget.admit(first, 50)
    budget.admit(second, 50)
    budget.admit(first, 50)

    budget.admit(third, 50)

    assert [each.drops for each in (first, second, third)] == [0, 1, 0]


def test_what_is_larger_than_the_budget_drives_nobody_out(budget: MatrixBudget) -> None:
    first, large = agents(budget, 2)
    budget.admit(first, 50)

    budget.admit(large, 101)

    assert first.drops == 0


def test_what_nobody_has_searched_for_a_while_leaves(budget: MatrixBudget, clock: Clock) -> None:
    idle, busy = agents(budget, 2)
    budget.admit(idle, 10)
    clock.now = 59.0
    budget.admit(busy, 10)
    assert budget.drop_unused(60) == 0

    clock.now = 60.0

    assert budget.drop_unused(60) == 1
    assert (idle.drops, busy.drops) == (1, 0)
    assert budget.drop_unused(60) == 0


def test_a_closed_agent_leaves_its_part_of_the_budget(budget: MatrixBudget) -> None:
    closed, first, second = agents(budget, 3)
    budget.admit(first, 40)
    budget.admit(closed, 60)

    closed.close()
    budget.admit(second, 60)

    assert (closed.drops, first.drops) == (1, 0)
