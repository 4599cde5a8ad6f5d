"""The memory all agents' matrices share: who stays in it, and for how long."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing

from memd.index.files import generation
from memd.index.vectors.cache import MatrixBudget, VectorCache, load_facts
from memd.index.vectors.sqlite_vec import VectorExtension
from tests.support.indexes import SPACE, new_index, publish, publish_lines, unit

EXTENSION = VectorExtension(enabled=False)


class Dropping(VectorCache):
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


def test_locations_are_in_ram_if_the_vectors_are(tmp_path: Path) -> None:
    # given an agent whose vectors are not in memory yet
    db = new_index(tmp_path / "main.sqlite", extension=False)
    publish_lines(db, ["a note"], unit([[1, 0, 0]]))
    warm = VectorCache(EXTENSION, MatrixBudget(1_000_000))
    warm.use_space(load_facts(db, SPACE.id))
    warm.refresh_locations(db)
    assert warm.locations.at(db, generation(db)) is None

    async def is_wanted() -> bool:
        """Search, and return whether locations are wanted then."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(warm.wait_locations_wanted)
            await trio.testing.wait_all_tasks_blocked()
            warm.searcher()
            await trio.testing.wait_all_tasks_blocked()
            is_waiting = bool(nursery.child_tasks)
            nursery.cancel_scope.cancel()
        return not is_waiting

    # when searches bring them there
    async def scene() -> None:
        # then the locations of its chunks follow, once
        assert not await is_wanted()
        warm.warm_up(db)
        assert await is_wanted()
        warm.refresh_locations(db)
        assert warm.locations.at(db, generation(db)) is not None
        assert not await is_wanted()
        # and they change with what is committed
        warm.follow(publish(db, "memory/new.md", ["another"]))
        locations = warm.locations.at(db, generation(db))
        assert locations is not None
        assert len(locations) == 2
        # and they leave memory together
        warm.drop()
        assert warm.locations.at(db, generation(db)) is None

    trio.run(scene)
