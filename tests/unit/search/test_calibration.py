"""What the cosines of a model mean."""

from __future__ import annotations

import pytest

from memd.search.calibration import (
    MIN_COSINES,
    UNRELATED_MARGIN,
    Calibration,
    calibration_of,
    is_near,
    is_translated,
)
from memd.search.thresholds import MIN_CLOSENESS, MIN_COSINE


@pytest.mark.parametrize("model", ["minilm", "minilm-l6-v2-q8_0.gguf", "all-MiniLM-L6-v2-f16.gguf"])
def test_minilm_is_known_by_name_and_by_file(model: str) -> None:
    calibration = calibration_of(model)

    assert calibration is not None
    assert not calibration.has_all_scripts


@pytest.mark.parametrize("model", ["e5", "multilingual-e5-small-q4_0.gguf"])
def test_e5_covers_every_script(model: str) -> None:
    calibration = calibration_of(model)

    assert calibration is not None
    assert calibration.covers("где ключ от сейфа")


@pytest.mark.parametrize(
    "model", ["", "paraphrase-multilingual-MiniLM-L12-v2.gguf", "embeddinggemma-300M-Q8_0.gguf"]
)
def test_other_models_have_no_calibration(model: str) -> None:
    assert calibration_of(model) is None


def test_closeness_is_0_for_unrelated_and_1_for_related_chunks() -> None:
    calibration = Calibration(0.8, 0.85)

    assert calibration.closeness(0.8) == pytest.approx(0.0)
    assert calibration.closeness(0.85) == pytest.approx(1.0)
    assert calibration.cosine(calibration.closeness(0.83)) == pytest.approx(0.83)


@pytest.mark.parametrize(
    ("query", "covered"),
    [("where is the key", True), ("Schlüssel", True), ("где ключ", False), ("钥匙", False)],
)
def test_a_model_for_english_covers_the_latin_script(query: str, covered: bool) -> None:
    assert Calibration(0.2, 0.4).covers(query) is covered


def test_a_cosine_is_near_by_the_calibration_if_there_is_one() -> None:
    calibration = Calibration(0.8, 0.9)

    assert is_near(calibration, calibration.cosine(MIN_CLOSENESS) + 0.001)
    assert not is_near(calibration, calibration.cosine(MIN_CLOSENESS) - 0.01)
    assert is_near(None, MIN_COSINE)
    assert not is_near(None, MIN_COSINE - 0.01)


def test_closeness_0_is_near_the_median_candidate_if_all_are_far() -> None:
    """A query in another language than the notes has low cosines with all of them."""
    calibration = Calibration(0.8, 0.9)
    far = calibration.for_candidates([0.5] * 30)

    assert far.closeness(0.5) == pytest.approx(-UNRELATED_MARGIN)
    assert far.related - far.unrelated == pytest.approx(0.1)
    assert calibration.for_candidates([0.75] * 30) == calibration
    assert calibration.for_candidates([0.5] * (MIN_COSINES - 1)) == calibration


@pytest.mark.parametrize(
    ("query", "text", "translated"),
    [
        ("where is the key", "der Schlüssel liegt in der Küche und nicht im Flur", True),
        ("где лежит ключ", "the key is in the kitchen", True),
        ("where is the key", "the key is in the kitchen", False),
        ("wo liegt der Schlüssel", "der Schlüssel liegt in der Küche", False),
    ],
)
def test_a_text_is_translated_if_its_language_is_not_the_querys(
    query: str, text: str, translated: bool
) -> None:
    assert is_translated(query, [text]) is translated
