"""Logistic regression by Newton's method, for the scripts that fit probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MAX_STEPS, PRECISION = 100, 1e-8
BIAS_PENALTY = 1e-6
"""Penalty of the first coefficient, only so that the equations can be solved."""


def probabilities(inputs: Floats, coefficients: Floats) -> Floats:
    """Return the probability of each row of inputs."""
    chances: Floats = 1 / (1 + np.exp(-(inputs @ coefficients)))
    return chances


def fit_logistic(inputs: Floats, answers: Floats, weights: Floats, penalty: float) -> Floats:
    """Return the coefficients of a logistic regression with an L2 penalty; the first input is constant."""
    coefficients = np.zeros(inputs.shape[1])
    penalties = np.diag([BIAS_PENALTY, *[penalty] * (inputs.shape[1] - 1)])
    for _ in range(MAX_STEPS):
        chances = probabilities(inputs, coefficients)
        slope = inputs.T @ (weights * (chances - answers)) + penalties @ coefficients
        curvature = (inputs * (weights * chances * (1 - chances))[:, None]).T @ inputs + penalties
        step = np.linalg.solve(curvature, slope)
        coefficients = coefficients - step
        if float(np.abs(step).max()) < PRECISION:
            break
    return coefficients
