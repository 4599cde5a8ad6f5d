"""Logistic models with few features: a calibrated probability from a data file. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from memd.text.data_files import read_sections

BIAS = "bias"


class LogisticModel(Struct, frozen=True):
    """Coefficients of a logistic regression.

    Attributes:
        bias: The log-odds without any feature.
        weights: The coefficient of each feature, by name.
    """

    bias: float
    weights: Mapping[str, float]

    def probability(self, features: Mapping[str, float]) -> float:
        """Return the probability for features by name; features without a coefficient don't count."""
        odds = self.bias + sum(weight * features[name] for name, weight in self.weights.items())
        return 1 / (1 + math.exp(-odds))


def read_models(path: Path) -> dict[str, LogisticModel]:
    """Return the models of a data file by section name; each row is a feature with its coefficient."""
    models = {}
    for name, rows in read_sections(path).items():
        weights = {feature: float(weight) for feature, weight in (row.split() for row in rows)}
        models[name] = LogisticModel(weights.pop(BIAS, 0.0), weights)
    return models
