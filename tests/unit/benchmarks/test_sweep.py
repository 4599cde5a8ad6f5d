"""Ranking variants, and the table that compares them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.evidence import ScoredQuery
from benchmarks.sweep import bootstrap, cell, columns_of, merged
from benchmarks.variants import (
    COSINE,
    ORDER,
    VARIANTS,
    RankingVariant,
    constants_set,
    without_stage,
)
from memd.search.rank import order
from memd.settings.schema import QuerySettings


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_variant_replaces_settings_and_constants_that_exist(variant: RankingVariant) -> None:
    assert variant.query or variant.constants or not variant.vectors
    merged(QuerySettings(), variant.query)
    with constants_set(variant.constants):
        pass


def test_variants_have_distinct_names() -> None:
    names = [variant.name for variant in VARIANTS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("stage", [stage.name for stage in order.STAGES])
def test_every_stage_has_a_variant_without_it(stage: str) -> None:
    variant = without_stage(stage)
    assert variant.name in {each.name for each in VARIANTS}
    left = variant.constants[f"{ORDER}:STAGES"]
    assert [each.name for each in left] == [each.name for each in order.STAGES if each.name != stage]


def test_constants_are_replaced_inside_the_block_alone() -> None:
    value = order.COSINE_WEIGHT
    with constants_set({COSINE: 9.0}):
        inside = order.COSINE_WEIGHT
    assert (inside, order.COSINE_WEIGHT) == (9.0, value)


def test_constants_are_restored_after_an_error() -> None:
    value = order.COSINE_WEIGHT
    with pytest.raises(AttributeError), constants_set({COSINE: 9.0, f"{ORDER}:MISSING": 1}):
        pass
    assert value == order.COSINE_WEIGHT


def test_nested_settings_are_replaced_and_the_others_kept() -> None:
    settings = merged(QuerySettings(), {"hybrid": {"mmr": {"lambda_": 0.1}}})
    assert settings.hybrid.mmr.lambda_ == 0.1
    assert settings.hybrid.fusion == QuerySettings().hybrid.fusion


def test_columns_separate_adversarial_and_multi_hop_queries() -> None:
    scored = [
        ScoredQuery("one", "multi-hop", {"evidence": 1.0, "refused": 0.0}),
        ScoredQuery("one", "adversarial", {"evidence": 0.0, "refused": 1.0}),
        ScoredQuery("two", "temporal", {"evidence": 0.5, "refused": 0.0, "new_first": 1.0}),
    ]
    assert {name: values.tolist() for name, values in columns_of(scored).items()} == {
        "evidence one": [1.0],
        "evidence one with adversarial": [1.0, 0.0],
        "evidence one multi-hop": [1.0],
        "evidence two": [0.5],
        "new_first two": [1.0],
        "refused one": [0.0],
        "refused two": [0.0],
    }


def test_cell_shows_a_difference_with_its_interval() -> None:
    before = np.zeros(4)
    assert cell("evidence one", before, before) == "0.000"
    assert cell("evidence one", np.zeros(4), before) == "0.000 (same)"
    assert cell("evidence one", np.ones(4), before) == "1.000 +1.000 (+1.000 to +1.000)"
    assert cell("refused one", np.ones(4), before) == "1.000"


def test_interval_contains_the_mean_difference() -> None:
    low, high = bootstrap(np.array([0.0, 0.0, 1.0, 1.0]))
    assert 0 <= low < 0.5 < high <= 1
