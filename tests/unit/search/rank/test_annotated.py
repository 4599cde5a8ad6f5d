"""What importance and projects do to scores."""

from __future__ import annotations

import pytest

from memd.search.rank.fusion import Ranked
from memd.search.rank.stages import annotation_weight, weigh_annotated
from memd.text.cut.annotations import Annotations


def item(key: int, score: float) -> Ranked:
    """Return a candidate with a score."""
    return Ranked(key, "MEMORY.md", key, key, "", None, 1.0, score)


def scores(items: list[Ranked]) -> list[tuple[str | int, float]]:
    """Return ids and scores in their order."""
    return [(each.id, round(each.score, 6)) for each in items]


@pytest.mark.parametrize(
    ("importance", "weight"), [(None, 1.0), (1, 0.8), (3, 0.9), (5, 1.0), (8, 1.15), (10, 1.25)]
)
def test_a_step_of_importance_counts_5_percent_and_5_is_neutral(
    importance: int | None, weight: float
) -> None:
    assert annotation_weight(Annotations(importance), ()) == pytest.approx(weight)
    assert annotation_weight(Annotations(importance), ()) == annotation_weight(
        Annotations(importance), ("a",)
    )


@pytest.mark.parametrize(
    ("projects", "active", "weight"),
    [
        (("a",), (), 1.0),
        (("a",), ("a",), 1.15),
        (("a",), ("b",), 0.9),
        (("a", "b"), ("a",), 0.9),
        (("a", "b"), ("c", "b", "a"), 1.15),
        ((), ("a",), 1.0),
    ],
)
def test_an_entry_counts_more_if_all_its_projects_are_active_and_less_if_not(
    projects: tuple[str, ...], active: tuple[str, ...], weight: float
) -> None:
    assert annotation_weight(Annotations(projects=projects), active) == weight
    both = annotation_weight(Annotations(10, projects=projects), active)
    assert both == pytest.approx(1.25 * weight)


def test_an_entry_whose_project_cannot_be_read_is_left_out() -> None:
    assert annotation_weight(Annotations(10, is_invalid=True), ("a",)) == 0

    weighed = weigh_annotated([item(1, 0.9), item(2, 0.5)], {1: 0.0})

    assert scores(weighed) == [(2, 0.5)]


def test_scores_are_multiplied_and_stay_within_1_with_their_shares() -> None:
    weighed = weigh_annotated([item(1, 1.0), item(2, 0.9), item(3, 0.4)], {2: 1.25, 3: 0.8})

    assert scores(weighed) == [(2, 1.0), (1, round(1 / 1.125, 6)), (3, round(0.32 / 1.125, 6))]
    assert scores(weigh_annotated([item(1, 0.5), item(2, 0.4)], {2: 1.15})) == [(1, 0.5), (2, 0.46)]
