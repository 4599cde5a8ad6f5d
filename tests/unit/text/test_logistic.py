"""Logistic models from data files."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from memd.text.logistic import LogisticModel, read_models


def test_a_probability_is_that_of_the_sum_of_weighted_features() -> None:
    model = LogisticModel(-1.0, {"words": 2.0, "close": 0.5})

    assert model.probability({"words": 0.5, "close": 0.0}) == pytest.approx(0.5)
    assert model.probability({"words": 1.0, "close": 2.0}) == pytest.approx(1 / (1 + math.exp(-2)))


def test_features_without_a_coefficient_do_not_count() -> None:
    model = LogisticModel(0.0, {"words": 1.0})

    assert model.probability({"words": 1.0, "other": 9.0}) == model.probability({"words": 1.0})


def test_a_data_file_has_a_model_per_section(tmp_path: Path) -> None:
    path = tmp_path / "models.txt"
    path.write_text("# Two models.\n[vectors]\nbias -4.5\nlead 2\n\n[keywords]\nbias 1\n")

    models = read_models(path)

    assert models["vectors"] == LogisticModel(-4.5, {"lead": 2.0})
    assert models["keywords"].probability({}) == pytest.approx(1 / (1 + math.exp(-1)))
