"""Fixtures of the embedding room."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import fake_model_child as fake
from tests.support.models import minilm_path, minilm_sources


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The minilm model file; the test is skipped where it can't be had."""
    return minilm_path()


@pytest.fixture(scope="session")
def minilm_source_dir() -> Path:
    """The files minilm is made of; the test is skipped where they can't be had."""
    return minilm_sources()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model file that the fake child takes."""
    return fake.write_model(tmp_path / "model.gguf")
