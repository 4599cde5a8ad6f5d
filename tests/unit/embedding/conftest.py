"""Fixtures of the embedding tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import fake_model_child as fake
from tests.support.models import minilm_path, model_sources


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The minilm model file; skips the test if it is unavailable."""
    return minilm_path()


@pytest.fixture(scope="session")
def minilm_source_dir() -> Path:
    """The source files of minilm; skips the test if they are unavailable."""
    return model_sources("minilm")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model file for the fake model process."""
    return fake.write_model(tmp_path / "model.gguf")
