"""Fits the probability that a hit holds evidence: python scripts/fit_confidence.py ROWS.jsonl [--by-set]

Prints the sections of `daemon/memd/search/confidence.txt`. The rows are made by `python -m benchmarks.retrieval`
with `--features`: one per hit with its `set`, `judge`, `features` and `label`, which tells whether it overlaps the
evidence. All rows of a set together weigh as much as those of any other. `--by-set` prints how the hits of each set are
judged by coefficients fitted on the others.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from memd.search.thresholds import STRONG_PROBABILITY
from memd.text.logistic import BIAS, LogisticModel
from scripts.logistic_fit import Floats, fit_logistic

RIDGE: Final = 3.0
"""Strength of the L2 penalty on standardized coefficients."""

SET_WEIGHT: Final = 2_000.0
"""Weight of all rows of a set together."""


class Rows(NamedTuple):
    """Hits in columns: (n, features) values, (n,) labels and sets, and the names of the features."""

    values: Floats
    labels: Floats
    sets: NDArray[np.str_]
    names: Sequence[str]

    def where(self, mask: NDArray[np.bool_]) -> Rows:
        """Return the rows that a mask selects."""
        return Rows(self.values[mask], self.labels[mask], self.sets[mask], self.names)


def load_sections(paths: Sequence[Path]) -> dict[str, Rows]:
    """Return the rows of some files by section: the model that judges their hits."""
    sections: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for path in paths:
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            sections[row["judge"]].append(row)
    return {section: _as_columns(rows) for section, rows in sections.items()}


def _as_columns(rows: Sequence[dict[str, Any]]) -> Rows:
    names = list(rows[0]["features"])
    values = np.array([[row["features"][name] for name in names] for row in rows], np.float64)
    labels = np.array([row["label"] for row in rows], np.float64)
    return Rows(values, labels, np.array([row["set"] for row in rows]), names)


def fit(rows: Rows) -> LogisticModel:
    """Return the model of a ridge-penalized logistic regression, on standardized features."""
    mean, scale = rows.values.mean(axis=0), rows.values.std(axis=0)
    scale[scale == 0] = 1.0
    columns = np.column_stack([np.ones(len(rows.labels)), (rows.values - mean) / scale])
    _, numbers, counts = np.unique(rows.sets, return_inverse=True, return_counts=True)
    solution = fit_logistic(columns, rows.labels, SET_WEIGHT / counts[numbers], RIDGE)
    raw = solution[1:] / scale
    bias = float(solution[0] - (raw * mean).sum())
    return LogisticModel(bias, dict(zip(rows.names, raw.tolist(), strict=True)))


def print_judged(rows: Rows) -> None:
    """Print how often strong and weak hits of each set hold evidence, by a model fitted on the other sets."""
    print(f"{'set':16} {'hits':>6} {'strong':>7} {'evidence: strong':>17} {'weak':>6} {'ratio':>6}")
    for name in np.unique(rows.sets):
        model, own = fit(rows.where(rows.sets != name)), rows.where(rows.sets == name)
        is_strong = np.array([_is_strong(model, own.names, row) for row in own.values.tolist()])
        strong, weak = (
            float(own.labels[mask].mean()) if mask.any() else 0.0 for mask in (is_strong, ~is_strong)
        )
        ratio = strong / weak if weak else float("inf")
        print(f"{name:16} {len(is_strong):6} {is_strong.mean():7.3f} {strong:17.3f} {weak:6.3f} {ratio:6.1f}")


def _is_strong(model: LogisticModel, names: Sequence[str], values: Sequence[float]) -> bool:
    features: Mapping[str, float] = dict(zip(names, values, strict=True))
    return model.probability(features) >= STRONG_PROBABILITY


def main() -> None:
    """Print the coefficients, or the judgement by set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", type=Path, nargs="+", help="files of rows")
    parser.add_argument("--by-set", action="store_true", help="judge each set by the others' coefficients")
    arguments = parser.parse_args()
    for section, rows in load_sections(arguments.rows).items():
        print(f"[{section}]")
        if arguments.by_set:
            print_judged(rows)
            continue
        model = fit(rows)
        for name, weight in {BIAS: model.bias, **model.weights}.items():
            print(f"{name} {weight:.2f}")


if __name__ == "__main__":
    main()
