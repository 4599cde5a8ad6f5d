"""The probability that a line of memory answers a prompt: a logistic model over few features. Pure functions.

`scripts/fit_hooks.py` fits the coefficients in `line_confidence.txt` on one half of the projects of
tests/retrieval/hooks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from msgspec import Struct

from memd.search.calibration import calibration_of
from memd.text.logistic import read_models

_SECTIONS: Final = read_models(Path(__file__).with_suffix(".txt"))
_MODEL, _THRESHOLDS = _SECTIONS["coefficients"], _SECTIONS["thresholds"].weights

LOWEST_CLOSENESS, CLOSENESS_RANGE = -0.5, 3.0
"""The closeness that is no agreement, and how far above it the agreement is full."""

MIN_INJECTED: Final = _THRESHOLDS["injected"]
"""Probability from which a line is added to a prompt."""

MIN_NAMED: Final = _THRESHOLDS["named"]
"""Probability from which the best line's location is named."""


class LineFeatures(Struct, frozen=True):
    """What the probability depends on.

    Attributes:
        count: Number of distinctive terms that the line shares with the prompt.
        share: The weight of all shared terms as a share of the prompt's, 0 to 1.
        context: The same of the whole hit, including the title of a session.
        names: Number of names among the shared distinctive terms.
        is_exact: Whether the line has an identifier of the prompt, or quotes several of its words.
        agreement: How near the hit's vector is, 0 to 1; None: unknown.
        is_project: Whether the line is about the session's project.
        is_conversation: Whether the line is from a conversation.
        is_curated: Whether the line is a fact of a curated file, such as MEMORY.md.
        asks: Whether the prompt asks for what is known, instead of requesting work.
    """

    count: int = 0
    share: float = 0.0
    context: float = 0.0
    names: int = 0
    is_exact: bool = False
    agreement: float | None = None
    is_project: bool = False
    is_conversation: bool = False
    is_curated: bool = False
    asks: bool = False

    def values(self) -> dict[str, float]:
        """Return the inputs of the model by name."""
        return {
            "two_terms": float(self.count >= 2),
            "three_terms": float(self.count >= 3),
            "share": self.share,
            "context": self.context,
            "names": min(self.names, 2) / 2,
            "exact": float(self.is_exact),
            "agreement": self.agreement or 0.0,
            "no_vector": float(self.agreement is None),
            "project": float(self.is_project),
            "conversation": float(self.is_conversation),
            "curated": float(self.is_curated),
            "asks": float(self.asks),
        }


def probability(features: LineFeatures) -> float:
    """Return the probability that a line answers a prompt."""
    return _MODEL.probability(features.values())


def vector_agreement(cosine: float | None, model: str) -> float | None:
    """Return how well a hit's vector agrees with the prompt's, 0 to 1; None if its model has no calibration."""
    calibration = calibration_of(model)
    if cosine is None or calibration is None:
        return None
    return min(1.0, max(0.0, (calibration.closeness(cosine) - LOWEST_CLOSENESS) / CLOSENESS_RANGE))
