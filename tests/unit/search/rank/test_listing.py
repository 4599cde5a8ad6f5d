"""A ranking makes its candidates when they are looked at."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from memd.search.rank.fusion import LazyRanking, Ranked, ids_of


def candidate(at: int) -> Ranked:
    """Return the candidate of a place."""
    return Ranked(10 * at, "memory/a.md", at, at, "", None, None, 1 / (1 + at))


@pytest.fixture
def made() -> list[int]:
    """The places whose candidates were made."""
    return []


@pytest.fixture
def listed(made: list[int]) -> Sequence[Ranked]:
    """Four candidates, in the order of their places but the last first."""

    def item(at: int) -> Ranked:
        made.append(at)
        return candidate(at)

    return LazyRanking([3, 0, 1, 2], [30, 0, 10, 20], item)


def test_it_is_a_sequence_like_a_list_of_them(listed: Sequence[Ranked]) -> None:
    alike = [candidate(at) for at in (3, 0, 1, 2)]

    assert list(listed) == alike
    assert len(listed) == len(alike)
    assert [listed[at] for at in (0, 3, -1)] == [alike[at] for at in (0, 3, -1)]
    assert [listed[1:3], listed[2:9], listed[4:]] == [alike[1:3], alike[2:9], []]
    assert ids_of(listed) == ids_of(alike) == [30, 0, 10, 20]


def test_only_what_is_looked_at_is_made(listed: Sequence[Ranked], made: list[int]) -> None:
    ids_of(listed)
    assert made == []

    assert [item.id for item in listed[:2]] == [30, 0]
    assert made == [3, 0]
